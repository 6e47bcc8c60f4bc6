/* SPDX-License-Identifier: Apache-2.0
 * The engine of the worker over real WebAssembly (build/web/wasm, tools/web.sh) and real trace files: what pages ask,
 * and what they see meanwhile. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine, type ModuleName } from "../../src/trace/engine";
import { flameOf } from "../../src/trace/analysis";
import { isSample, nameWords } from "../../src/timeline/words";
import type { Question, Update } from "../../src/trace/messages";
import { pause, steps } from "../../src/trace/pieces";
import { type Found, Merge, MOST_ROWS, rowsOf } from "../../src/trace/rows";
import { nsTime, timeNs } from "../../src/trace/sources";
import {
  type EventPage, type FlameNode, type JsonObject, type Lane, SAMPLE, type SearchResult, type SpanStats, type TraceProcess, type TraceState,
  type View, type Window,
} from "../../src/trace/trace";
import { inTree } from "./in_tree";

const load = (name: ModuleName): Promise<WebAssembly.Module> =>
  WebAssembly.compile(new Uint8Array(inTree(`build/web/wasm/${name}.wasm`)));
const golden = (): ArrayBuffer => new Uint8Array(inTree("tests/golden/partition-v1-3.skein")).slice().buffer;

interface Seen {
  engine: Engine;
  state: TraceState;
  processes: TraceProcess[];
  lanes: Lane[];
  length: number;
  loaded: string[];
}

/* Opens, and waits until nothing is loading any more. */
async function opened(bytes: ArrayBuffer, rowsBound?: number): Promise<Seen> {
  const seen = { lanes: [], processes: [], loaded: [], length: 0 } as unknown as Seen;
  let quiet: () => void = () => undefined;
  const over = new Promise<void>((go) => (quiet = go));
  const tell = (update: Update): void => {
    if (update.processes !== undefined) {
      seen.processes = update.processes;
      seen.loaded.push(update.processes.map((process) => process.loaded).join());
    }
    if (update.lanes !== undefined) seen.lanes = update.lanes;
    if (update.opened !== undefined) seen.length = update.opened.length;
    if (update.state === undefined) return;
    seen.state = update.state;
    const done = seen.processes.some((process) => process.loaded === "whole" || process.loaded === "failed");
    if (update.state.phase === "failed" || (update.state.phase === "idle" && done)) quiet();
  };
  seen.engine = rowsBound === undefined ? new Engine(load, tell) : new Engine(load, tell, rowsBound);
  await seen.engine.open(bytes);
  await over;
  return seen;
}

const ask = async <T>(seen: Seen, question: Question): Promise<T> =>
  (await seen.engine.answer(question, new AbortController().signal)) as T;

test("a file becomes lanes, and each lane is drawn", async () => {
  const seen = await opened(golden());
  assert.equal(seen.state.phase, "idle");
  assert.equal(seen.state.problem, null);
  assert.deepEqual(seen.processes.map((process) => process.service), ["checkout"]);
  assert.equal(seen.processes[0]?.loaded, "whole");
  assert.ok(seen.lanes.length > 5);
  assert.equal(new Set(seen.lanes.map((lane) => lane.id)).size, seen.lanes.length);
  const lanes = seen.lanes.map((lane) => lane.id);
  const view = await ask<View>(seen, { op: "view", ask: { from: 0, to: seen.length + 1, width: 1000, lanes } });
  assert.equal(view.first.length, lanes.length + 1);
  assert.equal(view.first[lanes.length], view.from.length);
  seen.lanes.forEach((lane, i) => {
    const items = (view.first[i + 1] ?? 0) - (view.first[i] ?? 0);
    assert.equal(items, lane.rows, `${lane.kind} ${lane.number}`); /* so few rows are all drawn */
    if (lane.kind !== "region") return;
    const busy = [...view.longest.slice(view.first[i], view.first[i + 1])].reduce((sum, length) => sum + length, 0);
    assert.ok(Math.abs(busy - lane.busyNs) <= lane.busyNs * 1e-6);
  });
});

