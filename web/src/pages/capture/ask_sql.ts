// SPDX-License-Identifier: Apache-2.0
// Questions to a capture in SQL (docs/sql.md): what tables of this page are made from. One at a time for a tab, as each
// takes one of the collector's few places; asked again where there was none.
import { Refused, type Schemas, part, send } from "../../api/client";
import { nsOf } from "../../ui/timeline_link";

export interface Row {
  text: (name: string) => string;
  number: (name: string) => number; /* NaN: none */
  ns: (name: string) => bigint;
  has: (name: string) => boolean;
}

export interface Rows {
  rows: Row[];
  more: boolean; /* there are further rows: the collector's bound */
  gaps: number; /* parts that could not be read */
}

const NO_NS = 0n;

function rowOf(columns: ReadonlyMap<string, number>, cells: readonly unknown[]): Row {
  const cell = (name: string): unknown => cells[columns.get(name) ?? -1];
  return {
    text: (name) => (cell(name) === null || cell(name) === undefined ? "" : String(cell(name))),
    number: (name) => (cell(name) === null || cell(name) === undefined ? NaN : Number(cell(name))),
    ns: (name) => nsOf(cell(name)) ?? NO_NS,
    has: (name) => cell(name) !== null && cell(name) !== undefined,
  };
}

let turn: Promise<unknown> = Promise.resolve();

/* Runs when those before it are done. */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const mine = turn.then(work, work);
  turn = mine.catch(() => undefined);
  return mine;
}

const TRIES = 5;
const PAUSE_MS = 1000;

async function asked(capture: string, query: string, signal: AbortSignal): Promise<Schemas["Rows"]> {
  for (let left = TRIES; ; left--) {
    signal.throwIfAborted();
    try {
      return await send<Schemas["Rows"]>("POST", `/captures/${part(capture)}/sql`, { body: { query }, signal });
    } catch (error) {
      const busy = error instanceof Refused && error.type.endsWith(":busy");
      if (!busy || left <= 1) throw error;
      await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
  }
}

export async function askSql(capture: string, query: string, signal: AbortSignal): Promise<Rows> {
  const answer = await inTurn(() => asked(capture, query, signal));
  const columns = new Map(answer.columns.map((column, i) => [column.name, i]));
  const rows = answer.rows as readonly (readonly unknown[])[];
  return { rows: rows.map((cells) => rowOf(columns, cells)), more: answer.more, gaps: answer.gaps.length };
}

/* A text as a literal. */
export function quoted(text: string): string {
  return `'${text.replaceAll("\u0000", "").replaceAll("'", "''")}'`;
}
