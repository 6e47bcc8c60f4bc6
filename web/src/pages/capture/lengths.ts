// SPDX-License-Identifier: Apache-2.0
// How long regions took: histograms by service and name, before and after the onset, each bucket with the longest region
// in it. Made by one question in SQL. Pure but for the question's text.
import { type Bucket, STEPS, merged } from "../../ui/histogram";
import type { Row } from "./ask_sql";

/* The longest region of a bucket. */
export interface Example {
  length: number;
  begin: bigint;
  process: string;
  thread: string;
  tid: number;
  depth: number;
}

export interface Lengths {
  service: string;
  name: string;
  group: string; /* app, net, io, lock, thread, sleep, log or a number */
  before: Bucket<Example>[];
  after: Bucket<Example>[]; /* the onset; without one all are here */
}

/* onset: ns since 1970; undefined: everything is after it. */
export function lengthsQuery(onset: bigint | undefined): string {
  const late = onset === undefined ? "1" : `ts >= ${onset}`;
  return `select service, name, event_group, ${late} as late,
    case when dur > 1 then cast(log2(dur) * ${STEPS} + 1e-9 as integer) else 0 end as step,
    count(*) - sum(is_open) as n, max(case when is_open = 0 then dur end) as longest, ts, process, thread, tid, depth
    from slice where dur is not null group by service, name, event_group, 4, 5`;
}

export function lengthsOf(rows: readonly Row[]): Map<string, Lengths> {
  const all = new Map<string, Lengths>();
  for (const row of rows) {
    const [service, name] = [row.text("service"), row.text("name")];
    const key = lengthsKey(service, name);
    let lengths = all.get(key);
    if (lengths === undefined) all.set(key, (lengths = { service, name, group: row.text("event_group"), before: [], after: [] }));
    if (row.number("n") === 0) continue; /* in progress: of these there is the group alone */
    const example: Example = {
      length: row.number("longest"),
      begin: row.ns("ts"),
      process: row.text("process"),
      thread: row.text("thread"),
      tid: row.number("tid"),
      depth: row.number("depth"),
    };
    (row.number("late") === 1 ? lengths.after : lengths.before).push({ step: row.number("step"), count: row.number("n"), example });
  }
  return all;
}

export function lengthsKey(service: string, name: string): string {
  return JSON.stringify([service, name]);
}

export function allOf(lengths: Lengths): Bucket<Example>[] {
  return merged([lengths.before, lengths.after]);
}

/* The longest region of a name. */
export function longestOf(lengths: Lengths): Example | undefined {
  return allOf(lengths).at(-1)?.example;
}
