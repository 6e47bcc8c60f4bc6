// SPDX-License-Identifier: Apache-2.0
// The timeline's model over a trace that is read piece by piece: pins wait for their threads; where keys begin. And what it says of traces
// that are too long for exact times.
import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import { Finder } from "../../src/timeline/find";
import { follow } from "../../src/timeline/follow";
import { coarseWords } from "../../src/timeline/head";
import { NO_LINK } from "../../src/timeline/link";
import { Model } from "../../src/timeline/model";
import { selectNeighbour, selectRef, selectRelative, selectSample } from "../../src/timeline/select";
import type { EventRef, Trace, TraceState, TraceThread } from "../../src/trace/trace";
import { madeTrace } from "./made_trace";

test("a pin of a link waits until its thread is read; the link names it all the while, and one of no process is dropped", () => {
  const made = madeTrace({ processes: 2, threads: 2, rows: 20 });
  const all = made.threads.value;
  const threads = signal<readonly TraceThread[]>(all.filter((thread) => thread.process === 0));
  const trace = Object.assign(Object.create(made) as Trace, { threads });
  const model = new Model(trace, undefined);
  const [here, away] = [all[0]!, all.find((thread) => thread.process === 1)!];
  const id = (process: number): string => made.processes.value[process]!.id;
  const pins = [{ process: id(0), tid: here.tid }, { process: id(1), tid: away.tid }, { process: id(1), tid: null }];
  model.applyPins({ ...NO_LINK, pins: [...pins, { process: "ee".repeat(16), tid: 5 }] });
  assert.deepEqual(model.pins.value, [`t${here.index}`, "p1"]);
  assert.deepEqual(model.pinsAwaited.value, [pins[1]]);
  assert.deepEqual(new Set(model.link().pins.map((pin) => JSON.stringify(pin))), new Set(pins.map((pin) => JSON.stringify(pin))));
  model.settlePins();
  assert.deepEqual(model.pinsAwaited.value, [pins[1]]);
  threads.value = all;
  model.settlePins();
  assert.deepEqual([model.pins.value, model.pinsAwaited.value], [[`t${here.index}`, "p1", `t${away.index}`], []]);
  model.togglePin(`t${away.index}`);
  model.settlePins();
  assert.deepEqual(model.pins.value, [`t${here.index}`, "p1"]); /* let go for good */
});

test("only processes and threads are pinned; a pin whose thread is not there stands for nothing in the link", () => {
  const model = new Model(madeTrace({ processes: 2, threads: 2, rows: 20 }), undefined);
  for (const key of ["v0", "i1", "c3", "!pins", "n0"]) {
    model.spoken.value = "";
    model.togglePin(key);
    assert.deepEqual([model.pins.value, model.spoken.value], [[], "Only a process or a thread can be pinned."], key);
  }
  model.togglePin("t999");
  assert.deepEqual(model.link().pins, []);
  model.togglePin("!p1");
  assert.deepEqual(model.link().pins, [{ process: model.process(1)!.id, tid: null }]);
});

test("a decoder that was begun again numbers threads anew: pins find theirs by tid, and other numbers are let go", () => {
  const made = madeTrace({ processes: 2, threads: 2, rows: 20 });
  const threads = signal(made.threads.value);
  const model = new Model(Object.assign(Object.create(made) as Trace, { threads }), undefined);
  const [first, second] = [threads.value[0]!, threads.value[1]!];
  model.togglePin(`t${first.index}`);
  model.toggleFold(`t${second.index}`);
  model.chooseTrack(1);
  const named = model.link().pins;
  model.restart();
  threads.value = [];
  model.settlePins();
  assert.deepEqual([model.pins.value, model.pinsAwaited.value, model.link().pins], [[], named, named]);
  assert.deepEqual([model.folded.value.size, model.track.value], [0, null]);
  threads.value = [{ ...second, index: 0 }, { ...first, index: 1 }];
  model.settlePins();
  assert.deepEqual([model.pins.value, model.pinsAwaited.value], [["t1"], []]);
});

