// SPDX-License-Identifier: Apache-2.0
// A trace that is made and not read: it keeps the contract of src/trace/trace.ts with numbers of its own, so that the
// timeline is tested, measured and looked at without a collector. Never shipped.
import { signal } from "@preact/signals";
import type {
  EventDetails, EventFilter, EventPage, EventRef, FlameNode, JsonObject, Lane, SearchResult, SpanStats, Trace,
  TraceGap, TraceProcess, TraceState, TraceThread, TraceType, View, ViewAsk, Window,
} from "../../src/trace/trace";

export interface MadeRow {
  lane: number;
  from: number;
  to: number;
  type: number;
  value: number; /* of counters; severity of marks */
}

export interface MadeAsk {
  processes: number;
  threads: number;
  rows: number; /* regions of depth 0 of a thread */
  hostile?: boolean;
}

const NAMES = ["request", "read", "write", "take_from_stock", "sleep", "epoll_wait", "query", "commit", "parse", "log"];
const GROUPS = ["", "net", "io", "", "sleep", "net", "", "io", "", "log"];
export const MADE_LENGTH = 12_000_000_000;
export const MADE_AT = 10_000_000_000;
const HOSTILE = "<img src=x onerror=alert(1)>\u202e\u0007";

/* Park and Miller's; the same numbers each time. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

function typesOf(hostile: boolean): TraceType[] {
  const types = NAMES.map((name, index): TraceType => ({
    index, name: hostile && index === 0 ? HOSTILE : name, text: "", file: "shop.c", line: 30 + index, class: index === 9 ? "log" : "region",
    group: 0, groupName: GROUPS[index] ?? "", args: [],
  }));
  types.push({ index: 10, name: "queue length", text: "", file: "", line: 0, class: "counter", group: 0, groupName: "", args: [] });
  return types;
}

class Made {
  readonly lanes: Lane[] = [];
  readonly rows: MadeRow[][] = [];
  readonly threads: TraceThread[] = [];
  readonly processes: TraceProcess[] = [];

  lane(process: number, thread: number, kind: Lane["kind"], number: number): number {
    const id = this.lanes.length;
    this.lanes.push({
      id, process, thread, kind, number, layer: 0, evidence: kind === "state", rows: 0, hasRows: true, cellNs: 1, busyNs: 0,
      longestNs: 0, least: 0, most: 0, from: 0, to: MADE_LENGTH,
    });
    this.rows.push([]);
    return id;
  }

  put(lane: number, from: number, to: number, type: number, value = 0): void {
    this.rows[lane]!.push({ lane, from, to, type, value });
    const of = this.lanes[lane]!;
    of.rows++;
    of.busyNs += to - from;
    of.longestNs = Math.max(of.longestNs, to - from);
    of.least = Math.min(of.least, value);
    of.most = Math.max(of.most, value);
  }
}

function threadMake(made: Made, process: number, thread: number, rows: number, idle: boolean): void {
  const random = randomOf(1 + process * 131 + thread * 17);
  const state = made.lane(process, thread, "state", 1);
  const blocked = made.lane(process, thread, "state", 3);
  const depth = [0, 1, 2].map((d) => made.lane(process, thread, "region", d));
  const marks = made.lane(process, thread, "mark", 0);
  const each = MADE_LENGTH / rows;
  for (let i = 0; i < rows; i++) {
    const from = Math.floor(i * each + random() * each * 0.2);
    const slow = !idle && Math.abs(from - (MADE_AT - 2e9)) < each && process === 0 && thread < 2;
    const length = Math.floor(slow ? each * 0.75 : each * (0.1 + random() * 0.6));
    made.put(depth[0]!, from, from + length, idle ? 5 : 0);
    made.put(state, from, from + Math.floor(length / 2), 1);
    made.put(blocked, from + Math.floor(length / 2), from + length, 3);
    if (idle) continue;
    const middle = from + Math.floor(length * 0.4);
    made.put(depth[1]!, from + 10, middle, 1 + Math.floor(random() * 4));
    made.put(depth[1]!, middle + 5, from + length - 10, 6 + Math.floor(random() * 3));
    made.put(depth[2]!, from + 20, from + 20 + Math.floor((middle - from) * 0.5), slow ? 4 : 3);
    if (i % 50 === 0) made.put(marks, from, from, 9, 1 + Math.floor(random() * 4));
  }
}

function processMake(made: Made, index: number, ask: MadeAsk): void {
  const host = index < 2 ? "web-1" : `web-${1 + (index % 3)}`;
  const service = index % 2 === 0 ? "shop" : "redis";
  made.processes.push({
    index, id: (index + 1).toString(16).padStart(32, "0"), pid: 7998 + index, host, service, labels: "region=eu,tier=front",
    exe: `/usr/bin/${service}`, from: index === 3 ? 4e9 : 0, to: MADE_LENGTH, events: ask.threads * ask.rows * 4, lost: index === 1 ? 20 : 0,
    bytes: 3_200_000, clockErrorNs: index < 2 ? 0 : index === 2 ? 1_200_000 : null, death: null, loaded: "whole",
    bytesDone: 3_200_000, problem: null,
  });
  for (let t = 0; t < ask.threads; t++) {
    const thread = made.threads.length;
    const name = ask.hostile === true && t === 0 ? HOSTILE : `worker-${t}`;
    made.threads.push({ index: thread, process: index, tid: 8000 + thread, name, evidence: false });
    threadMake(made, index, thread, ask.rows, t > 0 && t >= ask.threads - 2);
  }
  const counter = made.lane(index, -1, "counter", 10);
  for (let i = 0; i < 600; i++) made.put(counter, i * 2e7, i * 2e7, 10, 20 + 15 * Math.sin(i / 20) + (i > 450 ? i - 450 : 0));
  if (index === 1) {
    const loss = made.lane(index, -1, "loss", 0);
    made.put(loss, 3e9, 3.4e9, 257);
  }
}

/* ---- views ---- */

