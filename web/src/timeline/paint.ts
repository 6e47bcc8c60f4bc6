// SPDX-License-Identifier: Apache-2.0
// Draws one frame: axis, tracks in view, losses, selection, spans. Strips of pixels are stretched; rectangles and names
// are drawn only where a region is wider than a few pixels. Owns nothing but patterns and widths of names; asks nobody
// and waits for nothing.
import type { Lane } from "../trace/trace";
import { shown } from "../ui/text";
import { duration } from "../ui/units";
import { HUE_PIXELS, ON_HUE, type Palette, hueOf, hueText, pixelOf } from "./colours";
import type { Model } from "./model";
import type { Ink } from "./strip";
import { STRIP_ROWS, type StripSet, type Strips } from "./strips";
import type { Band, Row } from "./tracks";
import { isSample, timeWords } from "./words";
import { type Span, lengthOf, ticks } from "./zoom";

export const AXIS_PX = 24;
const NAME_LEAST_PX = 30;
const FONT = "11px system-ui, \"Segoe UI\", \"Noto Sans\", \"DejaVu Sans\", sans-serif";
const MOVING_NAMES = 250; /* at most so many in a frame while the window moves */

export interface Frame {
  context: CanvasRenderingContext2D;
  width: number; /* CSS pixels */
  height: number; /* with the axis */
  palette: Palette;
  moving: boolean;
  matches: readonly number[]; /* begins of matches in view */
}

interface Named {
  words: string;
  width: number;
  hue: string;
}

export class Painter {
  private names: Named[] = [];
  private namesOf: unknown = null;
  private hatch: CanvasPattern | null = null;
  private hatchOf = "";
  private namesLeft = 0;

  constructor(
    private readonly model: Model,
    private readonly strips: Strips,
  ) {}

  /* Pixels of types and states, for strips. */
  ink(palette: Palette): { ink: Ink; key: string } {
    const types = this.model.trace.types.peek();
    const type = new Uint32Array(types.length);
    types.forEach((one) => (type[one.index] = HUE_PIXELS[hueOf(one.name)] ?? 0));
    const ink: Ink = {
      type,
      other: pixelOf(palette.lineStrong),
      running: pixelOf(palette.ok),
      runnable: pixelOf(palette.warn),
      blocked: pixelOf(palette.lineStrong),
      instant: pixelOf(palette.text2),
      warning: pixelOf(palette.warn),
      error: pixelOf(palette.bad),
      counter: pixelOf(palette.accent),
    };
    return { ink, key: `${types.length} ${palette.surface}` };
  }

  private named(frame: Frame, type: number): Named {
    const types = this.model.trace.types.peek();
    if (this.namesOf !== types) {
      this.names = [];
      this.namesOf = types;
    }
    let named = this.names[type];
    if (named === undefined) {
      const name = types[type]?.name ?? "";
      const words = shown(name, 80);
      named = { words, width: frame.context.measureText(words).width, hue: hueText(hueOf(name)) };
      this.names[type] = named;
    }
    return named;
  }

  private hatched(frame: Frame): CanvasPattern | string {
    if (this.hatchOf !== frame.palette.hatch) {
      const tile = document.createElement("canvas");
      tile.width = tile.height = 8;
      const context = tile.getContext("2d");
      if (context === null) return frame.palette.hatch;
      context.strokeStyle = frame.palette.hatch;
      context.lineWidth = 2;
      for (const at of [-8, 0, 8]) {
        context.beginPath();
        context.moveTo(at - 1, 9);
        context.lineTo(at + 9, -1);
        context.stroke();
      }
      this.hatch = frame.context.createPattern(tile, "repeat");
      this.hatchOf = frame.palette.hatch;
    }
    return this.hatch ?? frame.palette.hatch;
  }

  /* ---- a frame ---- */

  frame(frame: Frame): void {
    const { context, width, height, palette } = frame;
    this.namesLeft = frame.moving ? MOVING_NAMES : Infinity;
    context.imageSmoothingEnabled = false;
    context.font = FONT;
    context.textBaseline = "middle";
    context.fillStyle = palette.surface;
    context.fillRect(0, 0, width, height);
    context.save();
    context.beginPath();
    context.rect(0, AXIS_PX, width, height - AXIS_PX);
    context.clip();
    const rows = this.model.rowsInView(0);
    for (const row of rows) this.row(frame, row, AXIS_PX + row.y - this.model.scroll.peek());
    this.selection(frame, rows);
    this.overlay(frame);
    context.restore();
    this.axis(frame);
  }

