// SPDX-License-Identifier: Apache-2.0
// Time of waits by the group of their names: lock, I/O, net, sleep. Pure.
import type { RegionRow } from "./report";

export interface Waiting {
  reason: string;
  ns: number; /* not idle */
  idleNs: number; /* for whatever comes: event loops, idle workers */
  names: string[];
}

const WORDS: Readonly<Record<string, string>> = {
  lock: "locks",
  io: "files and disks",
  net: "the network",
  sleep: "sleep",
  thread: "other threads",
};

/* group: of a service's name; undefined: not known. Only waits count. */
export function waitingOf(regions: readonly RegionRow[], group: (service: string, name: string) => string | undefined): Waiting[] {
  const reasons = new Map<string, Waiting>();
  for (const region of regions) {
    if (!region.wait) continue;
    const of = group(region.service, region.name) ?? "";
    const reason = Object.hasOwn(WORDS, of) ? WORDS[of]! : "others";
    const idle = Number(region.idle_ns ?? 0) + Number(region.open_idle_ns ?? 0);
    const all = Number(region.total_ns ?? 0) + Number(region.open_ns ?? 0);
    let row = reasons.get(reason);
    if (row === undefined) reasons.set(reason, (row = { reason, ns: 0, idleNs: 0, names: [] }));
    row.ns += Math.max(0, all - idle);
    row.idleNs += idle;
    if (!row.names.includes(region.name)) row.names.push(region.name);
  }
  return [...reasons.values()].sort((a, b) => b.ns - a.ns);
}
