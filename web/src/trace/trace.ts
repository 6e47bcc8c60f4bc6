/* SPDX-License-Identifier: Apache-2.0
 *
 * What pages see of a trace: one file that was dropped, or one capture of a collector, decoded in a
 * worker by the product's own reader (web/wasm). Owns no bytes: every answer is a copy that is the
 * caller's. Never touches the DOM.
 *
 * Times are ns as numbers since `origin` (the begin of the capture's window, or of the file's first
 * record): exact below 2^53, which is 104 days. Lengths are ns, too. Numbers of processes, threads and
 * types are the trace's own, count from 0, and never change while it is open; lists only grow.
 * Names, labels, arguments and sentences are what programs wrote: hostile text.
 */
import type { ReadonlySignal } from "@preact/signals";

/* ---- where a trace comes from ---- */

export interface CaptureSource {
  capture: string;
  /* Whose rows come first: a process's id. Without it the one that has most events. */
  process?: string;
}

export type TraceSource = File | ArrayBuffer | CaptureSource;

/* ---- state ---- */

/* opening: lists of processes are not there yet. loading: some process is being read. idle: all that
 * was wanted is there. */
export type Phase = "opening" | "loading" | "idle" | "stopped" | "failed" | "closed";

export interface Problem {
  text: string; /* a sentence */
  requestId?: string; /* of a collector's answer */
  status?: number; /* of that answer: 401, 404, … */
}

export interface TraceState {
  phase: Phase;
  bytesDone: number; /* of what was wanted so far; fetched, or read from the file, and decoded */
  bytesTotal: number;
  rows: number; /* in memory */
  rowsBound: number; /* beyond it, processes that were not looked at for longest are let go */
  letGo: number; /* how many processes were, and are to be read again when they are wanted */
  problem: Problem | null; /* the last one; of one process: its own `problem` */
  generation: number; /* grows with each change of lanes: what was drawn is old */
}

/* nothing: only what lists tell is known. around: what lies around `at` is there, the rest is coming.
 * whole: all of it is. let-go: was whole, and memory was needed. */
export type Loaded = "nothing" | "queued" | "around" | "whole" | "let-go" | "failed";

export interface TraceProcess {
  index: number;
  id: string; /* 32 hex digits */
  pid: number;
  host: string;
  service: string;
  labels: string; /* "k=v,…" */
  exe: string; /* "" until its bytes are there */
  from: number;
  to: number; /* of its records */
  events: number;
  lost: number;
  bytes: number;
  clockErrorNs: number | null; /* how uncertain its host's offset is; null: unknown */
  death: { signal: number; status: number } | null;
  loaded: Loaded;
  bytesDone: number;
  problem: Problem | null;
}

export interface TraceThread {
  index: number;
  process: number;
  tid: number;
  name: string;
  evidence: boolean; /* it names what the agent tells of, beside the thread's own events */
}

export interface ArgType {
  name: string;
  unit: string;
  type: number; /* as in the format: text and numbers are told apart in details() */
}

export type EventClass = "region" | "instant" | "counter" | "log" | "span" | "other";

export interface TraceType {
  index: number;
  name: string;
  text: string; /* the site's own words; "" */
  file: string;
  line: number; /* 0: unknown */
  class: EventClass;
  group: number;
  groupName: string; /* net, io, lock, thread, sleep, …; "" for the program's own */
  args: ArgType[];
}

export type GapReason = "broken" | "missing" | "torn";

export interface TraceGap {
  reason: GapReason;
  process: number; /* -1: unknown */
  from: number;
  to: number; /* both 0: unknown */
  bytes: number; /* torn */
  what: string; /* a sentence: rule (F-n) and byte */
}

/* ---- lanes and what is drawn of them ---- */

/* sample: what ran on a CPU, as the agent saw it. */
export type LaneKind = "state" | "region" | "mark" | "counter" | "loss" | "sample";

