// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { LEAST_NS, clamped, fitted, lengthOf, panned, relativeLabel, revealing, roundStep, ticks, zoomed } from "../../src/timeline/zoom";
import { wheelFactor } from "../../src/timeline/actions";
import { pointWords, timeWords } from "../../src/timeline/words";

const LENGTH = 12e9;

test("zoom keeps the time below the pointer where it is, over five decades and back", () => {
  let span = { from: 0, to: LENGTH };
  const at = 7.3e9;
  const share = (at - span.from) / lengthOf(span);
  for (let i = 0; i < 100; i++) {
    span = zoomed(span, at, Math.pow(1e5, -1 / 100), LENGTH);
    assert.ok(Math.abs((at - span.from) / lengthOf(span) - share) < 1e-3);
  }
  assert.ok(Math.abs(lengthOf(span) - LENGTH / 1e5) < 1);
  for (let i = 0; i < 100; i++) span = zoomed(span, at, Math.pow(1e5, 1 / 100), LENGTH);
  assert.ok(Math.abs(span.from) < 1e3 && Math.abs(span.to - LENGTH) < 1e3);
});

test("windows stay inside of the trace and above the least size", () => {
  assert.deepEqual(clamped({ from: -5e9, to: 1e9 }, LENGTH), { from: 0, to: 6e9 });
  assert.deepEqual(clamped({ from: 11e9, to: 13e9 }, LENGTH), { from: 10e9, to: 12e9 });
  assert.deepEqual(clamped({ from: -1, to: 99e9 }, LENGTH), { from: 0, to: LENGTH });
  assert.equal(lengthOf(zoomed({ from: 5, to: 30 }, 10, 1e-9, LENGTH)), LEAST_NS);
  assert.deepEqual(panned({ from: 1e9, to: 2e9 }, -5e9, LENGTH), { from: 0, to: 1e9 });
});

test("a fitted region takes its share of the width, in the middle", () => {
  const span = fitted({ from: 5e9, to: 5.3e9 }, 1 / 3, LENGTH);
  assert.ok(Math.abs(lengthOf(span) - 0.9e9) < 1);
  assert.ok(Math.abs((span.from + span.to) / 2 - 5.15e9) < 1);
});

test("revealing moves no more than is needed", () => {
  const span = { from: 1e9, to: 2e9 };
  assert.equal(revealing(span, { from: 1.5e9, to: 1.6e9 }, LENGTH), span);
  const moved = revealing(span, { from: 2.5e9, to: 2.6e9 }, LENGTH);
  assert.equal(lengthOf(moved), 1e9);
  assert.ok(moved.from < 2.5e9 && moved.to > 2.6e9);
  const wider = revealing(span, { from: 0, to: 5e9 }, LENGTH);
  assert.ok(wider.from <= 0 && wider.to >= 5e9);
});

test("ticks stand at round numbers from zero, and not closer than is asked", () => {
  const { step, at } = ticks({ from: 8.2e9, to: 10.7e9 }, 1000, 100, 10e9, false);
  assert.equal(step, 5e8);
  assert.deepEqual(at, [8.5e9, 9e9, 9.5e9, 10e9, 10.5e9]);
  assert.equal(ticks({ from: 0, to: 600e9 }, 1000, 100, 0, true).step, 60e9);
  assert.deepEqual([3, 1, 0.4, 70].map(roundStep), [5, 1, 0.5, 100]);
});

test("times are told as finely as the step needs", () => {
  assert.equal(relativeLabel(-1_204_000_000, 1e6), "−1.204 s");
  assert.equal(relativeLabel(0, 1e6), "0");
  assert.equal(relativeLabel(2e9, 1e9), "+2 s");
  assert.equal(relativeLabel(-350, 50), "−350 ns");
  const base = { mode: "utc" as const, origin: 1_795_471_000_000_000_000n, zero: 0 };
  assert.match(timeWords(1_500_000_000, 1e6, base), /^\d\d:\d\d:\d\d\.500 UTC$/);
  assert.equal(pointWords(1_796_000_000, { ...base, mode: "relative", zero: 3e9 }), "−1.204 s");
  assert.equal(pointWords(3e9 - 10e9, { ...base, mode: "relative", zero: 3e9 }), "−10 s");
});

test("a notch of the wheel back undoes one forth", () => {
  assert.ok(Math.abs(wheelFactor(120) * wheelFactor(-120) - 1) < 1e-12);
  assert.ok(wheelFactor(-120) < 1);
});
