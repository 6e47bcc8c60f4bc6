/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace in the worker: which processes are there, what is loaded and in which order, and the answers to
 * pages' questions. Owns the reader's instance and all pieces in it.
 *
 *   want ─▶ queued ─▶ around (what lies around `at`, 400,000 events at most) ─▶ whole ─▶ let-go
 *                       └────────────── a problem: failed ◀──────────────┘        └─ want: again
 *
 * One process is loaded at a time, in steps of some milliseconds; questions are answered in between. For
 * the worker (worker.ts) and for tests; never touches a page.
 */
import { Analysis, type Material } from "./analysis";
import { detailsOf } from "./details";
import type { Question, Update } from "./messages";
import { Names } from "./names";
import { ended, type Facts, Opened, PieceLanes } from "./pieces";
import { type Found, linesOf, Merge, MOST_ROWS, rowsIn, rowsSlice } from "./rows";
import { captureBytes, captureFacts, problemOf } from "./sources";
import type {
  CaptureSource, EventDetails, EventPage, EventRef, Loaded, SearchResult, TraceProcess, TraceState, View, ViewAsk,
  Window,
} from "./trace";
import { joined } from "./views";
import { Reader } from "./wasm";

export const ROWS_BOUND = 20_000_000;
const AROUND_EVENTS = 400_000;
const LANES_BYTES = 512 * 1024 * 1024; /* of one process: rows are 16 bytes, and their pyramid */
const LOSS_REASONS = 32;
const NO_PROCESS = 0xffffffff;

export type ModuleName = "trace" | "analysis";

/* What of a process is in memory. */
interface Held {
  opened: Opened;
  lanes: PieceLanes;
  own: boolean; /* opened is of this process alone, and goes with it */
  touched: number;
}

export class Engine {
  readonly names = new Names();
  private reader: Reader | null = null;
  private readonly analysis: Analysis;
  private readonly processes: TraceProcess[] = [];
  private readonly held = new Map<number, Held>();
  private opening: File | ArrayBuffer | CaptureSource | null = null; /* until it is open */
  private source: ArrayBuffer | CaptureSource | null = null;
  private file: Opened | null = null;
  private origin = 0n;
  private length = 0;
  private at: number | null = null;
  private queue: number[] = [];
  private current = -1; /* being loaded */
  private stopped: number[] = []; /* that were wanted when loading was stopped */
  private busy = false;
  private loading: AbortController | null = null;
  private clock = 0;
  private sentTypes = 0;
  private closed = false;
  private lastRows: { key: string; found: Found } | null = null;
  private state: TraceState = {
    phase: "opening", bytesDone: 0, bytesTotal: 0, rows: 0, rowsBound: ROWS_BOUND, letGo: 0, problem: null,
    generation: 0,
  };

  constructor(
    private readonly load: (name: ModuleName) => Promise<WebAssembly.Module>,
    private readonly tell: (update: Update) => void,
    private readonly rowsBound = ROWS_BOUND,
  ) {
    this.analysis = new Analysis(() => load("analysis"));
    this.state.rowsBound = rowsBound;
  }

  /* ---- opening ---- */

  async open(source: File | ArrayBuffer | CaptureSource): Promise<void> {
    this.opening = source;
    this.processes.length = 0;
    try {
      this.reader = await Reader.start(await this.load("trace"));
      if ("capture" in source) await this.openCapture(source);
      else await this.openFile(source);
      if (this.closed) return;
      this.opening = null;
      this.change({ phase: "idle" });
      this.tell({
        opened: { origin: this.origin, length: this.length, at: this.at },
        processes: [...this.processes],
        lossTexts: this.lossTexts(),
      });
      const first = this.firstWanted(source);
      if (first >= 0) this.want([first]);
    } catch (error) {
      this.change({ phase: "failed", problem: problemOf(error) });
    }
  }

  private firstWanted(source: File | ArrayBuffer | CaptureSource): number {
    const asked = "capture" in source ? this.processes.findIndex((process) => process.id === source.process) : -1;
    if (asked >= 0) return asked;
    return this.processes.reduce((best, process) => {
      const known = this.processes[best];
      return known === undefined || process.events > known.events ? process.index : best;
    }, -1);
  }

