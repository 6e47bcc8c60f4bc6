/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of a trace in the reader's memory: an opened trace of some bytes, and the lanes of one of its
 * processes. Owns handles, and frees them. Work is done in steps, between which `pause` lets messages in;
 * `signal` ends it. For the worker alone.
 */
import { Names, type Numbers, type RawLane, type RawThread, type RawType } from "./names";
import type { Lane, TraceGap, ViewAsk } from "./trace";
import type { Reader } from "./wasm";

export const STEP = 2; /* batches of 4,096 rows: half a ms to one */
const SLICE_MS = 4;

export interface RawProcess {
  id: string;
  pid: number;
  host: string;
  service: string;
  labels: string;
  exe: string;
  from_ns: string;
  to_ns: string;
  events: number | string;
  death?: { signal: number; status: number };
}

export interface RawPartition {
  process: number;
  bytes: number | string;
  lost: number | string;
  events: number | string;
  evidence: boolean;
}

export interface Facts {
  from_ns: string;
  to_ns: string;
  processes: RawProcess[];
  partitions: RawPartition[];
}

/* The next turn of the event loop: messages that have come are taken before it goes on. Under Node, whose
 * loop ends when nothing holds it, the port holds it while somebody waits. */
const turns: (() => void)[] = [];
const channel = new MessageChannel();
const port = channel.port1 as MessagePort & { ref?: () => void; unref?: () => void };
port.onmessage = (): void => {
  turns.shift()?.();
  if (turns.length === 0) port.unref?.();
};
port.unref?.();

export function pause(): Promise<void> {
  return new Promise((go) => {
    port.ref?.();
    turns.push(go);
    channel.port2.postMessage(null);
  });
}

export function ended(): DOMException {
  return new DOMException("It was stopped.", "AbortError");
}

/* Runs `step` until it says that there is no more, in slices of SLICE_MS: what a page asks meanwhile, as a view, is
 * answered between two. */
export async function steps(step: () => number, signal: AbortSignal, told?: () => void): Promise<void> {
  for (;;) {
    if (signal.aborted) throw ended();
    const end = performance.now() + SLICE_MS;
    let more = true;
    while (more && performance.now() < end) more = step() === 1;
    told?.();
    if (!more) return;
    await pause();
  }
}

/* ---- an opened trace ---- */

export class Opened {
  readonly trace: number;
  readonly numbers: Numbers = { types: [], threads: [], processes: [] };
  private readonly memory: { name: string; at: number; bytes: number }[] = [];
  private closed = false;
  private holders = 0;

  constructor(readonly reader: Reader) {
    this.trace = reader.make("api_trace_new");
  }

  /* Takes a copy of the bytes, which is the only one that stays. */
  add(bytes: Uint8Array, name: string): void {
    const at = this.reader.put(bytes);
    this.memory.push({ name, at, bytes: bytes.byteLength });
    this.reader.lend(new TextEncoder().encode(`${name}\0`), (text) =>
      this.reader.ask("api_trace_add", this.trace, at, bytes.byteLength, text),
    );
  }

  /* What it is of, until it is freed: who asks holds it. Views, which last until the reader is called. */
  get files(): { name: string; bytes: () => Uint8Array }[] {
    return this.memory.map(({ name, at, bytes }) => ({ name, bytes: () => this.reader.read(at, bytes) }));
  }
  get bytes(): number {
    return this.memory.reduce((sum, file) => sum + file.bytes, 0);
  }

  facts(): Facts {
    this.reader.ask("api_trace_facts", this.trace);
    return this.reader.json() as Facts;
  }

  window(from: bigint, to: bigint): void {
    this.reader.ask("api_trace_window", this.trace, from, to);
  }

  /* What cursors have come upon since the last time. */
  learn(names: Names): void {
    this.reader.ask("api_trace_names", this.trace, this.numbers.types.length, this.numbers.threads.length);
    const raw = this.reader.json() as { types: RawType[]; threads: RawThread[] };
    names.takeTypes(raw.types, this.numbers);
    names.takeThreads(raw.threads, this.numbers);
  }

  /* Who walks it step by step holds it meanwhile: close() frees it when the last has let it go. */
  hold(): void {
    this.holders++;
  }

  letGo(): void {
    this.holders--;
    if (this.closed && this.holders === 0) this.free();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    if (this.holders === 0) this.free();
  }

