// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the window that is looked at: zoom, pan, fit, ticks of the axis. Pure; times are ns since the trace's
// origin.

export interface Span {
  from: number;
  to: number;
}

export const LEAST_NS = 20; /* the whole width is never less */

export function lengthOf(span: Span): number {
  return span.to - span.from;
}

/* Moved and cut so that it lies inside of a trace of `length` ns. */
export function clamped(span: Span, length: number): Span {
  const whole = Math.max(length, LEAST_NS);
  const size = Math.min(Math.max(lengthOf(span), LEAST_NS), whole);
  const from = Math.min(Math.max(span.from, 0), whole - size);
  return { from, to: from + size };
}

/* factor below 1 zooms in; what is at `at` stays where it is. */
export function zoomed(span: Span, at: number, factor: number, length: number): Span {
  const size = Math.min(Math.max(lengthOf(span) * factor, LEAST_NS), Math.max(length, LEAST_NS));
  const share = (at - span.from) / lengthOf(span);
  const from = at - share * size;
  return clamped({ from, to: from + size }, length);
}

export function panned(span: Span, by: number, length: number): Span {
  return clamped({ from: span.from + by, to: span.to + by }, length);
}

/* `inner` takes this share of the width, and stands in its middle. */
export function fitted(inner: Span, share: number, length: number): Span {
  const size = Math.max(lengthOf(inner), 1) / share;
  const middle = (inner.from + inner.to) / 2;
  return clamped({ from: middle - size / 2, to: middle + size / 2 }, length);
}

/* Moved as little as is needed for `inner` to be seen; zoomed out where it is wider. */
export function revealing(span: Span, inner: Span, length: number): Span {
  const size = lengthOf(span);
  if (lengthOf(inner) > size) return fitted(inner, 0.8, length);
  const margin = Math.min(size * 0.05, (size - lengthOf(inner)) / 2);
  if (inner.from < span.from + margin) return panned(span, inner.from - span.from - margin, length);
  if (inner.to > span.to - margin) return panned(span, inner.to - span.to + margin, length);
  return span;
}

/* ---- ticks ---- */

export interface Ticks {
  step: number;
  at: number[];
}

/* The smallest of 1, 2, 5 · 10^k that is at least `least`. */
export function roundStep(least: number): number {
  const power = Math.pow(10, Math.floor(Math.log10(Math.max(least, 1e-9))));
  for (const factor of [1, 2, 5]) if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

/* Steps of the clock above a second: 1, 2, 5, 10, 15, 30 s, 1, 2, 5 … min. */
const CLOCK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400];

function clockStep(least: number): number {
  if (least <= 5e8) return roundStep(least);
  for (const seconds of CLOCK_STEPS) if (seconds * 1e9 >= least) return seconds * 1e9;
  return roundStep(least / 864e11) * 864e11;
}

/* Ticks at zero + k · step, at least `apart` pixels from each other. `ofClock`: steps as clocks have them. */
export function ticks(span: Span, width: number, apart: number, zero: number, ofClock: boolean): Ticks {
  const least = Math.max((lengthOf(span) * apart) / Math.max(width, 1), 1);
  const step = ofClock ? clockStep(least) : roundStep(least);
  const at: number[] = [];
  for (let k = Math.ceil((span.from - zero) / step); zero + k * step <= span.to && at.length < 1000; k++)
    at.push(zero + k * step);
  return { step, at };
}

/* "-1.204 s": as many digits as the step needs. */
export function relativeLabel(ns: number, step: number): string {
  const size = Math.max(Math.abs(ns), step);
  const [unit, name] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  const digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9)));
  const text = (ns / unit).toFixed(digits);
  if (Number(text) === 0) return "0";
  return `${ns > 0 ? "+" : ""}${text.replace("-", "−")} ${name}`;
}
