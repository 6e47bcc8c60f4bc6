// SPDX-License-Identifier: Apache-2.0
// Whether anything lies in a capture's window, by its overview, and how far each ring reached where nothing does. Pure.
import type { Schemas } from "../../api/client";
import { gapWords, mergeGaps } from "../../ui/gap_words";
import { clock, count, duration, millis } from "../../ui/units";

export type Overview = Schemas["Overview"];
export type OverviewTarget = Schemas["OverviewTarget"];

/* A target that may have something there: records in a bucket; footers that nobody read; one that is watched, of which
 * there is evidence alone. */
function mayHave(target: OverviewTarget): boolean {
  const unread = target.footers_left_out !== undefined || target.damaged !== undefined;
  return unread || target.status === "watched" || target.events.some((events) => events > 0);
}

export function windowMayHave(overview: Pick<Overview, "targets">): boolean {
  return overview.targets.some(mayHave);
}

/* attached: since when it is recorded; undefined: nobody knows any more. */
export function reachWords(of: Pick<OverviewTarget, "gaps" | "outside">, attached: string | undefined, asked: Schemas["Overview"]): string {
  const gaps = mergeGaps(of.gaps);
  if (gaps.length > 0) return gaps.map((gap) => gapWords(gap, asked)).join("; ");
  const late = attached === undefined ? NaN : millis(attached) - millis(asked.window.to);
  if (late > 0) return `is recorded only since ${clock(millis(attached!), false)}, ${duration(late * 1e6)} after the window's end`;
  const others = of.outside > 0 ? `; ${count(Math.round(of.outside))} stored events lie before or after it` : "";
  return `recorded no event in the window, and none is missing${others}`;
}
