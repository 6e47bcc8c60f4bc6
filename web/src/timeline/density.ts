// SPDX-License-Identifier: Apache-2.0
// How much there is when, over the whole trace: of all targets by the collector's overview, where there is one; else by
// the lanes that are read. Pure, but for the view that it asks for.
import type { Lane, Trace, View } from "../trace/trace";
import { count } from "../ui/units";
import type { Span } from "./zoom";

export interface Density {
  share: Float64Array; /* of each bucket, 0 to 1 of the most */
  lost: readonly Span[]; /* ns since the origin */
  what: string; /* what it is of */
}

/* The answer of GET /captures/{capture}/overview, as far as it is drawn. */
export interface Overview {
  from_ns: number | string;
  to_ns: number | string;
  targets: readonly {
    events: readonly number[];
    losses?: readonly { from: string; to: string }[];
    gaps?: readonly { from?: string; to?: string }[];
  }[];
  next_cursor?: string;
}

export const BUCKETS = 400;

function ofMost(sums: Float64Array): Float64Array {
  const most = sums.reduce((a, b) => Math.max(a, b), 0);
  /* The root: what is a hundredth of the most is still seen. */
  return most > 0 ? sums.map((value) => Math.sqrt(value / most)) : sums;
}

const PAGES_MOST = 20; /* of 200 targets each */

/* All pages of an overview, one after the other; next_cursor is there where there are more than are asked for. */
export async function overviewWhole<T extends Overview>(page: (cursor: string | undefined) => Promise<T>): Promise<T> {
  let whole = await page(undefined);
  for (let i = 1; i < PAGES_MOST && whole.next_cursor !== undefined; i++) {
    const more = await page(whole.next_cursor);
    whole = { ...more, targets: [...whole.targets, ...more.targets] }; /* and with the cursor of the last, if it has one */
  }
  return whole;
}

/* `since`: ns since the origin of a time of the API; null: it is none. */
export function overviewDensity(overview: Overview, since: (time: string) => number | null): Density {
  const sums = new Float64Array(overview.targets.reduce((most, target) => Math.max(most, target.events.length), 0));
  const lost: Span[] = [];
  for (const target of overview.targets) {
    target.events.forEach((value, i) => (sums[i]! += value));
    for (const loss of [...(target.losses ?? []), ...(target.gaps ?? [])]) {
      const from = since(loss.from ?? "");
      const to = since(loss.to ?? "");
      if (from !== null && to !== null && to >= from) lost.push({ from, to });
    }
  }
  const which = overview.next_cursor === undefined ? "all" : "the first";
  const rest = overview.next_cursor === undefined ? "" : " alone, further ones are not drawn here";
  return { share: ofMost(sums), lost, what: `events of ${which} ${count(overview.targets.length)} processes${rest}` };
}

/* Lanes of depth 0: what is busy in each. */
export function topLanes(lanes: readonly Lane[]): Lane[] {
  return lanes.filter((lane) => lane.kind === "region" && lane.number === 0);
}

export function viewDensity(view: View, buckets: number): Float64Array {
  const sums = new Float64Array(buckets);
  const { from, to } = view.ask;
  const perNs = buckets / Math.max(to - from, 1);
  for (let k = 0; k < view.from.length; k++) {
    const x0 = Math.max(0, Math.floor((view.from[k]! - from) * perNs));
    const x1 = Math.min(buckets, Math.max(x0 + 1, Math.ceil((view.to[k]! - from) * perNs)));
    const each = (view.share[k]! * Math.max(view.to[k]! - view.from[k]!, 1)) / (x1 - x0);
    for (let x = x0; x < x1; x++) sums[x]! += each;
  }
  return ofMost(sums);
}

export async function tracedDensity(trace: Trace, lost: readonly Span[]): Promise<Density | null> {
  const lanes = topLanes(trace.lanes.peek());
  const span = { from: 0, to: Math.max(trace.length.peek(), 1) };
  if (lanes.length === 0) return { share: new Float64Array(BUCKETS), lost, what: "nothing that is read yet" };
  const view = await trace.view({ ...span, width: BUCKETS, lanes: lanes.map((lane) => lane.id) });
  return view === null ? null : { share: viewDensity(view, BUCKETS), lost, what: "time in regions of all threads that are read" };
}

/* Groups whose regions wait (docs/summary.md); "thread" is creating and joining. */
const WAITS = new Set(["net", "io", "lock", "thread", "sleep"]);

/* For each thread the ns of depth 0 in which it did not wait; of a view of those lanes over the whole trace. Cells count
 * by their longest. */
export function workingOf(view: View, lanes: readonly Lane[], groupName: (type: number) => string): Map<number, number> {
  const working = new Map<number, number>();
  lanes.forEach((lane, i) => {
    let sum = working.get(lane.thread) ?? 0;
    for (let k = view.first[i] ?? 0; k < (view.first[i + 1] ?? 0); k++)
      if (!WAITS.has(groupName(view.type[k]!))) sum += view.share[k]! * (view.to[k]! - view.from[k]!);
    working.set(lane.thread, sum);
  });
  return working;
}
