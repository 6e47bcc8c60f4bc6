// SPDX-License-Identifier: Apache-2.0
// What rules, losses, events and counters are, in sentences. Pure; what it is given may be hostile, so callers show it
// as text.
import { type Json, type JsonObject, isObject, memberAt } from "./document";
import { duration } from "../ui/units";

function text(value: Json | undefined, otherwise = "…"): string {
  return typeof value === "string" ? value : value === undefined ? otherwise : JSON.stringify(value);
}

function time(value: Json | undefined, otherwise: string, unitNs = 1e6): string {
  return typeof value === "number" ? duration(value * unitNs) : text(value, otherwise);
}

function often(condition: JsonObject): string {
  const n = condition["count"] ?? 1;
  return n === 1 ? "" : `, ${text(n)} times within ${time(condition["window_ms"], "1 min")}`;
}

function checkWords(health: JsonObject): string {
  const command = memberAt(health, ["exec", "command"]);
  if (Array.isArray(command)) {
    const expect = memberAt(health, ["exec", "expect"]);
    return `\`${command.map((word) => text(word)).join(" ")}\` ${expect === undefined ? "fails" : `does not answer with ${text(expect)}`}`;
  }
  if (isObject(health["http"])) return `${text(health["http"]["url"])} does not answer with status ${text(health["http"]["status"], "200")}`;
  if (isObject(health["tcp"])) return `${text(health["tcp"]["address"])} takes no connection`;
  if (isObject(health["unix"])) return `${text(health["unix"]["path"])} takes no connection`;
  if (isObject(health["heartbeat"])) return `the program says that it is ill, or is silent for ${time(health["heartbeat"]["silent_ms"], "10 s")}`;
  return "a check of a kind that this console does not know fails";
}

function healthWords(c: JsonObject): string {
  const failures = c["failures"] ?? 1;
  const within = c["heartbeat"] === undefined ? ` within ${time(c["timeout_ms"], "500 ms")}` : "";
  const row = failures === 1 ? "" : `, ${text(failures)} times in a row`;
  return `${checkWords(c)}${within}${row}; looked at every ${time(c["every_ms"], "1 s")}, ${c["per"] === "process" ? "each process by itself" : "once for a service on a host"}`;
}

const WORDS: Readonly<Record<string, (c: JsonObject) => string>> = {
  health: healthWords,
  latency: (c) => `the region ${text(c["region"])} takes longer than ${time(c["over_us"], "…", 1e3)}${often(c)}`,
  log: (c) => `lines of level ${text(c["level"], "warn")} or above${c["match"] === undefined ? "" : ` that match ${text(c["match"])}`} are logged${often(c)}`,
  counter: (c) => `the counter ${text(c["name"])} is ${c["above"] !== undefined ? `above ${text(c["above"])}` : `below ${text(c["below"])}`}${often(c)}`,
  cpu: (c) => `the ${text(c["of"], "process")} uses more than ${text(c["above_percent"])} % of a core for ${time(c["for_ms"], "10 s")}`,
  memory: (c) =>
    `the ${text(c["of"], "process")} has more than ${c["above_percent"] !== undefined ? `${text(c["above_percent"])} % of the memory` : `${text(c["above_bytes"])} bytes`} for ${time(c["for_ms"], "10 s")}`,
  pressure: (c) =>
    `${text(c["kind"], "some")} tasks of the ${text(c["of"], "host")} wait for ${text(c["resource"])} more than ${text(c["above_percent"])} % of the time for ${time(c["for_ms"], "10 s")}`,
  crash: (c) => `a process dies by a signal${c["exit"] === false ? "" : ", or a service ends with another status than 0"}`,
  application: (c) => `the program asks for it by skein_snapshot${c["match"] === undefined ? "" : `, with a reason that matches ${text(c["match"])}`}`,
  schedule: (c) => `${time(c["every_ms"], "…")} have passed${c["offset_ms"] === undefined || c["offset_ms"] === 0 ? "" : `, ${time(c["offset_ms"], "")} later`}`,
  webhook: () => "somebody posts to its trigger",
};

/* Words by name; a name that is none of them, as "constructor", has none. */
function table(words: Readonly<Record<string, string>>): Readonly<Partial<Record<string, string>>> {
  return Object.freeze(Object.assign(Object.create(null) as Record<string, string>, words));
}

