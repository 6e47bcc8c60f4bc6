// SPDX-License-Identifier: Apache-2.0
// The state of one timeline: window, tracks, selection, spans, search; and what can be done to it. All of it is
// signals: whoever draws follows them. Owns no trace (its opener closes it), and touches no DOM.
import { type ReadonlySignal, type Signal, batch, computed, signal } from "@preact/signals";
import type { EventDetails, EventRef, Trace, TraceProcess, TraceThread, TraceType } from "../trace/trace";
import { NO_LINK, type LinkPin, type LinkState } from "./link";
import { type Row, type Tracks, foldedUsually, processOrder, rowsBetween, tracksOf } from "./tracks";
import type { TimeBase, TimeMode } from "./words";
import { TIME_MODES } from "./words";
import { type Span, clamped, fitted, lengthOf, panned, revealing, zoomed } from "./zoom";

export interface Selected {
  ref: EventRef;
  details: EventDetails | null;
  state: "asked" | "there" | "missing"; /* missing: there is no such event, or it is not there yet */
}

export interface Hovered {
  x: number;
  y: number; /* of the canvas */
  row: Row;
  time: number;
  words: readonly string[];
}

export type Panel = "event" | "span" | "compare";

const AROUND_BEFORE_NS = 10e9;
const AROUND_AFTER_NS = 2.5e9;

export class Model {
  readonly view: Signal<Span> = signal({ from: 0, to: 1e9 });
  readonly scroll = signal(0);
  readonly size = signal({ width: 800, height: 400 }); /* of the tracks, without the axis */
  readonly narrow = signal(false);
  readonly folded: Signal<ReadonlySet<string>> = signal(new Set<string>());
  readonly pins: Signal<readonly string[]> = signal([]);
  readonly differs: Signal<ReadonlyMap<string, number>> = signal(new Map<string, number>());
  readonly pinsAwaited: Signal<readonly LinkPin[]> = signal([]); /* threads of a link whose process is not read yet */
  readonly selected: Signal<Selected | null> = signal(null);
  readonly span: Signal<Span | null> = signal(null);
  readonly marked: Signal<Span | null> = signal(null);
  readonly panel: Signal<Panel> = signal("event");
  readonly timeMode: Signal<TimeMode> = signal("relative");
  readonly hovered: Signal<Hovered | null> = signal(null);
  readonly pointer = signal<number | null>(null); /* time below the pointer: what keys zoom at */
  readonly query = signal("");
  readonly spoken = signal("");
  readonly working: Signal<ReadonlyMap<number, number>> = signal(new Map<number, number>());
  readonly track = signal<string | null>(null); /* key of the one that was chosen by keys; a selection lets it go */
  readonly pushed = signal(0); /* grows with each step that Back is to undo */
  readonly tracks: ReadonlySignal<Tracks>;
  readonly fired: ReadonlySignal<number>;
  ready = false; /* the first window was set */

  constructor(
    readonly trace: Trace,
    readonly firstProcess: string | undefined,
  ) {
    this.fired = computed(() => this.firedOf());
    this.tracks = computed(() =>
      tracksOf({
        processes: trace.processes.value,
        threads: trace.threads.value,
        lanes: trace.lanes.value,
        typeNames: (type) => this.type(type)?.name ?? "",
        fired: this.fired.value,
        differs: this.differs.value,
        working: this.working.value,
        folded: this.folded.value,
        pins: this.pins.value,
        titleAbove: this.narrow.value,
      }),
    );
  }

  /* ---- what the trace has ---- */

  private firedOf(): number {
    const all = this.trace.processes.value;
    const named = all.find((process) => process.id === this.firstProcess);
    if (named !== undefined) return named.index;
    return all.reduce<TraceProcess | undefined>((most, one) => (most === undefined || one.events > most.events ? one : most), undefined)?.index ?? -1;
  }