interface Item {
  from: number;
  to: number;
  longest: number;
  share: number;
  type: number;
  least: number;
  most: number;
  last: number;
  severity: number;
  row: number;
}

function itemOfRow(row: MadeRow, kind: Lane["kind"]): Item {
  const mark = kind === "mark";
  return {
    from: row.from, to: row.to, longest: row.to - row.from, share: 1, type: row.type, least: row.value, most: row.value,
    last: row.value, severity: mark ? row.value : 0, row: 1,
  };
}

function joined(a: Item, row: MadeRow, cell: number): Item {
  const length = row.to - row.from;
  return {
    ...a, to: Math.max(a.to, row.to), longest: Math.max(a.longest, length), share: Math.min(1, a.share + length / cell),
    type: length > a.longest ? row.type : a.type, least: Math.min(a.least, row.value), most: Math.max(a.most, row.value),
    last: row.value, severity: Math.max(a.severity, row.value), row: 0,
  };
}

/* Rows sorted by begin; those between by bisection. */
function itemsOf(rows: readonly MadeRow[], kind: Lane["kind"], ask: ViewAsk): Item[] {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle]!.to < ask.from) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (end < rows.length && rows[end]!.from < ask.to) end++;
  if (end - low <= ask.width) return rows.slice(low, end).map((row) => itemOfRow(row, kind));
  const cell = (ask.to - ask.from) / ask.width;
  const items: Item[] = [];
  let at = -1;
  for (let k = low; k < end; k++) {
    const row = rows[k]!;
    const now = Math.floor((row.from - ask.from) / cell);
    const last = items[items.length - 1];
    if (now === at && last !== undefined) items[items.length - 1] = joined(last, row, cell);
    else items.push({ ...itemOfRow(row, kind), share: Math.min(1, (row.to - row.from) / cell), row: 0 });
    at = now;
  }
  return items;
}

function viewOf(made: Made, ask: ViewAsk, generation: number): View {
  const all = ask.lanes.map((id) => itemsOf(made.rows[id] ?? [], made.lanes[id]?.kind ?? "region", ask));
  const first = new Uint32Array(all.length + 1);
  all.forEach((items, i) => (first[i + 1] = first[i]! + items.length));
  const flat = all.flat();
  return {
    ask, generation, first,
    from: Float64Array.from(flat, (item) => item.from),
    to: Float64Array.from(flat, (item) => item.to),
    longest: Float32Array.from(flat, (item) => item.longest),
    share: Float32Array.from(flat, (item) => item.share),
    least: Float32Array.from(flat, (item) => item.least),
    most: Float32Array.from(flat, (item) => item.most),
    last: Float32Array.from(flat, (item) => item.last),
    type: Uint32Array.from(flat, (item) => item.type),
    severity: Uint8Array.from(flat, (item) => item.severity),
    row: Uint8Array.from(flat, (item) => item.row),
  };
}

/* ---- events ---- */

interface Event extends MadeRow {
  process: number;
  thread: number;
  depth: number;
  kind: number;
}

