// SPDX-License-Identifier: Apache-2.0
// Times, tracks and events of a timeline in words. Pure, but for the reader's choice of the clock. What programs wrote
// goes through shown().
import { type EventDetails, SAMPLE, type TraceProcess, type TraceThread } from "../trace/trace";
import { shown } from "../ui/text";
import { duration, timeOf } from "../ui/units";
import { relativeLabel } from "./zoom";

export type TimeMode = "relative" | "utc" | "local";
export const TIME_MODES: readonly TimeMode[] = ["relative", "utc", "local"];

export interface TimeBase {
  mode: TimeMode;
  origin: bigint;
  zero: number; /* ns since the origin: the failure, or the begin */
}

const DIGITS: readonly (readonly [number, number])[] = [[1e9, 0], [1e6, 3], [1e3, 6], [1, 9]];

/* A point in time, as fine as `step` needs. */
export function timeWords(ns: number, step: number, base: TimeBase): string {
  if (base.mode === "relative") return relativeLabel(ns - base.zero, step);
  const utc = timeOf(base.origin + BigInt(Math.round(ns)));
  const digits = DIGITS.find(([least]) => step >= least)?.[1] ?? 9;
  const fraction = digits === 0 ? "" : `.${utc.slice(20, 20 + digits)}`;
  if (base.mode === "utc") return `${utc.slice(11, 19)}${fraction} UTC`;
  const date = new Date(`${utc.slice(0, 19)}Z`);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}${fraction}`;
}

/* For sentences: to the microsecond, without zeros at the end; near zero to the ns. */
export function pointWords(ns: number, base: TimeBase): string {
  const words = timeWords(ns, Math.abs(ns - base.zero) < 1e6 ? 1 : 1e3, base);
  return base.mode === "relative" ? words.replace(/(\.\d*?)0+ /, "$1 ").replace(/\. /, " ") : words;
}

export function processWords(process: TraceProcess | undefined): string {
  return process === undefined ? "no process" : `${shown(process.service, 60)}/${process.pid}`;
}

export function threadWords(thread: TraceThread | undefined): string {
  return thread === undefined ? "the process" : `${shown(thread.name === "" ? "thread" : thread.name, 60)}/${thread.tid}`;
}

/* How uncertain the time of a host is; "" where it is not. */
export function clockWords(process: TraceProcess): string {
  if (process.clockErrorNs === null) return "clock offset unknown";
  return process.clockErrorNs >= 1000 ? `clock ±${duration(process.clockErrorNs)}` : "";
}

export function isSample(details: EventDetails): boolean {
  return details.kind === "instant" && details.evidence && details.name === SAMPLE;
}

/* What ran: the innermost frame of a sample, or its address; "" where no stack was had. */
export function leafWords(details: EventDetails, most: number): string {
  const leaf = details.frames[0];
  return leaf === undefined ? "" : shown(leaf.function === "" ? leaf.address : leaf.function, most);
}

/* "compress (zip.c:38)" of a sample; "" where no stack was had. */
export function ranWords(details: EventDetails): string {
  const leaf = details.frames[0];
  const where = leaf === undefined || leaf.file === "" ? "" : ` (${shown(leaf.file, 200)}${leaf.line > 0 ? `:${leaf.line}` : ""})`;
  return `${leafWords(details, 160)}${where}`;
}

/* The name that a panel and a sentence give an event. */
export function nameWords(details: EventDetails, most: number): string {
  if (!isSample(details)) return shown(details.name, most);
  const leaf = leafWords(details, most);
  return leaf === "" ? "CPU sample without a stack" : `CPU sample: ${leaf}`;
}

/* "take_from_stock 64.6 ms in shop/worker at −1.204 s" */
export function eventWords(details: EventDetails, process: TraceProcess | undefined, thread: TraceThread | undefined, base: TimeBase): string {
  const name = details.loss === null ? nameWords(details, 120) : `lost records (${shown(details.loss.reason, 80)})`;
  const length = details.ref.length > 0 ? ` ${duration(details.ref.length)}` : "";
  const where = `${shown(process?.service ?? "?", 60)}/${thread === undefined ? "process" : shown(thread.name || String(thread.tid), 60)}`;
  return `${name}${length} in ${where} at ${pointWords(details.ref.begin, base)}`;
}

/* An argument's value with its unit. */
export function valueWords(value: string | number | bigint | boolean, unit: string, pointer: boolean): string {
  if (typeof value === "string") return shown(value, 2000);
  if (pointer && typeof value !== "boolean") return `0x${BigInt(value).toString(16)}`;
  if (unit === "ns" && typeof value === "number") return duration(value);
  const digits = typeof value !== "number" ? String(value) : Number.isInteger(value) ? value.toLocaleString("en-US") : value.toLocaleString("en-US", { maximumSignificantDigits: 6 });
  return `${digits}${unit === "" ? "" : ` ${shown(unit, 20)}`}`;
}
