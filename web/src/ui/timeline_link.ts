// SPDX-License-Identifier: Apache-2.0
// Links to a place on a capture's timeline. Owns the form that pages write (the timeline reads it); knows no page.
//
//   /captures/ID/timeline?from=…Z&to=…Z&p=PROCESS&tid=8001&ev=BEGIN.LENGTH.DEPTH
//
// BEGIN is ns since the begin of the capture's window (below 0: before it), LENGTH is ns, DEPTH counts the regions
// around it (0 where that is not known: the timeline takes what fits best). A region fills a third of the width.
// What ended before the window is not selected.
import { part } from "../api/client";
import { nanos, timeOf } from "./units";

export interface Place {
  beginNs: bigint; /* since 1970, by the collector's clock */
  lengthNs: number; /* 0: an instant */
  process?: string | undefined; /* its id */
  tid?: number | undefined;
  depth?: number | undefined;
  select?: boolean; /* false: only the time is shown, nothing is selected */
}

/* What the address needs of a capture. */
export interface LinkedCapture {
  capture: string;
  window: { from: string };
}

const LEAST_NS = 1_000n; /* of time that is shown beside a region, on each side */
const AROUND_NS = 1_000_000n; /* beside an instant */

export function timelineLink(capture: LinkedCapture, place?: Place): string {
  const path = `/captures/${part(capture.capture)}/timeline`;
  if (place === undefined) return path;
  const length = BigInt(Math.max(0, Math.round(place.lengthNs)));
  const beside = length === 0n ? AROUND_NS : length < LEAST_NS ? LEAST_NS : length;
  const query = new URLSearchParams({
    from: timeOf(place.beginNs - beside),
    to: timeOf(place.beginNs + length + beside),
  });
  if (place.process !== undefined) query.set("p", place.process);
  if (place.tid !== undefined && place.tid > 0) query.set("tid", String(place.tid));
  const origin = nanos(capture.window.from);
  if (place.select !== false && origin !== null && place.beginNs + length >= origin)
    query.set("ev", `${place.beginNs - origin}.${length}.${place.depth ?? 0}`);
  return `${path}?${query.toString()}`;
}

/* ns since 1970 of an API's member: a number, or a text of digits; null: it is none. */
export function nsOf(value: unknown): bigint | null {
  if (typeof value === "number" && Number.isFinite(value)) return BigInt(Math.round(value));
  if (typeof value === "string" && /^-?\d{1,20}$/.test(value)) return BigInt(value);
  return null;
}