function eventsOf(made: Made): Event[] {
  const events: Event[] = [];
  made.lanes.forEach((lane, id) => {
    if (lane.kind !== "region" && lane.kind !== "mark") return;
    for (const row of made.rows[id]!)
      events.push({ ...row, process: lane.process, thread: lane.thread, depth: lane.number, kind: lane.kind === "mark" ? 5 : 2 });
  });
  return events.sort((a, b) => a.from - b.from || a.depth - b.depth);
}

function columns(events: readonly Event[]): Omit<EventPage, "total" | "first" | "reachable"> {
  return {
    process: Uint32Array.from(events, (e) => e.process),
    thread: Int32Array.from(events, (e) => e.thread),
    type: Int32Array.from(events, (e) => e.type),
    kind: Uint8Array.from(events, (e) => e.kind),
    depth: Uint32Array.from(events, (e) => e.depth),
    begin: Float64Array.from(events, (e) => e.from),
    length: Float64Array.from(events, (e) => e.to - e.from),
  };
}

/* Words that must be in the name, and "dur>" with ms. */
function matcher(text: string, types: readonly TraceType[]): (event: Event) => boolean {
  const words = text.split(/\s+/).filter((word) => word !== "");
  return (event) =>
    words.every((word) => {
      const dur = /^dur>=?([\d.]+)(ns|us|ms|s)?$/.exec(word);
      if (dur === null) return (types[event.type]?.name ?? "").includes(word.replace(/^(name[:=])?"?|"$/g, ""));
      const unit = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[dur[2] ?? "ns"] ?? 1;
      return event.to - event.from >= Number(dur[1]) * unit;
    });
}

function flameOf(): FlameNode {
  const leaf = (name: string, totalNs: number, children: FlameNode[] = []): FlameNode => ({ name, count: totalNs / 1e6, totalNs, children });
  return leaf("", 1e9, [
    leaf("main", 9e8, [leaf("serve", 8e8, [leaf("take_from_stock", 5e8, [leaf("nanosleep", 4e8)]), leaf("parse", 2e8)]), leaf("log", 5e7)]),
    leaf("start_thread", 1e8, [leaf("flush", 1e8)]),
  ]);
}

class MadeTrace implements Trace {
  readonly state;
  readonly processes;
  readonly threads;
  readonly types;
  readonly lanes;
  readonly gaps;
  readonly origin = signal(1_795_471_000_000_000_000n);
  readonly length = signal(MADE_LENGTH);
  readonly at = signal<number | null>(MADE_AT);
  private all: Event[] | undefined;

  constructor(private readonly made: Made, hostile: boolean) {
    const gap: TraceGap = { reason: "missing", process: 1, from: 3e9, to: 3.4e9, bytes: 0, what: "a partition is missing (F-12)" };
    this.state = signal<TraceState>({
      phase: "idle", bytesDone: 12_582_912, bytesTotal: 32_505_856, rows: 1000, rowsBound: 20_000_000, letGo: 0, problem: null, generation: 1,
    });
    this.processes = signal<readonly TraceProcess[]>(made.processes);
    this.threads = signal<readonly TraceThread[]>(made.threads);
    this.types = signal<readonly TraceType[]>(typesOf(hostile));
    this.lanes = signal<readonly Lane[]>(made.lanes);
    this.gaps = signal<readonly TraceGap[]>(made.processes.length > 1 ? [gap] : []);
  }

  private events_(): Event[] {
    return (this.all ??= eventsOf(this.made));
  }

  want(): void {}
  stop(): void {}
  retry(): void {}
  close(): void {}

  async view(ask: ViewAsk): Promise<View | null> {
    await Promise.resolve();
    return viewOf(this.made, ask, 1);
  }

  private refOf(event: Event): EventRef {
    const tid = this.made.threads[event.thread]?.tid ?? 0;
    return { process: event.process, tid, begin: event.from, length: event.to - event.from, depth: event.depth };
  }

  private near(event: Event, ref: EventRef, depth: number): boolean {
    return event.process === ref.process && event.depth === depth && this.refOf(event).tid === ref.tid && event.kind === 2;
  }

