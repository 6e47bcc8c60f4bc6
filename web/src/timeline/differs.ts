// SPDX-License-Identifier: Apache-2.0
// By how much each process differs around the failure from what it was before: of the collector's overview, which counts
// events of every process whether it is read or not. It orders tracks, and is shown nowhere. Pure.

/* The answer of GET /captures/{capture}/overview, as far as it is asked. */
export interface Counted {
  at: string;
  from_ns: number | string;
  to_ns: number | string;
  targets: readonly { process: string; events: readonly number[] }[];
}

const AROUND_SHARE = 0.05; /* of the window: what belongs to the failure already before it */
const CHANCE = 2; /* standard deviations of a count */

/* How far the events from `onset` (a bucket) on are from what the rate before it would give, beside both together: 0, as
 * before or not beyond chance; 1, all there is came or went then. */
export function differenceOf(events: readonly number[], onset: number): number {
  const before = Math.min(Math.max(onset, 0), events.length);
  const rest = events.length - before;
  if (before === 0 || rest === 0) return 0;
  const sum = (from: number, to: number): number => events.slice(from, to).reduce((a, b) => a + b, 0);
  const [expected, seen] = [(sum(0, before) * rest) / before, sum(before, events.length)];
  const both = expected + seen;
  return both > 0 ? Math.max(0, Math.abs(seen - expected) - CHANCE * Math.sqrt(both)) / both : 0;
}

/* Of each process by its id. `since`: ns of a time of the API since the first bucket's begin; null: it is none. */
export function differences(of: Counted, since: (time: string, from: string) => number | null): ReadonlyMap<string, number> {
  const at = since(of.at, String(of.from_ns));
  const length = Number(BigInt(of.to_ns) - BigInt(of.from_ns));
  if (at === null || !(length > 0)) return new Map();
  return new Map(of.targets.map(({ process, events }) => [process, differenceOf(events, Math.floor((at / length - AROUND_SHARE) * events.length))]));
}
