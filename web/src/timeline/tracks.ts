// SPDX-License-Identifier: Apache-2.0
// Which tracks there are, in which order, and where each lies: pinned ones on top; then the process that fired, others
// of its host, the rest; the latter two by how much they differ from before. Threads by the time that they were not idle; those that only
// wait are one line. Pure.
import type { Lane, TraceProcess, TraceThread } from "../trace/trace";

export type RowKind = "heading" | "process" | "thread" | "counter" | "idle" | "vitals" | "note";

/* Lanes that share a place in a row; those drawn last come last. */
export interface Band {
  kind: "state" | "region" | "mark" | "counter" | "sample";
  depth: number; /* of regions */
  lanes: readonly Lane[];
  y: number; /* in the row */
  height: number;
}

export interface Row {
  key: string; /* "p3", "t17", "c4", "i3"; pinned: "!t17" */
  kind: RowKind;
  process: number; /* -1: a heading */
  thread: number; /* -1: of the process */
  y: number;
  height: number;
  title: number; /* pixels at the top that the name takes; 0: it stands beside */
  indent: number;
  foldable: boolean;
  folded: boolean;
  pinned: boolean;
  bands: readonly Band[];
  losses: readonly Lane[]; /* hatched over all of it */
  idle: readonly number[]; /* threads of an idle line */
  words: string; /* of headings and notes */
}

export interface TrackAsk {
  processes: readonly TraceProcess[];
  threads: readonly TraceThread[];
  lanes: readonly Lane[];
  typeNames: (type: number) => string; /* of counters, for their order */
  fired: number; /* process; -1: unknown */
  differs?: ReadonlyMap<string, number>; /* see processOrder */
  working: ReadonlyMap<number, number>; /* thread: ns in which it did not wait; what is missing is unknown */
  folded: ReadonlySet<string>; /* keys whose state is not the usual one: see foldedUsually */
  pins: readonly string[]; /* keys, "p3" and "t17" */
  titleAbove: boolean; /* the window is narrow */
}

export const DEPTH_PX = 15;
export const STATE_PX = 6;
export const MARK_PX = 9;
export const SAMPLE_PX = 10;
export const COUNTER_PX = 30;
export const PROCESS_PX = 24;
export const TITLE_PX = 16;
const GAP_PX = 3;

export interface Tracks {
  rows: readonly Row[];
  height: number;
}

/* ---- order ---- */

/* 0: it fired; 1: its host; 2: the rest */
function rankOf(process: TraceProcess, fired: TraceProcess | undefined): number {
  if (fired === undefined) return 2;
  if (process.index === fired.index) return 0;
  return process.host === fired.host ? 1 : 2;
}

const NO_DIFFERENCE: ReadonlyMap<string, number> = new Map();

/* differs: of a process's id, 0 to 1 (differs.ts). Where it does not tell: the same service first, then by host. */
export function processOrder(processes: readonly TraceProcess[], fired: number, differs = NO_DIFFERENCE): TraceProcess[] {
  const first = processes.find((process) => process.index === fired);
  return [...processes].sort(
    (a, b) =>
      rankOf(a, first) - rankOf(b, first) ||
      (differs.get(b.id) ?? 0) - (differs.get(a.id) ?? 0) ||
      Number(b.service === first?.service) - Number(a.service === first?.service) ||
      a.host.localeCompare(b.host) ||
      b.events - a.events ||
      a.index - b.index,
  );
}

/* Those that fold by themselves: all processes but the one that fired, or the first. */
export function foldedUsually(process: number, order: readonly TraceProcess[]): boolean {
  return order[0]?.index !== process;
}

/* ---- lanes by what they are of ---- */

interface ThreadLanes {
  state: Lane[];
  regions: Lane[][]; /* by depth */
  marks: Lane[];
  samples: Lane[];
  losses: Lane[];
  busy: number; /* ns of depth 0 */
}

interface ProcessLanes {
  threads: Map<number, ThreadLanes>; /* -1: of the process */
  counters: Map<string, Lane[]>; /* by thread and type */
}

function threadLanes(process: ProcessLanes, thread: number): ThreadLanes {
  let found = process.threads.get(thread);
  if (found === undefined) {
    found = { state: [], regions: [], marks: [], samples: [], losses: [], busy: 0 };
    process.threads.set(thread, found);
  }
  return found;
}