  process(index: number): TraceProcess | undefined {
    const all = this.trace.processes.peek();
    return all[index]?.index === index ? all[index] : all.find((one) => one.index === index);
  }
  thread(index: number): TraceThread | undefined {
    const all = this.trace.threads.peek();
    return all[index]?.index === index ? all[index] : all.find((one) => one.index === index);
  }
  threadOf(process: number, tid: number): TraceThread | undefined {
    const same = this.trace.threads.peek().filter((one) => one.process === process && one.tid === tid);
    return same.find((one) => !one.evidence) ?? same[0];
  }
  type(index: number): TraceType | undefined {
    const all = this.trace.types.peek();
    return all[index]?.index === index ? all[index] : all.find((one) => one.index === index);
  }
  get length(): number {
    return this.trace.length.peek();
  }
  get base(): TimeBase {
    return { mode: this.timeMode.value, origin: this.trace.origin.value, zero: this.trace.at.value ?? 0 };
  }
  rowsInView(beside: number): readonly Row[] {
    const { height } = this.size.peek();
    return rowsBetween(this.tracks.peek().rows, this.scroll.peek() - beside, this.scroll.peek() + height + beside);
  }

  /* ---- the window ---- */

  show(span: Span): void {
    this.view.value = clamped(span, this.length);
  }
  showFirst(link: LinkState): void {
    const at = this.trace.at.peek();
    this.ready = true;
    if (link.view !== null) this.show(link.view);
    else if (link.event !== null) this.show(fitted({ from: link.event.begin, to: link.event.begin + link.event.length }, 1 / 3, this.length));
    else if (at === null) this.show({ from: 0, to: this.length });
    else this.show({ from: Math.max(0, at - AROUND_BEFORE_NS), to: Math.min(this.length, at + AROUND_AFTER_NS) });
  }
  zoom(factor: number, at?: number): void {
    const view = this.view.peek();
    const pointer = this.pointer.peek();
    const inside = pointer !== null && pointer >= view.from && pointer <= view.to ? pointer : (view.from + view.to) / 2;
    this.view.value = zoomed(view, at ?? inside, factor, this.length);
  }
  pan(shares: number): void {
    const view = this.view.peek();
    this.view.value = panned(view, shares * lengthOf(view), this.length);
  }
  scrollTo(y: number): void {
    const most = Math.max(0, this.tracks.peek().height - this.size.peek().height);
    this.scroll.value = Math.min(Math.max(y, 0), most);
  }
  failure(): void {
    const at = this.trace.at.peek();
    if (at === null) {
      this.spoken.value = "A file does not tell when the failure was.";
      return;
    }
    this.view.value = revealing(this.view.peek(), { from: at, to: at }, this.length);
    this.scrollTo(0);
  }
  fit(): void {
    const selected = this.selected.peek()?.ref;
    const span = this.span.peek();
    if (this.panel.peek() !== "event" && span !== null) this.show(fitted(span, 0.9, this.length));
    else if (selected !== undefined) this.fitRef(selected);
    else if (span !== null) this.show(fitted(span, 0.9, this.length));
  }
  fitRef(ref: EventRef): void {
    this.show(fitted({ from: ref.begin, to: ref.begin + Math.max(ref.length, 10) }, 1 / 3, this.length));
  }

  /* ---- tracks ---- */

