/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker that decodes one trace: messages in, the engine's answers and changes out. Owns the engine;
 * a page has a worker for each trace that is open, and ends it.
 */
import analysisUrl from "../../../build/web/wasm/analysis.wasm?url";
import traceUrl from "../../../build/web/wasm/trace.wasm?url";
import { Engine, type ModuleName } from "./engine";
import type { FromWorker, ToWorker } from "./messages";
import { SearchError } from "./search";
import { problemOf, SourceError } from "./sources";

interface Scope {
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
  postMessage(message: FromWorker, transfer: Transferable[]): void;
}
const scope = self as unknown as Scope;

async function load(name: ModuleName): Promise<WebAssembly.Module> {
  const response = await fetch(name === "trace" ? traceUrl : analysisUrl);
  if (!response.ok) throw new SourceError(`The reader (${name}.wasm) could not be loaded: ${response.status}.`);
  return WebAssembly.compile(await response.arrayBuffer());
}

const engine = new Engine(load, (update) => scope.postMessage({ op: "update", update }, []));
const asked = new Map<number, AbortController>();

/* The buffers of typed arrays in an answer, which are handed over. */
function buffersOf(value: unknown): Transferable[] {
  if (typeof value !== "object" || value === null) return [];
  const buffers = new Set<ArrayBuffer>();
  for (const member of Object.values(value))
    if (ArrayBuffer.isView(member)) buffers.add(member.buffer as ArrayBuffer);
  return [...buffers];
}

function failed(id: number, error: unknown): void {
  const name = error instanceof Error || error instanceof DOMException ? error.name : "Error";
  const problem = problemOf(error);
  const message: FromWorker = { op: "failed", id, name: error instanceof SearchError ? "SearchError" : name, problem };
  scope.postMessage(error instanceof SearchError ? { ...message, at: error.at } : message, []);
}

async function answer(id: number, question: Extract<ToWorker, { op: "ask" }>["question"]): Promise<void> {
  const control = new AbortController();
  asked.set(id, control);
  try {
    const value = await engine.answer(question, control.signal);
    scope.postMessage({ op: "answer", id, value }, buffersOf(value));
  } catch (error) {
    failed(id, error);
  } finally {
    asked.delete(id);
  }
}

scope.onmessage = ({ data }): void => {
  switch (data.op) {
    case "open":
      void engine.open(data.source);
      return;
    case "want":
      engine.want(data.processes, data.at);
      return;
    case "stop":
      engine.stop();
      return;
    case "retry":
      engine.retry();
      return;
    case "cancel":
      asked.get(data.id)?.abort();
      return;
    case "ask":
      void answer(data.id, data.question);
  }
};
