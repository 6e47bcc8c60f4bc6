// SPDX-License-Identifier: Apache-2.0
// A form as a table: which member of the JSON a field is, and how its text becomes the member and back. Pure. What a
// text cannot be is left to the collector, which says what is wrong with it.
import { type Json, isObject } from "./document";

export type FieldKind = "text" | "duration" | "size" | "count" | "number" | "flag" | "choice" | "words" | "labels" | "list";

export interface FieldSpec {
  path: string; /* "capture.pre_ms" */
  label: string;
  kind: FieldKind;
  hint?: string;
  otherwise?: string; /* what holds where it is left empty */
  choices?: readonly (readonly [string, string])[]; /* value, words; "": left out */
  required?: boolean; /* kept also where it is empty */
  unitNs?: number; /* of a duration's number; without it ms */
  lines?: number;
}

const TIME_UNITS: readonly (readonly [number, string])[] = [
  [86_400_000_000_000, "d"],
  [3_600_000_000_000, "h"],
  [60_000_000_000, "m"],
  [1_000_000_000, "s"],
  [1_000_000, "ms"],
  [1_000, "us"],
  [1, "ns"],
];

const SIZE_UNITS: readonly (readonly [number, string])[] = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
  [1, "B"],
];

function exact(value: number, units: readonly (readonly [number, string])[]): string {
  const [size, name] = units.find(([size]) => value >= size && value % size === 0) ?? units.at(-1)!;
  return `${value / size}${name}`;
}

/* 10000 (ms) → "10s"; nothing is rounded. */
export function durationText(value: number, unitNs = 1_000_000): string {
  return value === 0 ? "0s" : exact(value * unitNs, TIME_UNITS);
}

export function sizeText(value: number): string {
  return value === 0 ? "0B" : exact(value, SIZE_UNITS);
}

function pairsText(value: Json): string {
  return isObject(value)
    ? Object.entries(value)
        .map(([name, text]) => `${name}=${typeof text === "string" ? text : JSON.stringify(text)}`)
        .join("\n")
    : JSON.stringify(value);
}

/* A member as the text of its field. */
export function fieldText(spec: FieldSpec, value: Json | undefined): string {
  if (value === undefined) return "";
  if (spec.kind === "duration" && typeof value === "number") return durationText(value, spec.unitNs);
  if (spec.kind === "size" && typeof value === "number") return sizeText(value);
  if (spec.kind === "labels") return pairsText(value);
  if (Array.isArray(value) && (spec.kind === "words" || spec.kind === "list"))
    return value.map((word) => (typeof word === "string" ? word : JSON.stringify(word))).join(spec.kind === "words" ? "\n" : ", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

function pairs(text: string): Json {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [line.trim(), ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

/* The reverse; undefined: the member goes. */
export function fieldValue(spec: FieldSpec, text: string): Json | undefined {
  if (text === "" && spec.required !== true) return undefined;
  switch (spec.kind) {
    case "count":
    case "number":
      return text.trim() !== "" && String(Number(text)) === text.trim() ? Number(text) : text;
    case "flag":
      return text === "true" ? true : text === "false" ? false : undefined;
    case "words":
      return text.split("\n");
    case "list":
      return text.split(",").map((word) => word.trim()).filter((word) => word !== "");
    case "labels":
      return pairs(text);
    case "duration":
    case "size":
      return text.trim();
    default:
      return text;
  }
}

const UNITS_MS: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, ms: 1, s: 1e3, m: 6e4, h: 3.6e6, d: 8.64e7, w: 6.048e8 };

/* "10s" or 10000 as ms; undefined: neither. */
export function millisOf(value: unknown, otherwise: number): number | undefined {
  if (value === undefined) return otherwise;
  if (typeof value === "number") return value;
  const match = typeof value === "string" ? /^(\d+(?:\.\d+)?)(ns|us|ms|s|m|h|d|w)$/.exec(value) : null;
  return match === null ? undefined : Number(match[1]) * UNITS_MS[match[2]!]!;
}
