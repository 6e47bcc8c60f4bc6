// SPDX-License-Identifier: Apache-2.0
// The page's side of a trace whose worker fails, and is begun again: generations only grow, so that whatever was asked of
// the one before is asked again. The worker is an object here.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openTrace } from "../../src/trace/client";
import type { FromWorker, ToWorker } from "../../src/trace/messages";
import type { TraceState } from "../../src/trace/trace";

class MadeWorker {
  static all: MadeWorker[] = [];
  onmessage: ((event: { data: FromWorker }) => void) | null = null;
  onerror: ((event: { message: string }) => void) | null = null;
  readonly told: ToWorker[] = [];
  ended = false;
  constructor() {
    MadeWorker.all.push(this);
  }
  postMessage(message: ToWorker): void {
    this.told.push(message);
  }
  terminate(): void {
    this.ended = true;
  }
  state(state: Partial<TraceState>): void {
    const all: TraceState = { phase: "idle", bytesDone: 0, bytesTotal: 0, rows: 9, rowsBound: 9, letGo: 0, problem: null, generation: 0, ...state };
    this.onmessage?.({ data: { op: "update", update: { state: all } } });
  }
}

test("a worker that has failed answers nothing; the next one's generations go on from there", async () => {
  const before = globalThis.Worker;
  Object.assign(globalThis, { Worker: MadeWorker });
  try {
    const trace = openTrace({ capture: "c1" });
    const first = MadeWorker.all[0]!;
    first.state({ generation: 3 });
    assert.equal(trace.state.value.generation, 3);
    const asked = trace.span({ from: 0, to: 1 });
    first.onerror?.({ message: "out of memory" });
    await assert.rejects(asked, /decoder has failed \(out of memory\)/);
    assert.ok(first.ended);
    await assert.rejects(trace.span({ from: 0, to: 1 }), /decoder has failed/);
    const threads = [{ index: 0, process: 0, tid: 7, name: "main", evidence: false }];
    first.onmessage?.({ data: { op: "update", update: { threads } } });
    let atRestart = -1;
    const stop = trace.state.subscribe((state) => void (state.phase === "opening" && (atRestart = trace.threads.peek().length)));
    trace.retry();
    stop();
    assert.deepEqual([atRestart, trace.threads.value, trace.lanes.value], [1, [], []], "who follows the state sees the old numbers a last time");
    const second = MadeWorker.all[1]!;
    assert.deepEqual(second.told, [{ op: "open", source: { capture: "c1" } }]);
    const seen = [trace.state.value.generation];
    for (const generation of [0, 1, 2, 3]) {
      second.state({ generation });
      seen.push(trace.state.value.generation);
    }
    assert.ok(Math.min(...seen) > 3, `${seen.join()} are none of the first's`);
    assert.deepEqual(seen, [...seen].sort((a, b) => a - b));
    trace.close();
  } finally {
    Object.assign(globalThis, { Worker: before });
  }
});
