/* SPDX-License-Identifier: Apache-2.0
 *
 * The page's side of a trace: signals that follow what the worker tells, and questions to it. Owns the
 * worker, and ends it with close().
 */
import { type Signal, signal } from "@preact/signals";
import type { FromWorker, Question, ToWorker, Update } from "./messages";
import { SearchError } from "./search";
import type {
  EventDetails, EventFilter, EventPage, EventRef, FlameNode, FlameOf, JsonObject, Lane, SearchResult, SpanStats, Trace,
  TraceGap, TraceProcess, TraceSource, TraceState, TraceThread, TraceType, View, ViewAsk, Window,
} from "./trace";

interface Pending {
  take: (value: unknown) => void;
  fail: (error: Error) => void;
}

function aborted(): DOMException {
  return new DOMException("It was stopped.", "AbortError");
}

const FIRST: TraceState = {
  phase: "opening", bytesDone: 0, bytesTotal: 0, rows: 0, rowsBound: 0, letGo: 0, problem: null, generation: 0,
};

class TraceClient implements Trace {
  readonly state: Signal<TraceState> = signal(FIRST);
  readonly processes: Signal<readonly TraceProcess[]> = signal([]);
  readonly threads: Signal<readonly TraceThread[]> = signal([]);
  readonly types: Signal<readonly TraceType[]> = signal([]);
  readonly lanes: Signal<readonly Lane[]> = signal([]);
  readonly gaps: Signal<readonly TraceGap[]> = signal([]);
  readonly origin: Signal<bigint> = signal(0n);
  readonly length: Signal<number> = signal(0);
  readonly at: Signal<number | null> = signal<number | null>(null);
  private worker: Worker;
  private dead = false; /* the worker has failed, and answers nothing any more */
  private generations = 0; /* of workers before this one: those of the page only grow */
  private readonly pending = new Map<number, Pending>();
  private lossTexts: string[] = [];
  private nextId = 1;
  private viewing = false;
  private nextView: { ask: ViewAsk; take: (view: View | null) => void; fail: (error: Error) => void } | null = null;

  constructor(private readonly source: TraceSource) {
    this.worker = this.begun();
  }

  private begun(): Worker {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = (event: MessageEvent<FromWorker>): void => this.hear(event.data);
    worker.onerror = (event): void => this.broken(event.message);
    const open: ToWorker = { op: "open", source: this.source };
    worker.postMessage(open);
    return worker;
  }

  private send(message: ToWorker): void {
    this.worker.postMessage(message);
  }

  private broken(message: string): void {
    const text = `The decoder has failed${message ? ` (${message})` : ""}.`;
    this.dead = true;
    this.worker.terminate();
    this.state.value = { ...this.state.value, phase: "failed", problem: { text } };
    this.failAll(new Error(text));
  }

  private failAll(error: Error): void {
    const all = [...this.pending.values()];
    this.pending.clear();
    for (const one of all) one.fail(error);
    this.nextView?.take(null);
    this.nextView = null;
  }

  private hear(message: FromWorker): void {
    if (message.op === "update") {
      this.follow(message.update);
      return;
    }
    const pending = this.pending.get(message.id);
    this.pending.delete(message.id);
    if (message.op === "answer") pending?.take(message.value);
    else pending?.fail(this.errorOf(message));
  }

  private errorOf(message: Extract<FromWorker, { op: "failed" }>): Error {
    if (message.name === "AbortError") return aborted();
    if (message.name === "SearchError") return new SearchError(message.at ?? 0, message.problem.text);
    return new Error(message.problem.text);
  }