  private x(frame: Frame, time: number): number {
    const { from, to } = this.model.view.peek();
    return ((time - from) / (to - from)) * frame.width;
  }

  private row(frame: Frame, row: Row, y: number): void {
    const { context, width, palette } = frame;
    if (row.kind === "process" || row.kind === "heading") {
      context.fillStyle = row.kind === "heading" ? palette.surface3 : palette.surface2;
      context.fillRect(0, y, width, row.height - 1);
    }
    context.fillStyle = palette.line;
    context.fillRect(0, y + row.height - 1, width, 1);
    this.unrecorded(frame, row, y);
    for (const band of row.bands) this.band(frame, band, y + band.y);
    for (const lane of row.losses) this.loss(frame, lane, y, row.height);
  }

  /* Where the process's records do not reach, within the window. */
  private unrecorded(frame: Frame, row: Row, y: number): void {
    const process = row.process < 0 ? undefined : this.model.process(row.process);
    if (process === undefined || row.kind === "note" || process.to <= process.from) return;
    const left = Math.min(this.x(frame, process.from), frame.width);
    const right = Math.max(this.x(frame, process.to), 0);
    const { context } = frame;
    context.save();
    context.globalAlpha = 0.5;
    context.fillStyle = frame.palette.surface3;
    if (left > 0) context.fillRect(0, y, left, row.height - 1);
    if (right < frame.width) context.fillRect(right, y, frame.width - right, row.height - 1);
    context.restore();
  }

  /* ---- strips ---- */

  private stretch(frame: Frame, set: StripSet, at: number, rows: number, within: Span, y: number, height: number): void {
    const { from, to } = set.view.ask;
    const view = this.model.view.peek();
    const begin = Math.max(from, within.from, view.from);
    const end = Math.min(to, within.to, view.to);
    if (end <= begin) return;
    const perNs = set.width / (to - from);
    const x0 = this.x(frame, begin);
    const x1 = this.x(frame, end);
    frame.context.drawImage(set.canvas, (begin - from) * perNs, at, (end - begin) * perNs, rows, x0, y, x1 - x0, height);
  }

  private strip(frame: Frame, lane: Lane, rows: number, y: number, height: number): void {
    const { near, whole } = this.strips;
    const atNear = near?.strip.get(lane.id);
    const atWhole = whole?.strip.get(lane.id);
    const everything = { from: -Infinity, to: Infinity };
    if (near !== null && atNear !== undefined) {
      const { from, to } = near.view.ask;
      this.stretch(frame, near, atNear, rows, everything, y, height);
      if (whole === null || atWhole === undefined) return;
      this.stretch(frame, whole, atWhole, rows, { from: -Infinity, to: from }, y, height);
      this.stretch(frame, whole, atWhole, rows, { from: to, to: Infinity }, y, height);
    } else if (whole !== null && atWhole !== undefined) this.stretch(frame, whole, atWhole, rows, everything, y, height);
  }

  private band(frame: Frame, band: Band, y: number): void {
    const first = band.lanes[0];
    if (first === undefined || y > frame.height || y + band.height < AXIS_PX) return;
    const rows = STRIP_ROWS[band.kind];
    if (band.kind === "region")
      for (const lane of band.lanes) {
        this.strip(frame, lane, rows, y, band.height);
        this.regions(frame, lane, y, band.height);
      }
    else if (band.kind === "counter") for (const lane of band.lanes) this.strip(frame, lane, rows, y, band.height);
    else this.strip(frame, first, rows, y, band.height);
  }

