// SPDX-License-Identifier: Apache-2.0
// What the pages of captures compute: sentences, gaps, histograms, stacks, links, hostile text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { byShape, shapeOf } from "../../src/ui/log_shape";
import { captureSentence, servicesOf, statusWords, verdictWords, wentWrong } from "../../src/ui/capture_words";
import { gapWords, mergeGaps, reasonWords } from "../../src/ui/gap_words";
import { type Bucket, lengthOf, merged, outliers, quantile } from "../../src/ui/histogram";
import { type DumpThread, flameOf, groupStacks, ownByName } from "../../src/ui/stacks";
import { nsOf, timelineLink } from "../../src/ui/timeline_link";
import { shown, shownLines } from "../../src/ui/text";
import { clock } from "../../src/ui/units";
import { type Inside, chainsOf } from "../../src/pages/capture/chains";
import { type Row, quoted } from "../../src/pages/capture/ask_sql";
import { countersOf } from "../../src/pages/capture/counter_rows";
import { isIdle, processOf } from "../../src/pages/capture/report";
import { lifted, valuesQuery } from "../../src/pages/capture/slow_values";
import { type Overview, reachWords, windowMayHave } from "../../src/pages/capture/nothing_words";
import { changeLink } from "../../src/pages/capture/differs";
import { overviewDensity } from "../../src/timeline/density";
import { waitingOf } from "../../src/pages/capture/waiting";
import { CAPTURE_ASK, captureBody } from "../../src/ui/capture_body";
import { settings } from "../../src/ui/settings";
import { ProcessNames, UNKNOWN } from "../../src/ui/process_names";
import { apiTime } from "../../src/ui/time_text";
import { nanos, timeOf } from "../../src/ui/units";
import { nsTime, timeNs } from "../../src/trace/sources";
import { stretchFrom, tableOf, withHoles } from "../../src/pages/series/lines";
import { servicesOf as fleetServices } from "../../src/pages/fleet/services";

const ID = "01a20a7de11b235b0bc782c96f44a41c";
const PROCESS = "ded15bd8dc5b62500000231f002855e3";

/* ---- sentences ---- */

test("a capture's sentence says who began it and why", () => {
  const of = (trigger: object) => captureSentence({ kind: "snapshot", trigger: { reason: "", ...trigger } as never });
  assert.equal(of({ type: "health", rule: "redis-ping", reason: "no answer" }), "redis-ping fired: no answer");
  assert.equal(of({ type: "policy", policy: "everything" }), "Sample of everything");
  assert.equal(of({ type: "request", reason: "looks slow" }), "Taken by hand: looks slow");
  assert.equal(of({ type: "request" }), "Taken by hand");
  assert.equal(of({ type: "crash", reason: "SIGSEGV" }), "A process died: SIGSEGV");
  assert.equal(captureSentence({ kind: "record" }), "A record of processes that you see");
});

test("what went wrong is begun by a rule, a crash or a program, never by a hand, a clock or a policy", () => {
  const wrong = ["health", "latency", "crash", "application", "webhook"];
  const not = ["request", "policy", "schedule"];
  for (const type of wrong) assert.equal(wentWrong({ trigger: { type, reason: "" } }), true, type);
  for (const type of not) assert.equal(wentWrong({ trigger: { type, reason: "" } }), false, type);
  assert.equal(wentWrong({}), false);
});

test("a capture that runs says how many of its targets are done", () => {
  assert.equal(statusWords({ status: "running", target_counts: { complete: 2, sent: 3, failed: 1 } }), "running: 3 of 6 targets");
  assert.equal(statusWords({ status: "stopped", target_counts: {} }), "stopped");
  const text = "complete but for begins: 41 of 41 targets, 5000 events, 3 of 41 young processes begin late, by up to 250 ms, nothing else lost in the window";
  const verdict = { complete: false, text, begins: { late: 3, young: 41, longest_ms: 250, rest_complete: true } };
  const words = statusWords({ status: "incomplete", target_counts: {}, verdict });
  assert.equal(words, "complete but for begins");
  assert.equal(verdictWords(words, text), "41 of 41 targets, 5,000 events, 3 of 41 young processes begin late, by up to 250 ms, nothing else lost in the window");
  assert.equal(statusWords({ status: "incomplete", target_counts: {}, verdict: { ...verdict, begins: { ...verdict.begins, rest_complete: false } } }), "incomplete");
});

