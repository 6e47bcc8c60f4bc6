// SPDX-License-Identifier: Apache-2.0
// Rows of counters put together, a counter each. Pure.
import type { Row } from "./ask_sql";

export interface Counter {
  key: string;
  name: string;
  of: string; /* whose */
  unit: string;
  least: number;
  most: number;
  points: { slot: number; mean: number }[]; /* by slot */
  last: number; /* until the failure; NaN: none */
}

/* As the rows come, but what is of hosts behind what is of processes. */
export function countersOf(rows: readonly Row[]): Counter[] {
  const counters = new Map<string, Counter>();
  for (const row of rows) {
    const host = row.text("name").startsWith("host.");
    const of = host ? `host ${row.text("host")}` : `${row.text("service")}[${row.text("pid")}] on ${row.text("host")}`;
    const key = JSON.stringify([row.text("host"), row.text("process"), row.text("name")]);
    let counter = counters.get(key);
    if (counter === undefined) counters.set(key, (counter = counterNew(key, row.text("name"), of, row.text("unit"))));
    counter.least = Math.min(counter.least, row.number("least"));
    counter.most = Math.max(counter.most, row.number("most"));
    if (row.number("slot") < 0) counter.last = row.number("mean");
    else counter.points.push({ slot: row.number("slot"), mean: row.number("mean") });
  }
  const rank = (counter: Counter): number => (counter.name.startsWith("host.") ? 1 : 0);
  return [...counters.values()].sort((a, b) => rank(a) - rank(b));
}

function counterNew(key: string, name: string, of: string, unit: string): Counter {
  return { key, name, of, unit, least: Infinity, most: -Infinity, points: [], last: NaN };
}
