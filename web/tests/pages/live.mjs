// SPDX-License-Identifier: Apache-2.0
// An hour of events, compressed: the live page shows the newest and does not grow.
import assert from "node:assert/strict";
import { until } from "./support/until.mjs";

const WARM = 600; /* more than the page keeps */
const HOUR = 3600; /* one a second */
const AT_ONCE = 16;
const GROWTH_BYTES = 2 << 20;
const GROWTH_NODES = 200;

/* Events of the collector itself: a policy that is replaced again and again, and matches nobody. */
async function eventsMake(scene, from, to) {
  const numbers = Array.from({ length: to - from }, (_, i) => from + i);
  const policy = { selector: "service=nobody", record_ms: 200 };
  const worker = async () => {
    for (let n = numbers.shift(); n !== undefined; n = numbers.shift()) {
      const name = `hour-${n % AT_ONCE}`;
      await scene.api("PUT", `/policies/${name}`, { ...policy, name, every_ms: 200 * (5 + (n % 4000)) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function measured(session) {
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  const of = (name) => metrics.find((metric) => metric.name === name).value;
  return { bytes: of("JSHeapUsedSize"), nodes: of("Nodes") };
}

async function doesNotGrow({ scene, open }) {
  const tab = await open();
  await tab.open("/events");
  await tab.page.getByRole("banner").getByText(/● live/).waitFor();
  const session = await tab.context.newCDPSession(tab.page);
  await session.send("Performance.enable");
  const heard = () => tab.page.evaluate(() => (document.body.innerText.match(/policy\.changed|policy /g) ?? []).length);

  await eventsMake(scene, 0, WARM);
  await until("events on the live page", heard);
  const before = await measured(session);
  await eventsMake(scene, WARM, WARM + HOUR);
  const last = await scene.captureTake({ selector: "service=shop", pre_ms: 100 });
  await tab.page.getByText(new RegExp(last.capture.slice(0, 8))).first().waitFor();
  const after = await measured(session);

  console.log(`       live page: heap ${(before.bytes / 2 ** 20).toFixed(1)} MiB before, ${(after.bytes / 2 ** 20).toFixed(1)} MiB after ${HOUR} events; nodes ${before.nodes} and ${after.nodes}`);
  assert.ok(after.bytes - before.bytes < GROWTH_BYTES, `the heap grows by ${after.bytes - before.bytes} bytes`);
  assert.ok(after.nodes - before.nodes < GROWTH_NODES, `the document grows by ${after.nodes - before.nodes} nodes`);
  for (let i = 0; i < AT_ONCE; i++) await scene.api("DELETE", `/policies/hour-${i}`);
}

export const tests = [{ name: "the live page does not grow over an hour of events", run: doesNotGrow }];
