// SPDX-License-Identifier: Apache-2.0
// What the dialog that takes a capture asks for, and the API's request that is made of it. Pure.
import type { Schemas } from "../api/client";

type Kind = "snapshot" | "record" | "stream";
type Evidence = "usual" | "none" | "some";
export const EVIDENCE_KINDS = ["threads", "samples", "sched", "vitals", "files", "crash", "go"] as const;

export interface CaptureAsk {
  selector: string;
  kind: Kind;
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
  most: string;
}

export const CAPTURE_ASK: CaptureAsk = {
  selector: "",
  kind: "snapshot",
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
  most: "",
};

/* The API's request. */
export function captureBody(ask: CaptureAsk): Schemas["CaptureRequest"] {
  const body: Record<string, unknown> = { selector: ask.selector.trim(), kind: ask.kind, reason: ask.reason };
  if (ask.kind === "snapshot") Object.assign(body, { pre_ms: ask.pre.trim(), post_ms: ask.post.trim() });
  if (ask.kind === "record") body["for_ms"] = ask.length.trim() || "5s";
  if (ask.kind === "stream" && ask.length.trim() !== "") body["max_ms"] = ask.length.trim();
  if (ask.threads) body["threads"] = true;
  if (ask.evidence !== "usual") body["evidence"] = ask.evidence === "none" ? [] : ask.kinds;
  if (ask.ttl.trim() !== "") body["ttl_ms"] = ask.ttl.trim();
  if (ask.pin) body["pin"] = true;
  if (ask.deadline.trim() !== "") body["deadline_ms"] = ask.deadline.trim();
  if (ask.most.trim() !== "") body["max_targets"] = /^\d+$/.test(ask.most.trim()) ? Number(ask.most) : ask.most;
  return body as Schemas["CaptureRequest"];
}