  private lossTexts(): string[] {
    return Array.from({ length: LOSS_REASONS }, (_, reason) => {
      this.reader?.ask("api_loss_text", reason);
      return this.reader?.text() ?? "";
    });
  }

  private async openCapture(source: CaptureSource): Promise<void> {
    this.source = source;
    const facts = await captureFacts(source, this.aborter().signal);
    this.origin = facts.fromNs;
    this.length = Number(facts.toNs - facts.fromNs);
    this.at = Number(facts.atNs - facts.fromNs);
    for (const process of facts.processes)
      this.processes.push({
        index: this.processes.length,
        id: process.id,
        pid: process.pid,
        host: process.host,
        service: process.service,
        labels: "",
        exe: "",
        from: Number(process.fromNs - this.origin),
        to: Number(process.toNs - this.origin),
        events: process.events,
        lost: process.lost,
        bytes: process.bytes,
        clockErrorNs: process.clockErrorNs,
        death: null,
        loaded: "nothing",
        bytesDone: 0,
        problem: null,
      });
  }

  private async openFile(source: File | ArrayBuffer): Promise<void> {
    const name = source instanceof ArrayBuffer ? "file" : source.name;
    const bytes = new Uint8Array(source instanceof ArrayBuffer ? source : await source.arrayBuffer());
    this.change({ bytesTotal: bytes.byteLength });
    const opened = new Opened(this.need());
    try {
      opened.add(bytes, name);
      this.takeFacts(opened.facts());
      opened.window(this.origin, this.origin + BigInt(this.length));
    } catch (error) {
      opened.close();
      throw error;
    }
    opened.numbers.processes.push(...this.processes.map((process) => process.index));
    this.file = opened;
    this.change({ bytesTotal: 0 });
  }

  private takeFacts(facts: Facts): void {
    this.origin = BigInt(facts.from_ns);
    this.length = Number(BigInt(facts.to_ns) - this.origin);
    facts.processes.forEach((raw, index) => {
      const parts = facts.partitions.filter((part) => part.process === index);
      const sum = (of: (part: Facts["partitions"][number]) => number | string): number =>
        parts.reduce((total, part) => total + Number(of(part)), 0);
      this.processes.push({
        index,
        id: raw.id,
        pid: raw.pid,
        host: raw.host,
        service: raw.service,
        labels: raw.labels,
        exe: raw.exe,
        from: Number(BigInt(raw.from_ns) - this.origin),
        to: Number(BigInt(raw.to_ns) - this.origin),
        events: Number(raw.events),
        lost: sum((part) => part.lost),
        bytes: sum((part) => part.bytes),
        clockErrorNs: null,
        death: raw.death ?? null,
        loaded: "nothing",
        bytesDone: 0,
        problem: null,
      });
    });
  }

  /* ---- state ---- */

  private need(): Reader {
    if (this.reader === null || this.closed) throw ended();
    return this.reader;
  }

  private aborter(): AbortController {
    return (this.loading ??= new AbortController());
  }

  private change(what: Partial<TraceState>): void {
    if (this.closed) return;
    this.state = { ...this.state, ...what };
    this.tell({ state: this.state });
  }

  private processChange(index: number, what: Partial<TraceProcess>): void {
    const known = this.processes[index];
    if (known === undefined || this.closed) return;
    this.processes[index] = { ...known, ...what };
    this.tell({ processes: [...this.processes] });
  }

  /* What was drawn is old. */
  private lanesChange(): void {
    const all = [...this.held.values()];
    const { types } = this.names;
    this.tell({
      typesFrom: this.sentTypes,
      types: types.slice(this.sentTypes),
      threads: [...this.names.threads],
      lanes: all.flatMap((held) => held.lanes.lanes),
      gaps: all.flatMap((held) => held.lanes.gaps),
    });
    this.sentTypes = types.length;
    const rows = all.reduce((sum, held) => sum + held.lanes.rows, 0);
    this.change({ rows, generation: this.state.generation + 1 });
  }

  private learn(opened: Opened): void {
    opened.learn(this.names);
    if (this.names.types.length > this.sentTypes || opened.numbers.threads.length > 0) {
      const { types } = this.names;
      this.tell({ typesFrom: this.sentTypes, types: types.slice(this.sentTypes), threads: [...this.names.threads] });
      this.sentTypes = types.length;
    }
  }

