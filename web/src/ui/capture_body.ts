// SPDX-License-Identifier: Apache-2.0
// What the dialog that takes a capture asks for, and the API's request that is made of it. Pure.
import type { Schemas } from "../api/client";
import { apiTime } from "./time_text";

type Kind = "snapshot" | "record" | "stream";
/* Of a snapshot: around now, around an instant, or all between two. */
type When = "now" | "at" | "between";
type Evidence = "usual" | "none" | "some";
export const EVIDENCE_KINDS = ["threads", "samples", "sched", "vitals", "files", "crash", "go"] as const;

export interface CaptureAsk {
  selector: string;
  kind: Kind;
  when: When;
  at: string;
  from: string;
  to: string;
  pre: string;
  post: string;
  length: string;
  reason: string;
  threads: boolean;
  evidence: Evidence;
  kinds: readonly string[];
  ttl: string;
  pin: boolean;
  deadline: string;
  least: string;
  most: string;
}

export const CAPTURE_ASK: CaptureAsk = {
  selector: "",
  kind: "snapshot",
  when: "now",
  at: "",
  from: "",
  to: "",
  pre: "10s",
  post: "0s",
  length: "",
  reason: "",
  threads: false,
  evidence: "usual",
  kinds: [],
  ttl: "",
  pin: false,
  deadline: "",
  least: "",
  most: "",
};

function windowBody(ask: CaptureAsk, now: number): Record<string, unknown> {
  if (ask.when === "between") return { from: apiTime(ask.from, now), to: ask.to.trim() === "" ? new Date(now).toISOString() : apiTime(ask.to, now) };
  const around = { pre_ms: ask.pre.trim(), post_ms: ask.post.trim() };
  return ask.when === "at" ? { at: apiTime(ask.at, now), ...around } : around;
}

/* A count; what is none goes as it is, and the collector says so. */
function whole(text: string): number | string {
  return /^\d{1,15}$/.test(text.trim()) ? Number(text) : text;
}

/* The API's request; times "-5s" are before `now`. */
export function captureBody(ask: CaptureAsk, now = Date.now()): Schemas["CaptureRequest"] {
  const body: Record<string, unknown> = { selector: ask.selector.trim(), kind: ask.kind, reason: ask.reason };
  if (ask.kind === "snapshot") Object.assign(body, windowBody(ask, now));
  if (ask.kind === "record") body["for_ms"] = ask.length.trim() || "5s";
  if (ask.kind === "stream" && ask.length.trim() !== "") body["max_ms"] = ask.length.trim();
  if (ask.threads) body["threads"] = true;
  if (ask.evidence !== "usual") body["evidence"] = ask.evidence === "none" ? [] : ask.kinds;
  if (ask.ttl.trim() !== "") body["ttl_ms"] = ask.ttl.trim();
  if (ask.pin) body["pin"] = true;
  if (ask.deadline.trim() !== "") body["deadline_ms"] = ask.deadline.trim();
  if (ask.least.trim() !== "") body["min_targets"] = whole(ask.least);
  if (ask.most.trim() !== "") body["max_targets"] = whole(ask.most);
  return body as Schemas["CaptureRequest"];
}