test("lanes that are not there draw nothing, in their place", async () => {
  const seen = await opened(golden());
  const known = seen.lanes[0]?.id ?? 0;
  const view = await ask<View>(seen, { op: "view", ask: { from: 0, to: seen.length, width: 100, lanes: [99999, known] } });
  assert.deepEqual([view.first[0], view.first[1]], [0, 0]);
  assert.ok((view.first[2] ?? 0) > 0);
});

test("what is found has details, what encloses it, and children", async () => {
  const seen = await opened(golden());
  const found = await ask<SearchResult>(seen, { op: "search", text: "name=read kind:region" });
  assert.equal(found.total, 21);
  assert.equal(found.kept, 21);
  const thread = seen.engine.names.threads[found.thread[0] ?? -1];
  const ref = {
    process: found.process[0] ?? 0, tid: thread?.tid ?? 0, begin: found.begin[0] ?? 0, length: found.length[0] ?? 0,
    depth: found.depth[0] ?? 0,
  };
  const details = seen.engine.details(ref);
  assert.equal(details?.name, "read");
  assert.deepEqual(details?.ref, ref);
  assert.ok((details?.args.length ?? 0) > 0);
  assert.equal(details?.enclosing.length, ref.depth);
  const parent = details?.enclosing.at(-1);
  if (parent === undefined) return;
  const around = seen.engine.details(parent.ref);
  assert.ok(around?.inside.some((child) => child.ref.begin === ref.begin && child.name === "read"));
  assert.equal(seen.engine.details({ ...ref, begin: ref.begin + 12345 }), null);
});

test("samples of the CPU are lanes, events with what is around them, and are found; what else the agent tells is not", async () => {
  const seen = await opened(new Uint8Array(inTree("tests/fuzz/corpus/sql_trace/shop")).slice().buffer);
  const samples = seen.lanes.filter((lane) => lane.kind === "sample");
  assert.deepEqual(samples.map(({ rows, evidence, busyNs }) => [rows, evidence, busyNs]), [[3, true, 0]]);
  const view = await ask<View>(seen, { op: "view", ask: { from: 0, to: seen.length + 1, width: 100, lanes: [samples[0]?.id ?? -1] } });
  assert.deepEqual([...view.from], [500000, 600000, 700000]);
  assert.equal(seen.engine.names.types[view.type[0] ?? -1]?.name, SAMPLE);
  const found = await ask<SearchResult>(seen, { op: "search", text: `name=${SAMPLE}` });
  assert.deepEqual([...found.begin], [500000, 600000, 700000]);
  const sched = await ask<SearchResult>(seen, { op: "search", text: "name:sched" });
  assert.equal(sched.total, 0);
  const details = seen.engine.details({ process: 0, tid: 41, begin: 600000, length: 0, depth: 0 });
  assert.ok(details !== null && isSample(details));
  assert.deepEqual(details.enclosing.map((one) => one.name), ["request"]);
  assert.equal(nameWords(details, 80), "CPU sample: 0x401010"); /* a frame that nobody has named */
  assert.equal(nameWords({ ...details, frames: [] }, 80), "CPU sample without a stack");
});

test("events of a thread are that thread's, and none of a thread that is not there", async () => {
  const seen = await opened(new Uint8Array(inTree("tests/fuzz/corpus/sql_trace/shop")).slice().buffer);
  const { threads } = seen.engine.names;
  const of = async (window: Partial<Window>): Promise<EventPage> =>
    ask<EventPage>(seen, { op: "events", window: { from: -1e12, to: 1e12, ...window }, filter: {}, first: 0, count: 1000 });
  const worker = threads.find((thread) => thread.tid === 42)?.index ?? -1;
  const page = await of({ threads: [worker] });
  assert.ok(page.total > 0 && page.total < (await of({})).total);
  for (const thread of page.thread) assert.equal(threads[thread]?.tid, 42);
  assert.equal((await of({ threads: [9999] })).total, 0);
  assert.equal((await of({ processes: [9999] })).total, 0);
  assert.equal((await of({ processes: [] })).total, 0);
});