test("a verdict behind its chip says the status once, and numbers of events as elsewhere", () => {
  assert.equal(verdictWords("complete", "complete: 2 of 2 targets, 9687 events, nothing lost in the window"), "2 of 2 targets, 9,687 events, nothing lost in the window");
  assert.equal(verdictWords("incomplete", "complete: 1 of 2 targets, 987 events; from 2026-11-23T06:00:00.000Z"), "complete: 1 of 2 targets, 987 events; from 2026-11-23T06:00:00.000Z");
});

test("a counter has the last value until the failure, not a bucket's mean", () => {
  const row = (of: Record<string, string | number>): Row => ({ text: (name: string) => String(of[name] ?? ""), number: (name: string) => Number(of[name] ?? NaN) }) as Row;
  const [queue] = countersOf([row({ name: "queue", slot: -1, least: 3, most: 3, mean: 3 }), row({ name: "queue", slot: 0, least: 0, most: 6, mean: 3.111 })]);
  assert.deepEqual([queue!.last, queue!.least, queue!.most, queue!.points], [3, 0, 6, [{ slot: 0, mean: 3.111 }]]);
  assert.equal(countersOf([row({ name: "late", slot: 9, least: 1, most: 1, mean: 1 })])[0]!.last, NaN);
});

test("services are told with how many targets each has", () => {
  assert.deepEqual(servicesOf([{ service: "a" }, { service: "b" }, { service: "b" }]), ["b ×2", "a"]);
});

/* ---- nothing in the window ---- */

test("nothing is said of a window only where every footer was read and no bucket has a record", () => {
  const of = (...targets: object[]) => windowMayHave({ targets: targets.map((more) => ({ status: "complete", events: [0, 0], outside: 9, ...more })) as never });
  assert.equal(of({}, {}), false);
  assert.equal(of({}, { events: [0, 0.25] }), true);
  assert.equal(of({ footers_left_out: 1 }), true);
  assert.equal(of({ damaged: [{}] }), true);
  assert.equal(of({ status: "watched" }), true);
  assert.equal(of(), false);
});

test("how far a ring reached is said by its gaps, by when recording began, or by what lies beside", () => {
  const asked = { at: "2026-11-23T06:01:00.000Z", window: { from: "2026-11-23T06:00:00.000Z", to: "2026-11-23T06:01:10.000Z" } } as Overview;
  const of = (outside: number, attached?: string, gaps: object[] = []) => reachWords({ outside, gaps: gaps as never }, attached, asked);
  assert.equal(of(5, "2026-11-23T06:01:12.000Z"), `is recorded only since ${clock("2026-11-23T06:01:12.000Z", false)}, 2 s after the window's end`);
  assert.equal(of(1200, "2026-11-23T05:00:00.000Z"), "recorded no event in the window, and none is missing; 1,200 stored events lie before or after it");
  assert.equal(of(0), "recorded no event in the window, and none is missing");
  const late = { from: asked.window.from, to: asked.window.to, reason: "overwritten" };
  assert.equal(of(5, undefined, [late]), "has nothing whole of the window: the ring had overwritten it");
});

/* ---- gaps ---- */

const T = (s: number) => new Date(Date.UTC(2026, 10, 23, 6, 0, 0) + s * 1000).toISOString();
const gap = (from: number, to: number, reason = "overwritten") => ({ from: T(from), to: T(to), reason });
const asked = { at: T(60), window: { from: T(0), to: T(70) } };

test("fragments are one gap where less than 5 % of it is there", () => {
  const near = mergeGaps([gap(0, 10), gap(10.2, 20)]);
  assert.equal(near.length, 1);
  assert.equal(near[0]!.pieces, 2);
  assert.equal(near[0]!.to - near[0]!.from, 20_000);
  assert.equal(mergeGaps([gap(0, 10), gap(11.1, 20)]).length, 2);
});

test("what lies between many fragments adds up", () => {
  /* 1 s missing, 0.04 s there, over and over: 3.8 % is there, however many they are */
  const many = Array.from({ length: 50 }, (_, i) => gap(i * 1.04, i * 1.04 + 1));
  assert.equal(mergeGaps(many).length, 1);
  /* 0.06 s there: 5.7 % in the long run, so that it falls apart */
  const apart = Array.from({ length: 50 }, (_, i) => gap(i * 1.06, i * 1.06 + 1));
  assert.ok(mergeGaps(apart).length > 1);
});

