// SPDX-License-Identifier: Apache-2.0
// Views of the lanes in view, asked for and kept as strips of pixels on a canvas of their own, so that a frame only
// stretches them: it never waits for the worker. Two are kept: `near`, a bit wider than what is looked at, and `whole`,
// which is drawn where near does not reach. Owns those canvases; one question is open at a time.
import type { Lane, Trace, View } from "../trace/trace";
import { type Ink, type Target, counterStrip, markStrip, regionStrip, sampleStrip, stateStrip } from "./strip";
import { COUNTER_PX, type Row, SAMPLE_PX } from "./tracks";
import { type Span, clamped, lengthOf } from "./zoom";

export const STRIP_ROWS = { region: 1, state: 3, mark: 3, counter: COUNTER_PX, sample: SAMPLE_PX } as const;
const BESIDE = 0.3; /* of the width, on each side */

export interface StripSet {
  view: View;
  canvas: HTMLCanvasElement;
  width: number;
  lane: Map<number, number>; /* id → number in the view */
  strip: Map<number, number>; /* id of a band's first lane (a region's each) → row of the canvas */
}

export interface Wanted {
  span: Span;
  width: number; /* pixels of the screen */
  rows: readonly Row[];
  generation: number;
  length: number;
  ink: Ink;
  inkKey: string; /* changes with the theme and with the types */
}

function lanesOf(rows: readonly Row[]): Lane[] {
  const lanes = new Map<number, Lane>();
  for (const row of rows) {
    for (const band of row.bands) for (const lane of band.lanes) lanes.set(lane.id, lane);
    for (const lane of row.losses) lanes.set(lane.id, lane);
  }
  return [...lanes.values()];
}

interface Place {
  at: number;
  draw: (view: View, target: Target, ink: Ink, at: number) => void;
}

/* Where each band's pixels lie on the canvas, one below the other. */
function places(rows: readonly Row[], lane: Map<number, number>, strip: Map<number, number>): { list: Place[]; height: number } {
  const list: Place[] = [];
  let at = 0;
  const numbers = (lanes: readonly Lane[]): number[] => lanes.map((one) => lane.get(one.id) ?? -1).filter((i) => i >= 0);
  for (const row of rows)
    for (const band of row.bands) {
      const first = band.lanes[0];
      if (first === undefined || strip.has(first.id)) continue;
      if (band.kind === "region" || band.kind === "counter") {
        for (const one of band.lanes) {
          const i = lane.get(one.id) ?? -1;
          const range = { least: one.least, most: one.most };
          strip.set(one.id, at);
          if (band.kind === "region") list.push({ at, draw: (view, target, ink, y) => regionStrip(view, i, ink, target, y) });
          else list.push({ at, draw: (view, target, ink, y) => counterStrip(view, i, range, ink, target, y, COUNTER_PX) });
          at += STRIP_ROWS[band.kind];
        }
        continue;
      }
      const all = numbers(band.lanes);
      const samples = (view: View, of: readonly number[], ink: Ink, target: Target, y: number): void => sampleStrip(view, of, ink, target, y, SAMPLE_PX);
      const paint = band.kind === "state" ? stateStrip : band.kind === "sample" ? samples : markStrip;
      strip.set(first.id, at);
      list.push({ at, draw: (view, target, ink, y) => paint(view, all, ink, target, y) });
      at += STRIP_ROWS[band.kind];
    }
  return { list, height: at };
}

export class Strips {
  near: StripSet | null = null;
  whole: StripSet | null = null;
  private busy = false;
  private next: Wanted | null = null;
  private keys = { near: "", whole: "" };
  private spare: ImageData | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly arrived: () => void,
  ) {}

  /* What is to be drawn. Asks only where what is there is not enough for it. */
  want(wanted: Wanted): void {
    this.next = wanted;
    if (!this.busy) void this.run();
  }

  private async run(): Promise<void> {
    this.busy = true;
    try {
      while (this.next !== null) {
        const wanted = this.next;
        this.next = null;
        await this.step(wanted);
      }
    } catch {
      /* the trace was closed */
    } finally {
      this.busy = false;
    }
  }

  private async step(wanted: Wanted): Promise<void> {
    const lanes = lanesOf(wanted.rows);
    const key = `${wanted.generation} ${wanted.inkKey} ${lanes.map((lane) => lane.id).join()}`;
    if (lanes.length === 0) {
      this.near = this.whole = null;
      this.keys = { near: "", whole: "" };
      return;
    }
    if (this.keys.near !== key || !this.enough(wanted)) {
      const more = lengthOf(wanted.span) * BESIDE;
      const span = clamped({ from: wanted.span.from - more, to: wanted.span.to + more }, wanted.length);
      const width = Math.ceil((wanted.width * lengthOf(span)) / lengthOf(wanted.span));
      if (await this.ask(wanted, lanes, span, width, "near")) this.keys.near = key;
    }
    if (this.next === null && this.keys.whole !== key) {
      const span = { from: 0, to: Math.max(wanted.length, 1) };
      if (await this.ask(wanted, lanes, span, wanted.width, "whole")) this.keys.whole = key;
    }
  }

  /* Whether near shows this window: as fine as the screen, and without an end inside of it. */
  private enough(wanted: Wanted): boolean {
    if (this.near === null) return false;
    const { from, to } = this.near.view.ask;
    const inside = from <= wanted.span.from && to >= wanted.span.to;
    const fine = (this.near.width / (to - from)) * (lengthOf(wanted.span) / wanted.width);
    return inside && fine > 0.98 && fine < 1.5;
  }

  private async ask(wanted: Wanted, lanes: readonly Lane[], span: Span, width: number, which: "near" | "whole"): Promise<boolean> {
    const view = await this.trace.view({ from: span.from, to: span.to, width, lanes: lanes.map((lane) => lane.id) });
    if (view === null) return false;
    this[which] = this.made(view, lanes, wanted, width, this[which]);
    this.arrived();
    return true;
  }

  private made(view: View, lanes: readonly Lane[], wanted: Wanted, width: number, old: StripSet | null): StripSet {
    const lane = new Map(lanes.map((one, i) => [one.id, i]));
    const strip = new Map<number, number>();
    const { list, height } = places(wanted.rows, lane, strip);
    const canvas = old?.canvas ?? document.createElement("canvas");
    const rows = Math.max(height, 1);
    if (canvas.width !== width || canvas.height < rows) {
      canvas.width = width;
      canvas.height = Math.max(rows, canvas.height);
    }
    if (this.spare === null || this.spare.width !== width || this.spare.height < rows) this.spare = new ImageData(width, rows);
    const target = { pixels: new Uint32Array(this.spare.data.buffer), width };
    for (const place of list) place.draw(view, target, wanted.ink, place.at * width);
    canvas.getContext("2d")?.putImageData(this.spare, 0, 0, 0, 0, width, rows);
    return { view, canvas, width, lane, strip };
  }
}