/* What the agent tells of a thread stands in the thread's own track: its number there is another one. */
function ownThreads(threads: readonly TraceThread[]): Map<number, number> {
  const own = new Map<string, number>();
  for (const thread of threads) if (!thread.evidence) own.set(`${thread.process} ${thread.tid}`, thread.index);
  const map = new Map<number, number>();
  for (const thread of threads) {
    const of = thread.evidence ? own.get(`${thread.process} ${thread.tid}`) : undefined;
    if (of !== undefined) map.set(thread.index, of);
  }
  return map;
}

function laneSort(process: ProcessLanes, lane: Lane, thread: number): void {
  if (lane.rows === 0) return;
  if (lane.kind === "counter") {
    const key = `${lane.thread}.${lane.number}`;
    process.counters.set(key, [...(process.counters.get(key) ?? []), lane]);
    return;
  }
  const of = threadLanes(process, thread);
  if (lane.kind === "state") of.state.push(lane);
  else if (lane.kind === "mark") of.marks.push(lane);
  else if (lane.kind === "sample") of.samples.push(lane);
  else if (lane.kind === "loss") of.losses.push(lane);
  else {
    (of.regions[lane.number] ??= []).push(lane);
    if (lane.number === 0) of.busy += lane.busyNs;
  }
}

function byProcess(lanes: readonly Lane[], threads: readonly TraceThread[]): Map<number, ProcessLanes> {
  const own = ownThreads(threads);
  const all = new Map<number, ProcessLanes>();
  for (const lane of lanes) {
    let of = all.get(lane.process);
    if (of === undefined) all.set(lane.process, (of = { threads: new Map(), counters: new Map() }));
    laneSort(of, lane, own.get(lane.thread) ?? lane.thread);
  }
  for (const process of all.values())
    for (const of of process.threads.values())
      for (const depth of of.regions) depth?.sort((a, b) => a.layer - b.layer);
  return all;
}

/* ---- rows ---- */

class Rows {
  readonly rows: Row[] = [];
  y = 0;
  constructor(private readonly titleAbove: boolean) {}

  put(row: Pick<Row, "key" | "kind" | "process" | "thread"> & Partial<Row>, least: number): void {
    const title = this.titleAbove && row.kind !== "heading" && row.kind !== "note" ? TITLE_PX : 0;
    const bands = (row.bands ?? []).map((band) => ({ ...band, y: band.y + title }));
    const last = bands[bands.length - 1];
    const height = Math.max(title + (last === undefined ? 0 : last.y - title + last.height + GAP_PX), title > 0 && bands.length === 0 ? title + 4 : least);
    this.rows.push({
      indent: 0, foldable: false, folded: false, pinned: false, losses: [], idle: [], words: "",
      ...row, bands, title, y: this.y, height,
    });
    this.y += height;
  }
}

function regionBands(of: ThreadLanes, y: number, depths: number): Band[] {
  const bands: Band[] = [];
  of.regions.slice(0, depths).forEach((lanes, depth) => {
    bands.push({ kind: "region", depth, lanes, y: y + depth * DEPTH_PX, height: DEPTH_PX - 1 });
  });
  return bands;
}

function threadBands(of: ThreadLanes, folded: boolean): Band[] {
  const bands: Band[] = [];
  let y = 2;
  if (of.state.length > 0) {
    bands.push({ kind: "state", depth: 0, lanes: of.state, y, height: STATE_PX });
    y += STATE_PX + 1;
  }
  if (of.samples.length > 0) {
    bands.push({ kind: "sample", depth: 0, lanes: of.samples, y, height: SAMPLE_PX });
    y += SAMPLE_PX + 1;
  }
  if (of.marks.length > 0) {
    bands.push({ kind: "mark", depth: 0, lanes: of.marks, y, height: MARK_PX });
    y += MARK_PX + 1;
  }
  return [...bands, ...regionBands(of, y, folded ? 1 : of.regions.length)];
}

function foldedNow(ask: TrackAsk, key: string, usually: boolean): boolean {
  return ask.folded.has(key) ? !usually : usually;
}

function threadPut(rows: Rows, ask: TrackAsk, thread: TraceThread, of: ThreadLanes, pinned: boolean): void {
  const key = `t${thread.index}`;
  const folded = foldedNow(ask, key, false);
  rows.put(
    {
      key: pinned ? `!${key}` : key,
      kind: "thread",
      process: thread.process,
      thread: thread.index,
      indent: pinned ? 0 : 1,
      foldable: of.regions.length > 1,
      folded,
      pinned: ask.pins.includes(key),
      bands: threadBands(of, folded),
      losses: of.losses,
    },
    DEPTH_PX + 5,
  );
}

