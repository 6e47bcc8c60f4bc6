// SPDX-License-Identifier: Apache-2.0
// What `skein report` says of a capture, as the API gives it (docs/analysis.md, As JSON). Types, and what is asked of them.
import type { Schemas } from "../../api/client";
import type { Capture } from "../../ui/capture_words";
import { type Place, nsOf, timelineLink } from "../../ui/timeline_link";

type Ns = number | string;

export interface Whose {
  service?: string;
  host?: string;
  pid?: number;
  thread?: string;
  tid?: number;
}

export interface Finding extends Whose {
  rule: string;
  severity: "problem" | "warning" | "note";
  text: string;
  region?: string;
  from?: string;
  ts_ns?: Ns;
  dur_ns?: Ns;
  numbers?: Record<string, number | string>;
  frames?: string[];
  frames_left_out?: number;
}

export interface RegionRow {
  service: string;
  name: string;
  wait: boolean;
  count?: number;
  total_ns?: Ns;
  self_ns?: Ns;
  idle_ns?: Ns;
  median_ns?: Ns;
  p99_ns?: Ns;
  most_ns?: Ns;
  open?: number;
  open_ns?: Ns;
  open_idle_ns?: Ns;
  others?: number;
}

export interface WaitRow extends Whose {
  name: string;
  ts_ns: Ns;
  dur_ns: Ns;
}

export interface ThreadRow extends Whose {
  count: number;
  total_ns: Ns;
  most_ns: Ns;
  most?: string;
}

export interface Segment extends Whose {
  what: string;
  depth: number;
  in?: string;
  ts_ns: Ns;
  dur_ns: Ns;
  why?: string;
}

export interface SlowTask extends Whose {
  ts_ns: Ns;
  dur_ns: Ns;
  trace_id?: string;
  open?: boolean;
  clipped?: boolean;
  unknown_ns?: Ns;
  path: Segment[];
}

export interface TaskRow {
  service: string;
  name: string;
  count: number;
  total_ns: Ns;
  slowest: SlowTask[];
}

export interface LossRow extends Whose {
  reason: string;
  from?: string;
  dur_ns?: Ns;
  records?: number;
  text?: string;
}

export interface Report {
  from?: string;
  to?: string;
  ts_ns?: Ns;
  dur_ns?: Ns;
  findings: Finding[];
  gaps: LossRow[];
  losses: LossRow[];
  regions: RegionRow[];
  waits: WaitRow[];
  threads: ThreadRow[];
  tasks: TaskRow[];
  tasks_left_out?: number;
  task_regions_left_out?: number;
  task_regions_shorter_ns?: Ns;
  totals?: Record<string, number>;
  capture: Schemas["Report"]["capture"];
}

/* Whether most of a name's time is spent waiting for whatever comes. */
export function isIdle(region: RegionRow | undefined): boolean {
  if (region === undefined) return false;
  const all = Number(region.total_ns ?? 0) + Number(region.open_ns ?? 0);
  const idle = Number(region.idle_ns ?? 0) + Number(region.open_idle_ns ?? 0);
  return all > 0 && idle > all / 2;
}

/* The id of a process that a report tells by host and number. */
export function processOf(capture: Capture, whose: Whose): string | undefined {
  const same = (capture.targets ?? []).filter(
    (target) => target.pid === whose.pid && (whose.host === undefined || target.host === whose.host),
  );
  return same.length === 1 ? same[0]!.process : undefined;
}

/* Where a row of a report is seen; undefined: it is of no time. */
export function rowLink(capture: Capture, row: Whose & { ts_ns?: Ns; dur_ns?: Ns }, more: Partial<Place> = {}): string | undefined {
  const begin = nsOf(row.ts_ns);
  if (begin === null) return undefined;
  const place: Place = { beginNs: begin, lengthNs: Number(row.dur_ns ?? 0), process: processOf(capture, row), tid: row.tid, ...more };
  return timelineLink(capture, place);
}
