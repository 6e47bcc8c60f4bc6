/* SPDX-License-Identifier: Apache-2.0
 *
 * What page and worker say to each other. Types alone.
 */
import type {
  CaptureSource, EventFilter, EventRef, FlameOf, Lane, Problem, TraceGap, TraceProcess, TraceState, TraceThread,
  TraceType, ViewAsk, Window,
} from "./trace";

/* Questions have a number, and are answered once. */
export type Question =
  | { op: "view"; ask: ViewAsk }
  | { op: "details"; ref: EventRef }
  | { op: "search"; text: string }
  | { op: "events"; window: Window; filter: EventFilter; first: number; count: number }
  | { op: "span"; window: Window }
  | { op: "flame"; window: Window; of: FlameOf }
  | { op: "report"; window: Window }
  | { op: "diff"; before: Window; after: Window };

export type ToWorker =
  | { op: "open"; source: File | ArrayBuffer | CaptureSource }
  | { op: "want"; processes: readonly number[]; at?: number }
  | { op: "stop" }
  | { op: "retry" }
  | { op: "cancel"; id: number }
  | { op: "ask"; id: number; question: Question };

/* What has changed; what has not is absent. Types and threads from `…From` on. */
export interface Update {
  state?: TraceState;
  processes?: TraceProcess[];
  typesFrom?: number;
  types?: TraceType[];
  threads?: TraceThread[];
  lanes?: Lane[];
  gaps?: TraceGap[];
  opened?: { origin: bigint; length: number; at: number | null };
  lossTexts?: string[];
}

export type FromWorker =
  | { op: "update"; update: Update }
  | { op: "answer"; id: number; value: unknown }
  | { op: "failed"; id: number; name: string; problem: Problem; at?: number };
