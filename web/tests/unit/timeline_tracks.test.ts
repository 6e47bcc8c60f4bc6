// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type TrackAsk, processOrder, rowAt, rowsBetween, tracksOf } from "../../src/timeline/tracks";
import { joinGaps, gapWords } from "../../src/timeline/gaps";
import { flameBoxes, flameRows } from "../../src/timeline/flame_parts";
import { differenceOf, differences } from "../../src/timeline/differs";
import { topLanes, viewDensity, workingOf } from "../../src/timeline/density";
import type { TraceGap } from "../../src/trace/trace";
import { madeTrace } from "./made_trace";

const trace = madeTrace({ processes: 4, threads: 4, rows: 60 });
const typeName = (type: number): string => trace.types.value[type]?.name ?? "";

async function working(): Promise<ReadonlyMap<number, number>> {
  const lanes = topLanes(trace.lanes.value);
  const view = await trace.view({ from: 0, to: trace.length.value, width: 200, lanes: lanes.map((lane) => lane.id) });
  assert.ok(view !== null);
  return workingOf(view, lanes, (type) => trace.types.value[type]?.groupName ?? "");
}

async function ask(more: Partial<TrackAsk> = {}): Promise<TrackAsk> {
  return {
    processes: trace.processes.value, threads: trace.threads.value, lanes: trace.lanes.value, typeNames: typeName, fired: 2, working: await working(),
    folded: new Set(), pins: [], titleAbove: false, ...more,
  };
}

test("the process that fired stands first, then its host, then its service, then the rest", () => {
  const order = processOrder(trace.processes.value, 0).map((one) => `${one.host} ${one.service}`);
  assert.deepEqual(order, ["web-1 shop", "web-1 redis", "web-1 redis", "web-3 shop"]);
  assert.equal(processOrder(trace.processes.value, 2)[0]?.index, 2);
  assert.equal(processOrder(trace.processes.value, 2)[1]?.service, "shop");
});

test("of a host and of the rest those come first that differ most; what is not told differs not", () => {
  const id = (index: number): string => trace.processes.value[index]!.id;
  const order = (differs: [string, number][]): number[] => processOrder(trace.processes.value, 0, new Map(differs)).map((one) => one.index);
  const plain = order([]);
  assert.deepEqual(plain, processOrder(trace.processes.value, 0).map((one) => one.index));
  const hosts = plain.map((index) => trace.processes.value[index]!.host);
  assert.deepEqual(hosts, ["web-1", "web-1", "web-1", "web-3"]);
  assert.deepEqual(order([[id(plain[2]!), 0.4], [id(plain[3]!), 1]]), [plain[0], plain[2], plain[1], plain[3]]); /* another host stays behind */
  assert.deepEqual(order([[id(0), 0], [id(plain[1]!), 0.5], [id(plain[2]!), 0.5]]), plain);
});

test("a process differs by what came or went beyond chance", () => {
  const steady = Array.from({ length: 40 }, (_, i) => 100 + (i % 3));
  const stalled = steady.map((events, i) => (i >= 30 ? 0 : events));
  const busy = steady.map((events, i) => (i >= 30 ? events * 3 : events));
  const few = Array.from({ length: 40 }, (_, i) => Number(i % 10 === 0));
  assert.equal(differenceOf(steady, 30), 0);
  assert.equal(differenceOf(few, 30), 0); /* one more or less is chance */
  assert.ok(differenceOf(stalled, 30) > 0.9);
  assert.ok(differenceOf(busy, 30) > 0.4 && differenceOf(busy, 30) < differenceOf(stalled, 30));
  for (const onset of [-3, 0, 40, 99]) assert.equal(differenceOf(stalled, onset), 0, "nothing is before, or behind");
  assert.equal(differenceOf([], 5), 0);
  const since = (time: string): number | null => (time === "at" ? 800 : null);
  const of = { from_ns: "1000", to_ns: 2000, targets: [{ process: "a", events: stalled }, { process: "b", events: steady }] };
  const told = differences({ ...of, at: "at" }, since);
  assert.deepEqual([...told.keys()], ["a", "b"]);
  assert.equal(told.get("a"), differenceOf(stalled, 30));
  assert.equal(differences({ ...of, at: "none" }, since).size, 0);
});