  toggleFold(key: string): void {
    const folded = new Set(this.folded.peek());
    if (!folded.delete(key)) folded.add(key);
    this.folded.value = folded;
    this.scrollTo(this.scroll.peek());
  }
  /* Opens a process, so that its threads are tracks. */
  open(process: number): void {
    const order = processOrder(this.trace.processes.peek(), this.fired.peek());
    const usually = foldedUsually(process, order);
    const folded = this.folded.peek().has(`p${process}`) ? !usually : usually;
    if (folded) this.toggleFold(`p${process}`);
  }
  foldAll(): void {
    const order = processOrder(this.trace.processes.peek(), this.fired.peek());
    const rows = this.tracks.peek().rows.filter((row) => row.kind === "process" && !row.pinned);
    const open = rows.some((row) => !row.folded);
    const keys = order.filter((one) => foldedUsually(one.index, order) !== open).map((one) => `p${one.index}`);
    const others = [...this.folded.peek()].filter((key) => !key.startsWith("p"));
    this.folded.value = new Set([...others, ...keys]);
    this.scrollTo(this.scroll.peek());
    this.spoken.value = open ? "All processes are folded." : "All processes are open.";
  }
  togglePin(key: string): void {
    const plain = key.replace(/^!/, "");
    const pins = this.pins.peek();
    if (!/^[pt]\d+$/.test(plain)) {
      this.spoken.value = "Only a process or a thread can be pinned.";
      return;
    }
    this.pins.value = pins.includes(plain) ? pins.filter((one) => one !== plain) : [...pins, plain];
  }
  /* Chooses the track `by` further, by keys; without one the first in view. */
  chooseTrack(by: 1 | -1): Row | undefined {
    const rows = this.tracks.peek().rows.filter((row) => row.kind !== "heading" && row.kind !== "note");
    const current = this.currentRow();
    const at = rows.findIndex((row) => row.key === current?.key);
    const inView = rows.findIndex((row) => row.y + row.height > this.scroll.peek());
    const row = at < 0 ? rows[inView] : rows[at + by];
    if (row === undefined) return undefined;
    this.track.value = row.key;
    const { height } = this.size.peek();
    if (row.y < this.scroll.peek()) this.scrollTo(row.y);
    else if (row.y + row.height > this.scroll.peek() + height) this.scrollTo(row.y + row.height - height);
    return row;
  }
  /* The track that keys chose; once its row has gone, none is chosen. */
  chosenRow(): Row | undefined {
    const row = this.tracks.peek().rows.find((one) => one.key === this.track.peek());
    if (row === undefined) this.track.value = null;
    return row;
  }
  /* The track that keys chose; else that of what is selected; else that below the pointer. */
  currentRow(): Row | undefined {
    const chosen = this.chosenRow();
    if (chosen !== undefined) return chosen;
    const ref = this.selected.peek()?.ref;
    if (ref === undefined) return this.hovered.peek()?.row;
    const thread = this.threadOf(ref.process, ref.tid)?.index ?? -1;
    const { rows } = this.tracks.peek();
    return (
      rows.find((row) => row.kind === "thread" && row.thread === thread && thread >= 0 && !row.key.startsWith("!")) ??
      rows.find((row) => row.kind === "process" && row.process === ref.process && !row.key.startsWith("!"))
    );
  }
  reveal(ref: EventRef): void {
    this.open(ref.process);
    const thread = this.threadOf(ref.process, ref.tid)?.index ?? -1;
    const rows = this.tracks.peek().rows;
    const idle = rows.find((one) => one.kind === "idle" && one.folded && one.idle.includes(thread));
    if (idle !== undefined) this.toggleFold(idle.key);
    const row = this.currentRow();
    if (row === undefined) return;
    if (row.kind === "thread" && row.folded && ref.depth > 0) this.toggleFold(row.key.replace(/^!/, ""));
    const now = this.currentRow() ?? row;
    const band = now.bands.find((one) => one.kind === "region" && one.depth === ref.depth);
    const [top, bottom] = band === undefined ? [now.y, now.y + 24] : [now.y + band.y, now.y + band.y + band.height];
    const { height } = this.size.peek();
    if (top < this.scroll.peek()) this.scrollTo(top - 24);
    else if (bottom > this.scroll.peek() + height) this.scrollTo(bottom + 24 - height);
  }
  nextTimeMode(): void {
    const at = TIME_MODES.indexOf(this.timeMode.peek());
    this.timeMode.value = TIME_MODES[(at + 1) % TIME_MODES.length] ?? "relative";
    this.spoken.value = `Times are ${this.timeMode.peek() === "relative" ? "relative to the failure" : this.timeMode.peek()}.`;
  }

  /* ---- spans ---- */