  /* State last: who sees it change finds the lists that belong to it. */
  private follow(update: Update): void {
    if (update.types !== undefined && (update.types.length > 0 || this.types.value.length === 0))
      this.types.value = [...this.types.value.slice(0, update.typesFrom ?? 0), ...update.types];
    if (update.threads !== undefined) this.threads.value = update.threads;
    if (update.processes !== undefined) this.processes.value = update.processes;
    if (update.lanes !== undefined) this.lanes.value = update.lanes;
    if (update.gaps !== undefined) this.gaps.value = update.gaps;
    if (update.lossTexts !== undefined) this.lossTexts = update.lossTexts;
    if (update.opened !== undefined) {
      this.origin.value = update.opened.origin;
      this.length.value = update.opened.length;
      this.at.value = update.opened.at;
    }
    if (update.state !== undefined) this.state.value = { ...update.state, generation: this.generations + update.state.generation };
  }

  private ask<T>(question: Question, cancel?: AbortSignal): Promise<T> {
    if (this.state.value.phase === "closed" || cancel?.aborted === true) return Promise.reject(aborted());
    if (this.dead) return Promise.reject(new Error(this.state.value.problem?.text));
    const id = this.nextId++;
    return new Promise<T>((take, fail) => {
      this.pending.set(id, { take: take as (value: unknown) => void, fail });
      cancel?.addEventListener("abort", () => this.cancel(id), { once: true });
      this.send({ op: "ask", id, question });
    });
  }

  private cancel(id: number): void {
    const pending = this.pending.get(id);
    if (pending === undefined) return;
    this.pending.delete(id);
    this.send({ op: "cancel", id });
    pending.fail(aborted());
  }

  want(processes: readonly number[], at?: number): void {
    this.send(at === undefined ? { op: "want", processes } : { op: "want", processes, at });
  }

  stop(): void {
    this.send({ op: "stop" });
  }

  retry(): void {
    if (!this.dead) {
      this.send({ op: "retry" });
      return;
    }
    this.dead = false;
    this.generations = this.state.value.generation + 1;
    this.state.value = { ...FIRST, generation: this.generations };
    this.threads.value = []; /* after the state: who follows it finds those that had the old numbers */
    this.lanes.value = [];
    this.worker = this.begun();
  }

  /* One under way, and of those that wait the newest. */
  view(ask: ViewAsk): Promise<View | null> {
    if (this.state.value.phase === "closed") return Promise.reject(aborted());
    this.nextView?.take(null);
    return new Promise((take, fail) => {
      this.nextView = { ask, take, fail };
      this.viewNext();
    });
  }

  private viewNext(): void {
    const next = this.nextView;
    if (this.viewing || next === null) return;
    this.viewing = true;
    this.nextView = null;
    const over = (): void => {
      this.viewing = false;
      this.viewNext();
    };
    this.ask<View>({ op: "view", ask: next.ask }).then(next.take, next.fail).then(over, over);
  }

  details(ref: EventRef): Promise<EventDetails | null> {
    return this.ask({ op: "details", ref });
  }

  search(text: string, cancel?: AbortSignal): Promise<SearchResult> {
    return this.ask({ op: "search", text }, cancel);
  }

  events(window: Window, filter: EventFilter, page: { first: number; count: number }): Promise<EventPage> {
    return this.ask({ op: "events", window, filter, first: page.first, count: page.count });
  }

  span(window: Window, cancel?: AbortSignal): Promise<SpanStats> {
    return this.ask({ op: "span", window }, cancel);
  }

  flame(window: Window, of: FlameOf, cancel?: AbortSignal): Promise<FlameNode> {
    return this.ask({ op: "flame", window, of }, cancel);
  }

  report(window: Window, cancel?: AbortSignal): Promise<JsonObject> {
    return this.ask({ op: "report", window }, cancel);
  }

  diff(before: Window, after: Window, cancel?: AbortSignal): Promise<JsonObject> {
    return this.ask({ op: "diff", before, after }, cancel);
  }

  lossText(reason: number): string {
    return this.lossTexts[reason] ?? "unknown";
  }

  close(): void {
    if (this.state.value.phase === "closed") return;
    this.worker.terminate();
    this.state.value = { ...this.state.value, phase: "closed" };
    this.failAll(aborted());
  }
}

/* Never throws: what goes wrong is in `state`. */
export function openTrace(source: TraceSource): Trace {
  return new TraceClient(source);
}
