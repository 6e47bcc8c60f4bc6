// SPDX-License-Identifier: Apache-2.0
// What the slowest of a region have more often than the rest: values of arguments, threads, processes, hosts. Pure but
// for the questions' text (docs/diff.md has how `skein diff --slowest` judges the same).
import { quoted } from "./ask_sql";

export interface Value {
  attribute: string;
  value: string;
  slow: number; /* of the slow ones have it */
  rest: number; /* of the others */
}

export interface Lifted extends Value {
  slowShare: number;
  restShare: number;
  lift: number;
}

const LEAST_SLOW = 8; /* regions: with fewer nothing is told */
const LEAST_LIFT = 1.5;
const MOST_VALUES = 4000;

export const BOUND = "bound";

/* The slowest one in a hundred of a service's regions of a name beside the others: arguments, then whose they are; and
 * one row whose `slow` is the length of the shortest of them, ns. As many as take as long as that one are slow, too. */
export function valuesQuery(service: string, name: string): string {
  const of = `s.service = ${quoted(service)} and s.name = ${quoted(name)} and s.is_open = 0`;
  const sums = "sum(s.dur >= b.ns) as slow, sum(s.dur < b.ns) as rest";
  const whose = (attribute: string, column: string): string =>
    `select ${quoted(attribute)} as attribute, ${column} as value, ${sums} from b cross join slice s where ${of} group by 2 having slow > 0`;
  return `with b(ns) as materialized (select s.dur from slice s where ${of} order by s.dur desc limit 1
      offset (select max(count(*) - 1, 0) / 100 from slice s where ${of}))
    select * from (select 'argument ' || a.name as attribute, a.value as value, ${sums}
    from b cross join slice s join args a on a.event_id = s.id where ${of} and a.type not in ('f64', 'sequence', 'pointer') group by 1, 2 having slow > 0
    order by slow desc limit ${MOST_VALUES})
    union all ${whose("thread", "s.thread || '/' || s.tid")}
    union all ${whose("process", "s.pid || ' on ' || s.host")}
    union all ${whose("host", "s.host")}
    union all select '${BOUND}', '', b.ns, 0 from b`;
}

/* The values that the slow ones have more often, by the difference of the shares. */
export function lifted(values: readonly Value[], slow: number, rest: number): Lifted[] {
  if (slow < LEAST_SLOW || rest <= 0) return [];
  return values
    .map((value) => {
      const slowShare = value.slow / slow;
      const restShare = value.rest / rest;
      return { ...value, slowShare, restShare, lift: slowShare / Math.max(restShare, 0.5 / rest) };
    })
    .filter((value) => value.lift >= LEAST_LIFT && value.slow >= 3)
    .sort((a, b) => b.slowShare - b.restShare - (a.slowShare - a.restShare));
}

export const FEWEST = LEAST_SLOW;