  private free(): void {
    this.reader.call("api_trace_free", this.trace);
    for (const { at } of this.memory) this.reader.free(at);
  }
}

/* ---- lanes of one process ---- */

interface RawGap {
  reason: TraceGap["reason"];
  process?: number;
  from: number;
  to: number;
  bytes: number | string;
  what: string;
}

export interface Items {
  first: Uint32Array;
  from: Float64Array;
  to: Float64Array;
  longest: Float32Array;
  share: Float32Array;
  least: Float32Array;
  most: Float32Array;
  last: Float32Array;
  type: Uint32Array;
  severity: Uint8Array;
  row: Uint8Array;
}

/* The columns of an answer of api_lanes_view. */
export function itemsOf(answer: ArrayBuffer, lanes: number, n: number): Items {
  let at = Math.floor((lanes + 2) / 2) * 8;
  const place = (bytes: number): number => {
    const from = at;
    at += bytes;
    return from;
  };
  return {
    first: new Uint32Array(answer, 0, lanes + 1),
    from: new Float64Array(answer, place(8 * n), n),
    to: new Float64Array(answer, place(8 * n), n),
    longest: new Float32Array(answer, place(4 * n), n),
    share: new Float32Array(answer, place(4 * n), n),
    least: new Float32Array(answer, place(4 * n), n),
    most: new Float32Array(answer, place(4 * n), n),
    last: new Float32Array(answer, place(4 * n), n),
    type: new Uint32Array(answer, place(4 * n), n),
    severity: new Uint8Array(answer, place(n), n),
    row: new Uint8Array(answer, place(n), n),
  };
}

export class PieceLanes {
  lanes: Lane[] = [];
  gaps: TraceGap[] = [];
  rows = 0;
  private readonly handle: number;
  private readonly placeOf = new Map<number, number>(); /* of a lane's id in the list */
  private closed = false;

  constructor(
    readonly opened: Opened,
    process: number,
    from: number,
    to: number,
    mostBytes: number,
  ) {
    this.handle = opened.reader.make("api_lanes_new", opened.trace, process, from, to, mostBytes);
  }

  /* Reads what there is; `told` hears how many rows have come. */
  async fill(names: Names, signal: AbortSignal, told: (rows: number) => void): Promise<void> {
    const { reader } = this.opened;
    const count = (): number => reader.call("api_lanes_rows", this.handle);
    await steps(
      () => (this.closed ? 0 : reader.ask("api_lanes_step", this.handle, STEP)),
      signal,
      () => told(this.closed ? 0 : count()),
    );
    if (this.closed) throw ended();
    this.opened.learn(names);
    this.rows = count();
    this.list(names);
  }

  private list(names: Names): void {
    const { reader, numbers } = this.opened;
    reader.ask("api_lanes_list", this.handle);
    const raw = reader.json() as { lanes: RawLane[]; gaps: RawGap[] };
    this.lanes = raw.lanes.map((lane, place) => {
      const made = names.lane(lane, numbers);
      this.placeOf.set(made.id, place);
      return made;
    });
    this.gaps = raw.gaps.map((gap) => ({
      reason: gap.reason,
      process: gap.process === undefined ? -1 : (numbers.processes[gap.process] ?? -1),
      from: gap.from,
      to: gap.to,
      bytes: Number(gap.bytes),
      what: gap.what,
    }));
  }

  /* Items of these lanes, which are all of this piece; types are the trace's. */
  view(ids: readonly number[], ask: ViewAsk): Items {
    const { reader, numbers } = this.opened;
    const places = Uint32Array.from(ids, (id) => this.placeOf.get(id) ?? 0xffffffff);
    const bytes = new Uint8Array(places.buffer);
    const n = reader.lend(bytes, (at) =>
      reader.ask("api_lanes_view", this.handle, at, ids.length, ask.from, ask.to, Math.ceil(ask.width)),
    );
    const items = itemsOf(reader.bytes(), ids.length, n);
    ids.forEach((id, i) => {
      const lane = this.lanes[this.placeOf.get(id) ?? -1];
      if (lane === undefined || lane.kind === "state" || lane.kind === "loss") return;
      const end = items.first[i + 1] ?? 0;
      for (let k = items.first[i] ?? 0; k < end; k++)
        items.type[k] = numbers.types[items.type[k] ?? 0] ?? 0;
    });
    return items;
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.opened.reader.call("api_lanes_free", this.handle);
  }
}