  /* Items of a lane that touch the window: from, up to. */
  private inView(set: StripSet, i: number): [number, number] {
    const { view } = set;
    const { from, to } = this.model.view.peek();
    let low = view.first[i] ?? 0;
    let high = view.first[i + 1] ?? 0;
    const stop = high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (view.to[middle]! <= from) low = middle + 1;
      else high = middle;
    }
    let end = low;
    let top = stop;
    while (end < top) {
      const middle = (end + top) >> 1;
      if (view.from[middle]! < to) end = middle + 1;
      else top = middle;
    }
    return [low, end];
  }

  /* Regions that are wide enough, with their names. */
  private regions(frame: Frame, lane: Lane, y: number, height: number): void {
    const set = this.strips.near;
    const i = set?.lane.get(lane.id);
    if (set === null || i === undefined) return;
    const { context } = frame;
    const { view } = set;
    const window = this.model.view.peek();
    const perNs = frame.width / lengthOf(window);
    const [low, end] = this.inView(set, i);
    const least = (end - low > 150 ? 16 : 4) / perNs;
    for (let k = low; k < end; k++) {
      if (view.row[k] !== 1 || view.to[k]! - view.from[k]! < least) continue;
      const x0 = Math.max(-2, (view.from[k]! - window.from) * perNs);
      const x1 = Math.min(frame.width + 2, (view.to[k]! - window.from) * perNs);
      const named = this.named(frame, view.type[k]!);
      context.fillStyle = frame.palette.surface;
      context.fillRect(x1 - 1, y, 1, height);
      context.fillStyle = named.hue;
      context.fillRect(x0, y, x1 - x0 - 1, height);
      if (x1 - x0 >= NAME_LEAST_PX) this.name(frame, named, Math.max(x0, 0) + 3, x1 - 4, y + height / 2);
    }
  }

  private name(frame: Frame, named: Named, from: number, to: number, y: number): void {
    const room = to - from;
    if (room < 8 || this.namesLeft-- <= 0) return;
    let { words } = named;
    if (named.width > room) {
      const letters = Math.floor((room / named.width) * words.length) - 1;
      if (letters < 2) return;
      words = `${words.slice(0, letters)}…`;
    }
    frame.context.fillStyle = ON_HUE;
    frame.context.fillText(words, from, y + 0.5);
  }

  private loss(frame: Frame, lane: Lane, y: number, height: number): void {
    const set = this.strips.near ?? this.strips.whole;
    const i = set?.lane.get(lane.id);
    if (set === null || set === undefined || i === undefined) return;
    const { context, palette } = frame;
    const [low, end] = this.inView(set, i);
    for (let k = low; k < end; k++) {
      const x0 = Math.max(-4, this.x(frame, set.view.from[k]!));
      const x1 = Math.max(x0 + 4, Math.min(frame.width + 4, this.x(frame, set.view.to[k]!)));
      context.fillStyle = this.hatched(frame);
      context.fillRect(x0, y, x1 - x0, height - 1);
      context.strokeStyle = palette.bad;
      context.strokeRect(x0 + 0.5, y + 0.5, x1 - x0 - 1, height - 2);
      if (x1 - x0 < 60 || height < 14) continue;
      const words = `lost: ${shown(this.model.trace.lossText(set.view.type[k]!), 60)}`;
      const size = Math.min(context.measureText(words).width + 8, x1 - Math.max(x0, 0) - 4);
      context.fillStyle = palette.surface;
      context.fillRect(Math.max(x0, 0) + 2, y + 3, size, 14);
      context.fillStyle = palette.bad;
      context.fillText(words, Math.max(x0, 0) + 6, y + 10, size - 6);
    }
  }

  /* ---- what lies above ---- */

  private selection(frame: Frame, rows: readonly Row[]): void {
    const selected = this.model.selected.peek();
    if (selected === null) return;
    const { ref } = selected;
    const thread = this.model.threadOf(ref.process, ref.tid)?.index ?? -1;
    const sample = selected.details !== null && isSample(selected.details);
    const mark = !sample && (selected.details?.kind === "instant" || selected.details?.kind === "log");
    for (const row of rows) {
      if (row.process !== ref.process) continue;
      const band = row.bands.find((one) => {
        const lane = one.lanes[0];
        if (sample) return one.kind === "sample" && this.model.thread(lane?.thread ?? -1)?.tid === ref.tid;
        return lane?.thread === thread && (mark ? one.kind === "mark" : one.kind === "region" && one.depth === ref.depth);
      });
      if (band === undefined) continue;
      const y = AXIS_PX + row.y - this.model.scroll.peek() + band.y;
      const x0 = Math.max(-4, this.x(frame, ref.begin));
      const x1 = Math.max(x0 + 3, Math.min(frame.width + 4, this.x(frame, ref.begin + ref.length)));
      frame.context.lineWidth = 4;
      frame.context.strokeStyle = frame.palette.surface;
      frame.context.strokeRect(x0 - 1, y - 1, x1 - x0 + 2, band.height + 2);
      frame.context.lineWidth = 2;
      frame.context.strokeStyle = frame.palette.text;
      frame.context.strokeRect(x0 - 1, y - 1, x1 - x0 + 2, band.height + 2);
      frame.context.lineWidth = 1;
    }
  }

  private overlay(frame: Frame): void {
    const { context, height, palette } = frame;
    const [span, marked, at] = [this.model.span.peek(), this.model.marked.peek(), this.model.trace.at.peek()];
    for (const [one, dashed] of [[marked, true], [span, false]] as const) {
      if (one === null) continue;
      const x0 = this.x(frame, one.from);
      const x1 = this.x(frame, one.to);
      context.save();
      context.globalAlpha = dashed ? 0.08 : 0.16;
      context.fillStyle = palette.accent;
      context.fillRect(x0, AXIS_PX, x1 - x0, height);
      context.restore();
      this.line(frame, x0, palette.accent, dashed);
      this.line(frame, x1, palette.accent, dashed);
    }
    if (at !== null) this.line(frame, this.x(frame, at), palette.bad, true);
  }

  private line(frame: Frame, x: number, colour: string, dashed: boolean): void {
    if (x < -1 || x > frame.width + 1) return;
    const { context } = frame;
    context.strokeStyle = colour;
    context.setLineDash(dashed ? [5, 4] : []);
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, AXIS_PX);
    context.lineTo(Math.round(x) + 0.5, frame.height);
    context.stroke();
    context.setLineDash([]);
  }

  private axis(frame: Frame): void {
    const { context, width, palette } = frame;
    const base = this.model.base;
    const view = this.model.view.peek();
    context.fillStyle = palette.surface2;
    context.fillRect(0, 0, width, AXIS_PX);
    context.fillStyle = palette.line;
    context.fillRect(0, AXIS_PX - 1, width, 1);
    const zero = base.mode === "relative" ? base.zero : -Number(base.origin % 86_400_000_000_000n);
    const { step, at } = ticks(view, width, 110, zero, base.mode !== "relative");
    context.textAlign = "center";
    for (const time of at) {
      const x = this.x(frame, time);
      context.fillStyle = palette.lineStrong;
      context.fillRect(Math.round(x), AXIS_PX - 6, 1, 6);
      context.fillStyle = palette.text2;
      const words = timeWords(time, step, base);
      const half = context.measureText(words).width / 2;
      if (x - half >= 0 && x + half <= width) context.fillText(words, x, 9);
    }
    context.textAlign = "start";
    this.axisMarks(frame);
  }

  private axisMarks(frame: Frame): void {
    const { context, palette } = frame;
    context.fillStyle = palette.focus;
    for (const time of frame.matches) context.fillRect(Math.round(this.x(frame, time)) - 1, AXIS_PX - 8, 2, 7);
    const at = this.model.trace.at.peek();
    const x = at === null ? -1 : this.x(frame, at);
    if (x >= 0 && x <= frame.width) {
      context.fillStyle = palette.bad;
      context.beginPath();
      context.moveTo(x - 6, AXIS_PX - 9);
      context.lineTo(x + 6, AXIS_PX - 9);
      context.lineTo(x, AXIS_PX);
      context.fill();
    }
    const span = this.model.span.peek();
    const words = span === null ? null : this.axisSpan(frame, span, duration(lengthOf(span)), palette.accent, null);
    const marked = this.model.marked.peek();
    if (marked !== null) this.axisSpan(frame, marked, `marked ${duration(lengthOf(marked))}`, palette.lineStrong, words);
  }

  /* Where its words stand, in pixels; null: there was no room, or they would stand on `taken`. */
  private axisSpan(frame: Frame, span: Span, words: string, colour: string, taken: Span | null): Span | null {
    const { context, palette } = frame;
    const x0 = Math.max(0, this.x(frame, span.from));
    const x1 = Math.min(frame.width, this.x(frame, span.to));
    if (x1 <= x0) return null;
    context.fillStyle = colour;
    context.fillRect(x0, AXIS_PX - 4, x1 - x0, 3);
    const size = context.measureText(words).width + 8;
    const from = (x0 + x1 - size) / 2;
    if (x1 - x0 < size || (taken !== null && from < taken.to && from + size > taken.from)) return null;
    context.fillStyle = palette.surface;
    context.fillRect(from, 2, size, 14);
    context.fillStyle = palette.text;
    context.fillText(words, from + 4, 9);
    return { from, to: from + size };
  }
}
