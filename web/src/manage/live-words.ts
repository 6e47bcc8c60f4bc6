// SPDX-License-Identifier: Apache-2.0
// A live event as a sentence and a link. Pure; events hold what others wrote, so callers show it as text.
import { part } from "../api/client";
import type { LiveEvent } from "../api/live";

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}

function began(trigger: unknown): string {
  const rule = text(member(trigger, "rule"));
  const policy = text(member(trigger, "policy"));
  if (rule !== "") return `by the rule ${rule}`;
  if (policy !== "") return `by the policy ${policy}`;
  return text(member(trigger, "type")) === "request" ? "on request" : text(member(trigger, "type"));
}

function targets(counts: unknown): string {
  if (typeof counts !== "object" || counts === null) return "";
  const words = Object.entries(counts).map(([status, n]) => `${String(n)} ${status}`);
  return words.length === 0 ? "" : `targets: ${words.join(", ")}`;
}

function captureWords(event: LiveEvent): string {
  const verdict = text(member(event["verdict"], "text"));
  return [text(event["kind"]), began(event["trigger"]), text(member(event["trigger"], "reason")), verdict !== "" ? verdict : targets(event["target_counts"]), text(event["why"])]
    .filter((words) => words !== "")
    .join(" · ");
}

export function eventWords(event: LiveEvent): string {
  if (event.type.startsWith("capture.") || event.type === "retention.deleted") return captureWords(event);
  if (event.type.startsWith("agent.")) return `agent ${text(event["agent"])} on ${text(event["host"])}${text(event["join_token"]) === "" ? "" : `, let in by the join token ${text(event["join_token"])}`}`;
  if (event.type === "rule.changed") return `rule ${text(event["rule"])}: ${text(event["change"])}`;
  if (event.type === "policy.changed") return `policy ${text(event["policy"])}: ${text(event["change"])}`;
  return [`rule ${text(event["rule"])}`, text(event["why"])].filter((words) => words !== "").join(": ");
}

/* Ids and names of rules and policies alone make links; what is deleted has none. */
export function eventLink(event: LiveEvent): { to: string; words: string } | undefined {
  const capture = text(event["capture"]);
  const gone = event.type === "capture.deleted" || event.type === "retention.deleted";
  if (!gone && /^[0-9a-f]{32}$/.test(capture)) return { to: `/captures/${capture}`, words: `capture ${capture.slice(0, 12)}` };
  if (event.type.startsWith("rule.")) return { to: `/rules/${part(text(event["rule"]))}`, words: "rule" };
  if (event.type.startsWith("policy.")) return { to: `/policies/${part(text(event["policy"]))}`, words: "policy" };
  return event.type.startsWith("agent.") ? { to: "/agents", words: "agents" } : undefined;
}
