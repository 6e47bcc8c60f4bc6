// SPDX-License-Identifier: Apache-2.0
// The form of a rule: its members as docs/api.md has them, with their defaults in words. Pure.
import { type JsonObject, isObject, memberAt } from "./document";
import type { FieldSpec } from "./fields";

export interface Section {
  title: string;
  fields: readonly FieldSpec[];
  more?: boolean; /* folded until it is wanted */
}

export const EVIDENCE_HINT = "of threads, samples, sched, vitals, files, crash, go; separated by commas";

export const CONDITIONS: readonly (readonly [string, string])[] = [
  ["health", "a health check fails"],
  ["latency", "a region takes too long"],
  ["log", "lines are logged"],
  ["counter", "a counter goes beyond a bound"],
  ["cpu", "CPU use stays high"],
  ["memory", "memory use stays high"],
  ["pressure", "the kernel's pressure stays high"],
  ["crash", "a process dies"],
  ["application", "the program asks for it"],
  ["schedule", "it is time"],
  ["webhook", "somebody posts to its trigger"],
];

export const CHECKS: readonly (readonly [string, string])[] = [
  ["exec", "run a program on the host"],
  ["http", "GET a URL"],
  ["tcp", "connect to an address"],
  ["unix", "connect to a socket's path"],
  ["heartbeat", "hear the program's own heartbeat"],
];

/* What a condition begins with when it is chosen. */
export const CONDITION_STARTS: Readonly<Record<string, JsonObject>> = {
  health: { every_ms: "1s", timeout_ms: "500ms", failures: 1, exec: { command: [""] } },
  latency: { region: "", over_us: "20ms" },
  log: { level: "error" },
  counter: { name: "", above: 0 },
  cpu: { of: "process", above_percent: 90, for_ms: "10s" },
  memory: { of: "process", above_bytes: "1GiB", for_ms: "10s" },
  pressure: { of: "host", resource: "memory", kind: "some", above_percent: 20, for_ms: "10s" },
  crash: {},
  application: {},
  schedule: { every_ms: "1h" },
  webhook: {},
};

export const CHECK_STARTS: Readonly<Record<string, JsonObject>> = {
  exec: { command: [""] },
  http: { url: "http://127.0.0.1:80/healthz" },
  tcp: { address: "127.0.0.1:80" },
  unix: { path: "/run/service.sock" },
  heartbeat: { silent_ms: "10s" },
};

export const RULE_START: JsonObject = {
  name: "",
  description: "",
  selector: "service=",
  enabled: true,
  when: { health: CONDITION_STARTS["health"]! },
  capture: { pre_ms: "10s", post_ms: "3s" },
  limits: { cooldown_ms: "60s" },
};

const COUNT: readonly FieldSpec[] = [
  { path: "count", label: "So many times", kind: "count", otherwise: "1" },
  { path: "window_ms", label: "within", kind: "duration", otherwise: "1 min" },
];
const FOR: FieldSpec = { path: "for_ms", label: "For so long", kind: "duration", otherwise: "10 s" };

function of(first: "process" | "host"): FieldSpec {
  const other = first === "process" ? "host" : "process";
  return { path: "of", label: "Of", kind: "choice", choices: [["", `usual: ${first}`], [first, first], [other, other]] };
}

/* Members of each condition, below when.NAME. */
const MEMBERS: Readonly<Record<string, readonly FieldSpec[]>> = {
  health: [
    { path: "per", label: "Checked", kind: "choice", choices: [["", "usual: service; heartbeat: process"], ["service", "once for a service on a host"], ["process", "each process by itself"]] },
    { path: "every_ms", label: "Every", kind: "duration", otherwise: "1 s" },
    { path: "timeout_ms", label: "Fails after", kind: "duration", otherwise: "500 ms" },
    { path: "failures", label: "Failures in a row", kind: "count", otherwise: "1" },
  ],
  latency: [
    { path: "region", label: "Region", kind: "text", required: true },
    { path: "over_us", label: "Longer than", kind: "duration", unitNs: 1000, required: true },
    ...COUNT,
  ],
  log: [
    { path: "level", label: "Level, or above", kind: "choice", choices: [["", "usual: warn"], ["debug", "debug"], ["info", "info"], ["warn", "warn"], ["error", "error"]] },
    { path: "match", label: "Lines that match", kind: "text", hint: "a POSIX extended regular expression", otherwise: "every line" },
    ...COUNT,
  ],
  counter: [
    { path: "name", label: "Counter", kind: "text", required: true },
    { path: "above", label: "Above", kind: "number", hint: "this or below" },
    { path: "below", label: "Below", kind: "number" },
    ...COUNT,
  ],
  cpu: [of("process"), { path: "above_percent", label: "Above (percent; 100 is one core)", kind: "count", required: true }, FOR],
  memory: [
    of("process"),
    { path: "above_bytes", label: "Above (size)", kind: "size", hint: "64MiB, 2GB; this or a percentage" },
    { path: "above_percent", label: "Above (percent of the host's memory)", kind: "count" },
    FOR,
  ],
  pressure: [
    of("host"),
    { path: "resource", label: "Resource", kind: "choice", choices: [["cpu", "cpu"], ["memory", "memory"], ["io", "io"]] },
    { path: "kind", label: "Who stalls", kind: "choice", choices: [["", "usual: some"], ["some", "some tasks"], ["full", "all tasks"]] },
    { path: "above_percent", label: "Above (percent of the time)", kind: "count", required: true },
    FOR,
  ],
  crash: [{ path: "exit", label: "A failing exit status of a service counts, too", kind: "flag", hint: "what was started as one, or has lived for a second", otherwise: "yes" }],
  application: [{ path: "match", label: "Reasons that match", kind: "text", hint: "a POSIX extended regular expression", otherwise: "every reason" }],
  schedule: [
    { path: "every_ms", label: "Every", kind: "duration", required: true },
    { path: "offset_ms", label: "Offset since 1970", kind: "duration", otherwise: "0 s" },
  ],
  webhook: [{ path: "labels", label: "Labels: process label = alert label", kind: "labels", lines: 3, hint: "one a line, service=job; narrows the selector by what an alert names", otherwise: "the whole selector" }],
};

