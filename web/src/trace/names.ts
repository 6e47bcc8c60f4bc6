/* SPDX-License-Identifier: Apache-2.0
 *
 * Types, threads and lanes of a trace that is read from many pieces: each piece numbers them anew, pages
 * see one numbering that only grows. Owns the lists; what it is given is JSON of web/wasm/trace_api.c.
 */
import type { ArgType, EventClass, Lane, LaneKind, TraceThread, TraceType } from "./trace";

export interface RawType {
  name: string;
  text: string;
  file: string;
  line: number;
  class: number;
  group: number;
  group_name: string;
  args: ArgType[];
}

export interface RawThread {
  process: number;
  tid: number;
  incarnation: string;
  evidence: boolean;
  name: string;
}

export interface RawLane {
  process: number;
  thread?: number;
  kind: number;
  number: number;
  layer: number;
  evidence: boolean;
  rows: number | string;
  has_rows: boolean;
  cell: number;
  busy: number;
  longest: number;
  least: number;
  most: number;
  from: number;
  to: number;
}

/* Numbers of a piece → of the trace. */
export interface Numbers {
  types: number[];
  threads: number[];
  processes: number[];
}

const CLASSES: readonly EventClass[] = ["other", "instant", "region", "span", "counter", "log", "other"];
const KINDS: readonly LaneKind[] = ["state", "state", "region", "mark", "counter", "loss", "sample"];

export class Names {
  readonly types: TraceType[] = [];
  readonly threads: TraceThread[] = [];
  private readonly typeOf = new Map<string, number>();
  private readonly threadOf = new Map<string, number>();
  private readonly laneOf = new Map<string, number>();

  takeTypes(raw: readonly RawType[], numbers: Numbers): void {
    for (const type of raw) {
      const key = JSON.stringify(type);
      let index = this.typeOf.get(key);
      if (index === undefined) {
        index = this.types.length;
        this.typeOf.set(key, index);
        this.types.push({
          index,
          name: type.name,
          text: type.text,
          file: type.file,
          line: type.line,
          class: CLASSES[type.class] ?? "other",
          group: type.group,
          groupName: type.group === 0 ? "" : type.group_name,
          args: type.args,
        });
      }
      numbers.types.push(index);
    }
  }

  /* The last name of a thread is the one that is shown. */
  takeThreads(raw: readonly RawThread[], numbers: Numbers): void {
    for (const thread of raw) {
      const process = numbers.processes[thread.process] ?? -1;
      const key = `${process}/${thread.tid}/${thread.incarnation}/${thread.evidence}`;
      let index = this.threadOf.get(key);
      const known = index === undefined ? undefined : this.threads[index];
      if (index === undefined || known === undefined) {
        index = this.threads.length;
        this.threadOf.set(key, index);
        this.threads.push({ index, process, tid: thread.tid, name: thread.name, evidence: thread.evidence });
      } else if (thread.name !== "" && thread.name !== known.name) {
        this.threads[index] = { ...known, name: thread.name };
      }
      numbers.threads.push(index);
    }
  }

  lane(raw: RawLane, numbers: Numbers): Lane {
    const kind = KINDS[raw.kind] ?? "region";
    const process = numbers.processes[raw.process] ?? -1;
    const thread = raw.thread === undefined ? -1 : (numbers.threads[raw.thread] ?? -1);
    const number = kind === "counter" ? (numbers.types[raw.number] ?? 0) : raw.number;
    const key = `${process}/${thread}/${kind}/${number}/${raw.layer}`;
    const id = this.laneOf.get(key) ?? this.laneOf.size;
    this.laneOf.set(key, id);
    return {
      id,
      process,
      thread,
      kind,
      number,
      layer: raw.layer,
      evidence: raw.evidence,
      rows: Number(raw.rows),
      hasRows: raw.has_rows,
      cellNs: raw.cell,
      busyNs: raw.busy,
      longestNs: raw.longest,
      least: raw.least,
      most: raw.most,
      from: raw.from,
      to: raw.to,
    };
  }
}