test("one process is open, the others are a line with their busiest thread", async () => {
  const { rows } = tracksOf(await ask());
  const processes = rows.filter((row) => row.kind === "process");
  assert.deepEqual(processes.map((row) => row.folded), [false, true, true, true]);
  for (const row of processes.slice(1)) assert.equal(row.bands[0]?.kind, "region");
});

test("threads that only wait are one line, the others by time at work", async () => {
  const made = await ask();
  const { rows } = tracksOf(made);
  const idle = rows.find((row) => row.kind === "idle");
  const names = idle?.idle.map((thread) => trace.threads.value[thread]?.name);
  assert.deepEqual(names, ["worker-2", "worker-3"]);
  const times = rows.filter((row) => row.kind === "thread").map((row) => made.working.get(row.thread) ?? 0);
  assert.deepEqual(times, [...times].sort((a, b) => b - a));
  const opened = tracksOf({ ...made, folded: new Set(["i2"]) }).rows.filter((row) => row.kind === "thread");
  assert.equal(opened.length, 4);
});

test("pins stand on top, and stay in their own place, too", async () => {
  const { rows } = tracksOf(await ask({ pins: ["t8", "p1"] }));
  assert.deepEqual(rows.slice(0, 4).map((row) => row.key), ["!pins", "!t8", "!p1", "!rest"]);
  assert.ok(rows.some((row) => row.key === "t8"));
});

test("rows lie below each other without holes, and are found by their place", async () => {
  for (const titleAbove of [false, true]) {
    const { rows, height } = tracksOf(await ask({ titleAbove, folded: new Set(["p0", "p1", "p3"]) }));
    let y = 0;
    for (const row of rows) {
      assert.equal(row.y, y);
      assert.ok(row.height > 0);
      for (const band of row.bands) assert.ok(band.y >= row.title && band.y + band.height <= row.height, `${row.key}: ${band.kind}`);
      y += row.height;
    }
    assert.equal(y, height);
    rows.forEach((row, i) => assert.equal(rowAt(rows, row.y + row.height - 1), i));
    assert.equal(rowAt(rows, height), rows.length);
    assert.deepEqual(rowsBetween(rows, 0, height).length, rows.length);
  }
});

test("what the agent tells of a thread stands in the thread's own track", async () => {
  const made = await ask();
  const own = trace.threads.value.find((thread) => thread.process === 2);
  assert.ok(own !== undefined);
  const told = { ...own, index: 1000, evidence: true };
  const lanes = made.lanes.map((lane) => (lane.kind === "state" && lane.thread === own.index ? { ...lane, thread: 1000 } : lane));
  const { rows } = tracksOf({ ...made, lanes, threads: [told, ...made.threads] });
  assert.ok(!rows.some((row) => row.thread === 1000));
  assert.equal(rows.find((row) => row.thread === own.index)?.bands[0]?.kind, "state");
});

