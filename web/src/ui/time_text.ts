// SPDX-License-Identifier: Apache-2.0
// Points in time as people type them: "2026-11-23 06:14" by the clock that the settings show, "-90s" from now as in
// `skein`, or the API's own text. Pure but for the settings.
import { settings } from "./settings";

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1e3, m: 6e4, h: 3.6e6, d: 8.64e7, w: 6.048e8 };

function relative(text: string, now: number): string | undefined {
  const match = /^-(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(text);
  const at = match === null ? NaN : now - Number(match[1]) * UNIT_MS[match[2] ?? ""]!;
  return Math.abs(at) < 8.64e15 ? new Date(at).toISOString() : undefined;
}

function typed(text: string): string | undefined {
  if (!/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/.test(text)) return undefined;
  const at = new Date(text.replace(" ", "T") + (settings.zone.value === "utc" ? "Z" : ""));
  const day = settings.zone.value === "utc" ? at.getUTCDate() : at.getDate();
  return day === Number(text.slice(8, 10)) ? at.toISOString() : undefined; /* the 31st of February is not the 3rd of March */
}

/* The API's time; a text that is none stays as it is, and the collector says what is wrong with it. */
export function apiTime(text: string, now = Date.now()): string {
  const trimmed = text.trim();
  return relative(trimmed, now) ?? typed(trimmed) ?? trimmed;
}
