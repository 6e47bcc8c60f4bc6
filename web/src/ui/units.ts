// SPDX-License-Identifier: Apache-2.0
// Numbers in the words that people use: lengths of time, points in time, bytes, counts, shares. The API's times are
// texts ("2026-11-23T06:14:02.123456789Z") and lengths integers of ns or texts ("10s"); see docs/api.md.
import { settings } from "./settings";

const STEPS: readonly (readonly [number, string])[] = [
  [1, "ns"],
  [1e3, "µs"],
  [1e6, "ms"],
  [1e9, "s"],
];

function trimmed(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toFixed(digits).replace(/\.0+$|(\.\d*[1-9])0+$/, "$1");
}

/* "64.6 ms"; "4 min 9 s" from two minutes on. */
export function duration(ns: number): string {
  if (!Number.isFinite(ns)) return "–";
  if (ns < 0) return `-${duration(-ns)}`;
  const seconds = ns / 1e9;
  if (seconds >= 120) return longDuration(Math.round(seconds));
  let [unit, name] = STEPS[0]!;
  for (const [step, word] of STEPS) if (ns >= step) [unit, name] = [step, word];
  return `${trimmed(ns / unit)} ${name}`;
}

function longDuration(seconds: number): string {
  const parts: readonly (readonly [number, string])[] = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  const words: string[] = [];
  let rest = seconds;
  for (const [size, name] of parts) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0 && words.length < 2) words.push(`${count} ${name}`);
    else if (words.length > 0) break;
  }
  return words.join(" ") || "0 s";
}

/* The API's counts: above 2^53 they are texts of digits, of which the nearest number is taken. */
export function numeric(value: number | string): number {
  return Number(value);
}

/* "31.2 MiB" */
export function bytes(count: number | string): string {
  const names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = numeric(count);
  let i = 0;
  for (; value >= 1024 && i < names.length - 1; i++) value /= 1024;
  return `${i === 0 ? value : trimmed(value)} ${names[i]}`;
}

/* "5,480,000" */
export function count(value: number | string): string {
  return (typeof value === "string" && /^\d+$/.test(value) ? BigInt(value) : Number(value)).toLocaleString("en-US");
}

/* "once", "5,480 times" */
export function times(value: number | string): string {
  return numeric(value) === 1 ? "once" : `${count(value)} times`;
}

/* "66.5 %" of 0.665 */
export function share(value: number): string {
  return `${trimmed(value * 100)} %`;
}

/* The API's time as milliseconds since 1970; NaN: it is none. */
export function millis(time: string): number {
  return Date.parse(time.replace(/(\.\d{3})\d+Z$/, "$1Z"));
}

/* The API's time as ns since 1970; null: it is none. */
export function nanos(time: string): bigint | null {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/.exec(time);
  if (match === null) return null;
  const whole = Date.parse(`${match[1]}Z`);
  if (Number.isNaN(whole)) return null;
  return BigInt(whole) * 1_000_000n + BigInt((match[2] ?? "").padEnd(9, "0"));
}

/* The reverse: "2026-11-23T06:14:02.123456789Z". */
export function timeOf(ns: bigint): string {
  const rest = ((ns % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const seconds = (ns - rest) / 1_000_000_000n; /* before 1970 a part of a second still counts forwards */
  const head = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return `${head}.${rest.toString().padStart(9, "0")}Z`;
}

/* As the reader has chosen in the settings: UTC or local, 12 or 24 hours. */
export function clock(time: string | number, withDate = true): string {
  const ms = typeof time === "number" ? time : millis(time);
  if (!Number.isFinite(ms)) return "–";
  const utc = settings.zone.value === "utc";
  const options: Intl.DateTimeFormatOptions = {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: settings.hours.value === "12" ? "h12" : "h23",
    ...(utc ? { timeZone: "UTC" } : {}),
    ...(withDate ? { year: "numeric", month: "2-digit", day: "2-digit" } : {}),
  };
  const text = new Intl.DateTimeFormat("en-CA", options).format(ms).replace(", ", " ");
  return utc ? `${text} UTC` : text;
}

/* "3 min ago", "in 2 h" */
export function ago(time: string | number, now = Date.now()): string {
  const ms = typeof time === "number" ? time : millis(time);
  if (!Number.isFinite(ms)) return "–";
  const seconds = Math.round((now - ms) / 1000);
  if (Math.abs(seconds) < 1) return "now";
  const words = longDuration(Math.abs(seconds)).split(" ").slice(0, 2).join(" ");
  return seconds > 0 ? `${words} ago` : `in ${words}`;
}

/* Where events are lost, as "lost in the ring": the ledger's places. */
export const PLACES_LOST = { ring: "in the ring", spool: "in a spool", wire: "on the wire", quota: "to a quota", store: "in the store" } as const;