  /* ---- loading ---- */

  want(processes: readonly number[], at?: number): void {
    if (at !== undefined) this.at = at;
    for (const index of processes) {
      const process = this.processes[index];
      const held = this.held.get(index);
      if (process === undefined) continue;
      if (held !== undefined) held.touched = ++this.clock;
      if (process.loaded === "whole" || this.queue.includes(index)) continue;
      if (index === this.current && this.loading?.signal.aborted !== true) continue;
      this.queue.push(index);
      if (process.loaded !== "around") this.processChange(index, { loaded: "queued", problem: null });
    }
    void this.run();
  }

  stop(): void {
    if (this.state.phase !== "loading") return;
    this.loading?.abort();
    this.stopped = [this.current, ...this.queue].filter((index) => index >= 0);
    for (const index of this.queue.splice(0)) this.processChange(index, { loaded: "nothing" });
    this.change({ phase: "stopped" });
  }

  /* What failed, and what was stopped; the whole where not even opening it has worked. */
  retry(): void {
    if (this.state.phase === "failed" && this.opening !== null) {
      this.change({ phase: "opening", problem: null });
      void this.open(this.opening);
      return;
    }
    const failed = this.processes.filter((one) => one.problem !== null).map((process) => process.index);
    this.change({ problem: null });
    this.want([...new Set([...failed, ...this.stopped])]);
  }

  private async run(): Promise<void> {
    if (this.busy || this.closed || this.queue.length === 0) return;
    this.busy = true;
    this.loading = new AbortController();
    const { signal } = this.loading;
    this.stopped = [];
    this.change({ phase: "loading", bytesDone: 0, bytesTotal: 0 });
    while (this.queue.length > 0 && !signal.aborted) {
      const index = this.queue.shift() ?? 0;
      this.current = index;
      const bytes = this.processes[index]?.bytes ?? 0;
      this.change({ bytesTotal: this.state.bytesTotal + bytes });
      const before = this.state.bytesDone;
      try {
        await this.loadProcess(index, signal, (done) => {
          this.change({ bytesDone: before + Math.min(done, bytes) });
        });
        this.change({ bytesDone: before + bytes });
      } catch (error) {
        this.loadFailed(index, error, signal.aborted);
      }
    }
    this.busy = false;
    this.current = -1;
    if (!signal.aborted) this.change({ phase: "idle" });
    else void this.run(); /* what was wanted since it was stopped */
  }

  private loadFailed(index: number, error: unknown, stopped: boolean): void {
    const loaded: Loaded = this.held.has(index) ? "around" : stopped ? "nothing" : "failed";
    if (stopped) {
      this.processChange(index, { loaded: this.queue.includes(index) ? "queued" : loaded });
      return;
    }
    const problem = problemOf(error);
    this.processChange(index, { loaded, problem });
    this.change({ problem });
  }

  private async loadProcess(index: number, signal: AbortSignal, done: (bytes: number) => void): Promise<void> {
    const process = this.processes[index];
    if (process === undefined) return;
    const around = process.events > AROUND_EVENTS && !this.held.has(index) ? this.aroundOf(process) : null;
    if (around !== null) {
      this.hold(index, await this.piece(process, around, signal, () => undefined));
      this.processChange(index, { loaded: "around" });
      this.lanesChange();
    }
    this.hold(index, await this.piece(process, null, signal, (bytes) => {
      this.processChange(index, { bytesDone: bytes });
      done(bytes);
    }));
    this.processChange(index, { loaded: "whole", bytesDone: process.bytes, problem: null });
    this.letGo(index);
    this.lanesChange();
  }

  /* As long as its events are as many as are drawn at once, were they even; of a file, its end. */
  private aroundOf(process: TraceProcess): { from: number; to: number } {
    const from = Math.max(process.from, 0);
    const to = Math.min(process.to, this.length);
    const length = Math.max(((to - from) * AROUND_EVENTS) / process.events, 1e6);
    const at = Math.min(Math.max(this.at ?? to, from), to);
    const begin = Math.max(from, Math.min(at - length / 2, to - length));
    return { from: begin, to: Math.min(begin + length, to) };
  }

