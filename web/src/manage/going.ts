// SPDX-License-Identifier: Apache-2.0
// Which captures will be deleted next, by time and by quota, as server/retention does it. Pure.
import type { Schemas } from "../api/client";
import { millis } from "../ui/units";

type Capture = Schemas["Capture"];

export interface Going {
  looked: number;
  complete: boolean; /* all captures were looked at */
  pinned: number;
  running: number;
  byTime: Capture[];
  byQuota: Capture[]; /* [] where older ones were not looked at: nobody knows */
}

const SHOWN = 10;

export function nextToGo(captures: readonly Capture[], complete: boolean): Going {
  const free = captures.filter((capture) => !capture.pin && capture.status !== "running");
  const timed = free.filter((capture) => capture.expires !== undefined);
  return {
    looked: captures.length,
    complete,
    pinned: captures.filter((capture) => capture.pin).length,
    running: captures.filter((capture) => !capture.pin && capture.status === "running").length,
    byTime: timed.sort((a, b) => millis(a.expires!) - millis(b.expires!)).slice(0, SHOWN),
    byQuota: complete ? [...free].sort((a, b) => millis(a.created) - millis(b.created)).slice(0, SHOWN) : [],
  };
}