test("sums of threads or processes that are not there are refused, and are not those of all", async () => {
  const seen = await opened(new Uint8Array(inTree("tests/fuzz/corpus/sql_trace/shop")).slice().buffer);
  const window = { from: -1e12, to: 1e12 };
  const worker = seen.engine.names.threads.find((thread) => thread.tid === 42)?.index ?? -1;
  const one = await ask<SpanStats>(seen, { op: "span", window: { ...window, threads: [worker, 9999] } });
  assert.deepEqual(one.names.map((name) => name.name).sort(), ["batch", "mutex_lock"]);
  for (const none of [{ threads: [9999] }, { threads: [] }, { processes: [] }, { processes: [9999] }])
    for (const op of ["span", "report"] as const) await assert.rejects(ask(seen, { op, window: { ...window, ...none } }), /is there|loaded/, JSON.stringify(none));
});

test("pages of events are in order, and say how many there are", async () => {
  const seen = await opened(golden());
  const window = { from: -1e12, to: 1e12 };
  const all = await ask<EventPage>(seen, { op: "events", window, filter: { order: "length" }, first: 0, count: 1000 });
  assert.equal(all.total, all.length.length);
  assert.deepEqual([...all.length], [...all.length].sort((a, b) => b - a));
  const page = await ask<EventPage>(seen, { op: "events", window, filter: { order: "length" }, first: 5, count: 3 });
  assert.deepEqual([...page.length], [...all.length.slice(5, 8)]);
  const none = await ask<EventPage>(seen, { op: "events", window, filter: { text: "nothing like it" }, first: 0, count: 9 });
  assert.equal(none.total, 0);
  await assert.rejects(ask(seen, { op: "search", text: "dur>" }), /nothing behind/);
});

test("sums, report and difference are the engine's", async () => {
  const seen = await opened(golden());
  const window = { from: -1e12, to: 1e12 };
  const span = await ask<SpanStats>(seen, { op: "span", window });
  const read = span.names.find((name) => name.name === "read");
  assert.equal(read?.count, 21);
  assert.equal(read?.process, 0);
  assert.equal(read?.maxNs, 32000);
  const report = await ask<JsonObject>(seen, { op: "report", window });
  assert.equal(report["version"], 2);
  const half = seen.length / 2;
  const diff = await ask<JsonObject>(seen, {
    op: "diff", before: { from: -1e12, to: half }, after: { from: half, to: 1e12 },
  });
  assert.equal(typeof diff["outcome"], "string");
  const flame = await ask<FlameNode>(seen, { op: "flame", window, of: "waits" });
  assert.equal(flame.totalNs, flame.children.reduce((sum, child) => sum + child.totalNs, 0));
});

test("a question that is stopped ends", async () => {
  const seen = await opened(golden());
  const control = new AbortController();
  control.abort();
  const asked = seen.engine.answer({ op: "report", window: { from: 0, to: 1 } }, control.signal);
  await assert.rejects(Promise.resolve(asked), { name: "AbortError" });
});

test("what is no trace fails with the reader's sentence", async () => {
  const seen = await opened(new TextEncoder().encode("no trace at all").buffer as ArrayBuffer);
  assert.equal(seen.state.phase, "failed");
  assert.match(seen.state.problem?.text ?? "", /F-\d+/);
});

test("times of the API are exact to the nanosecond", () => {
  const ns = timeNs("2026-11-21T09:40:00.123456789Z");
  assert.equal(ns, 1795254000123456789n);
  assert.equal(nsTime(ns), "2026-11-21T09:40:00.123456789Z");
  assert.equal(timeNs("2026-11-21T10:40:00+01:00"), 1795254000000000000n);
  assert.throws(() => timeNs("yesterday"), /no/);
});