  private async piece(
    process: TraceProcess,
    around: { from: number; to: number } | null,
    signal: AbortSignal,
    done: (bytes: number) => void,
  ): Promise<Held> {
    const own = this.file === null;
    const opened = own
      ? this.openedOf(await this.fetched(process, around, signal, done), process)
      : (this.file ?? new Opened(this.need()));
    let lanes: PieceLanes | null = null;
    try {
      const number = own ? NO_PROCESS : opened.numbers.processes.indexOf(process.index);
      const from = around?.from ?? -9e18;
      lanes = new PieceLanes(opened, number, from, around?.to ?? 9e18, LANES_BYTES);
      await lanes.fill(this.names, signal, (rows) => {
        if (!own) done(Math.min(1, rows / Math.max(process.events, 1)) * process.bytes);
      });
      return { opened, lanes, own, touched: ++this.clock };
    } catch (error) {
      lanes?.close();
      if (own) opened.close();
      throw error;
    }
  }

  private async fetched(
    process: TraceProcess,
    around: { from: number; to: number } | null,
    signal: AbortSignal,
    done: (bytes: number) => void,
  ): Promise<Uint8Array> {
    const source = this.source as CaptureSource;
    const instant = (ns: number): bigint => this.origin + BigInt(Math.round(ns));
    const between = around === null ? null : { from: instant(around.from), to: instant(around.to) };
    return captureBytes(source, process.id, between, signal, done);
  }

  private openedOf(bytes: Uint8Array, process: TraceProcess): Opened {
    const opened = new Opened(this.need());
    try {
      opened.add(bytes, process.id);
      opened.window(this.origin, this.origin + BigInt(this.length));
      const facts = opened.facts();
      opened.numbers.processes.push(
        ...facts.processes.map((raw) => this.processes.findIndex((known) => known.id === raw.id)),
      );
      const raw = facts.processes.find((one) => one.id === process.id);
      if (raw !== undefined)
        this.processChange(process.index, { labels: raw.labels, exe: raw.exe, death: raw.death ?? process.death });
      return opened;
    } catch (error) {
      opened.close();
      throw error;
    }
  }

  private hold(index: number, made: Held): void {
    this.drop(index);
    this.held.set(index, made);
  }

  private drop(index: number): void {
    const old = this.held.get(index);
    this.held.delete(index);
    old?.lanes.close();
    if (old?.own === true) old.opened.close();
    this.lastRows = null;
  }

  /* Beyond the bound those go that were not looked at for longest; the one that has just come stays. */
  private letGo(newest: number): void {
    const rows = (): number => [...this.held.values()].reduce((sum, held) => sum + held.lanes.rows, 0);
    while (rows() > this.rowsBound && this.held.size > 1) {
      let oldest = -1;
      for (const [index, held] of this.held)
        if (index !== newest && (oldest < 0 || held.touched < (this.held.get(oldest)?.touched ?? 0))) oldest = index;
      if (oldest < 0) return;
      this.drop(oldest);
      this.analysis.forget();
      this.processChange(oldest, { loaded: "let-go", bytesDone: 0 });
      this.change({ letGo: this.state.letGo + 1 });
    }
  }

  /* ---- questions ---- */

  answer(question: Question, signal: AbortSignal): Promise<unknown> | unknown {
    switch (question.op) {
      case "view":
        return this.view(question.ask);
      case "details":
        return this.details(question.ref);
      case "search":
        return this.search(question.text, signal);
      case "events":
        return this.events(question, signal);
      case "span":
        return this.analysed([question.window], (material) => this.analysis.span(material, question.window, signal));
      case "flame":
        return this.analysed([question.window], (material) => this.analysis.flame(material, question.window, question.of, signal));
      case "report":
        return this.analysed([question.window], (material) => this.analysis.report(material, question.window, signal));
      case "diff":
        return this.analysed([question.before, question.after], (material) =>
          this.analysis.diff(material, question.before, question.after, signal));
    }
  }

  view(ask: ViewAsk): View {
    this.need();
    const of = new Map<Held, number[]>();
    for (const held of this.held.values()) {
      const known = new Set(held.lanes.lanes.map((lane) => lane.id));
      const ids = ask.lanes.filter((id) => known.has(id));
      if (ids.length === 0) continue;
      held.touched = ++this.clock;
      of.set(held, ids);
    }
    const parts = [...of].map(([held, ids]) => ({ ids, items: held.lanes.view(ids, ask) }));
    return joined(ask, this.state.generation, parts);
  }

