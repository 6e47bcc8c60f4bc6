// SPDX-License-Identifier: Apache-2.0
// What is looked at as an address, and back: window, track, selected event, pins, search, spans. An event is named by
// when it began, how long it took and how deep it lies, so that it is found again in another tab and after the trace
// was cut into other parts. Pure.
import { nanos, timeOf } from "../ui/units";
import type { Span } from "./zoom";

export interface LinkEvent {
  begin: number; /* ns since the window's start; below 0: it began before */
  length: number;
  depth: number;
}

/* A track that is pinned: a process, or a thread of it. */
export interface LinkPin {
  process: string;
  tid: number | null;
}

export interface LinkState {
  view: Span | null; /* null: not said */
  process: string | null; /* id */
  tid: number | null;
  event: LinkEvent | null;
  pins: readonly LinkPin[];
  query: string;
  span: Span | null; /* selected */
  marked: Span | null;
}

export const NO_LINK: LinkState = {
  view: null,
  process: null,
  tid: null,
  event: null,
  pins: [],
  query: "",
  span: null,
  marked: null,
};

const ID = /^[0-9a-f]{32}$/;
const NUMBER = /^\d{1,16}$/;
const PINS_MOST = 64;

function wholeNumber(text: string | undefined): number | null {
  if (text === undefined || !NUMBER.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : null;
}

function signedNumber(text: string | undefined): number | null {
  const size = wholeNumber(text?.replace(/^-/, ""));
  return size === null || size === 0 || text?.startsWith("-") !== true ? size : -size;
}

function spanText(span: Span): string {
  return `${Math.round(span.from)}-${Math.round(span.to)}`;
}

function spanOf(text: string | null): Span | null {
  const [first, second, ...rest] = (text ?? "").split("-");
  const from = wholeNumber(first);
  const to = wholeNumber(second);
  return from === null || to === null || rest.length > 0 || to <= from ? null : { from, to };
}

function viewOf(parameters: URLSearchParams, origin: bigint): Span | null {
  const from = nanos(parameters.get("from") ?? "");
  const to = nanos(parameters.get("to") ?? "");
  if (from === null || to === null || to <= from) return null;
  const span = { from: Number(from - origin), to: Number(to - origin) };
  return Number.isSafeInteger(span.from) && Number.isSafeInteger(span.to) ? span : null;
}

function eventOf(text: string | null): LinkEvent | null {
  const parts = (text ?? "").split(".");
  const [begin, length, depth] = [signedNumber(parts[0]), wholeNumber(parts[1]), wholeNumber(parts[2])];
  return parts.length !== 3 || begin === null || length === null || depth === null ? null : { begin, length, depth };
}

function pinOf(text: string): LinkPin | null {
  const [process, tid, ...rest] = text.split(".");
  if (process === undefined || !ID.test(process) || rest.length > 0) return null;
  if (tid === undefined) return { process, tid: null };
  const number = wholeNumber(tid);
  return number === null ? null : { process, tid: number };
}

/* What is none is left out: an address that was cut or made by hand opens the timeline all the same. */
export function linkState(search: string, origin: bigint): LinkState {
  const parameters = new URLSearchParams(search);
  const process = parameters.get("p") ?? "";
  const pins = (parameters.get("pin") ?? "").split(",").slice(0, PINS_MOST);
  return {
    view: viewOf(parameters, origin),
    process: ID.test(process) ? process : null,
    tid: wholeNumber(parameters.get("tid") ?? undefined),
    event: eventOf(parameters.get("ev")),
    pins: pins.map(pinOf).filter((pin) => pin !== null),
    query: (parameters.get("q") ?? "").slice(0, 4096),
    span: spanOf(parameters.get("span")),
    marked: spanOf(parameters.get("cmp")),
  };
}

/* The reverse, without "?"; "" where nothing is to be said. */
export function linkText(state: LinkState, origin: bigint): string {
  const parameters = new URLSearchParams();
  if (state.view !== null) {
    parameters.set("from", timeOf(origin + BigInt(Math.round(state.view.from))));
    parameters.set("to", timeOf(origin + BigInt(Math.round(state.view.to))));
  }
  if (state.process !== null) parameters.set("p", state.process);
  if (state.tid !== null) parameters.set("tid", String(state.tid));
  if (state.event !== null) {
    const { begin, length, depth } = state.event;
    parameters.set("ev", `${Math.round(begin)}.${Math.round(length)}.${depth}`);
  }
  if (state.pins.length > 0)
    parameters.set("pin", state.pins.map(({ process, tid }) => (tid === null ? process : `${process}.${tid}`)).join(","));
  if (state.query !== "") parameters.set("q", state.query);
  if (state.span !== null) parameters.set("span", spanText(state.span));
  if (state.marked !== null) parameters.set("cmp", spanText(state.marked));
  return parameters.toString();
}
