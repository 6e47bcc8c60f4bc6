// SPDX-License-Identifier: Apache-2.0
// The console's promise: from the first page to the line that did it in three steps, with a mouse and without one.
import assert from "node:assert/strict";
import { placeLinks, selection, subjectLine, tabTo, timelineReady } from "./support/walk.mjs";
import { STALL_MS } from "./support/scene.mjs";

async function throughMouse({ scene, open }) {
  const tab = await open();
  await tab.open("/");
  await tab.page.getByRole("region", { name: /what went wrong/i }).getByRole("link").first().click();
  await tab.page.waitForURL(`**/captures/${scene.capture.capture}`);
  await tab.settled();
  await placeLinks(tab.page, /take_from_stock/).first().click();
  await timelineReady(tab);
  await stalledIsSelected(tab);
}

/* The stalled region is selected, with how long it took and its line of the source. */
async function stalledIsSelected(tab) {
  const panel = selection(tab);
  await panel.getByText("take_from_stock").first().waitFor();
  await panel.getByText(await subjectLine("take_from_stock")).first().waitFor();
  const long = /(\d+(?:\.\d+)?) (ms|s)\b/;
  const text = await tab.says(long, panel);
  const took = long.exec(text);
  const ms = Number(took[1]) * (took[2] === "s" ? 1000 : 1);
  assert.ok(ms > STALL_MS * 0.7 && ms < STALL_MS * 2, `about ${STALL_MS} ms, not ${ms}: ${text}`);
}

/* Redis is not changed: each of its regions is one record, written when it ends. */
async function throughRedis({ scene, open }) {
  const tab = await open();
  const { page } = tab;
  await tab.open("/");
  await page.getByRole("region", { name: /what went wrong/i }).getByRole("link").first().click();
  await page.waitForURL(`**/captures/${scene.capture.capture}`);
  await tab.settled();
  await placeLinks(page, /loop.*sleep/).first().click();
  await timelineReady(tab);
  const around = selection(tab).locator("section").filter({ has: page.getByRole("heading", { name: "Around it" }) });
  await selected(tab, /^sleep /);
  await around.getByRole("button", { name: "loop" }).waitFor();
  await drawnBelow(tab, /sleep[:,] 1\.\d+ s/, /loop[:,] 1\.\d+ s/); /* where many are on few pixels, the longest is told */
  await page.getByRole("application").focus();
  await page.keyboard.press("ArrowUp");
  await selected(tab, /^loop /);
  await around.waitFor({ state: "detached" });
  await page.keyboard.press("ArrowDown");
  await selected(tab, /^sleep /);
  await page.waitForFunction(() => new URLSearchParams(location.search).get("ev")?.endsWith(".1") === true);
  await page.reload();
  await timelineReady(tab);
  await selected(tab, /^sleep /);
  await around.getByRole("button", { name: "loop" }).waitFor();
}

async function selected(tab, name) {
  await selection(tab).getByRole("heading", { level: 2, name }).waitFor();
}

/* What the pointer finds on its way down the middle of the timeline, where the selected region is. */
async function drawnBelow(tab, lower, upper) {
  const { page } = tab;
  const box = await page.getByRole("application").boundingBox();
  const passed = [];
  for (let y = 2; y < box.height && !lower.test(passed.at(-1) ?? ""); y += 3) {
    await page.mouse.move(box.x + box.width / 2, box.y + y);
    const words = await page.evaluate(hoverWords);
    if (words !== passed.at(-1)) passed.push(words);
  }
  assert.match(passed.at(-1), lower, passed.join("\n"));
  assert.match(passed.at(-2), upper, passed.join("\n"));
  await page.mouse.move(0, 0);
}

/* The first line of what is said below the pointer, once it is drawn. */
function hoverWords() {
  const first = () => document.querySelector('[role="tooltip"] > div')?.textContent ?? "";
  return new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => go(first()))));
}

/* A thread that waits since before the window, as one that hangs does. */
async function fromBefore({ scene, open }) {
  const tab = await open();
  const { page } = tab;
  const { capture } = await scene.captureTake({ selector: "service=redis", pre_ms: 500, reason: "behind the begin of its waits" });
  await tab.open(`/captures/${capture}`);
  const waits = page.getByRole("row").filter({ hasText: /cond_wait.*it had not ended/s });
  await waits.locator('a[href*="ev=-"]').first().click();
  for (let i = 0; i < 2; i++) {
    await timelineReady(tab);
    await selected(tab, /^cond_wait /);
    await tab.says(/still going on at the end/, selection(tab));
    const told = selection(tab).locator("section").filter({ has: page.getByRole("heading", { name: "Arguments" }) });
    await told.getByText("cond", { exact: true }).waitFor();
    assert.equal(await told.getByText(/^(mutex|result)$/).count(), 0, "what is not recorded is not told");
    await page.waitForFunction(() => new URLSearchParams(location.search).get("ev")?.startsWith("-") === true);
    if (i === 0) await page.reload();
  }
}

