// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { HUE_COUNT, HUE_PIXELS, hueOf, hueText } from "../../src/timeline/colours";
import { type Ink, LEAST_ALPHA, counterStrip, itemAt, markStrip, regionStrip, sampleStrip, stateStrip } from "../../src/timeline/strip";
import type { View } from "../../src/trace/trace";

interface Item {
  from: number;
  to: number;
  type?: number;
  longest?: number;
  share?: number;
  severity?: number;
  value?: number;
}

function viewOf(from: number, to: number, lanes: readonly (readonly Item[])[]): View {
  const items = lanes.flat();
  const first = new Uint32Array(lanes.length + 1);
  lanes.forEach((lane, i) => (first[i + 1] = first[i]! + lane.length));
  const value = Float32Array.from(items, (item) => item.value ?? 0);
  return {
    ask: { from, to, width: 0, lanes: [] }, generation: 1, first,
    from: Float64Array.from(items, (item) => item.from), to: Float64Array.from(items, (item) => item.to),
    longest: Float32Array.from(items, (item) => item.longest ?? item.to - item.from), share: Float32Array.from(items, (item) => item.share ?? 1),
    least: value, most: value, last: value, type: Uint32Array.from(items, (item) => item.type ?? 0),
    severity: Uint8Array.from(items, (item) => item.severity ?? 0), row: new Uint8Array(items.length).fill(1),
  };
}

const INK: Ink = {
  type: Uint32Array.of(0xff000001, 0xff000002, 0xff000003), other: 0xff0000ff, running: 0xff000011, runnable: 0xff000012, blocked: 0xff000013,
  instant: 0xff000021, warning: 0xff000022, error: 0xff000023, counter: 0xff000031,
};

const colour = (pixel: number | undefined): number => (pixel ?? 0) & 0xffffff;
const alpha = (pixel: number | undefined): number => (pixel ?? 0) >>> 24;

test("a region of 1 ns is seen at each zoom, and never fainter than the least", () => {
  for (let length = 100; length <= 1e13; length *= 10) {
    const at = Math.floor(length * 0.37);
    const pixels = new Uint32Array(1600);
    regionStrip(viewOf(0, length, [[{ from: at, to: at + 1, type: 2 }]]), 0, INK, { pixels, width: 1600 }, 0);
    const x = Math.floor((at / length) * 1600);
    assert.equal(colour(pixels[x]), 3, `window of ${length} ns`);
    assert.ok(alpha(pixels[x]) >= LEAST_ALPHA);
  }
});

test("a pixel takes the longest of what touches it", () => {
  const pixels = new Uint32Array(10);
  const items = [
    { from: 0, to: 20, type: 0 },
    { from: 20, to: 90, type: 1 },
    { from: 90, to: 99, type: 2 },
  ];
  regionStrip(viewOf(0, 1000, [items]), 0, INK, { pixels, width: 10 }, 0);
  assert.equal(colour(pixels[0]), 2);
  assert.equal(pixels[1], 0);
});

test("opacity is how much of a pixel is busy", () => {
  const pixels = new Uint32Array(10);
  regionStrip(viewOf(0, 1000, [[{ from: 0, to: 50 }, { from: 100, to: 200 }]]), 0, INK, { pixels, width: 10 }, 0);
  assert.equal(alpha(pixels[1]), 255);
  assert.equal(alpha(pixels[0]), LEAST_ALPHA + Math.round((255 - LEAST_ALPHA) / 2));
});

test("what lies beside the window is not drawn, what reaches into it is", () => {
  const pixels = new Uint32Array(12).fill(7);
  const view = viewOf(1000, 2000, [[{ from: 0, to: 1100, type: 0 }, { from: 1900, to: 5000, type: 1 }, { from: 6000, to: 7000 }]]);
  regionStrip(view, 0, INK, { pixels, width: 10 }, 1);
  assert.deepEqual([...pixels].map(colour), [7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 7]);
});

test("states and marks are told apart by height, too", () => {
  const heights = (pixels: Uint32Array, x: number): number => [0, 1, 2].filter((row) => pixels[row * 4 + x] !== 0).length;
  const states = new Uint32Array(12);
  const view = viewOf(0, 400, [[{ from: 0, to: 100, type: 1 }], [{ from: 100, to: 200, type: 2 }], [{ from: 200, to: 300, type: 3 }]]);
  stateStrip(view, [0, 1, 2], INK, { pixels: states, width: 4 }, 0);
  assert.deepEqual([0, 1, 2, 3].map((x) => heights(states, x)), [3, 2, 1, 0]);
  const marks = new Uint32Array(12);
  const at = (x: number, severity: number): Item => ({ from: x, to: x, severity });
  markStrip(viewOf(0, 400, [[at(10, 0), at(110, 3), at(190, 2), at(210, 4)]]), [0], INK, { pixels: marks, width: 4 }, 0);
  assert.deepEqual([0, 1, 2, 3].map((x) => heights(marks, x)), [1, 2, 3, 0]);
});

