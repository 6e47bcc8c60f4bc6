// SPDX-License-Identifier: Apache-2.0
// Addresses hold what is looked at: they open the same elsewhere, and Back goes where the reader was.
import assert from "node:assert/strict";
import { placeLinks, selection, subjectLine, timelineReady } from "./support/walk.mjs";

async function timelineOpen({ scene, open }) {
  const tab = await open({ permissions: ["clipboard-read", "clipboard-write"] });
  await tab.open(`/captures/${scene.capture.capture}`);
  await placeLinks(tab.page, /take_from_stock/).first().click();
  await timelineReady(tab);
  await selection(tab).getByText(await subjectLine("take_from_stock")).first().waitFor();
  return tab;
}

const event = (tab) => tab.page.evaluate(() => new URLSearchParams(location.search).get("ev"));

async function linkOpensTheSame(stage) {
  const tab = await timelineOpen(stage);
  await tab.page.getByRole("application").focus();
  await tab.page.keyboard.press("l");
  await tab.page.getByText(/copied/i).first().waitFor();
  const copied = await tab.page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, /take_from_stock .*shop/, "words stand with the link");
  const address = /http:\/\/\S+/.exec(copied)?.[0];
  assert.ok(address?.startsWith(stage.scene.url), copied);
  const ev = await event(tab);
  const words = await selection(tab).innerText();

  const other = await stage.open();
  await other.page.goto(address);
  await timelineReady(other);
  await selection(other).getByText(await subjectLine("take_from_stock")).first().waitFor();
  assert.equal(await event(other), ev);
  assert.equal((await selection(other).innerText()).split("\n")[0], words.split("\n")[0]);
}

async function backGoesBack(stage) {
  const tab = await timelineOpen(stage);
  const first = await event(tab);
  await tab.page.getByRole("application").focus();
  await tab.page.keyboard.press("ArrowUp");
  await selection(tab).getByText(await subjectLine("request")).first().waitFor();
  await tab.page.waitForFunction((old) => new URLSearchParams(location.search).get("ev") !== old, first);
  await tab.page.goBack();
  await selection(tab).getByText(await subjectLine("take_from_stock")).first().waitFor();
  assert.equal(await event(tab), first);
  await tab.page.goBack();
  await tab.page.waitForURL(`**/captures/${stage.scene.capture.capture}`);
  await tab.settled();
}

/* Filters are in the address, and a reload keeps them. */
async function filtersStay({ open }) {
  const tab = await open();
  await tab.open("/?selector=service%3Dshop");
  const row = tab.page.getByRole("row").filter({ hasText: "shop" });
  await row.first().waitFor();
  await tab.page.reload();
  await row.first().waitFor();
  const services = tab.page.getByRole("region", { name: "Services", exact: true });
  assert.doesNotMatch(await services.innerText(), /\bredis\b/);
}

/* The collector filters: what is asked for is in its address as well. */
async function capturesAreFiltered({ scene, open }) {
  const tab = await open();
  const asked = tab.page.waitForRequest(/\/api\/v1\/captures\?(.*&)?rule=redis-ping(&|$)/);
  await tab.open("/captures?rule=redis-ping");
  await asked;
  await tab.page.getByRole("link", { name: /redis-ping/ }).first().waitFor();
  await tab.open("/captures?rule=no-such-rule");
  await tab.page.getByText("No capture is like this").waitFor();
  await tab.open("/captures?rule=redis-ping&kind=sample");
  await tab.page.getByText("No capture is like this").waitFor();
  await tab.page.goto(`${tab.origin}/captures/latest?rule=redis-ping`);
  await tab.page.waitForURL(/\/captures\/[0-9a-f]{32}$/);
  const newest = await scene.api("GET", "/captures?rule=redis-ping&limit=1");
  assert.ok(tab.page.url().endsWith(newest.items[0].capture));
  await tab.open("/captures/latest?rule=no-such-rule");
  await tab.page.getByText("No capture fits the rule no-such-rule").waitFor();
}

/* The shop says a trace's id among its arguments; another id is in no capture. */
async function traceIsFound({ scene, open }) {
  const tab = await open();
  await tab.open("/captures?trace_id=4bf92f3577b34da6a3ce929d0e0e4736");
  const row = tab.page.locator("tr").filter({ has: tab.page.locator(`a[href="/captures/${scene.capture.capture}"]`) });
  await row.getByRole("link", { name: /may be in shop on/ }).click();
  await timelineReady(tab);
  assert.match(tab.page.url(), new RegExp(`${scene.capture.capture}/timeline\\?from=.*&p=[0-9a-f]{32}`));
  await tab.open(`/captures?trace_id=${"0123456789abcdef".repeat(2)}`);
  await tab.page.getByText("No capture is like this").waitFor();
}

async function partIsOpened({ scene, open }) {
  const tab = await open();
  await tab.open(`/captures/${scene.capture.capture}#sched`);
  await tab.page.locator("details#sched[open]").waitFor();
  assert.equal(await tab.page.locator("details#flame[open]").count(), 0);
  await tab.page.evaluate(() => (location.hash = "flame"));
  await tab.page.locator("details#flame[open]").waitFor();
  await tab.page.evaluate(() => (location.hash = "counters"));
  const queue = tab.page.locator("details#counters tr").filter({ hasText: /^queue/ });
  await queue.waitFor();
  assert.match(await queue.locator("td.number").last().innerText(), /^[0-6]$/, "the last value, which is whole");
  await tab.settled();
  assert.deepEqual(await tab.axe(), [], "violations of WCAG with open parts");
}

/* All that are listed are chosen at once; an incident goes as a whole. */
async function manyAreActedOn({ scene, open }) {
  const { capture } = await scene.captureTake({ selector: "service=shop", pre_ms: "1s", reason: "to be deleted" });
  const tab = await open();
  await tab.open(`/captures/${capture}`);
  await tab.says(/Begun by\s+a request of somebody on the collector's host/, tab.page.getByRole("main"));
  await tab.says(/complete\s+1 of 1 targets, [\d,]+ events/, tab.page.getByRole("main"));
  await tab.open("/captures");
  await tab.page.getByRole("checkbox", { name: "choose all that are listed" }).check();
  const boxes = await tab.page.getByRole("checkbox", { name: /^choose capture/ }).count();
  await tab.says(new RegExp(`${boxes} chosen`), tab.page.getByRole("main"));
  await tab.open(`/captures?incident=${capture}`);
  await tab.page.getByRole("button", { name: "Delete the incident…" }).click();
  assert.deepEqual(await tab.axe(), [], "violations of WCAG in the dialog");
  await tab.page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await tab.page.getByText("No capture is like this").waitFor();
  await assert.rejects(scene.api("GET", `/captures/${capture}`), { status: 404 });
}

export const tests = [
  { name: "a copied link opens the same selection elsewhere", run: linkOpensTheSame },
  { name: "Back goes to the selection and the page before", run: backGoesBack },
  { name: "a filter stays over a reload", run: filtersStay },
  { name: "captures are filtered by rule and kind, and the newest is found", run: capturesAreFiltered },
  { name: "captures of a trace are found by its id", run: traceIsFound },
  { name: "an address opens a part of a capture's page", run: partIsOpened },
  { name: "all captures are chosen at once, and an incident is deleted", run: manyAreActedOn },
];
