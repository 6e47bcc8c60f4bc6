/* SPDX-License-Identifier: Apache-2.0
 *
 * What a stretch of time came to: summaries, reports and differences by analysis/, in an instance of its
 * own (analysis.wasm) that is started when it is first asked. Owns that instance, and copies of the bytes
 * that were asked about last. For the worker alone.
 */
import { Opened, STEP, steps } from "./pieces";
import { type FlameNode, type FlameOf, type JsonObject, SAMPLE, type SpanName, type SpanStats, type Window } from "./trace";
import { Reader } from "./wasm";

const SUMMARY = 1;
const REPORT = 2;
const PART_BYTES = 32; /* struct api_part of trace_api.h */

/* The bytes that are asked about; `key` tells two such apart. */
export interface Material {
  key: string;
  files: { name: string; bytes: () => Uint8Array }[];
  from: bigint;
  to: bigint;
  ids: readonly string[]; /* of processes, by their number in the trace */
  tids: (thread: number) => { process: number; tid: number } | null;
  missing: string[];
}

type Number64 = number | string;

interface RawName {
  process?: string;
  service?: string;
  name: string;
  group?: number;
  count: Number64;
  total_ns: Number64;
  self_ns: Number64;
  idle_ns: Number64;
  open: Number64;
  open_ns: Number64;
  lasted?: {
    p50_ns: Number64;
    p90_ns: Number64;
    p99_ns: Number64;
    max_ns: Number64;
    levels: [number, number][];
    examples: { time_ns: Number64; dur_ns: Number64; pid: Number64; tid: Number64 }[];
  };
}

interface RawSummary {
  processes: { process: string; events: Number64 }[];
  names: RawName[];
  stacks: { name: string; stack?: string; count: Number64; total_ns: Number64 }[];
  losses: { reason?: number; records: Number64 }[];
  gaps: { what: string }[];
}

export class Analysis {
  private reader: Reader | null = null;
  private opened: Opened | null = null;
  private key = "";
  private turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly load: () => Promise<WebAssembly.Module>) {}

  /* One question after the other: they share the instance's memory. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const made = this.turn.then(work, work);
    this.turn = made.catch(() => undefined);
    return made;
  }

  private async open(material: Material): Promise<Opened> {
    this.reader ??= await Reader.start(await this.load());
    if (this.opened !== null && this.key === material.key) return this.opened;
    this.opened?.close();
    this.opened = null;
    const opened = new Opened(this.reader);
    try {
      for (const file of material.files) opened.add(file.bytes(), file.name);
      opened.window(material.from, material.to);
      const ids = opened.facts().processes.map((process) => process.id);
      opened.numbers.processes.push(...ids.map((id) => material.ids.indexOf(id)));
    } catch (error) {
      opened.close();
      throw error;
    }
    this.key = material.key;
    return (this.opened = opened);
  }

  /* struct api_part: from f64, to f64, two pointers, two counts; what they point to stands behind it. None of
   * either would be all of them: throws where those that are named are not there. */
  private part(opened: Opened, material: Material, window: Window): Uint8Array {
    const processes = (window.processes ?? [])
      .map((index) => opened.numbers.processes.indexOf(index))
      .filter((number) => number >= 0);
    const threads = (window.threads ?? []).flatMap((thread) => {
      const known = material.tids(thread);
      const process = known === null ? -1 : opened.numbers.processes.indexOf(known.process);
      return known === null || process < 0 ? [] : [process, known.tid];
    });
    if (window.processes !== undefined && processes.length === 0) throw new Error("None of the processes that were asked about is there.");
    if (window.threads !== undefined && threads.length === 0) throw new Error("None of the threads that were asked about is there.");
    const bytes = new Uint8Array(PART_BYTES + 4 * (processes.length + threads.length));
    const view = new DataView(bytes.buffer);
    view.setFloat64(0, window.from, true);
    view.setFloat64(8, window.to, true);
    view.setUint32(24, processes.length, true);
    view.setUint32(28, threads.length / 2, true);
    [...processes, ...threads].forEach((number, i) => view.setUint32(PART_BYTES + 4 * i, number, true));
    return bytes;
  }

  private jobNew(opened: Opened, material: Material, what: number, window: Window): number {
    const part = this.part(opened, material, window);
    const { reader } = opened;
    return reader.lend(part, (at) => {
      const pointers = new DataView(new ArrayBuffer(8));
      const processes = new DataView(part.buffer).getUint32(24, true);
      pointers.setUint32(0, at + PART_BYTES, true);
      pointers.setUint32(4, at + PART_BYTES + 4 * processes, true);
      reader.write(at + 16, new Uint8Array(pointers.buffer));
      return reader.make("api_job_new", opened.trace, what, at);
    });
  }

  private async job(opened: Opened, material: Material, what: number, window: Window, signal: AbortSignal): Promise<number> {
    const handle = this.jobNew(opened, material, what, window);
    try {
      await steps(() => opened.reader.ask("api_job_step", handle, STEP), signal);
    } catch (error) {
      opened.reader.call("api_job_free", handle);
      throw error;
    }
    return handle;
  }

  private document(material: Material, what: number, window: Window, signal: AbortSignal): Promise<unknown> {
    return this.inTurn(async () => {
      const opened = await this.open(material);
      const handle = await this.job(opened, material, what, window, signal);
      try {
        opened.reader.ask("api_job_json", handle);
        return opened.reader.json();
      } finally {
        opened.reader.call("api_job_free", handle);
      }
    });
  }

  async report(material: Material, window: Window, signal: AbortSignal): Promise<JsonObject> {
    return (await this.document(material, REPORT, window, signal)) as JsonObject;
  }

  async span(material: Material, window: Window, signal: AbortSignal): Promise<SpanStats> {
    const raw = (await this.document(material, SUMMARY, window, signal)) as RawSummary;
    const names = raw.names.map((name) => spanName(name, material));
    const lost = raw.losses.reduce((sum, loss) => sum + Number(loss.records), 0);
    const missing = [...material.missing, ...raw.gaps.map((gap) => gap.what)];
    if (lost > 0) missing.push(`${lost} records of this time are lost.`);
    return {
      names: names.sort((a, b) => b.selfNs - a.selfNs),
      events: raw.processes.reduce((sum, process) => sum + Number(process.events), 0),
      missing,
    };
  }

  async flame(material: Material, window: Window, of: FlameOf, signal: AbortSignal): Promise<FlameNode> {
    const raw = (await this.document(material, SUMMARY, window, signal)) as RawSummary;
    return flameOf(raw.stacks, of);
  }

  diff(material: Material, before: Window, after: Window, signal: AbortSignal): Promise<JsonObject> {
    return this.inTurn(async () => {
      const opened = await this.open(material);
      const { reader } = opened;
      const first = await this.job(opened, material, SUMMARY, before, signal);
      try {
        const second = await this.job(opened, material, SUMMARY, after, signal);
        try {
          reader.ask("api_jobs_diff", first, second);
          return reader.json() as JsonObject;
        } finally {
          reader.call("api_job_free", second);
        }
      } finally {
        reader.call("api_job_free", first);
      }
    });
  }

  /* Copies of bytes are not kept. */
  forget(): void {
    void this.inTurn(async () => {
      this.opened?.close();
      this.opened = null;
      return Promise.resolve();
    });
  }
}