test("gaps of different reasons stay apart, overlapping ones of one reason do not", () => {
  assert.equal(mergeGaps([gap(0, 10), gap(0, 10, "size")]).length, 2);
  const over = mergeGaps([gap(5, 30), gap(0, 10), gap(8, 9)]);
  assert.deepEqual(over.map(({ from, to, pieces }) => [to - from, pieces]), [[30_000, 3]]);
});

test("a gap says how far back the record reaches, and how far on", () => {
  const words = (from: number, to: number, reason?: string) => gapWords(mergeGaps([gap(from, to, reason)])[0]!, asked);
  assert.equal(words(0, 20), "reaches back 40 s of the 60 s asked: the ring had overwritten it");
  assert.equal(words(0, 70), "has nothing whole of the window: the ring had overwritten it");
  assert.equal(words(64, 70), "goes on for 4 s of the 10 s asked: the ring had overwritten it");
  assert.equal(words(0, 63), "begins only 3 s after the instant: the ring had overwritten it");
  assert.equal(words(50, 70), "ends 10 s before the instant: the ring had overwritten it");
  assert.match(words(20, 21.5, "ring_full"), /^lacks 1.5 s from .*: the ring was full$/);
  assert.equal(words(0, 70, "watched"), "has no record: it is watched from outside, and has no ring");
  assert.equal(reasonWords("constructor"), "constructor");
});

/* ---- histograms ---- */

test("buckets are a quarter of an octave", () => {
  assert.equal(lengthOf(0), 1);
  assert.equal(lengthOf(4), 2);
  assert.equal(lengthOf(40), 1024);
});

const buckets: Bucket<{ length: number }>[] = [
  { step: 40, count: 990, example: { length: 1100 } },
  { step: 44, count: 9, example: { length: 2200 } },
  { step: 123, count: 1, example: { length: 2e9 } },
];

test("an outlier of one is seen beside a thousand", () => {
  assert.equal(quantile(buckets, 0.5), lengthOf(41));
  assert.equal(quantile(buckets, 1), lengthOf(124));
  assert.deepEqual(outliers(buckets).map((bucket) => bucket.step), [44, 123]);
  assert.deepEqual(outliers([{ step: 1, count: 3 }]), [], "three are too few to call one of them an outlier");
  assert.ok(Number.isNaN(quantile([], 0.5)));
});

test("histograms add up, and keep the longest example", () => {
  const both = merged([buckets, [{ step: 40, count: 10, example: { length: 1190 } }]]);
  assert.equal(both[0]!.count, 1000);
  assert.equal(both[0]!.example!.length, 1190);
  assert.equal(buckets[0]!.count, 990, "what was merged is left as it was");
});

/* ---- stacks ---- */

const thread = (tid: number, stack: string, more: Partial<DumpThread> = {}): DumpThread => {
  return { process: PROCESS, thread: `worker-${tid}`, tid, state: "sleeping", call: "", waitsFor: "", holder: 0, stack, ...more };
};

test("threads with one stack are one group; who waits comes first, then whom it waits for", () => {
  const groups = groupStacks([
    thread(1, "a"),
    thread(2, "a"),
    thread(3, "b"),
    thread(4, "c", { waitsFor: "mutex", holder: 3 }),
    thread(5, ""),
    thread(6, ""),
  ]);
  assert.deepEqual(groups.map((group) => group.threads.map((one) => one.tid)), [[4], [3], [5], [6], [1, 2]]);
});

test("equal stacks of two processes stay apart", () => {
  assert.equal(groupStacks([thread(1, "a"), thread(1, "a", { process: ID })]).length, 2);
});

test("folded stacks become a tree; what is none is counted", () => {
  const { root, skipped } = flameOf("main;a;b 3\nmain;a 2\nmain;c c 5\nnonsense\n\nx -1\n");
  assert.equal(root.value, 10);
  assert.equal(skipped, 2);
  const main = root.children[0]!;
  assert.deepEqual(main.children.map((child) => [child.name, child.value, child.own]), [["a", 5, 2], ["c c", 5, 5]]);
  assert.deepEqual(ownByName(root).slice(0, 2), [{ name: "c c", own: 5 }, { name: "b", own: 3 }]);
});

