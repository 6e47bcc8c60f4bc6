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
  { name: "the keyboard alone goes the same way", run: throughKeyboard },
  { name: "a bookmark of a rule's newest capture opens it", run: fromAlert },
];
