// SPDX-License-Identifier: Apache-2.0
// Items of a view as pixels: a row of them for a lane of regions, three for states and marks, as many as it is high for
// a counter and for samples. A pixel takes the longest of the rows that touch it, so that one of 1 ns is seen at every zoom; how much
// of the pixel is busy is its opacity. Pure.
import { STATE_BLOCKED, STATE_RUNNABLE, STATE_RUNNING, type View } from "../trace/trace";

/* The least opacity of what is there, of 255: it stays visible on both surfaces. */
export const LEAST_ALPHA = 120;

export interface Ink {
  type: Uint32Array; /* pixel of each type; those beyond are `other` */
  other: number;
  running: number;
  runnable: number;
  blocked: number;
  instant: number;
  warning: number;
  error: number;
  counter: number;
}

export interface Target {
  pixels: Uint32Array;
  width: number;
}

interface Scale {
  from: number;
  perNs: number;
}

function scaleOf(view: View, width: number): Scale {
  const { from, to } = view.ask;
  return { from, perNs: width / Math.max(to - from, 1e-9) };
}

/* Pixels that touch what is from `from` up to `to`: at least one, none outside. */
function first(scale: Scale, time: number): number {
  return Math.floor((time - scale.from) * scale.perNs);
}
function end(scale: Scale, time: number, begin: number): number {
  return Math.max(begin + 1, Math.ceil((time - scale.from) * scale.perNs - 1e-6));
}

function withAlpha(pixel: number, alpha: number): number {
  return ((alpha << 24) | (pixel & 0xffffff)) >>> 0;
}

/* Scratch of one strip: the longest and the busy share of each pixel. Grows, and is used again. */
let longest = new Float32Array(0);
let busy = new Float32Array(0);

function scratch(width: number): void {
  if (longest.length < width) {
    longest = new Float32Array(width);
    busy = new Float32Array(width);
  }
  longest.fill(-1, 0, width);
  busy.fill(0, 0, width);
}

/* One row of pixels, of lane i of the view, at `at` of the target. */
export function regionStrip(view: View, i: number, ink: Ink, target: Target, at: number): void {
  const { width, pixels } = target;
  const scale = scaleOf(view, width);
  scratch(width);
  pixels.fill(0, at, at + width);
  for (let k = view.first[i] ?? 0; k < (view.first[i + 1] ?? 0); k++) {
    const from = view.from[k]!;
    const to = view.to[k]!;
    const x0 = first(scale, from);
    const x1 = end(scale, to, x0);
    const share = view.share[k]! * Math.min(1, Math.max((to - from) * scale.perNs, 0) / (x1 - x0));
    const length = view.longest[k]!;
    const pixel = ink.type[view.type[k]!] ?? ink.other;
    for (let x = Math.max(x0, 0); x < x1 && x < width; x++) {
      busy[x]! += share;
      if (length > longest[x]!) {
        longest[x] = length;
        pixels[at + x] = pixel;
      }
    }
  }
  for (let x = 0; x < width; x++)
    if (longest[x]! >= 0)
      pixels[at + x] = withAlpha(pixels[at + x]!, LEAST_ALPHA + Math.round((255 - LEAST_ALPHA) * Math.min(1, busy[x]!)));
}

/* How many of the three rows of pixels are filled, from below: states and marks are told apart by height, too. */
export function stateHeight(type: number): number {
  return type === STATE_RUNNING ? 3 : type === STATE_RUNNABLE ? 2 : type === STATE_BLOCKED ? 1 : 0;
}
export const SEVERITY_WARNING = 3; /* 1 + level of a log */
export const SEVERITY_ERROR = 4;
export function markHeight(severity: number): number {
  return severity >= SEVERITY_ERROR ? 3 : severity >= SEVERITY_WARNING ? 2 : 1;
}

function put(target: Target, at: number, x: number, height: number, pixel: number): void {
  for (let row = 0; row < 3; row++) {
    const place = at + row * target.width + x;
    if (row >= 3 - height) target.pixels[place] = pixel;
  }
}

function cleared(target: Target, at: number, rows: number): void {
  target.pixels.fill(0, at, at + rows * target.width);
}

/* Three rows of pixels of lanes that share a place; of states the one that took longest of a pixel. */
export function stateStrip(view: View, lanes: readonly number[], ink: Ink, target: Target, at: number): void {
  const { width } = target;
  const scale = scaleOf(view, width);
  scratch(width);
  cleared(target, at, 3);
  const pixelOf = (type: number): number =>
    type === STATE_RUNNING ? ink.running : type === STATE_RUNNABLE ? ink.runnable : ink.blocked;
  const state = new Uint8Array(width);
  for (const i of lanes)
    for (let k = view.first[i] ?? 0; k < (view.first[i + 1] ?? 0); k++) {
      const x0 = first(scale, view.from[k]!);
      const x1 = end(scale, view.to[k]!, x0);
      const time = Math.max(view.to[k]! - view.from[k]!, 1) * view.share[k]!;
      const each = Math.min(time, 1 / scale.perNs);
      for (let x = Math.max(x0, 0); x < x1 && x < width; x++)
        if (each > longest[x]!) {
          longest[x] = each;
          state[x] = view.type[k]!;
        }
    }
  for (let x = 0; x < width; x++) if (state[x] !== 0) put(target, at, x, stateHeight(state[x]!), pixelOf(state[x]!));
}