test("a stack of 100,000 frames does not end the page", () => {
  const deep = `${Array.from({ length: 100_000 }, (_, i) => `f${i}`).join(";")} 1`;
  assert.equal(flameOf(deep).root.value, 1);
  assert.ok(ownByName(flameOf(deep).root).length === 1);
});

/* ---- links ---- */

const capture = { capture: ID, window: { from: "2026-11-23T06:14:02.123Z" } };
const begin = BigInt(Date.UTC(2026, 10, 23, 6, 14, 3)) * 1_000_000n + 123_456_789n;

test("a link to a region names it to the nanosecond and shows it in the middle third", () => {
  const link = timelineLink(capture, { beginNs: begin, lengthNs: 64_600_000, process: PROCESS, tid: 8001, depth: 2 });
  const query = new URLSearchParams(link.split("?")[1]);
  assert.equal(link.split("?")[0], `/captures/${ID}/timeline`);
  assert.equal(query.get("from"), "2026-11-23T06:14:03.058856789Z");
  assert.equal(query.get("to"), "2026-11-23T06:14:03.252656789Z");
  assert.equal(query.get("ev"), "1000456789.64600000.2");
  assert.equal(query.get("p"), PROCESS);
  assert.equal(query.get("tid"), "8001");
});

test("what reaches into the window is selected, what ended before it is not; of an instant some time beside it is shown", () => {
  const early = timelineLink(capture, { beginNs: begin - 10_000_000_000n, lengthNs: 1e9 });
  const hang = timelineLink(capture, { beginNs: begin - 10_000_000_000n, lengthNs: 10e9 });
  assert.equal(new URLSearchParams(hang.split("?")[1]).get("ev"), "-8999543211.10000000000.0");
  assert.equal(new URLSearchParams(early.split("?")[1]).get("ev"), null);
  const instant = new URLSearchParams(timelineLink(capture, { beginNs: begin, lengthNs: 0 }).split("?")[1]);
  assert.notEqual(instant.get("from"), instant.get("to"));
  assert.equal(timelineLink(capture), `/captures/${ID}/timeline`);
});

test("times of the API are read as whole numbers, also beyond 2^53", () => {
  assert.equal(nsOf("1795456646348536650"), 1795456646348536650n);
  assert.equal(nsOf(5), 5n);
  for (const wrong of [undefined, null, "", "1e9", "12; drop", {}, NaN, Infinity]) assert.equal(nsOf(wrong), null);
});

/* ---- what threads were inside of ---- */

const inside = (tid: number, name: string, from: bigint, more: Partial<Inside> = {}): Inside => {
  return { service: "shop", host: "web-1", process: PROCESS, pid: 1, thread: "t", tid, name, begin: from, length: 10, open: true, place: "", ...more };
};

test("regions of a thread are one chain, equal chains one row, idle ones last", () => {
  const rows = [inside(1, "sleep", 5n), inside(1, "loop", 1n), inside(2, "wait", 1n), inside(3, "wait", 2n)];
  const chains = chainsOf(rows, (_, name) => name === "wait");
  assert.deepEqual(chains.map((chain) => [chain.names, chain.threads.length, chain.idle]), [["loop › sleep", 1, false], ["wait", 2, true]]);
});

test("a name is idle where most of its time is", () => {
  const row = { service: "s", name: "n", wait: true };
  assert.equal(isIdle({ ...row, total_ns: 10, idle_ns: 9 }), true);
  assert.equal(isIdle({ ...row, total_ns: 10, idle_ns: 4 }), false);
  assert.equal(isIdle({ ...row, open: 4, open_ns: "99", open_idle_ns: "99" }), true);
  assert.equal(isIdle(undefined), false);
});

test("waits add up by reason, idle time apart, and regions that are no waits do not count", () => {
  const group = (_: string, name: string) => (name === "fsync" ? "io" : name === "constructor" ? "constructor" : "lock");
  const rows = [
    { service: "s", name: "fsync", wait: true, total_ns: 10, idle_ns: 0 },
    { service: "s", name: "mutex", wait: true, total_ns: 100, idle_ns: 98 },
    { service: "s", name: "request", wait: false, total_ns: 1000 },
    { service: "s", name: "constructor", wait: true, total_ns: 1 },
  ];
  assert.deepEqual(
    waitingOf(rows, group).map((row) => [row.reason, row.ns, row.idleNs]),
    [["files and disks", 10, 0], ["locks", 2, 98], ["others", 1, 0]],
  );
});

