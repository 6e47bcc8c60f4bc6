// SPDX-License-Identifier: Apache-2.0
// Series as rows of a table and as columns of a chart. Pure.
import type { Schemas } from "../../api/client";
import { millis } from "../../ui/units";

export type Series = Schemas["Series"];
export type Line = Series["series"][number];
type Point = Line["points"][number];

export function lineName(line: Line): string {
  if (line.name !== undefined) return line.name;
  return line.reason !== undefined ? `${line.service}: ${line.reason}` : line.service;
}

export const lineValue = (point: Point | undefined): number | null => (point === undefined ? null : point.value);

export interface TableRow {
  at: number; /* ms */
  values: (Point | undefined)[]; /* of each line; undefined: nothing was sampled */
}

/* A row for each time at which some line has a point. */
export function tableOf(series: Series): TableRow[] {
  const rows = new Map<number, TableRow>();
  series.series.forEach((line, i) => {
    for (const point of line.points) {
      const at = millis(point.at);
      let row = rows.get(at);
      if (row === undefined) rows.set(at, (row = { at, values: new Array<Point | undefined>(series.series.length).fill(undefined) }));
      row.values[i] = point;
    }
  });
  return [...rows.values()].sort((a, b) => a.at - b.at);
}

/* Where a chart shall not draw a line over a time without samples, there is a row of nothing. */
export function withHoles(rows: readonly TableRow[], stepMs: number): TableRow[] {
  const whole: TableRow[] = [];
  for (const row of rows) {
    const last = whole.at(-1);
    if (last !== undefined && row.at - last.at > 1.5 * stepMs)
      whole.push({ at: last.at + stepMs, values: last.values.map(() => undefined) });
    whole.push(row);
  }
  return whole;
}

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, d: 86_400_000 };

/* "7d" before now, as the API's time. */
export function stretchFrom(stretch: string, now: number): string {
  const match = /^(\d+)([hd])$/.exec(stretch);
  const ms = match === null ? UNITS["d"]! : Number(match[1]) * UNITS[match[2]!]!;
  return new Date(now - ms).toISOString();
}