export interface Lane {
  id: number; /* stays, also when more of the trace has come */
  process: number;
  thread: number; /* -1: of the process */
  kind: LaneKind;
  number: number; /* region: depth; counter: type; state: STATE_…; else 0 */
  layer: number; /* drawn above lanes of lower layers of the same place */
  evidence: boolean;
  rows: number; /* that it was given */
  hasRows: boolean; /* false: memory was short, cellNs is the finest that can be drawn */
  cellNs: number;
  busyNs: number;
  longestNs: number;
  least: number;
  most: number; /* of a counter */
  from: number;
  to: number;
}

export interface ViewAsk {
  from: number;
  to: number;
  width: number; /* pixels: at most so many items a lane */
  lanes: readonly number[]; /* ids */
}

/* Types of items of lanes that are no regions. */
export const STATE_RUNNING = 1;
export const STATE_RUNNABLE = 2;
export const STATE_BLOCKED = 3;
/* loss: from LOSS_GAP on a gap (1 broken, 2 missing, 3 torn), LOSS_SCHED: records of the scheduler;
 * below: a reason of the format (Trace.lossText). */
export const LOSS_GAP = 256;
export const LOSS_SCHED = 512;

/* Items of lane i of the question are from first[i] up to first[i + 1], in time order. Fresh arrays,
 * the caller's. */
export interface View {
  ask: ViewAsk;
  generation: number;
  first: Uint32Array;
  from: Float64Array;
  to: Float64Array;
  longest: Float32Array; /* ns, of rows that touch it */
  share: Float32Array; /* busy, 0 to 1; of marks and samples: how many */
  least: Float32Array;
  most: Float32Array;
  last: Float32Array; /* of a counter */
  type: Uint32Array; /* of the longest; states and losses: see above */
  severity: Uint8Array; /* of marks: 1 + level of a log, 0: an instant */
  row: Uint8Array; /* 1: it is one row, and no cell */
}

/* ---- events ---- */

/* The name of samples of the CPU: instants that the agent tells of, with the stack of what ran. */
export const SAMPLE = "cpu.sample";

/* Names an event so that it is found again in another tab: Lengths of lanes are rounded to short
 * floats; the event that fits best is meant. */
export interface EventRef {
  process: number;
  tid: number; /* 0: of the process */
  begin: number;
  length: number;
  depth: number;
}

export type RowKind = "begin" | "region" | "instant" | "counter" | "log" | "open" | "loss" | "end-only";

export interface EventArg {
  name: string;
  unit: string;
  value: string | number | bigint | boolean; /* bigint: beyond 2^53 */
  pointer: boolean;
  cut: boolean; /* the text was longer */
}

export interface Frame {
  function: string; /* "": unknown */
  file: string;
  line: number;
  module: string;
  address: string; /* 0x… */
  inlined: boolean;
}

export interface EventDetails {
  ref: EventRef;
  kind: RowKind;
  type: number; /* -1: a loss */
  name: string;
  file: string;
  line: number;
  thread: number; /* -1: of the process */
  args: EventArg[];
  frames: Frame[];
  framesLeftOut: number;
  stackEnd: string; /* how the walk ended; "" where there is no stack */
  fixedUp: boolean; /* its time was raised, so that it is not before its cause */
  beginClipped: boolean;
  endClipped: boolean;
  evidence: boolean;
  enclosing: { ref: EventRef; type: number; name: string }[]; /* the outermost first */
  inside: { ref: EventRef; type: number; name: string }[]; /* its direct children, the longest 50 */
  insideLeftOut: number; /* children that are not among them */
  insideCut: boolean; /* only a part of its time was searched for children: it is too large */
  loss: { reason: string; records: number } | null; /* records 0: unknown */
}

/* Rows in columns; fresh arrays. What the agent told (evidence) is not among them. */
export interface EventRows {
  process: Uint32Array;
  thread: Int32Array; /* -1: of the process */
  type: Int32Array; /* -1: none */
  kind: Uint8Array; /* number of ROW_KINDS */
  depth: Uint32Array;
  begin: Float64Array;
  length: Float64Array;
}

