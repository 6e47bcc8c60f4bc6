// SPDX-License-Identifier: Apache-2.0
// Gaps of a trace in words, and joined where they are fragments of one. Pure.
import type { TraceGap } from "../trace/trace";
import type { Span } from "./zoom";

export interface JoinedGap extends Span {
  process: number;
  parts: TraceGap[]; /* as they were, by time */
}

/* Fragments are one gap where less than 5 % of what they then span is there between them. Gaps without bounds are not
 * among the answer. */
export function joinGaps(gaps: readonly TraceGap[]): JoinedGap[] {
  const bounded = gaps.filter((gap) => gap.to > gap.from);
  bounded.sort((a, b) => a.process - b.process || a.from - b.from || a.to - b.to);
  const joined: (JoinedGap & { missing: number })[] = [];
  for (const gap of bounded) {
    const last = joined[joined.length - 1];
    if (last !== undefined && last.process === gap.process) {
      const to = Math.max(last.to, gap.to);
      const missing = last.missing + Math.max(0, gap.to - Math.max(gap.from, last.to));
      if (to - last.from - missing < 0.05 * (to - last.from)) {
        last.to = to;
        last.missing = missing;
        last.parts.push(gap);
        continue;
      }
    }
    joined.push({ process: gap.process, from: gap.from, to: gap.to, missing: gap.to - gap.from, parts: [gap] });
  }
  return joined.map(({ process, from, to, parts }) => ({ process, from, to, parts }));
}

/* "1 gap", "3 gaps (in 14 pieces), 2 of unknown time" */
export function gapWords(gaps: readonly TraceGap[]): string {
  if (gaps.length === 0) return "";
  const joined = joinGaps(gaps);
  const pieces = joined.reduce((sum, gap) => sum + gap.parts.length, 0);
  const unknown = gaps.length - pieces;
  const words: string[] = [];
  if (joined.length > 0) {
    const inPieces = pieces > joined.length ? ` (in ${pieces} pieces)` : "";
    words.push(`${joined.length} ${joined.length === 1 ? "gap" : "gaps"}${inPieces}`);
  }
  if (unknown > 0) words.push(`${unknown} of unknown time`);
  return words.join(", ");
}
