// SPDX-License-Identifier: Apache-2.0
// What is missing of a capture, in words (cli/cli_gaps.c has the same words for terminals). Pure functions.
import { clock, duration, millis } from "./units";

export interface GapOf {
  from: string;
  to: string;
  reason: string;
}

/* A gap, or fragments that are told as one; ms since 1970. */
export interface Missing {
  from: number;
  to: number;
  reason: string;
  pieces: number;
  thereMs: number; /* between the pieces */
}

/* Fragments are one gap where less than this share of it is there. */
const THERE_MOST = 0.05;
/* Clocks are told in milliseconds. */
const EDGE_MS = 1;

/* By reason and time; fragments as one. What has no times is left as it is. */
export function mergeGaps(gaps: readonly GapOf[]): Missing[] {
  const rows = gaps
    .map((gap) => ({ from: millis(gap.from), to: millis(gap.to), reason: gap.reason, pieces: 1, thereMs: 0 }))
    .sort((a, b) => (a.reason < b.reason ? -1 : a.reason > b.reason ? 1 : a.from - b.from));
  const merged: Missing[] = [];
  for (const row of rows) {
    const last = merged.at(-1);
    if (last === undefined || last.reason !== row.reason || !joins(last, row)) merged.push(row);
  }
  return merged.sort((a, b) => a.from - b.from);
}

/* Takes `row` into `last` where so little is there between them. */
function joins(last: Missing, row: Missing): boolean {
  const to = Math.max(last.to, row.to);
  const there = last.thereMs + Math.max(0, row.from - last.to);
  if (there > 0 && !(there < THERE_MOST * (to - last.from))) return false;
  last.to = to;
  last.thereMs = there;
  last.pieces++;
  return true;
}

const REASONS: Readonly<Record<string, string>> = {
  ring_full: "the ring was full",
  overwritten: "the ring had overwritten it",
  corrupt: "damaged in the ring",
  signal: "lost inside of a signal handler",
  size: "more than a cut may hold",
  report_full: "more than the agent's report may hold",
  agent_failed: "the agent could not cut",
  agent_restarted: "the agent was restarted",
  spool_full: "the agent's spool was full",
  spool_failed: "the disk of the agent's spool refused",
  spool_unreadable: "damaged in the agent's spool",
  rejected: "it did not decode at the collector",
  not_arrived: "it did not arrive",
  no_answer: "the agent did not answer",
  attached_late: "it ran before it was recorded",
  attach_refused: "the agent did not take it",
  ring_replaced: "its ring before that is gone",
  ring_released: "it has ended, and its ring is not kept any more",
  watched: "it is watched from outside, and has no ring",
  disk_full: "the collector's disk was full",
  evicted: "deleted to make room",
  damaged: "damaged on the collector's disk",
  name: "a name or text is lost",
};

/* What a reason of a ledger means to who reads it; an unknown one as it is. */
export function reasonWords(reason: string): string {
  return Object.hasOwn(REASONS, reason) ? REASONS[reason]! : reason;
}

/* The life of a process of which there is no record. */
const OF_NOTHING = ["watched", "attach_refused", "ring_released"];

export interface Asked {
  at: string;
  window: { from: string; to: string };
}

/* "reaches back 4 min 9 s of the 60 s asked: the ring had overwritten it" */
export function gapWords(gap: Missing, asked: Asked): string {
  const why = reasonWords(gap.reason);
  const pieces = gap.pieces > 1 ? ` in ${gap.pieces} pieces` : "";
  return `${missingWords(gap, asked)}${pieces}: ${why}`;
}

function missingWords(gap: Missing, asked: Asked): string {
  if (OF_NOTHING.includes(gap.reason)) return "has no record";
  const from = millis(asked.window.from);
  const to = millis(asked.window.to);
  const at = Math.min(Math.max(millis(asked.at), from), to);
  const early = gap.from <= from + EDGE_MS;
  const late = gap.to + EDGE_MS >= to;
  if (early && late) return "has nothing whole of the window";
  if (early && gap.to <= at) return `reaches back ${of(at - gap.to)} of the ${of(at - from)} asked`;
  if (early) return `begins only ${of(gap.to - at)} after the instant`;
  if (late && gap.from >= at) return `goes on for ${of(gap.from - at)} of the ${of(to - at)} asked`;
  if (late) return `ends ${of(at - gap.from)} before the instant`;
  return `lacks ${of(gap.to - gap.from)} from ${clock(gap.from, false)}`;
}

function of(ms: number): string {
  return duration(ms * 1e6);
}
