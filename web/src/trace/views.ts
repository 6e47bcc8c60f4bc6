/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins what several pieces have to draw into one answer, in the order of the lanes that were asked for.
 * Pure functions.
 */
import type { Items } from "./pieces";
import type { View, ViewAsk } from "./trace";

export interface ViewPart {
  ids: readonly number[];
  items: Items;
}

function viewOf(ask: ViewAsk, generation: number, n: number): View {
  return {
    ask,
    generation,
    first: new Uint32Array(ask.lanes.length + 1),
    from: new Float64Array(n),
    to: new Float64Array(n),
    longest: new Float32Array(n),
    share: new Float32Array(n),
    least: new Float32Array(n),
    most: new Float32Array(n),
    last: new Float32Array(n),
    type: new Uint32Array(n),
    severity: new Uint8Array(n),
    row: new Uint8Array(n),
  };
}

function copy(items: Items, from: number, to: number, view: View, at: number): void {
  view.from.set(items.from.subarray(from, to), at);
  view.to.set(items.to.subarray(from, to), at);
  view.longest.set(items.longest.subarray(from, to), at);
  view.share.set(items.share.subarray(from, to), at);
  view.least.set(items.least.subarray(from, to), at);
  view.most.set(items.most.subarray(from, to), at);
  view.last.set(items.last.subarray(from, to), at);
  view.type.set(items.type.subarray(from, to), at);
  view.severity.set(items.severity.subarray(from, to), at);
  view.row.set(items.row.subarray(from, to), at);
}

export function joined(ask: ViewAsk, generation: number, parts: readonly ViewPart[]): View {
  const only = parts[0];
  if (parts.length === 1 && only !== undefined && only.ids.length === ask.lanes.length)
    return { ask, generation, ...only.items };
  const places = new Map<number, { items: Items; i: number }>();
  for (const { ids, items } of parts) ids.forEach((id, i) => places.set(id, { items, i }));
  const view = viewOf(ask, generation, parts.reduce((sum, part) => sum + part.items.from.length, 0));
  let at = 0;
  ask.lanes.forEach((id, k) => {
    const place = places.get(id);
    const from = place?.items.first[place.i] ?? 0;
    const to = place?.items.first[place.i + 1] ?? 0;
    if (place !== undefined) copy(place.items, from, to, view, at);
    at += to - from;
    view.first[k + 1] = at;
  });
  return view;
}
