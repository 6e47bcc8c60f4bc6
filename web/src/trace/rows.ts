/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that match a search, in columns: asked of one opened trace, step by step, and merged over several.
 * Owns a handle for the length of a question. For the worker alone.
 */
import { ended, type Opened, pause, STEP, steps } from "./pieces";
import { parseSearch, searchLines } from "./search";
import type { EventOrder, EventRows } from "./trace";

export const MOST_ROWS = 200_000;
const ROWS_AT_ONCE = 25_000;
const NONE = 0xffffffff;

export interface Found {
  rows: EventRows;
  total: number;
}

export function rowsOf(n: number): EventRows {
  return {
    process: new Uint32Array(n),
    thread: new Int32Array(n),
    type: new Int32Array(n),
    kind: new Uint8Array(n),
    depth: new Uint32Array(n),
    begin: new Float64Array(n),
    length: new Float64Array(n),
  };
}

/* The columns of an answer of api_search_rows, to a place among `rows`. */
function rowsTake(opened: Opened, answer: ArrayBuffer, n: number, rows: EventRows, at: number): void {
  const { numbers } = opened;
  rows.begin.set(new Float64Array(answer, 0, n), at);
  rows.length.set(new Float64Array(answer, 8 * n, n), at);
  const process = new Uint32Array(answer, 16 * n, n);
  const thread = new Uint32Array(answer, 20 * n, n);
  const type = new Uint32Array(answer, 24 * n, n);
  rows.depth.set(new Uint32Array(answer, 28 * n, n), at);
  rows.kind.set(new Uint8Array(answer, 32 * n, n), at);
  for (let i = 0; i < n; i++) {
    rows.process[at + i] = numbers.processes[process[i] ?? 0] ?? 0;
    rows.thread[at + i] = thread[i] === NONE ? -1 : (numbers.threads[thread[i] ?? 0] ?? -1);
    rows.type[at + i] = type[i] === NONE ? -1 : (numbers.types[type[i] ?? 0] ?? -1);
  }
}

/* All that a search has kept, some at a time: others have their turn. */
async function rowsTaken(opened: Opened, handle: number, signal: AbortSignal): Promise<EventRows> {
  const { reader } = opened;
  const rows = rowsOf(reader.call("api_search_kept", handle));
  for (let at = 0; at < rows.begin.length; at += ROWS_AT_ONCE) {
    if (signal.aborted) throw ended();
    const n = reader.ask("api_search_rows", handle, at, ROWS_AT_ONCE);
    rowsTake(opened, reader.bytes(), n, rows, at);
    await pause();
  }
  return rows;
}

export interface RowsAsk {
  text: string;
  from: number;
  to: number;
  order: EventOrder;
  processes: readonly number[] | undefined; /* of the trace */
  threads?: readonly { process: number; tid: number }[] | undefined; /* of the trace; undefined: all */
}

/* Throws SearchError before anything is read. */
export function linesOf(ask: RowsAsk): string {
  return searchLines(parseSearch(ask.text));
}

/* Lines of processes and threads, a question each; none where nothing of them is in this trace. */
function roundsOf(opened: Opened, ask: RowsAsk): string[] {
  const only = ask.processes?.map((index) => opened.numbers.processes.indexOf(index)).filter((i) => i >= 0);
  if (ask.threads === undefined) return only === undefined ? [""] : only.map((process) => `process\t=\t${process}\n`);
  const rounds = ask.threads.map(({ process, tid }) => ({ process: opened.numbers.processes.indexOf(process), tid }));
  const there = rounds.filter(({ process }) => process >= 0 && (only === undefined || only.includes(process)));
  return [...new Set(there.map(({ process, tid }) => `process\t=\t${process}\ntid\t=\t${tid}\n`))];
}

/* What lies behind it is counted alone, once as many rows are there as are kept. */
function lastOf(found: Found, order: EventOrder): number {
  return (order === "length" ? found.rows.length : found.rows.begin).at(-1) ?? 0;
}