  selectSpan(span: Span | null): void {
    batch(() => {
      this.span.value = span === null || lengthOf(span) < 1 ? null : { from: Math.round(span.from), to: Math.round(span.to) };
      if (this.span.peek() !== null) this.panel.value = "span";
      else if (this.panel.peek() !== "event") this.panel.value = "event";
      this.pushed.value++;
    });
  }
  /* The selected span; else that of the selected region, as far as it lies in the window. */
  spanNow(): Span | null {
    const ref = this.selected.peek()?.ref;
    if (this.span.peek() !== null) return this.span.peek();
    if (ref === undefined) return null;
    const span = { from: Math.max(0, ref.begin), to: Math.min(this.length, ref.begin + ref.length) };
    return lengthOf(span) < 1 ? null : span;
  }
  mark(): void {
    const span = this.spanNow();
    this.marked.value = span;
    this.spoken.value = span === null ? "No span is selected: nothing is marked." : "The span is marked. Select another, then press c.";
  }
  compare(): void {
    const span = this.spanNow();
    if (this.marked.peek() === null || span === null) {
      this.spoken.value = "Mark a span with m, select another, then press c.";
      return;
    }
    if (this.span.peek() === null) this.span.value = span;
    this.panel.value = "compare";
  }
  clear(): void {
    if (this.panel.peek() === "compare") this.panel.value = "span";
    else if (this.span.peek() !== null) this.selectSpan(null);
    else if (this.marked.peek() !== null) this.marked.value = null;
    else if (this.chosenRow() !== undefined) this.track.value = null;
    else this.unselect();
  }

  unselect(): void {
    if (this.selected.peek() === null) return;
    batch(() => {
      this.selected.value = null;
      this.pushed.value++;
    });
  }

  /* ---- link ---- */

  /* null: its process or thread is not there */
  private pinLink(key: string): LinkPin | null {
    const number = Number(key.slice(1));
    const thread = key.startsWith("t") ? this.thread(number) : undefined;
    const process = this.process(key.startsWith("p") ? number : (thread?.process ?? -1));
    return process === undefined ? null : { process: process.id, tid: thread?.tid ?? null };
  }
  private pinKey(pin: LinkPin): string | null {
    const process = this.trace.processes.peek().find((one) => one.id === pin.process);
    if (process === undefined) return null;
    if (pin.tid === null) return `p${process.index}`;
    const thread = this.threadOf(process.index, pin.tid);
    return thread === undefined ? null : `t${thread.index}`;
  }
  link(): LinkState {
    const ref = this.selected.value?.ref;
    const process = ref === undefined ? undefined : this.process(ref.process);
    return {
      ...NO_LINK,
      view: this.view.value,
      process: process?.id ?? this.firstProcess ?? null,
      tid: ref?.tid ?? null,
      event: ref === undefined ? null : { begin: Math.round(ref.begin), length: Math.round(ref.length), depth: ref.depth },
      pins: [...this.pins.value.map((key) => this.pinLink(key)).filter((pin) => pin !== null), ...this.pinsAwaited.value],
      query: this.query.value,
      span: this.span.value,
      marked: this.marked.value,
    };
  }
  /* The event that a link names; null: none, or its process is not there. */
  linkRef(link: LinkState): EventRef | null {
    const process = this.trace.processes.peek().find((one) => one.id === link.process);
    if (link.event === null || process === undefined) return null;
    return { process: process.index, tid: link.tid ?? 0, ...link.event };
  }
  /* Pins of processes that are not in the trace are dropped. */
  applyPins(link: LinkState): void {
    const ids = new Set(this.trace.processes.peek().map((process) => process.id));
    batch(() => {
      this.pins.value = [];
      this.pinsAwaited.value = link.pins.filter((pin) => ids.has(pin.process));
      this.settlePins();
    });
  }
  /* The decoder is begun again, and numbers threads and lanes anew: what is known by their numbers is let go, and pins
   * wait for their threads. While the old lists are there. */
  restart(): void {
    const selected = this.selected.peek();
    const { pins } = this.link();
    batch(() => {
      this.pins.value = [];
      this.pinsAwaited.value = pins;
      this.folded.value = new Set();
      this.working.value = new Map();
      this.track.value = null;
      this.hovered.value = null;
      if (selected !== null) this.selected.value = { ref: selected.ref, details: null, state: "missing" };
    });
  }
  /* More of the trace is there: threads that pins have waited for may be. */
  settlePins(): void {
    const awaited = this.pinsAwaited.peek();
    const keys = awaited.map((pin) => this.pinKey(pin));
    if (keys.every((key) => key === null)) return;
    batch(() => {
      this.pins.value = [...new Set([...this.pins.peek(), ...keys.filter((key) => key !== null)])];
      this.pinsAwaited.value = awaited.filter((_, i) => keys[i] === null);
    });
  }
}