/* Three rows of pixels; a pixel takes the most severe. */
export function markStrip(view: View, lanes: readonly number[], ink: Ink, target: Target, at: number): void {
  const { width } = target;
  const scale = scaleOf(view, width);
  scratch(width);
  cleared(target, at, 3);
  for (const i of lanes)
    for (let k = view.first[i] ?? 0; k < (view.first[i + 1] ?? 0); k++) {
      const severity = view.severity[k]!;
      const x0 = first(scale, view.from[k]!);
      const x1 = end(scale, view.to[k]!, x0);
      for (let x = Math.max(x0, 0); x < x1 && x < width; x++)
        if (severity > longest[x]!) {
          longest[x] = severity;
          put(target, at, x, markHeight(severity), severity >= SEVERITY_ERROR ? ink.error : severity >= SEVERITY_WARNING ? ink.warning : ink.instant);
        }
    }
}

/* Samples, `height` rows of pixels: how many a pixel has, beside the pixel of this strip that has most. What lies in a
 * cell that is wider than a pixel is spread over it; one alone is as high as all. */
export function sampleStrip(view: View, lanes: readonly number[], ink: Ink, target: Target, at: number, height: number): void {
  const { width } = target;
  const scale = scaleOf(view, width);
  scratch(width);
  cleared(target, at, height);
  let most = 0;
  for (const i of lanes)
    for (let k = view.first[i] ?? 0; k < (view.first[i + 1] ?? 0); k++) {
      const x0 = first(scale, view.from[k]!);
      const x1 = end(scale, view.to[k]!, x0);
      for (let x = Math.max(x0, 0); x < x1 && x < width; x++) {
        busy[x]! += view.share[k]! / (x1 - x0);
        most = Math.max(most, busy[x]!);
      }
    }
  for (let x = 0; x < width; x++) {
    const filled = busy[x]! > 0 ? Math.max(1, Math.round((height * busy[x]!) / most)) : 0;
    for (let y = height - filled; y < height; y++) target.pixels[at + y * width + x] = ink.running;
  }
}

/* A counter, `height` rows of pixels: its values as a line, what is below it filled. It keeps a value until the next. */
export function counterStrip(
  view: View,
  i: number,
  range: { least: number; most: number },
  ink: Ink,
  target: Target,
  at: number,
  height: number,
): void {
  const { width } = target;
  const scale = scaleOf(view, width);
  cleared(target, at, height);
  const size = range.most - range.least;
  const rowOf = (value: number): number =>
    size > 0 ? Math.round((height - 1) * (1 - (value - range.least) / size)) : Math.floor(height / 2);
  const fill = withAlpha(ink.counter, 70);
  const end0 = view.first[i + 1] ?? 0;
  for (let k = view.first[i] ?? 0; k < end0; k++) {
    const x0 = Math.max(0, first(scale, view.from[k]!));
    const x1 = Math.min(width, end(scale, view.to[k]!, first(scale, view.from[k]!)));
    const next = k + 1 < end0 ? Math.min(width, Math.max(0, first(scale, view.from[k + 1]!))) : width;
    const [top, bottom, last] = [rowOf(view.most[k]!), rowOf(view.least[k]!), rowOf(view.last[k]!)];
    for (let x = x0; x < Math.max(x1, next); x++) {
      const [high, low] = x < x1 ? [top, bottom] : [last, last];
      for (let y = high; y < height; y++) target.pixels[at + y * width + x] = y <= low ? ink.counter : fill;
    }
  }
}

/* The item of lane i that is at a time, or within `near` ns of it: the longest of those; -1: none. */
export function itemAt(view: View, i: number, time: number, near: number): number {
  const begin = view.first[i] ?? 0;
  const stop = view.first[i + 1] ?? 0;
  let low = begin;
  let high = stop;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (view.to[middle]! < time - near) low = middle + 1;
    else high = middle;
  }
  let best = -1;
  let bestRank = -1;
  for (let k = low; k < stop && view.from[k]! <= time + near; k++) {
    const rank = view.from[k]! <= time && time < view.to[k]! ? Infinity : view.longest[k]!;
    if (best < 0 || rank > bestRank) [best, bestRank] = [k, rank];
  }
  return best;
}