/* The collector knows how far a host's clock may be off: tracks say that, and not that nobody knows. */
async function clocksAreKnown({ scene, open }) {
  const id = scene.capture.capture;
  const { targets } = await scene.api("GET", `/captures/${id}/manifest`);
  const redis = targets.find((target) => target.service === "redis");
  assert.ok(redis.clock_error_ns >= 1000, `${redis.clock_error_ns} ns`);
  const tab = await open();
  await tab.open(`/captures/${id}/timeline`);
  await timelineReady(tab);
  const tracks = tab.page.getByRole("group", { name: "Tracks" });
  await tracks.getByText(/redis\/\d+ .*clock ±/).first().waitFor();
  assert.equal(await tracks.getByText("clock unknown").count(), 0);
}

/* Without a region and a pointer: j chooses a track, with Shift back, e folds and opens it. */
async function tracksByKeys({ scene, open }) {
  const tab = await open();
  const { page } = tab;
  await tab.open(`/captures/${scene.capture.capture}/timeline`);
  await timelineReady(tab);
  const tracks = page.getByRole("group", { name: "Tracks" });
  await tracks.getByText(/^▲ redis/).waitFor(); /* the process that failed, whose threads are open */
  await page.getByRole("application").focus();
  await page.keyboard.press("j");
  const chosen = tracks.locator('[aria-current="true"]');
  await chosen.getByText(/redis/).waitFor();
  await chosen.getByRole("button", { name: /^Fold / }).waitFor();
  await page.keyboard.press("e");
  await chosen.getByRole("button", { name: /^Open / }).waitFor();
  await page.keyboard.press("j");
  await chosen.getByText(/shop/).waitFor();
  await page.keyboard.press("e");
  await chosen.getByRole("button", { name: /^Fold / }).waitFor();
  await page.keyboard.press("Shift+J");
  await chosen.getByText(/redis/).waitFor();
  await page.keyboard.press("Escape");
  await chosen.waitFor({ state: "detached" });
}

async function throughKeyboard({ scene, open }) {
  const tab = await open();
  const { page } = tab;
  await tab.open("/");
  await page.getByRole("region", { name: /what went wrong/i }).getByRole("link").first().waitFor();
  await tabTo(page, "the capture's link", {
    is: (capture) => document.activeElement?.getAttribute("href") === `/captures/${capture}`,
    arg: scene.capture.capture,
  });
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/captures/${scene.capture.capture}`);
  await tab.settled();
  await placeLinks(page, /take_from_stock/).first().waitFor();
  await tabTo(page, "the stalled region's link", {
    is: () => {
      const link = document.activeElement;
      if (link?.getAttribute("href")?.includes("ev=") !== true) return false;
      const around = link.closest("tr, li, p, div.card") ?? link;
      return /take_from_stock/.test(around.textContent ?? "");
    },
  });
  await page.keyboard.press("Enter");
  await timelineReady(tab);
  await stalledIsSelected(tab);
  await tabTo(page, "the timeline", { is: () => document.activeElement?.getAttribute("role") === "application" });
  await keysWork(tab);
}

/* A key each of looking around, selecting, searching and help, with the timeline in focus. */
async function keysWork(tab) {
  const { page } = tab;
  const view = () => page.evaluate(() => new URLSearchParams(location.search).get("from"));
  const before = await view();
  await page.keyboard.press("w");
  await page.waitForFunction((old) => new URLSearchParams(location.search).get("from") !== old, before);
  await page.keyboard.press("ArrowUp");
  await selection(tab).getByText(await subjectLine("request")).first().waitFor();
  await page.keyboard.press("?");
  const help = page.getByRole("dialog");
  await help.getByText("zoom in at the pointer").waitFor();
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "hidden" });
}

async function fromAlert({ scene, open }) {
  const newer = await scene.captureTake({ selector: "service=shop", pre_ms: 100, reason: "newer, and of no rule" });
  const tab = await open();
  await tab.page.goto(`${tab.origin}/captures/latest?rule=redis-ping`);
  await tab.page.waitForURL(`**/captures/${scene.capture.capture}`);
  await tab.says(/redis-ping/);
  await tab.says(/did not answer within 300 ms/);
  await tab.page.goto(`${tab.origin}/captures/latest?kind=snapshot&selector=service%3Dshop`);
  await tab.page.waitForURL(`**/captures/${newer.capture}`);
  await tab.says(/newer, and of no rule/);
}

export const tests = [
  { name: "three clicks lead from the fleet to the stalled region's line", run: throughMouse },
  { name: "three clicks lead to what an unchanged Redis was in, and around it", run: throughRedis },
  { name: "a region from before the window is linked, told as recorded, and found again", run: fromBefore },
  { name: "tracks say how far their clock may be off", run: clocksAreKnown },
  { name: "keys choose a track and fold it where nothing is selected", run: tracksByKeys },
  { name: "the keyboard alone goes the same way", run: throughKeyboard },
  { name: "a bookmark of a rule's newest capture opens it", run: fromAlert },
];