export const ROW_KINDS: readonly RowKind[] = [
  "begin", "begin", "region", "instant", "counter", "log", "open", "loss", "end-only",
];

export interface SearchResult extends EventRows {
  total: number; /* that match; the arrays hold the first `kept` by begin */
  kept: number;
  /* Processes that were not searched, because they are not there (whole). */
  notSearched: number;
}

export type EventOrder = "begin" | "length";

export interface EventFilter {
  text?: string; /* the search grammar; "" : all */
  order?: EventOrder; /* begin: the earliest first; length: the longest first */
  processes?: readonly number[];
}

export interface EventPage extends EventRows {
  total: number;
  first: number;
  /* Rows that could be paged to: `total`, or less where there are more than are kept. */
  reachable: number;
}

/* ---- what a stretch of time came to ---- */

export interface Window {
  from: number;
  to: number;
  processes?: readonly number[]; /* only these; without it all that are there */
  threads?: readonly number[];
}

export interface SpanName {
  process: number;
  service: string;
  name: string;
  group: number;
  count: number; /* that ended in the window */
  totalNs: number;
  selfNs: number;
  idleNs: number;
  open: number; /* in progress at the window's end */
  openNs: number;
  p50Ns: number;
  p90Ns: number;
  p99Ns: number;
  maxNs: number;
  levels: readonly (readonly [number, number])[]; /* [shortest ns, how many] */
  examples: readonly { at: number; lengthNs: number; pid: number; tid: number }[];
}

export interface SpanStats {
  names: SpanName[]; /* the most self time first */
  events: number;
  missing: string[]; /* what is not there, in sentences */
}

export interface FlameNode {
  name: string;
  count: number;
  totalNs: number;
  children: FlameNode[]; /* the most first */
}

export type FlameOf = "samples" | "waits";

/* Documents of docs/analysis.md and docs/diff.md, as skein's own commands print them. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/* ---- the trace ---- */

export interface Trace {
  readonly state: ReadonlySignal<TraceState>;
  readonly processes: ReadonlySignal<readonly TraceProcess[]>;
  readonly threads: ReadonlySignal<readonly TraceThread[]>;
  readonly types: ReadonlySignal<readonly TraceType[]>;
  readonly lanes: ReadonlySignal<readonly Lane[]>; /* of what is there */
  readonly gaps: ReadonlySignal<readonly TraceGap[]>;
  /* Set once, when phase leaves "opening". UTC in ns. */
  readonly origin: ReadonlySignal<bigint>;
  readonly length: ReadonlySignal<number>; /* of the window, ns */
  readonly at: ReadonlySignal<number | null>; /* the failure; null: a file, which does not tell */

  /* Loads these, in this order; what lies around `at` comes first. Those that are there count as looked
   * at. Failures are in state and in each process. */
  want(processes: readonly number[], at?: number): void;
  stop(): void; /* loading; what is there stays */
  retry(): void; /* what failed or was stopped */

  /* Newest wins: a question that was overtaken before it was begun answers null. */
  view(ask: ViewAsk): Promise<View | null>;
  /* Null: there is no such event, or its process is not there. */
  details(ref: EventRef): Promise<EventDetails | null>;
  /* text: web/src/trace/search.ts. Rejects with AbortError by its signal, with SearchError for text
   * that is no search. */
  search(text: string, signal?: AbortSignal): Promise<SearchResult>;
  events(window: Window, filter: EventFilter, page: { first: number; count: number }): Promise<EventPage>;
  span(window: Window): Promise<SpanStats>;
  flame(window: Window, of: FlameOf): Promise<FlameNode>;
  report(window: Window): Promise<JsonObject>;
  diff(before: Window, after: Window): Promise<JsonObject>;
  lossText(reason: number): string;
  close(): void; /* idempotent; pending promises reject with AbortError */
}

/* `openTrace` of ./client is one. Never throws: what goes wrong is in `state`. */
export type OpenTrace = (source: TraceSource) => Trace;
