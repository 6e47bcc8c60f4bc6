/* SPDX-License-Identifier: Apache-2.0
 *
 * One event with all that is known of it: the reader's answer in the words of trace.ts. For the worker
 * alone; no state.
 */
import type { Names } from "./names";
import type { Opened } from "./pieces";
import { type EventArg, type EventDetails, type EventRef, type Frame, ROW_KINDS } from "./trace";

interface RawNear {
  type: number;
  depth: number;
  begin: number;
  length: number;
}

interface RawDetails extends Omit<RawNear, "type"> {
  kind: number;
  flags: number;
  type?: number;
  thread?: number;
  loss_reason?: string;
  lost?: number | string;
  args: { name: string; unit: string; type: number; value: string | number | boolean; cut?: boolean; whole?: boolean }[];
  frames: Frame[];
  frames_left_out: number;
  stack_end: string;
  enclosing: RawNear[];
  inside: RawNear[];
  inside_left_out: number | string;
  inside_cut?: boolean;
}

const POINTER = 5;
const FIXED_UP = 1;
const BEGIN_CLIPPED = 2;
const END_CLIPPED = 4;
const EVIDENCE = 8;

/* A whole number of 64 bits comes as text. */
function wholeOf(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

function argOf(raw: RawDetails["args"][number]): EventArg {
  const whole = raw.whole === true && typeof raw.value === "string";
  return {
    name: raw.name,
    unit: raw.unit,
    value: whole ? wholeOf(String(raw.value)) : raw.value,
    pointer: raw.type === POINTER,
    cut: raw.cut === true,
  };
}

export function detailsOf(opened: Opened, names: Names, ref: EventRef): EventDetails | null {
  const { reader, numbers } = opened;
  const process = numbers.processes.indexOf(ref.process);
  if (process < 0) return null;
  const { tid, begin, length, depth } = ref;
  if (reader.find("api_details", opened.trace, process, tid, begin, length, depth) === null) return null;
  const raw = reader.json() as RawDetails;
  opened.learn(names);
  const typeOf = (type: number | undefined): number => (type === undefined ? -1 : (numbers.types[type] ?? -1));
  const near = (row: RawNear): EventDetails["inside"][number] => {
    const type = typeOf(row.type);
    const made: EventRef = { process: ref.process, tid, begin: row.begin, length: row.length, depth: row.depth };
    return { ref: made, type, name: names.types[type]?.name ?? "" };
  };
  const type = typeOf(raw.type);
  const known = names.types[type];
  return {
    ref: { process: ref.process, tid, begin: raw.begin, length: raw.length, depth: raw.depth },
    kind: ROW_KINDS[raw.kind] ?? "region",
    type,
    name: known?.name ?? "",
    file: known?.file ?? "",
    line: known?.line ?? 0,
    thread: raw.thread === undefined ? -1 : (numbers.threads[raw.thread] ?? -1),
    args: raw.args.map(argOf),
    frames: raw.frames,
    framesLeftOut: raw.frames_left_out,
    stackEnd: raw.stack_end,
    fixedUp: (raw.flags & FIXED_UP) !== 0,
    beginClipped: (raw.flags & BEGIN_CLIPPED) !== 0,
    endClipped: (raw.flags & END_CLIPPED) !== 0,
    evidence: (raw.flags & EVIDENCE) !== 0,
    enclosing: raw.enclosing.map(near),
    inside: raw.inside.map(near).sort((a, b) => b.ref.length - a.ref.length),
    insideLeftOut: Number(raw.inside_left_out),
    insideCut: raw.inside_cut === true,
    loss: raw.loss_reason === undefined ? null : { reason: raw.loss_reason, records: Number(raw.lost ?? 0) },
  };
}