test("a process is known by host and number, and not guessed where two fit", () => {
  const targets = [{ process: "a", host: "h1", pid: 7 }, { process: "b", host: "h2", pid: 7 }, { process: "c", host: "h2", pid: 8 }];
  const of = { targets } as never;
  assert.equal(processOf(of, { host: "h2", pid: 7 }), "b");
  assert.equal(processOf(of, { pid: 7 }), undefined);
  assert.equal(processOf(of, { pid: 8 }), "c");
});

test("what the slow ones have more often stands first, and what all have is not told", () => {
  const values = [
    { attribute: "argument key", value: "7", slow: 84, rest: 0 },
    { attribute: "argument key", value: "8", slow: 16, rest: 9900 },
    { attribute: "host", value: "web-1", slow: 100, rest: 9900 },
    { attribute: "thread", value: "w/1", slow: 50, rest: 990 },
    { attribute: "thread", value: "w/2", slow: 2, rest: 1 },
  ];
  const found = lifted(values, 100, 9900);
  assert.deepEqual(found.map((row) => row.value), ["7", "w/1"], "two of a hundred are too few to tell");
  assert.equal(Math.round(found[1]!.lift * 100), 500);
  assert.equal(found[0]!.lift, 0.84 / (0.5 / 9900), "what none of the rest has counts as half of one");
  assert.deepEqual(lifted(values, 7, 9900), [], "seven slow ones say nothing");
});

test("names in a question about the slowest stay texts", () => {
  assert.ok(valuesQuery("s", "x' or 1=1 --").includes("'x'' or 1=1 --'"));
});

/* ---- requests ---- */

test("a capture's request has what was filled in, and nothing else", () => {
  assert.deepEqual(captureBody({ ...CAPTURE_ASK, selector: " service=a " }), {
    selector: "service=a", kind: "snapshot", reason: "", pre_ms: "10s", post_ms: "0s",
  });
  assert.deepEqual(captureBody({ ...CAPTURE_ASK, kind: "record", evidence: "none", threads: true, most: "3", pin: true, ttl: "7d" }), {
    selector: "", kind: "record", reason: "", for_ms: "5s", threads: true, evidence: [], ttl_ms: "7d", pin: true, max_targets: 3,
  });
  assert.deepEqual(captureBody({ ...CAPTURE_ASK, kind: "stream", evidence: "some", kinds: ["vitals"] }), {
    selector: "", kind: "stream", reason: "", evidence: ["vitals"],
  });
});

test("names of processes that are wanted at once are asked at once, each once", async () => {
  const selectors: string[] = [];
  let failing = false;
  const names = new ProcessNames(async (selector) => {
    selectors.push(selector);
    if (failing) throw new Error("busy");
    return [...selector.matchAll(/\b[0-9a-f]{32}\b/g)].filter(([id]) => !id.startsWith("f")).map(([process]) => ({ process, service: "shop", pid: 7, host: "web-1" }));
  });
  const id = (first: string) => first.padEnd(32, "0");
  assert.deepEqual(await Promise.all([names.of(id("a")), names.of(id("b")), names.of(id("a")), names.of(id("f"))]), ["shop[7] on web-1", "shop[7] on web-1", "shop[7] on web-1", UNKNOWN]);
  assert.deepEqual(selectors, [`process in (${id("a")},${id("b")},${id("f")})`]);
  await names.of(id("b"));
  assert.equal(selectors.length, 1, "what is known is not asked again");
  failing = true;
  await assert.rejects(names.of(id("c")), /busy/);
  failing = false;
  assert.equal(await names.of(id("c")), "shop[7] on web-1", "what failed is asked anew");
  assert.equal(selectors.at(-1), `process=${id("c")}`);
  const many = Array.from({ length: 120 }, (_, i) => id(`d${i.toString(16).padStart(4, "0")}`));
  const before = selectors.length;
  assert.equal((await Promise.all(many.map((one) => names.of(one)))).length, 120);
  assert.equal(selectors.length - before, 3, "an address stays short");
});

