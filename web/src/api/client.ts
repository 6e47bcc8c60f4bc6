// SPDX-License-Identifier: Apache-2.0
// Requests to the collector's HTTP API (docs/api.md), and what it says when it refuses one. No state but the listener
// for a session that has ended.
import type { components } from "./schema";

export type Schemas = components["schemas"];

/* Why a request gave nothing: the API's problem (RFC 9457), or no answer at all. */
export class Refused extends Error {
  readonly status: number; /* 0: no answer */
  readonly type: string; /* urn:skein:problem:… */
  readonly field: string | undefined;
  readonly requestId: string | undefined;
  constructor(status: number, detail: string, type = "", field?: string, requestId?: string) {
    super(detail);
    this.status = status;
    this.type = type;
    this.field = field;
    this.requestId = requestId;
  }
}

export type Query = Readonly<Record<string, string | number | boolean | undefined | null>>;

export function address(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== "") parameters.set(name, String(value));
  const text = parameters.toString();
  return `/api/v1${path}${text === "" ? "" : `?${text}`}`;
}

/* Told when the collector wants a token that it was not given: who.ts sends the reader to the login. */
let unknownReader: () => void = () => undefined;
export function onUnknownReader(told: () => void): void {
  unknownReader = told;
}

async function refusal(response: Response): Promise<Refused> {
  const id = response.headers.get("X-Request-Id") ?? undefined;
  let detail = `The collector answered ${response.status}.`;
  let type = "";
  let field: string | undefined;
  try {
    const body: unknown = await response.json();
    if (typeof body === "object" && body !== null) {
      const problem = body as Partial<Schemas["Problem"]>;
      if (typeof problem.detail === "string") detail = problem.detail;
      if (typeof problem.type === "string") type = problem.type;
      if (typeof problem.field === "string") field = problem.field;
    }
  } catch {
    /* no JSON: the status is all there is */
  }
  return new Refused(response.status, detail, type, field, id);
}

export interface Asked {
  query?: Query;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

const BUSY_MOST_MS = 20_000;

/* How long a refused GET is to wait until it is asked again: the collector is busy with other answers; 0: it is not. */
function busyMs(method: string, response: Response, since: number): number {
  const seconds = Number(response.headers.get("Retry-After") ?? NaN);
  if (method !== "GET" || response.status !== 503 || !(seconds >= 0)) return 0;
  const wait = Math.max(250, seconds * 1000);
  return Date.now() - since + wait > BUSY_MOST_MS ? 0 : wait;
}

async function answer(path: string, asked: Asked, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address(path, asked.query), init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused(0, "The collector does not answer. Is skeind running, and the network there?");
  }
}

/* The answer, whatever its body is. Throws Refused; an AbortError where `signal` ended it. */
export async function request(method: string, path: string, asked: Asked = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json", ...asked.headers };
  const init: RequestInit = { method, headers, credentials: "same-origin" };
  if (asked.signal !== undefined) init.signal = asked.signal;
  if (method !== "GET" && method !== "HEAD") {
    headers["Content-Type"] = "application/json";
    if (asked.body !== undefined) init.body = JSON.stringify(asked.body);
  }
  const since = Date.now();
  let response = await answer(path, asked, init);
  for (let wait = busyMs(method, response, since); wait > 0; wait = busyMs(method, response, since)) {
    await new Promise((done) => setTimeout(done, wait));
    asked.signal?.throwIfAborted();
    response = await answer(path, asked, init);
  }
  if (response.ok) return response;
  const refused = await refusal(response);
  /* A login that is refused says nothing of who is known already. */
  if (refused.status === 401 && path !== "/session") unknownReader();
  throw refused;
}

export async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  const asked: Asked = {};
  if (query !== undefined) asked.query = query;
  if (signal !== undefined) asked.signal = signal;
  const response = await request("GET", path, asked);
  return parsed<T>(response, await response.text());
}

/* An answer of this API is an object; something between here and there may have made another one of it. */
function parsed<T>(response: Response, text: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value !== "object" || value === null) throw unreadable(response);
  return value as T;
}

function unreadable(response: Response): Refused {
  const id = response.headers.get("X-Request-Id") ?? undefined;
  return new Refused(response.status, "The collector's answer cannot be read. Is there a proxy between, or a collector of another version?", "", undefined, id);
}

/* A page of a listing. */
export async function getListing<T>(path: string, query?: Query, signal?: AbortSignal): Promise<Listing<T>> {
  const page = await get<Partial<Listing<T>>>(path, query, signal);
  if (!Array.isArray(page.items) || page.items.some((item) => typeof item !== "object" || item === null)) throw new Refused(0, "The collector's answer is no listing. Is it a collector of another version?");
  return page as Listing<T>;
}

/* POST, PUT, PATCH, DELETE; undefined for an answer without a body (204). */
export async function send<T = undefined>(method: string, path: string, asked: Asked = {}): Promise<T> {
  const response = await request(method, path, asked);
  const text = await response.text();
  return text === "" ? (undefined as T) : parsed<T>(response, text);
}

/* A path's part: ids and names are never put into an address as they are. */
export const part = encodeURIComponent;

export interface Listing<T> {
  items: T[];
  next_cursor?: string;
}
