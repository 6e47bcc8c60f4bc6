// SPDX-License-Identifier: Apache-2.0
// Where a line of losses leads: the captures that it sums up, of the time that was asked for. Pure.
import { type Query, type Schemas, part } from "../api/client";
import { labelSelector } from "../ui/label_selector";

export type Row = Schemas["LossList"]["items"][number];
export type By = "service" | "host" | "process" | "capture" | "rule" | "reason" | "place";

function joined(one: string, other: string): string {
  return [one, other].filter((text) => text !== "").join(",");
}

/* of: the question that the row answers; its time is kept. */
export function capturesOf(by: By, row: Row, of: Query): string | undefined {
  if (by === "capture") return row.capture === undefined ? undefined : `/captures/${part(row.capture)}`;
  if (by === "reason" || by === "place") return undefined;
  const label = by === "rule" ? row.rule : labelSelector(by, by === "service" ? row.service : by === "host" ? row.host : row.process);
  if (label === undefined || label === "") return undefined;
  const selector = String(of["selector"] ?? "");
  const query = new URLSearchParams(by === "rule" ? { rule: label, selector } : { selector: joined(label, selector) });
  query.set("from", String(of["from"] ?? ""));
  for (const name of ["selector", "from"]) if (query.get(name) === "") query.delete(name);
  return `/captures?${query}`;
}