test("a capture's window may be of the past, by the words of skein snapshot", () => {
  const now = Date.parse("2026-11-23T06:14:02Z");
  const usual = { selector: "", kind: "snapshot", reason: "" };
  assert.deepEqual(captureBody({ ...CAPTURE_ASK, when: "at", at: "-90s", least: "2" }, now), {
    ...usual, at: "2026-11-23T06:12:32.000Z", pre_ms: "10s", post_ms: "0s", min_targets: 2,
  });
  assert.deepEqual(captureBody({ ...CAPTURE_ASK, when: "between", from: "-1.5h" }, now), {
    ...usual, from: "2026-11-23T04:44:02.000Z", to: "2026-11-23T06:14:02.000Z",
  });
  assert.deepEqual(captureBody({ ...CAPTURE_ASK, when: "between", from: "noon", to: " 2026-11-23T06:14:01.5Z ", least: "many" }, now), {
    ...usual, from: "noon", to: "2026-11-23T06:14:01.5Z", min_targets: "many",
  }, "what is no time or count goes as it is: the collector says what is wrong with it");
});

test("a typed time is by the clock that the settings show", () => {
  settings.zone.value = "utc";
  assert.equal(apiTime("2026-11-23 06:14"), "2026-11-23T06:14:00.000Z");
  assert.equal(apiTime("2026-11-23T06:14:02.25"), "2026-11-23T06:14:02.250Z");
  settings.zone.value = "local";
  assert.equal(apiTime("2026-11-23 06:14"), new Date(2026, 10, 23, 6, 14).toISOString());
  assert.equal(apiTime("2026-13-45 06:14"), "2026-13-45 06:14");
  for (const zone of ["utc", "local"] as const) {
    settings.zone.value = zone;
    for (const none of ["2026-02-31 00:00", "2026-02-29 12:00", "2026-04-31T06:14:02"]) assert.equal(apiTime(none), none);
    assert.notEqual(apiTime("2028-02-29 12:00"), "2028-02-29 12:00");
  }
  assert.equal(apiTime("-5"), "-5");
  assert.equal(apiTime("-99999999999999w"), "-99999999999999w");
});

test("a search for captures ends after its pages, also where they are empty, and goes on where it ended", async (t) => {
  const there = globalThis.fetch;
  Object.assign(globalThis, { document: { addEventListener: () => undefined } }); /* lists listen to what happens while a tab is seen */
  t.after(() => {
    globalThis.fetch = there;
    Reflect.deleteProperty(globalThis, "document");
  });
  const { findCaptures } = await import("../../src/api/captures");
  const asked: string[] = [];
  globalThis.fetch = (path) => {
    const cursor = new URL(String(path), "http://127.0.0.1").searchParams.get("cursor") ?? "0";
    asked.push(cursor);
    return Promise.resolve(Response.json({ items: cursor === "0" || cursor === "4" ? [{ capture: ID }] : [], next_cursor: String(Number(cursor) + 1) }));
  };
  const first = await findCaptures({ trace_id: ID }, () => true, { want: 1, pages: 1 });
  assert.deepEqual([first.items.length, first.next], [1, "1"]);
  const second = await findCaptures({ trace_id: ID }, () => true, { want: 1, pages: 2, cursor: first.next });
  assert.deepEqual([second.items.length, second.next], [0, "3"]);
  const third = await findCaptures({ trace_id: ID }, () => true, { want: 1, pages: 9, cursor: second.next });
  assert.deepEqual([third.items.length, third.next], [1, "5"]);
  assert.deepEqual(asked, ["0", "1", "2", "3", "4"]);
});

test("times before 1970 count forwards within their second", () => {
  for (const text of ["1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.000000000Z", "1960-02-29T12:00:00.000000001Z", "1970-01-01T00:00:00.000000000Z", "2026-11-21T09:40:00.123456789Z"]) {
    assert.equal(timeOf(nanos(text)!), text);
    assert.equal(nsTime(timeNs(text)), text);
  }
  assert.equal(timeOf(-1n), "1969-12-31T23:59:59.999999999Z");
});

test("a text in a statement stays a text", () => {
  assert.equal(quoted("o'clock'; drop"), "'o''clock''; drop'");
  assert.equal(quoted("a\u0000b"), "'ab'");
});

/* ---- logs ---- */

test("lines that differ in numbers, addresses and quoted text have one shape", () => {
  assert.equal(shapeOf('took 12.5 ms at 0xdeadBEEF for "x y" by 01a20a7de11b235b'), shapeOf('took 7 ms at 0x1 for "z" by ffffffffffffffff'));
  assert.notEqual(shapeOf("opened a"), shapeOf("closed a"));
  const line = (message: string, level: number) => ({ message, level, severity: String(level) });
  const shapes = byShape([line("a 1", 1), line("a 2", 1), line("b", 1), line("c", 3)]);
  assert.deepEqual(shapes.map((shape) => [shape.shape, shape.lines.length]), [["c", 1], ["b", 1], ["a #", 2]]);
});