function counterPut(rows: Rows, process: number, lanes: readonly Lane[]): void {
  const first = lanes[0];
  if (first === undefined) return;
  const band: Band = { kind: "counter", depth: 0, lanes, y: 2, height: COUNTER_PX };
  rows.put(
    { key: `c${first.id}`, kind: "counter", process, thread: first.thread, indent: 1, bands: [band] },
    COUNTER_PX + 4,
  );
}

function sampleCount(of: ThreadLanes): number {
  return of.samples.reduce((sum, lane) => sum + lane.rows, 0);
}

/* Of a process without regions: the thread that ran most on CPUs, by samples. */
function mostSampled(of: ProcessLanes): ThreadLanes | undefined {
  return [...of.threads.values()].reduce<ThreadLanes | undefined>((most, one) => (sampleCount(one) > (most === undefined ? 0 : sampleCount(most)) ? one : most), undefined);
}

/* The thread that a folded process shows: the one with the most time that was no waiting. */
function busiest(ask: TrackAsk, of: ProcessLanes): ThreadLanes | undefined {
  let best: ThreadLanes | undefined;
  let most = -1;
  for (const [thread, lanes] of of.threads) {
    const working = ask.working.get(thread) ?? lanes.busy;
    if (thread >= 0 && lanes.regions.length > 0 && working > most) [best, most] = [lanes, working];
  }
  return best;
}

function processPut(rows: Rows, ask: TrackAsk, process: TraceProcess, of: ProcessLanes | undefined, folded: boolean, pinned: boolean): void {
  const key = `p${process.index}`;
  const top = of === undefined || !folded ? undefined : busiest(ask, of);
  const own = of?.threads.get(-1);
  const bands: Band[] = [];
  if (top !== undefined) bands.push(...regionBands(top, 4, 1));
  else if (own !== undefined && own.marks.length > 0)
    bands.push({ kind: "mark", depth: 0, lanes: own.marks, y: 8, height: MARK_PX });
  else if (of !== undefined && folded) {
    const lanes = mostSampled(of)?.samples ?? [];
    if (lanes.length > 0) bands.push({ kind: "sample", depth: 0, lanes, y: 7, height: SAMPLE_PX });
  }
  rows.put(
    {
      key: pinned ? `!${key}` : key,
      kind: "process",
      process: process.index,
      thread: -1,
      foldable: true,
      folded,
      pinned: ask.pins.includes(key),
      bands,
      losses: own?.losses ?? [],
    },
    PROCESS_PX,
  );
}

/* Threads of a process: those that work, the most first; then those that only wait. */
function threadsOf(ask: TrackAsk, process: number, of: ProcessLanes): { working: TraceThread[]; waiting: TraceThread[] } {
  const working: [TraceThread, number, number][] = []; /* time at work, samples */
  const waiting: TraceThread[] = [];
  for (const thread of ask.threads) {
    if (thread.process !== process) continue;
    const lanes = of.threads.get(thread.index);
    if (lanes === undefined || !(lanes.regions.length > 0 || [lanes.state, lanes.marks, lanes.samples, lanes.losses].some((list) => list.length > 0))) continue;
    const known = ask.working.get(thread.index);
    if (known === 0 && lanes.losses.length === 0 && lanes.marks.length === 0 && lanes.samples.length === 0) waiting.push(thread);
    else working.push([thread, known ?? lanes.busy, sampleCount(lanes)]);
  }
  working.sort((a, b) => b[1] - a[1] || b[2] - a[2] || a[0].index - b[0].index);
  return { working: working.map(([thread]) => thread), waiting };
}

function insidePut(rows: Rows, ask: TrackAsk, process: TraceProcess, of: ProcessLanes): void {
  const { working, waiting } = threadsOf(ask, process.index, of);
  const single = waiting.length === 1; /* a line for one is no shorter than the one */
  for (const thread of single ? [...working, ...waiting] : working) {
    const lanes = of.threads.get(thread.index);
    if (lanes !== undefined) threadPut(rows, ask, thread, lanes, false);
  }
  const counters = [...of.counters.values()];
  counters.sort((a, b) => ask.typeNames(a[0]?.number ?? 0).localeCompare(ask.typeNames(b[0]?.number ?? 0)));
  for (const lanes of counters) if (!isVital(lanes)) counterPut(rows, process.index, lanes);
  vitalsPut(rows, ask, process.index, counters.filter(isVital));
  if (waiting.length > 1) idlePut(rows, ask, process.index, waiting, of);
}