const CHECK_MEMBERS: Readonly<Record<string, readonly FieldSpec[]>> = {
  exec: [
    { path: "exec.command", label: "Command, one word a line", kind: "words", lines: 4, required: true, hint: "the agents' checks.exec_allow must have this line; {pid} is the process's" },
    { path: "exec.expect", label: "Text in its output", kind: "text", otherwise: "its exit status 0 is enough" },
  ],
  http: [
    { path: "http.url", label: "URL", kind: "text", required: true, hint: "{pid} and {ip} are the process's" },
    { path: "http.status", label: "Status that passes", kind: "count", otherwise: "200" },
  ],
  tcp: [{ path: "tcp.address", label: "Address", kind: "text", required: true, hint: "HOST:PORT" }],
  unix: [{ path: "unix.path", label: "Path of the socket", kind: "text", required: true }],
  heartbeat: [{ path: "heartbeat.silent_ms", label: "Ill when silent for", kind: "duration", otherwise: "10 s" }],
};

function below(above: string, fields: readonly FieldSpec[]): FieldSpec[] {
  return fields.map((field) => ({ ...field, path: `${above}.${field.path}` }));
}

/* The condition's name; undefined: there is none, or several, or one that this form does not know. */
export function conditionOf(rule: JsonObject): string | undefined {
  const when = rule["when"];
  const names = isObject(when) ? Object.keys(when) : [];
  return names.length === 1 && Object.hasOwn(MEMBERS, names[0]!) && isObject(memberAt(when, [names[0]!])) ? names[0] : undefined;
}

export function checkOf(rule: JsonObject): string | undefined {
  const names = CHECKS.map(([name]) => name).filter((name) => memberAt(rule, ["when", "health", name]) !== undefined);
  return names.length === 1 ? names[0] : undefined;
}

export function conditionFields(rule: JsonObject): FieldSpec[] {
  const condition = conditionOf(rule);
  if (condition === undefined) return [];
  const check = condition === "health" ? checkOf(rule) : undefined;
  return [
    ...below(`when.${condition}`, check === undefined ? [] : CHECK_MEMBERS[check]!),
    ...below(`when.${condition}`, MEMBERS[condition]!),
  ];
}

export const HEAD_FIELDS: readonly FieldSpec[] = [
  { path: "description", label: "Description", kind: "text" },
  { path: "selector", label: "Whom: selector", kind: "text", required: true, hint: "service=redis,zone in (a,b),!canary; empty: every process" },
  { path: "enabled", label: "Enabled", kind: "flag", otherwise: "yes" },
];

export const RETAIN_FIELDS: readonly FieldSpec[] = [
  { path: "retain.ttl_ms", label: "Kept for", kind: "duration", hint: "after a capture's end: 7d", otherwise: "as the collector's configuration says" },
  { path: "retain.pin", label: "Pinned: never deleted by time or quota", kind: "flag", otherwise: "no" },
];

export const RULE_SECTIONS: readonly Section[] = [
  {
    title: "What is captured",
    fields: [
      { path: "capture.pre_ms", label: "Before", kind: "duration", otherwise: "10 s" },
      { path: "capture.post_ms", label: "After", kind: "duration", otherwise: "0 s" },
      { path: "capture.include", label: "Neighbours: selector", kind: "text", otherwise: "none" },
      { path: "capture.same_host", label: "Neighbours on the same hosts alone", kind: "flag", otherwise: "no" },
      { path: "capture.threads", label: "Dump all threads", kind: "flag", otherwise: "for health and latency" },
      { path: "capture.evidence", label: "Evidence", kind: "list", hint: EVIDENCE_HINT, otherwise: "all but threads and go" },
      { path: "capture.deadline_ms", label: "Deadline", kind: "duration", otherwise: "30 s" },
    ],
    more: true,
  },
  {
    title: "Limits",
    fields: [
      { path: "limits.cooldown_ms", label: "Cooldown of a process", kind: "duration", otherwise: "1 min" },
      { path: "limits.firings", label: "Firings", kind: "count", otherwise: "no bound" },
      { path: "limits.window_ms", label: "within", kind: "duration", otherwise: "1 h" },
      { path: "limits.captures_per_hour", label: "Captures an hour", kind: "count", otherwise: "no bound of its own" },
      { path: "limits.bytes_per_hour", label: "Bytes an hour", kind: "size", otherwise: "no bound of its own" },
      { path: "limits.max_targets", label: "Most targets", kind: "count", otherwise: "no bound" },
    ],
    more: true,
  },
  { title: "How long it is kept", fields: RETAIN_FIELDS, more: true },
  {
    title: "Whom it tells",
    fields: [
      { path: "notify.webhook.url", label: "URL that is posted to", kind: "text", otherwise: "nobody" },
      { path: "notify.webhook.headers", label: "Headers", kind: "labels", lines: 2, hint: "one a line, Authorization=Bearer …" },
    ],
    more: true,
  },
];
