/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the bytes of a trace come from: a file that was dropped, which is read once, or a capture of a
 * collector, of which each process is fetched when it is wanted, first the time around the failure. Owns
 * no state but what a file's bytes are. For the worker; asks its own origin alone.
 */
import type { Schemas } from "../api/client";
import type { CaptureSource, Problem } from "./trace";

/* Why bytes are not there. */
export class SourceError extends Error {
  readonly requestId: string | undefined;
  readonly status: number | undefined; /* of the collector's answer */
  constructor(sentence: string, requestId?: string, status?: number) {
    super(sentence);
    this.requestId = requestId;
    this.status = status;
  }
}

export function problemOf(error: unknown): Problem {
  const text = error instanceof Error ? error.message : String(error);
  const problem: Problem = { text };
  if (!(error instanceof SourceError)) return problem;
  if (error.requestId !== undefined) problem.requestId = error.requestId;
  if (error.status !== undefined) problem.status = error.status;
  return problem;
}

export interface CaptureProcess {
  id: string;
  pid: number;
  host: string;
  service: string;
  fromNs: bigint;
  toNs: bigint;
  events: number;
  lost: number;
  bytes: number;
  clockErrorNs: number | null;
}

export interface CaptureFacts {
  fromNs: bigint;
  toNs: bigint;
  atNs: bigint;
  processes: CaptureProcess[];
}

/* ---- the collector's answers ---- */

type Manifest = Schemas["Manifest"];

interface CaptureAnswer {
  at: string;
  window: { from: string; to: string };
}

/* "2026-11-21T09:40:00.123456789Z" exactly; the clock of Date ends at milliseconds. */
export function timeNs(text: string): bigint {
  const found = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text);
  const ms = found === null ? Number.NaN : Date.parse(`${found[1] ?? ""}${found[3] ?? ""}`);
  if (found === null || Number.isNaN(ms)) throw new SourceError(`The collector gave a time that is none: ${text}`);
  return BigInt(ms) * 1000000n + BigInt((found[2] ?? "").padEnd(9, "0"));
}

export function nsTime(ns: bigint): string {
  const rest = ((ns % 1000000000n) + 1000000000n) % 1000000000n; /* before 1970, too */
  return `${new Date(Number((ns - rest) / 1000000n)).toISOString().slice(0, 19)}.${String(rest).padStart(9, "0")}Z`;
}

const BUSY_LEAST_MS = 250;
const BUSY_MOST_MS = 20_000;

async function refusal(response: Response): Promise<SourceError> {
  let sentence = `The collector answered ${response.status}.`;
  try {
    const problem = (await response.json()) as { detail?: unknown };
    if (typeof problem.detail === "string") sentence = problem.detail;
  } catch {
    /* no JSON: the status is all there is */
  }
  return new SourceError(sentence, response.headers.get("X-Request-Id") ?? undefined, response.status);
}

async function answered(path: string, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(`/api/v1${path}`, { credentials: "same-origin", signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new SourceError("The collector does not answer. Is skeind running, and the network there?");
  }
}

/* A collector that is busy with other answers (503 with Retry-After) is asked again, as api/client.ts does. */
async function asked(path: string, signal: AbortSignal): Promise<Response> {
  for (const since = Date.now(); ; ) {
    const response = await answered(path, signal);
    if (response.ok) return response;
    const seconds = Number(response.headers.get("Retry-After") ?? NaN);
    const wait = Math.max(BUSY_LEAST_MS, seconds * 1000);
    if (response.status !== 503 || !(seconds >= 0) || Date.now() - since + wait > BUSY_MOST_MS) throw await refusal(response);
    await new Promise((go) => setTimeout(go, wait));
    signal.throwIfAborted();
  }
}

function processOf(target: Manifest["targets"][number]): CaptureProcess {
  const from = target.partitions.map((partition) => timeNs(partition.from));
  const to = target.partitions.map((partition) => timeNs(partition.to));
  return {
    id: target.process,
    pid: target.pid,
    host: target.host,
    service: target.service,
    fromNs: from.reduce((a, b) => (b < a ? b : a), from[0] ?? 0n),
    toNs: to.reduce((a, b) => (b > a ? b : a), 0n),
    events: Number(target.events),
    lost: target.partitions.reduce((sum, partition) => sum + Number(partition.lost), 0),
    bytes: Number(target.bytes),
    clockErrorNs: target.clock_error_ns === undefined ? null : Number(target.clock_error_ns),
  };
}

export async function captureFacts(source: CaptureSource, signal: AbortSignal): Promise<CaptureFacts> {
  const path = `/captures/${encodeURIComponent(source.capture)}`;
  const [manifest, capture] = await Promise.all([
    asked(`${path}/manifest`, signal).then((response) => response.json() as Promise<Manifest>),
    asked(path, signal).then((response) => response.json() as Promise<CaptureAnswer>),
  ]);
  return {
    fromNs: timeNs(capture.window.from),
    toNs: timeNs(capture.window.to),
    atNs: timeNs(capture.at),
    processes: manifest.targets.map(processOf),
  };
}

/* The bytes of one process, or of its time between two instants; damaged partitions are left out, and are
 * gaps. `progress` is told how many bytes have come. */
export async function captureBytes(
  source: CaptureSource,
  process: string,
  between: { from: bigint; to: bigint } | null,
  signal: AbortSignal,
  progress: (bytes: number) => void,
): Promise<Uint8Array> {
  const query = new URLSearchParams({ process, damaged: "skip" });
  if (between !== null) {
    query.set("from", nsTime(between.from));
    query.set("to", nsTime(between.to));
  }
  const response = await asked(`/captures/${encodeURIComponent(source.capture)}/trace?${query}`, signal);
  return body(response, progress);
}

async function body(response: Response, progress: (bytes: number) => void): Promise<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return new Uint8Array(await response.arrayBuffer());
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    bytes += value.byteLength;
    progress(bytes);
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}