function isVital(lanes: readonly Lane[]): boolean {
  return lanes[0]?.evidence === true;
}

/* Counters that the agent tells of are many, and one line until they are asked for. */
function vitalsPut(rows: Rows, ask: TrackAsk, process: number, vitals: readonly (readonly Lane[])[]): void {
  if (vitals.length === 0) return;
  const key = `v${process}`;
  const folded = foldedNow(ask, key, true);
  const words = `${vitals.length} ${vitals.length === 1 ? "counter" : "counters"} of host and process`;
  rows.put({ key, kind: "vitals", process, thread: -1, indent: 1, foldable: true, folded, words }, 20);
  if (!folded) for (const lanes of vitals) counterPut(rows, process, lanes);
}

function idlePut(rows: Rows, ask: TrackAsk, process: number, waiting: readonly TraceThread[], of: ProcessLanes): void {
  const key = `i${process}`;
  const folded = foldedNow(ask, key, true);
  const idle = waiting.map((thread) => thread.index);
  rows.put({ key, kind: "idle", process, thread: -1, indent: 1, foldable: true, folded, idle }, 20);
  if (folded) return;
  for (const thread of waiting) {
    const lanes = of.threads.get(thread.index);
    if (lanes !== undefined) threadPut(rows, ask, thread, lanes, false);
  }
}

function pinnedPut(rows: Rows, ask: TrackAsk, all: Map<number, ProcessLanes>): void {
  if (ask.pins.length === 0) return;
  rows.put({ key: "!pins", kind: "heading", process: -1, thread: -1, words: "Pinned" }, 18);
  for (const pin of ask.pins) {
    const number = Number(pin.slice(1));
    if (pin.startsWith("p")) {
      const process = ask.processes.find((one) => one.index === number);
      if (process !== undefined) processPut(rows, ask, process, all.get(number), true, true);
      continue;
    }
    const thread = ask.threads.find((one) => one.index === number);
    const lanes = thread === undefined ? undefined : all.get(thread.process)?.threads.get(number);
    if (thread !== undefined && lanes !== undefined) threadPut(rows, ask, thread, lanes, true);
  }
  rows.put({ key: "!rest", kind: "heading", process: -1, thread: -1, words: "All tracks" }, 18);
}

/* What stands in the place of the tracks of a process that is open and not there. */
function noteOf(process: TraceProcess): string {
  switch (process.loaded) {
    case "nothing":
    case "queued":
      return "waiting to be read";
    case "around":
      return "being read";
    case "let-go":
      return "let go, as memory was needed; it is read again";
    case "failed":
      return "could not be read";
    case "whole":
      return process.events > 0 ? "nothing of it can be drawn" : "no events";
  }
}

export function tracksOf(ask: TrackAsk): Tracks {
  const rows = new Rows(ask.titleAbove);
  const all = byProcess(ask.lanes, ask.threads);
  const order = processOrder(ask.processes, ask.fired, ask.differs);
  pinnedPut(rows, ask, all);
  for (const process of order) {
    const of = all.get(process.index);
    const folded = foldedNow(ask, `p${process.index}`, foldedUsually(process.index, order));
    processPut(rows, ask, process, of, folded, false);
    if (folded) continue;
    const before = rows.rows.length;
    if (of !== undefined) insidePut(rows, ask, process, of);
    if (rows.rows.length === before || process.loaded === "failed" || process.loaded === "let-go")
      rows.put(
        { key: `n${process.index}`, kind: "note", process: process.index, thread: -1, indent: 1, words: noteOf(process) },
        20,
      );
  }
  return { rows: rows.rows, height: rows.y };
}

/* ---- what is where ---- */

/* The first row that ends below y; rows.length: none. */
export function rowAt(rows: readonly Row[], y: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    if (row !== undefined && row.y + row.height <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function rowsBetween(rows: readonly Row[], from: number, to: number): readonly Row[] {
  const first = rowAt(rows, from);
  let end = first;
  while (end < rows.length && (rows[end]?.y ?? Infinity) < to) end++;
  return rows.slice(first, end);
}

/* The band of a row at y of the row; a band's lower neighbour pixel is its own. */
export function bandAt(row: Row, y: number): Band | undefined {
  return row.bands.find((band) => y >= band.y - 1 && y <= band.y + band.height);
}