function spanName(raw: RawName, material: Material): SpanName {
  const lasted = raw.lasted;
  return {
    process: raw.process === undefined ? -1 : material.ids.indexOf(raw.process),
    service: raw.service ?? "",
    name: raw.name,
    group: raw.group ?? 0,
    count: Number(raw.count),
    totalNs: Number(raw.total_ns),
    selfNs: Number(raw.self_ns),
    idleNs: Number(raw.idle_ns),
    open: Number(raw.open),
    openNs: Number(raw.open_ns),
    p50Ns: Number(lasted?.p50_ns ?? 0),
    p90Ns: Number(lasted?.p90_ns ?? 0),
    p99Ns: Number(lasted?.p99_ns ?? 0),
    maxNs: Number(lasted?.max_ns ?? 0),
    levels: lasted?.levels ?? [],
    examples: (lasted?.examples ?? []).map((example) => ({
      at: Number(BigInt(example.time_ns) - material.from),
      lengthNs: Number(example.dur_ns),
      pid: Number(example.pid),
      tid: Number(example.tid),
    })),
  };
}

/* Stacks, "innermost;…;outermost", as one tree from the outermost on. */
export function flameOf(stacks: RawSummary["stacks"], of: FlameOf): FlameNode {
  const root: FlameNode = { name: "", count: 0, totalNs: 0, children: [] };
  for (const row of stacks) {
    if (row.stack === undefined || (row.name === SAMPLE) !== (of === "samples")) continue;
    let node = root;
    const frames = row.stack.split(";").reverse();
    for (const frame of of === "waits" ? [...frames, row.name] : frames) {
      nodeAdd(node, row);
      let child = node.children.find((one) => one.name === frame);
      if (child === undefined) {
        child = { name: frame, count: 0, totalNs: 0, children: [] };
        node.children.push(child);
      }
      node = child;
    }
    nodeAdd(node, row);
  }
  sorted(root);
  return root;
}

function nodeAdd(node: FlameNode, row: { count: Number64; total_ns: Number64 }): void {
  node.count += Number(row.count);
  node.totalNs += Number(row.total_ns);
}

function sorted(node: FlameNode): void {
  node.children.sort((a, b) => b.totalNs - a.totalNs || b.count - a.count);
  for (const child of node.children) sorted(child);
}