  details(ref: EventRef): EventDetails | null {
    const held = this.held.get(ref.process);
    const opened = held?.opened ?? this.file;
    if (held !== undefined) held.touched = ++this.clock;
    if (opened === null) return null;
    const made = detailsOf(opened, this.names, ref);
    this.learn(opened);
    return made;
  }

  private async search(text: string, signal: AbortSignal): Promise<SearchResult> {
    const found = await this.rows({ text, from: -9e18, to: 9e18, order: "begin", processes: undefined }, signal);
    const there = this.file !== null ? this.processes.length : this.wholeCount();
    return { ...found.rows, total: found.total, kept: found.rows.begin.length, notSearched: this.processes.length - there };
  }

  private wholeCount(): number {
    return this.processes.filter((process) => process.loaded === "whole").length;
  }

  private async events(question: Extract<Question, { op: "events" }>, signal: AbortSignal): Promise<EventPage> {
    const { window, filter, first, count } = question;
    const processes = filter.processes ?? window.processes;
    const ask = { text: filter.text ?? "", from: window.from, to: window.to, order: filter.order ?? "begin", processes, threads: this.tidsOf(window) };
    const key = JSON.stringify([ask, this.state.generation]);
    const found = this.lastRows?.key === key ? this.lastRows.found : await this.rows(ask, signal);
    this.lastRows = { key, found };
    const reachable = found.rows.begin.length;
    return { ...rowsSlice(found.rows, first, count), total: found.total, first, reachable };
  }

  /* Threads that a window names, as rows know them; those that are not there have no rows. */
  private tidsOf(window: Window): { process: number; tid: number }[] | undefined {
    return window.threads?.flatMap((index) => this.names.threads[index] ?? []).map(({ process, tid }) => ({ process, tid }));
  }

  private async rows(ask: Parameters<typeof rowsIn>[1], signal: AbortSignal): Promise<Found> {
    linesOf(ask); /* what is no search is told before anything is read */
    const traces = this.file !== null ? [this.file] : [...this.held.values()].map((held) => held.opened);
    for (const opened of traces) opened.hold(); /* a process may be read anew, or let go, between two steps */
    try {
      const merge = new Merge(ask.order);
      for (const opened of traces) await rowsIn(opened, ask, merge, () => this.learn(opened), signal);
      return merge.found;
    } finally {
      for (const opened of traces) opened.letGo();
    }
  }

  /* Asks about the processes of these windows, as far as they are there; none is freed meanwhile. */
  private async analysed<T>(windows: Window[], ask: (material: Material) => Promise<T>): Promise<T> {
    this.need();
    const asked = windows.every((window) => window.processes !== undefined)
      ? new Set(windows.flatMap((window) => window.processes ?? []))
      : null;
    const held = [...this.held].filter(([index]) => asked === null || asked.has(index));
    const traces = this.file !== null ? [this.file] : held.map(([, one]) => one.opened);
    if (traces.length === 0) throw new Error("Nothing of it is loaded yet.");
    for (const opened of traces) opened.hold();
    try {
      const key = this.file !== null ? "file" : held.map(([index, one]) => `${index}:${one.opened.bytes}`).join();
      return await ask(this.material(key, traces, asked));
    } finally {
      for (const opened of traces) opened.letGo();
    }
  }

  private material(key: string, traces: readonly Opened[], asked: ReadonlySet<number> | null): Material {
    const wanted = this.processes.filter((process) => asked === null || asked.has(process.index));
    const absent = this.file !== null ? [] : wanted.filter((process) => process.loaded !== "whole");
    return {
      key,
      files: traces.flatMap((opened) => opened.files),
      from: this.origin,
      to: this.origin + BigInt(this.length),
      ids: this.processes.map((process) => process.id),
      tids: (thread) => this.names.threads[thread] ?? null,
      missing: absent.length > 0 ? [`${absent.length} of ${wanted.length} processes are not loaded whole.`] : [],
    };
  }

  close(): void {
    this.closed = true;
    this.loading?.abort();
    this.queue = [];
    this.held.clear();
    this.reader = null; /* its memory goes with the instance */
  }
}

export { MOST_ROWS };