test("a counter keeps its value until the next one", () => {
  const pixels = new Uint32Array(10 * 5);
  const view = viewOf(0, 1000, [[{ from: 0, to: 0, value: 0 }, { from: 500, to: 500, value: 4 }]]);
  counterStrip(view, 0, { least: 0, most: 4 }, INK, { pixels, width: 10 }, 0, 5);
  const line = (x: number): number => [0, 1, 2, 3, 4].find((y) => pixels[y * 10 + x] === INK.counter) ?? -1;
  assert.deepEqual([0, 4, 5, 9].map(line), [4, 4, 0, 0]);
});

test("the pointer finds what it is in; beside it the longest that is near", () => {
  const view = viewOf(0, 1000, [[{ from: 0, to: 10 }, { from: 20, to: 21 }, { from: 22, to: 40 }, { from: 500, to: 600 }]]);
  assert.equal(itemAt(view, 0, 5, 3), 0);
  assert.equal(itemAt(view, 0, 20.5, 3), 1);
  assert.equal(itemAt(view, 0, 21.5, 3), 2);
  assert.equal(itemAt(view, 0, 300, 3), -1);
});

/* Viénot's matrix of deuteranopia on linear light; then the distance in CIE Lab. */
function lab(text: string): [number, number, number] {
  const rgb = [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  const [r, g, b] = rgb as [number, number, number];
  const seen = [0.29275 * r + 0.70725 * g, 0.29275 * r + 0.70725 * g, -0.02234 * r + 0.02234 * g + b];
  const [x, y, z] = [
    (0.4124 * seen[0]! + 0.3576 * seen[1]! + 0.1805 * seen[2]!) / 0.9505,
    0.2126 * seen[0]! + 0.7152 * seen[1]! + 0.0722 * seen[2]!,
    (0.0193 * seen[0]! + 0.1192 * seen[1]! + 0.9505 * seen[2]!) / 1.089,
  ].map((t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116)) as [number, number, number];
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

test("twelve hues differ for eyes that do not tell red from green, and dark text is read on each", () => {
  assert.equal(HUE_COUNT, 12);
  for (let i = 0; i < HUE_COUNT; i++) {
    assert.ok(lab(hueText(i))[0] > 55, `${hueText(i)} is light enough`);
    for (let k = 0; k < i; k++) {
      const [a, b] = [lab(hueText(i)), lab(hueText(k))];
      assert.ok(Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) > 15, `${hueText(i)} and ${hueText(k)}`);
    }
  }
});

test("a name has one colour, and names spread over all of them", () => {
  assert.equal(hueOf("take_from_stock"), hueOf("take_from_stock"));
  const counts = new Array<number>(HUE_COUNT).fill(0);
  for (let i = 0; i < 1200; i++) counts[hueOf(`region_${i}`)]!++;
  assert.ok(Math.min(...counts) > 50, counts.join());
  assert.equal(HUE_PIXELS.length, HUE_COUNT);
});

/* How many pixels of a column are filled, from below. */
function filled(pixels: Uint32Array, width: number, height: number, x: number): number {
  let rows = 0;
  for (let y = height - 1; y >= 0 && pixels[y * width + x] !== 0; y--) rows++;
  return rows;
}

test("samples are as high as they are many beside the pixel that has most; one alone fills it", () => {
  const [width, height] = [10, 8];
  const alone = new Uint32Array(width * height);
  sampleStrip(viewOf(0, 1000, [[{ from: 350, to: 350 }]]), [0], INK, { pixels: alone, width }, 0, height);
  assert.deepEqual(Array.from({ length: width }, (_, x) => filled(alone, width, height, x)), [0, 0, 0, 8, 0, 0, 0, 0, 0, 0]);
  assert.equal(alone[3], INK.running);
  const cells = [{ from: 0, to: 100, share: 8 }, { from: 100, to: 200, share: 2 }, { from: 200, to: 400, share: 8 }, { from: 900, to: 1000, share: 0.01 }];
  const many = new Uint32Array(width * height);
  sampleStrip(viewOf(0, 1000, [cells]), [0], INK, { pixels: many, width }, 0, height);
  assert.deepEqual(Array.from({ length: width }, (_, x) => filled(many, width, height, x)), [8, 2, 4, 4, 0, 0, 0, 0, 0, 1]);
  const layers = new Uint32Array(width * height); /* lanes that share the place are added */
  sampleStrip(viewOf(0, 1000, [[{ from: 50, to: 50 }, { from: 650, to: 650 }], [{ from: 51, to: 51 }]]), [0, 1], INK, { pixels: layers, width }, 0, height);
  assert.deepEqual([filled(layers, width, height, 0), filled(layers, width, height, 6)], [8, 4]);
});