/* Adds what is found in one more trace. */
export async function rowsIn(opened: Opened, ask: RowsAsk, merge: Merge, learn: () => void, signal: AbortSignal): Promise<void> {
  const { reader } = opened;
  const rounds = roundsOf(opened, ask);
  for (const round of rounds) {
    const lines = new TextEncoder().encode(linesOf(ask) + round);
    const order = ask.order === "length" ? 1 : 0;
    const handle = reader.lend(lines, (at) =>
      reader.make("api_search_new", opened.trace, at, lines.byteLength, ask.from, ask.to, order, MOST_ROWS),
    );
    try {
      const { found } = merge;
      if (found.rows.begin.length === MOST_ROWS) reader.call("api_search_bound", handle, lastOf(found, ask.order));
      await steps(() => reader.ask("api_search_step", handle, STEP), signal);
      learn();
      const total = reader.call("api_search_total", handle);
      merge.add({ rows: await rowsTaken(opened, handle, signal), total });
    } finally {
      reader.call("api_search_free", handle);
    }
  }
}

/* The first MOST_ROWS of all, in order, of which each is in order already. Two sets of columns take turns: each is
 * some MB, and a capture has many processes. */
export class Merge {
  found: Found = { rows: rowsOf(0), total: 0 };
  private spare = rowsOf(0);

  constructor(private readonly order: EventOrder) {}

  add(one: Found): void {
    const before = this.found.rows;
    this.found = pairMerged(this.found, one, this.order, this.spare);
    if (this.found.rows !== before) this.spare = before;
  }
}

function isBefore(a: EventRows, i: number, b: EventRows, k: number, order: EventOrder): boolean {
  const [longer, shorter] = [a.length[i] ?? 0, b.length[k] ?? 0];
  if (order === "length" && longer !== shorter) return longer > shorter;
  return (a.begin[i] ?? 0) < (b.begin[k] ?? 0);
}

/* In `spare`, where that is as long. */
function pairMerged(a: Found, b: Found, order: EventOrder, spare: EventRows): Found {
  const total = a.total + b.total;
  const [left, right] = [a.rows.begin.length, b.rows.begin.length];
  if (left === 0 || right === 0) return { rows: left === 0 ? b.rows : a.rows, total };
  const picks = new Int32Array(Math.min(left + right, MOST_ROWS)); /* i: row i of a; ~k: row k of b */
  for (let at = 0, i = 0, k = 0; at < picks.length; at++) {
    const first = k === right || (i < left && !isBefore(b.rows, k, a.rows, i, order));
    picks[at] = first ? i++ : ~k++;
  }
  const rows = spare.begin.length === picks.length ? spare : rowsOf(picks.length);
  picked(a.rows.process, b.rows.process, picks, rows.process);
  picked(a.rows.thread, b.rows.thread, picks, rows.thread);
  picked(a.rows.type, b.rows.type, picks, rows.type);
  picked(a.rows.kind, b.rows.kind, picks, rows.kind);
  picked(a.rows.depth, b.rows.depth, picks, rows.depth);
  picked(a.rows.begin, b.rows.begin, picks, rows.begin);
  picked(a.rows.length, b.rows.length, picks, rows.length);
  return { rows, total };
}

type Column = Uint32Array | Int32Array | Uint8Array | Float64Array;

/* One column at a time: some ms for all that are kept, where a row at a time took 25. */
function picked<T extends Column>(a: T, b: T, picks: Int32Array, into: T): void {
  for (let at = 0; at < picks.length; at++) {
    const pick = picks[at] ?? 0;
    into[at] = (pick >= 0 ? a[pick] : b[~pick]) ?? 0;
  }
}

/* A stretch of them, as fresh arrays. */
export function rowsSlice(rows: EventRows, first: number, count: number): EventRows {
  const end = first + count;
  return {
    process: rows.process.slice(first, end),
    thread: rows.thread.slice(first, end),
    type: rows.type.slice(first, end),
    kind: rows.kind.slice(first, end),
    depth: rows.depth.slice(first, end),
    begin: rows.begin.slice(first, end),
    length: rows.length.slice(first, end),
  };
}
