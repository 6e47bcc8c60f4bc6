// SPDX-License-Identifier: Apache-2.0
// A capture in words: why it was taken, how it ended. Pure functions; what they give is still hostile text.
import type { Schemas } from "../api/client";
import { count, duration, numeric } from "./units";

export type Capture = Schemas["Capture"];
export type Target = Schemas["Target"];

/* What began it, for a heading: "redis-ping fired: check … did not answer within 500 ms". */
export function captureSentence(capture: Pick<Capture, "trigger" | "kind">): string {
  const trigger = capture.trigger;
  if (trigger === undefined) return `A ${capture.kind} of processes that you see`;
  const reason = trigger.reason === "" ? "" : `: ${trigger.reason}`;
  if (trigger.rule !== undefined && trigger.rule !== "") return `${trigger.rule} fired${reason}`;
  if (trigger.policy !== undefined && trigger.policy !== "") return `Sample of ${trigger.policy}`;
  switch (trigger.type) {
    case "request":
      return reason === "" ? "Taken by hand" : `Taken by hand${reason}`;
    case "crash":
      return `A process died${reason}`;
    case "application":
      return `The program asked for it${reason}`;
    default:
      return `${trigger.type}${reason}`;
  }
}

/* Whether something went wrong: a rule, a crash or a program began it, and no clock or hand. */
export function wentWrong(capture: Pick<Capture, "trigger">): boolean {
  const type = capture.trigger?.type;
  return type !== undefined && type !== "request" && type !== "policy" && type !== "schedule";
}

export type Mood = "ok" | "warn" | "bad" | undefined;

export function statusMood(status: string): Mood {
  switch (status) {
    case "complete":
      return "ok";
    case "incomplete":
      return "warn";
    default:
      return undefined;
  }
}

/* Whether young processes lack their begins, and nothing else is missing. */
export function lacksBegins(capture: Pick<Capture, "verdict">): boolean {
  return capture.verdict?.begins?.rest_complete === true;
}

/* A short word for a chip: where it runs, how far it is. */
export function statusWords(capture: Pick<Capture, "status" | "target_counts" | "verdict">): string {
  if (lacksBegins(capture)) return "complete but for begins";
  if (capture.status !== "running") return capture.status;
  const counts = capture.target_counts as Record<string, number>;
  const all = Object.values(counts).reduce((sum, n) => sum + n, 0);
  const ended = ENDED.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
  return `running: ${count(ended)} of ${count(all)} targets`;
}

const ENDED = ["complete", "nothing", "watched", "failed", "expired"];

/* A verdict's words behind a chip that has said the status; numbers of events as everywhere else. */
export function verdictWords(status: string, text: string): string {
  const rest = text.startsWith(`${status}: `) ? text.slice(status.length + 2) : text;
  return rest.replace(/\d{4,}(?= events)/g, (digits) => count(digits));
}

/* "10 s before, 3 s after" */
export function windowWords(capture: Pick<Capture, "pre_ms" | "post_ms" | "kind" | "window">): string {
  const from = Date.parse(capture.window.from);
  const to = Date.parse(capture.window.to);
  if (capture.kind !== "snapshot") return duration((to - from) * 1e6);
  const before = duration(numeric(capture.pre_ms) * 1e6);
  const after = numeric(capture.post_ms);
  return after > 0 ? `${before} before, ${duration(after * 1e6)} after` : `${before} before`;
}

/* Services of a capture's targets, most first; "" where a listing does not tell. */
export function servicesOf(targets: readonly Pick<Target, "service">[]): string[] {
  const counts = new Map<string, number>();
  for (const target of targets) counts.set(target.service, (counts.get(target.service) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([name, n]) => (n > 1 ? `${name} ×${n}` : name));
}

/* Selectors are how services are told in a listing: "service=redis". */
export function selectorWords(selector: string | undefined): string {
  if (selector === undefined) return "–";
  return selector === "" ? "all processes" : selector;
}

export interface Alike {
  newest: Capture;
  others: Capture[];
}

/* Captures that the same rule, or the same process by itself, began: one noisy cause does not hide the others. Newest
 * first, as they come. */
export function alike(captures: readonly Capture[]): Alike[] {
  const groups = new Map<string, Alike>();
  for (const capture of captures) {
    const trigger = capture.trigger;
    const key = JSON.stringify([trigger?.type, trigger?.rule, trigger?.process ?? capture.selector]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { newest: capture, others: [] });
    else group.others.push(capture);
  }
  return [...groups.values()];
}