test("stacks become one tree from the outermost on", () => {
  const tree = flameOf(
    [
      { name: "cpu.sample", stack: "leaf;mid;main", count: 3, total_ns: 30 },
      { name: "cpu.sample", stack: "other;main", count: 1, total_ns: 50 },
      { name: "read", stack: "leaf;main", count: 9, total_ns: 90 },
    ],
    "samples",
  );
  assert.equal(tree.totalNs, 80);
  assert.deepEqual(tree.children.map((node) => [node.name, node.totalNs]), [["main", 80]]);
  assert.deepEqual(tree.children[0]?.children.map((node) => node.name), ["other", "mid"]);
});

test("whole numbers of arguments are compared as they are, and as others where both are exact", async () => {
  const seen = await opened(golden());
  const total = async (text: string): Promise<number> => (await ask<SearchResult>(seen, { op: "search", text })).total;
  const same = [
    ["rows=0x3e8", "rows=1000.0"], ["rows>0x2328", "rows>9e3"], ["fd=-5", "fd=-5.0"], ["fd<-3", "fd<-3.0"],
    ["fd>-2 fd<2", "fd>-2.0 fd<2.0"], ["fd>=-5 fd<=-4", "fd>=-5.0 fd<=-4.0"], ["result<-280000", "result<-2.8e5"],
  ] as const;
  for (const [exact, other] of same) {
    assert.equal(await total(exact), await total(other), exact);
    assert.ok((await total(exact)) > 0, exact);
  }
  const most = "18446744073709551615"; /* one row has it */
  const of = [`rows=${most}`, "rows=0xffffffffffffffff", "rows=18446744073709551614", `rows>18446744073709551614`, `rows>${most}`];
  assert.deepEqual(await Promise.all(of.map(total)), [1, 1, 0, 1, 0]);
});

test("between two slices of long work others have their turn", async () => {
  let left = 100; /* steps of a ms, at least */
  let turns = 0;
  const step = (): number => {
    for (const end = performance.now() + 1; performance.now() < end; );
    return --left > 0 ? 1 : 0;
  };
  const others = async (): Promise<void> => {
    for (; left > 0; turns++) await pause();
  };
  await Promise.all([steps(step, new AbortController().signal), others()]);
  assert.ok(turns >= 20, `${turns} turns in 100 ms`);
});

test("rows of several traces become one list in order, which keeps the first", () => {
  const made = (process: number, keys: number[]): Found => {
    const rows = rowsOf(keys.length);
    keys.forEach((key, i) => {
      rows.process[i] = process;
      rows.thread[i] = -process;
      rows.type[i] = 3 * process;
      rows.kind[i] = process;
      rows.depth[i] = key % 5;
      rows.begin[i] = rows.length[i] = key;
    });
    return { rows, total: keys.length };
  };
  const up = (step: number, n: number): number[] => Array.from({ length: n }, (_, i) => step * i);
  for (const order of ["begin", "length"] as const) {
    const sorted = (keys: number[]): number[] => (order === "begin" ? keys : keys.reverse());
    const lists = [up(3, MOST_ROWS), up(5, 1000), up(1000, 400), up(7, 3000)].map(sorted);
    const merge = new Merge(order);
    lists.forEach((keys, i) => merge.add(made(i + 1, keys)));
    const merged = merge.found;
    assert.equal(merged.total, MOST_ROWS + 4400);
    const all = lists.flatMap((keys, i) => keys.map((key) => ({ key, process: i + 1 })));
    all.sort((a, b) => (order === "begin" ? a.key - b.key : b.key - a.key) || a.process - b.process);
    assert.equal(merged.rows.begin.length, MOST_ROWS);
    for (let i = 0; i < MOST_ROWS; i++) {
      const one = all[i] ?? { key: -1, process: -1 };
      const { process, thread, type, kind, depth, begin, length } = merged.rows;
      const row = [process[i], thread[i], type[i], kind[i], depth[i], begin[i], length[i]].join();
      const want = [one.process, -one.process, 3 * one.process, one.process, one.key % 5, one.key, one.key].join();
      if (row !== want) assert.fail(`row ${i} is ${row}, and not ${want}`);
    }
  }
});
