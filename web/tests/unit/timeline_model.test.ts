// SPDX-License-Identifier: Apache-2.0
// The timeline's model over a trace that is read piece by piece: pins wait for their threads. And what it says of traces
// that are too long for exact times.
import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals";
import { coarseWords } from "../../src/timeline/head";
import { NO_LINK } from "../../src/timeline/link";
import { Model } from "../../src/timeline/model";
import type { Trace, TraceThread } from "../../src/trace/trace";
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

test("a trace that is longer than 2^53 ns says how exact its times are", () => {
  assert.equal(coarseWords(2 ** 53 - 1), "");
  assert.match(coarseWords(2 ** 53), /104 d.* to 2 ns at best/);
  assert.match(coarseWords(2 ** 63), / to 2\.05 us at best| to 2\.05 µs at best/);
  for (const length of [2 ** 53, 1.7e17, 1.8e19]) {
    const step = 2 ** (Math.floor(Math.log2(length)) - 52);
    assert.ok(length + step > length && length + step / 4 === length, "what is said is what doubles are");
  }
});