test("pins are renamed while the decoder that fails still has its threads, and once", () => {
  const made = madeTrace({ processes: 1, threads: 1, rows: 20 });
  const state = signal<TraceState>({ ...made.state.value, phase: "failed" });
  const model = new Model(Object.assign(Object.create(made) as Trace, { state }), undefined);
  model.ready = true;
  model.togglePin("t0");
  const stop = follow(model, new Finder(model), () => NO_LINK);
  state.value = { ...state.value, phase: "opening" };
  assert.deepEqual([model.pins.value, model.pinsAwaited.value.map((pin) => pin.tid)], [[], [model.thread(0)!.tid]]);
  model.toggleFold("p0");
  state.value = { ...state.value, bytesDone: 9 };
  assert.deepEqual([...model.folded.value], ["p0"], "what is done since then stays");
  stop();
});

test("what is read while an event is asked for is asked again: it may hold the event", async () => {
  const made = madeTrace({ processes: 1, threads: 1, rows: 20 });
  const state = signal<TraceState>({ ...made.state.value, generation: 1 });
  const asked: string[] = [];
  const details = async (ref: EventRef): ReturnType<Trace["details"]> => {
    asked.push(`details ${state.value.generation}`);
    return asked.length === 1 ? null : made.details(ref);
  };
  const events = async (...of: Parameters<Trace["events"]>): ReturnType<Trace["events"]> => {
    asked.push(`events ${state.value.generation}`);
    state.value = { ...state.value, generation: 2 };
    return made.events({ ...of[0], from: -2, to: -1 }, of[1], of[2]);
  };
  const model = new Model(Object.assign(Object.create(made) as Trace, { state, details, events }), undefined);
  const row = await made.events({ from: 0, to: made.length.value }, { order: "length" }, { first: 0, count: 1 });
  const ref = { process: row.process[0]!, tid: made.threads.value[0]!.tid, begin: row.begin[0]!, length: row.length[0]!, depth: row.depth[0]! };
  await selectRef(model, ref);
  assert.deepEqual([model.selected.value?.state, asked], ["there", ["details 1", "events 1", "details 2"]]);
});

test("arrows begin in the track that was chosen, and say why where they find nothing", async () => {
  const made = madeTrace({ processes: 2, threads: 2, rows: 20 });
  const model = new Model(made, undefined);
  model.show({ from: 0, to: made.length.value });
  const rows = model.tracks.value.rows.filter((row) => row.kind === "thread");
  const [one, other] = [rows[0]!, rows[1]!];
  model.track.value = one.key;
  await selectNeighbour(model, 1);
  const tid = (): number | undefined => model.selected.value?.ref.tid;
  assert.deepEqual([tid(), model.track.value], [model.thread(one.thread)!.tid, null]);
  model.track.value = other.key;
  await selectNeighbour(model, 1);
  assert.equal(tid(), model.thread(other.thread)!.tid, "not on in the lane of what was selected");
  model.track.value = one.key;
  await selectRelative(model, "child");
  assert.equal(tid(), model.thread(one.thread)!.tid);
  model.unselect();
  model.track.value = other.key;
  model.foldAll(); /* its row goes */
  await selectNeighbour(model, 1);
  assert.ok(model.selected.value !== null, "the first track in view");
  model.track.value = model.tracks.value.rows.find((row) => row.bands.every((band) => band.kind !== "region"))!.key;
  await selectNeighbour(model, 1);
  assert.equal(model.spoken.value, "The chosen track shows no regions.");
  await selectSample(model, 1);
  assert.equal(model.spoken.value, "No sample of the CPU is there: the chosen track has none.");
});

test("a trace that is longer than 2^53 ns says how exact its times are", () => {
  assert.equal(coarseWords(2 ** 53 - 1), "");
  assert.match(coarseWords(2 ** 53), /104 d.* to 2 ns at best/);
  assert.match(coarseWords(2 ** 63), / to 2\.05 us at best| to 2\.05 µs at best/);
  for (const length of [2 ** 53, 1.7e17, 1.8e19]) {
    const step = 2 ** (Math.floor(Math.log2(length)) - 52);
    assert.ok(length + step > length && length + step / 4 === length, "what is said is what doubles are");
  }
});