test("samples of the CPU have a band in their thread's track, whose number is the agent's; a thread that ran does not only wait", async () => {
  const made = await ask();
  const waits = trace.threads.value.find((thread) => thread.process === 2 && made.working.get(thread.index) === 0);
  assert.ok(waits !== undefined);
  const threads = [...made.threads, { ...waits, index: 1000, evidence: true }, { index: 1001, process: 3, tid: 77, name: "alone", evidence: true }];
  const lane = made.lanes[0]!;
  const sample = { ...lane, kind: "sample" as const, number: 0, rows: 5, evidence: true, busyNs: 0 };
  const lanes = [...made.lanes.filter((one) => one.process !== 3), { ...sample, id: 9000, process: 2, thread: 1000 }, { ...sample, id: 9001, process: 3, thread: 1001 }];
  const { rows } = tracksOf({ ...made, threads, lanes, folded: new Set(["p3"]) });
  const bands = (thread: number) => rows.find((row) => row.thread === thread)?.bands.filter((band) => band.kind === "sample").map((band) => band.lanes[0]?.id);
  assert.deepEqual(bands(waits.index), [9000]);
  assert.deepEqual(bands(1001), [9001]);
  const folded = tracksOf({ ...made, threads, lanes }).rows.find((row) => row.key === "p3");
  assert.deepEqual(folded?.bands.map((band) => band.kind), ["sample"]); /* it has nothing else */
});

test("a folded thread keeps its first depth, a folded process one line", async () => {
  const made = await ask();
  const thread = tracksOf(made).rows.find((row) => row.kind === "thread" && row.foldable);
  assert.ok(thread !== undefined);
  const folded = tracksOf({ ...made, folded: new Set([thread.key]) }).rows.find((row) => row.key === thread.key);
  assert.equal(thread.bands.filter((band) => band.kind === "region").length, 3);
  assert.equal(folded?.bands.filter((band) => band.kind === "region").length, 1);
});

const gap = (from: number, to: number, process = 0): TraceGap => ({ reason: "missing", process, from, to, bytes: 0, what: "x" });

test("fragments are one gap where less than 5 % between them is there", () => {
  const joined = joinGaps([gap(100, 200), gap(0, 97), gap(300, 400), gap(98, 150, 1)]);
  assert.deepEqual(joined.map(({ process, from, to, parts }) => [process, from, to, parts.length]), [
    [0, 0, 200, 2],
    [0, 300, 400, 1],
    [1, 98, 150, 1],
  ]);
  assert.equal(joinGaps([gap(0, 10), gap(11, 20)]).length, 2); /* 5 % are there */
  assert.deepEqual(joinGaps([gap(0, 100), gap(20, 30)]).map((one) => one.to), [100]);
  assert.equal(gapWords([gap(0, 97), gap(100, 200), gap(0, 0)]), "1 gap (in 2 pieces), 1 of unknown time");
  assert.equal(gapWords([]), "");
});

test("a flame graph's shares are those of its nodes; its table counts recursion once", () => {
  const leaf = (name: string, totalNs: number, children: ReturnType<typeof node>[] = []) => node(name, totalNs, children);
  function node(name: string, totalNs: number, children: { name: string; count: number; totalNs: number; children: never[] | object[] }[]) {
    return { name, count: 1, totalNs, children: children as never[] };
  }
  const root = leaf("", 1000, [leaf("a", 800, [leaf("b", 300, [leaf("a", 100)])]), leaf("c", 199), leaf("tiny", 1)]);
  const { boxes, leftOut } = flameBoxes(root);
  assert.deepEqual(boxes.map((box) => [box.node.name, box.from, box.width, box.depth]), [
    ["a", 0, 0.8, 0],
    ["b", 0, 0.3, 1],
    ["a", 0, 0.1, 2],
    ["c", 0.8, 0.199, 0],
  ]);
  assert.equal(leftOut, 1);
  const rows = new Map(flameRows(root).map((row) => [row.name, [row.selfNs, row.totalNs]]));
  assert.deepEqual(rows.get("a"), [600, 800]);
  assert.deepEqual(rows.get("b"), [200, 300]);
});

test("density shows where there is something, and nothing elsewhere", async () => {
  const lanes = topLanes(trace.lanes.value).slice(0, 1);
  const view = await trace.view({ from: 0, to: trace.length.value, width: 400, lanes: lanes.map((lane) => lane.id) });
  assert.ok(view !== null);
  const share = viewDensity(view, 50);
  assert.equal(Math.max(...share), 1);
  assert.ok(share.every((value) => value >= 0 && value <= 1));
});