/* "Fires when …", without the first two words. */
export function conditionWords(when: Json | undefined): string {
  const names = isObject(when) ? Object.keys(when) : [];
  const name = names[0];
  const condition = name === undefined ? undefined : memberAt(when, [name]);
  if (names.length !== 1 || name === undefined || !isObject(condition)) return "it holds no condition that this console can read";
  return Object.hasOwn(WORDS, name) ? WORDS[name]!(condition) : `${name} holds, a condition that this console does not know`;
}

export const LIMIT_WORDS = table({
  firings: "firings of this rule",
  captures_per_hour: "captures an hour of this rule",
  bytes_per_hour: "bytes an hour of this rule",
  captures_per_hour_of_all_rules: "captures an hour of all rules together",
  bytes_per_hour_of_all_rules: "bytes an hour of all rules together",
});

export const HISTORY_WORDS = table({
  fired: "fired: began an incident",
  joined: "fired, and joined an incident",
  suppressed: "held back by a limit",
  passing: "began to pass",
  failing: "began to fail",
  unknown: "its health became unknown",
});

export const PLACE_WORDS = table({
  ring: "in the ring of the process",
  spool: "in the agent's spool",
  wire: "on the way to the collector",
  quota: "to a quota, or a full disk",
  store: "damaged on the collector's disk",
});

export const REASON_WORDS = table({
  ring_full: "no room: all chunks were being written, or a oneshot ring was full",
  overwritten: "gone before the cut; nobody counted what was there",
  corrupt: "the ring's bytes were not what they should be",
  signal: "a handler interrupted a handler in the tracer",
  size: "more than a cut may hold",
  agent_failed: "the ring could not be cut",
  agent_restarted: "the agent restarted, up to the window's end",
  report_full: "a report took no more partitions; a stream ended early",
  attached_late: "the process ran before its ring began",
  attach_refused: "the agent did not take the process then",
  ring_replaced: "the ring that it had before was not taken over",
  ring_released: "the process has ended, and its ring is not kept any more",
  watched: "it never had a ring; it is watched from outside",
  unknown: "a reason of a newer agent",
  spool_full: "dropped for room in the spool",
  spool_failed: "the host's disk refused",
  spool_unreadable: "the spool could not be read",
  not_arrived: "listed by the agent, not stored by the end",
  no_answer: "the agent said nothing by the end",
  rejected: "did not decode",
  disk_full: "the collector had no room at the deadline",
  evicted: "stored, and deleted to make room",
  damaged: "stored, and its bytes are not what they were",
});

/* What an agent counts of its own work (docs/api.md, Agent). */
export const COUNTER_WORDS = table({
  attach_accepted: "processes taken",
  attach_adopted: "… of these with the ring that they had before",
  attach_refused: "processes not taken",
  attach_silent: "connections without a word",
  captures_refused: "captures of its own not begun, as a share was used up",
  attach_malformed: "connections that could not be understood",
  stacks_missed: "stacks for which a ring had no room",
  welcomes: "times that the collector welcomed it",
  heartbeats: "heartbeats",
  redials: "connections made anew",
  clock_steps: "times that a clock was set",
  malformed: "messages that could not be understood",
  commands: "commands",
  reports_acked: "reports taken by the collector",
  reports_refused: "reports refused by the collector",
  chunks_sent: "chunks sent",
  partitions_stored: "partitions stored",
  partitions_rejected: "partitions rejected",
  partitions_resent: "partitions sent again",
  symbols_asked: "names of functions that were asked for",
  symbols_named: "… of these found",
  symbolizer_failures: "times that the finder of names failed",
});

export const EVENT_WORDS = table({
  "agent.online": "an agent is heard again",
  "agent.offline": "an agent is not heard any more",
  "agent.enrolled": "an agent has joined",
  "policy.changed": "a policy was changed",
  "rule.changed": "a rule was changed",
  "rule.fired": "a rule fired",
  "rule.suppressed": "a firing was held back",
  "retention.deleted": "a bound deleted a capture",
  "capture.created": "a capture began",
  "capture.finished": "a capture ended",
  "capture.deleted": "a capture was deleted",
});