/* ---- series and fleet ---- */

const point = (s: number, value: number) => ({ at: T(s), value, seen_s: 1 });

test("a time without samples is a hole and no line across it", () => {
  const series = {
    series: [{ service: "a", points: [point(0, 1), point(600, 2), point(3000, 3)] }, { service: "b", points: [point(600, 9)] }],
  } as never;
  const rows = tableOf(series);
  assert.deepEqual(rows.map((row) => row.values.map((one) => one?.value)), [[1, undefined], [2, 9], [3, undefined]]);
  const holes = withHoles(rows, 600_000);
  assert.deepEqual(holes.map((row) => row.values[0]?.value), [1, 2, undefined, 3]);
});

test("a stretch is counted back from now", () => {
  assert.equal(stretchFrom("6h", Date.UTC(2026, 10, 23, 6)), "2026-11-23T00:00:00.000Z");
  assert.equal(stretchFrom("__proto__", Date.UTC(2026, 10, 23, 6)), "2026-11-22T06:00:00.000Z");
});

test("a service's figures are of its processes that have a ring", () => {
  const process = (service: string, more: object) => ({
    service, host: "h", status: "live", reach_ms: 1000, bytes_per_s: 10, events_lost: 0, ...more,
  });
  const [a, b] = fleetServices([
    process("b", {}),
    process("a", { reach_ms: "5000", events_lost: 2 }),
    process("a", { reach_ms: 3000, host: "g", status: "offline" }),
    process("a", { not_recorded: "watched", reach_ms: 0, bytes_per_s: 7 }),
  ] as never);
  assert.equal(a!.name, "a");
  assert.deepEqual([a!.live, a!.offline, a!.unrecorded, a!.hosts, a!.lost], [2, 1, 1, 2, 2]);
  assert.deepEqual([a!.reachLeastMs, a!.reachMostMs, a!.bytesPerS], [5000, 5000, 10]);
  assert.equal(b!.name, "b");
});

/* ---- hostile text ---- */

test("nothing that is not seen, or that turns its neighbours around, is left in a text", () => {
  assert.equal(shown("a\u202eb\u0007\u200f"), "a\\u{202e}b\\x07\\u{200f}");
  assert.equal(shown("a\u{e0041}\ufffe\u0085\ud83d"), "a\\u{e0041}\\u{fffe}\\u{85}\\u{d83d}");
  assert.equal(shown("😀 é"), "😀 é");
  assert.equal(shown(`z${"\u0300".repeat(4)}a`), "z\u0300\u0300\\u{300}\\u{300}a");
  assert.equal(shown("<img onerror=x>"), "<img onerror=x>");
  const marks = shown("\u202e".repeat(65536), 100);
  assert.ok(!marks.includes("\u202e"));
  assert.ok(marks.length < 2000 && marks.includes("65436 more"));
  assert.equal(shownLines("a\n\u001b[31mb"), "a\n\\x1b[31mb");
});

test("a row of what differs leads to its example, or to what tells of it", () => {
  const other = { page: "/captures/b", link: () => "/place", lengths: undefined };
  const of = (kind: string, name?: string) => changeLink({ kind, name } as never, other, undefined);
  assert.equal(changeLink({ kind: "region", name: "a" }, other, {} as never), "/place");
  assert.deepEqual(["stack", "cpu", "sched", "log", "counter"].map((kind) => of(kind)), ["flame", "flame", "sched", "logs", "counters"].map((id) => `/captures/b#${id}`));
  const link = of("instant", 'cache:a -b "c\\');
  assert.equal(new URL(link ?? "", "http://x").searchParams.get("q"), 'name="cache:a -b \\"c\\\\"');
  assert.equal(of("region", "a"), undefined, "of a region without an example there is no place");
});

test("a density of some processes says that it is not of all", () => {
  const of = (more: object) => overviewDensity({ from_ns: 0, to_ns: 1, targets: [{ events: [1] }, { events: [3] }], ...more }, () => null).what;
  assert.equal(of({}), "events of all 2 processes");
  assert.equal(of({ next_cursor: "x" }), "events of the first 2 processes alone, further ones are not drawn here");
});
