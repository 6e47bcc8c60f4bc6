// SPDX-License-Identifier: Apache-2.0
// What threads were inside of at a moment: regions of a thread as a chain, outermost first. Pure.

export interface Inside {
  service: string;
  host: string;
  process: string;
  pid: number;
  thread: string;
  tid: number;
  name: string;
  begin: bigint;
  length: number;
  open: boolean;
  place: string; /* file:line; "" */
}

export interface Chain {
  service: string;
  names: string; /* "loop › sleep" */
  regions: Inside[]; /* of the first thread */
  threads: Inside[]; /* innermost region of each */
  idle: boolean;
}

function byTime(a: Inside, b: Inside): number {
  return a.begin < b.begin ? -1 : a.begin > b.begin ? 1 : b.length - a.length;
}

/* Threads of a service that are inside of the same as one; those that wait for whatever comes behind the others, those
 * that have been inside for longest first. */
export function chainsOf(rows: readonly Inside[], idle: (service: string, name: string) => boolean): Chain[] {
  const threads = new Map<string, Inside[]>();
  for (const row of rows) {
    const key = `${row.process} ${row.tid}`;
    const thread = threads.get(key);
    if (thread === undefined) threads.set(key, [row]);
    else thread.push(row);
  }
  const chains = new Map<string, Chain>();
  for (const regions of threads.values()) {
    regions.sort(byTime);
    const inner = regions.at(-1)!;
    const names = regions.map((region) => region.name).join(" › ");
    const key = JSON.stringify([inner.service, names]);
    const chain = chains.get(key);
    if (chain === undefined)
      chains.set(key, { service: inner.service, names, regions, threads: [inner], idle: idle(inner.service, inner.name) });
    else chain.threads.push(inner);
  }
  return [...chains.values()].sort((a, b) => Number(a.idle) - Number(b.idle) || oldest(a, b));
}

function oldest(a: Chain, b: Chain): number {
  const [x, y] = [a.threads[0]!.begin, b.threads[0]!.begin];
  return x < y ? -1 : x > y ? 1 : 0;
}