  async details(ref: EventRef): Promise<EventDetails | null> {
    await Promise.resolve();
    const all = this.events_();
    const same = all.filter((e) => e.process === ref.process && e.depth === ref.depth && this.refOf(e).tid === ref.tid);
    const event = same.reduce<Event | undefined>((best, e) => {
      const away = (x: Event): number => Math.abs(x.from - ref.begin) + Math.abs(x.to - x.from - ref.length);
      return best === undefined || away(e) < away(best) ? e : best;
    }, undefined);
    if (event === undefined) return null;
    const told = (e: Event) => ({ ref: this.refOf(e), type: e.type, name: this.types.value[e.type]?.name ?? "" });
    const around = all.filter((e) => e.depth < event.depth && this.near(e, ref, e.depth) && e.from <= event.from && e.to >= event.to);
    const inside = all.filter((e) => this.near(e, ref, event.depth + 1) && e.from >= event.from && e.to <= event.to);
    const type = this.types.value[event.type]!;
    return {
      ref: this.refOf(event), kind: event.kind === 2 ? "region" : "log", type: event.type, name: type.name, file: type.file, line: type.line,
      thread: event.thread,
      args: [
        { name: "pieces", unit: "", value: 5, pointer: false, cut: false },
        { name: "note", unit: "", value: HOSTILE, pointer: false, cut: true },
      ],
      frames: [{ function: "take_from_stock", file: "/src/shop.c", line: 38, module: "shop", address: "0x4011a0", inlined: false }],
      framesLeftOut: 2, stackEnd: "ended", fixedUp: false, beginClipped: false, endClipped: false, evidence: false,
      enclosing: around.map(told), inside: inside.map(told), loss: null,
    };
  }

  async search(text: string): Promise<SearchResult> {
    await Promise.resolve();
    const found = this.events_().filter(matcher(text, this.types.value));
    return { ...columns(found.slice(0, 10000)), total: found.length, kept: Math.min(found.length, 10000), notSearched: 0 };
  }

  async events(window: Window, filter: EventFilter, page: { first: number; count: number }): Promise<EventPage> {
    await Promise.resolve();
    const matches = matcher(filter.text ?? "", this.types.value);
    const found = this.events_().filter(
      (e) =>
        e.to >= window.from && e.from < window.to && matches(e) &&
        (window.threads === undefined || window.threads.includes(e.thread)),
    );
    if (filter.order === "length") found.sort((a, b) => b.to - b.from - (a.to - a.from));
    return { ...columns(found.slice(page.first, page.first + page.count)), total: found.length, first: page.first, reachable: found.length };
  }

  async span(window: Window): Promise<SpanStats> {
    await Promise.resolve();
    const groups = new Map<string, number[]>();
    for (const e of this.events_())
      if (e.kind === 2 && e.to >= window.from && e.to < window.to && (window.processes?.includes(e.process) ?? true)) {
        const key = `${e.process} ${e.type}`;
        groups.set(key, [...(groups.get(key) ?? []), e.to - e.from]);
      }
    const names = [...groups].map(([key, lengths]) => {
      const [process, type] = key.split(" ").map(Number) as [number, number];
      lengths.sort((a, b) => a - b);
      const at = (q: number): number => lengths[Math.min(lengths.length - 1, Math.floor(q * lengths.length))]!;
      const totalNs = lengths.reduce((a, b) => a + b, 0);
      return {
        process, service: this.made.processes[process]!.service, name: this.types.value[type]?.name ?? "", group: 0, count: lengths.length,
        totalNs, selfNs: totalNs / 2, idleNs: 0, open: 0, openNs: 0, p50Ns: at(0.5), p90Ns: at(0.9), p99Ns: at(0.99),
        maxNs: lengths[lengths.length - 1]!, levels: [], examples: [],
      };
    });
    names.sort((a, b) => b.selfNs - a.selfNs);
    return { names, events: this.events_().length, missing: [] };
  }

  async flame(): Promise<FlameNode> {
    await Promise.resolve();
    return flameOf();
  }

  async report(): Promise<JsonObject> {
    await Promise.resolve();
    return {};
  }

  async diff(): Promise<JsonObject> {
    await Promise.resolve();
    return {
      version: 2, outcome: "changed", outcome_words: "1 change is sure", notes: [],
      changes: [
        { kind: "wait", service: "redis", name: "sleep", words: "redis: sleep came 1 time in 2.94 s", sure: false, size: 0.6,
          before: { count: 0, rate: 0, busy: 0, p99_ns: 0, max_ns: 0 }, after: { count: 1, rate: 0.34, busy: 0.68, p99_ns: 2e9, max_ns: 2e9 } },
      ],
    };
  }

  lossText(reason: number): string {
    return reason === 257 ? "a partition is missing" : "records were lost";
  }
}

export function madeTrace(ask: MadeAsk): Trace {
  const made = new Made();
  for (let index = 0; index < ask.processes; index++) processMake(made, index, ask);
  return new MadeTrace(made, ask.hostile === true);
}
