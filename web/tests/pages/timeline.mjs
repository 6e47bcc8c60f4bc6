// SPDX-License-Identifier: Apache-2.0
// What the timeline shows beside regions: samples of the CPU. What it says when something happens to what it shows: the
// capture is deleted, the session ends, the decoder fails.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./support/programs.mjs";
import { PROGRAMS } from "./support/scene.mjs";
import { selection, timelineReady } from "./support/walk.mjs";

/* What `perf script -F +srcline` prints of a worker that packs, and of another that is seen now and then. */
function perfText() {
  const lines = [];
  for (let i = 0; i < 400; i++) {
    const [tid, name, line] = i % 25 === 0 ? [8002, "flusher", 71] : [8001, "worker", 38];
    const leaf = tid === 8002 ? "log_flush" : i % 3 === 0 ? "crc_update" : "pack_block";
    lines.push(`${name} 7998/${tid} ${(100 + i / 100).toFixed(6)}: 10101010 cpu-clock:pppH: `);
    lines.push(`\t    55d0 ${leaf}+0x12 (/usr/bin/packer)`, `  zip.c:${line}`, "\t    5100 main+0x40 (/usr/bin/packer)", "  main.c:12", "");
  }
  return lines.join("\n");
}

async function samplesFile(scene) {
  const [text, file] = [join(scene.folder, "perf.txt"), join(scene.folder, "perf.skein")];
  await writeFile(text, perfText());
  await run(PROGRAMS.skein, ["import", "perf-script", text, "-o", file, "--service", "packer"]);
  return file;
}

async function samplesAreATrack({ scene, open }) {
  const tab = await open();
  const { page } = tab;
  await tab.open("/open");
  await page.locator('input[type="file"]').setInputFiles(await samplesFile(scene));
  await timelineReady(tab);
  const names = page.getByRole("group", { name: "Tracks" });
  await tab.says(/worker\/8001/, names);
  const canvas = page.getByRole("application");
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 24 + 24 + 7); /* below the axis and the process: its first thread */
  await tab.says(/samples?: it ran on a CPU, one of them in \w+ \(zip\.c:38\)|ran on a CPU: \w+ \(zip\.c:38\)/);
  await canvas.focus();
  await page.keyboard.press("k");
  const panel = selection(tab);
  await tab.says(/CPU sample: (pack_block|crc_update|log_flush)[\s\S]*Stack of its thread[\s\S]*main\.c:12/, panel);
  const first = await panel.innerText();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((old) => document.querySelector(".tl-panel")?.innerText !== old, first);
  await page.keyboard.press("x");
  const table = page.getByRole("region", { name: "Events in view", exact: true });
  await tab.says(/cpu\.sample[\s\S]*CPU sample[\s\S]*worker\/8001/, table);
  assert.deepEqual([await tab.axe(), await tab.clipped()], [[], []]);
}

async function captureOf(scene, reason) {
  const { capture } = await scene.captureTake({ selector: "service in (shop,redis)", pre_ms: 1000, reason });
  return capture;
}

async function deletionIsSaid({ scene, open }) {
  const id = await captureOf(scene, "to be deleted while it is looked at");
  const tab = await open();
  tab.expect(/40[04]|410/);
  await tab.open(`/captures/${id}/timeline`);
  await timelineReady(tab);
  await tab.says(/shop|redis/, tab.page.getByRole("group", { name: "Tracks" }));
  await scene.api("DELETE", `/captures/${id}`);
  await tab.says(/This capture was deleted since it was opened here/, tab.page.getByRole("alert"));
  assert.ok(await tab.page.getByRole("application").isVisible(), "what was read stays");
  assert.equal(await tab.page.getByRole("link", { name: "Download .skein" }).count(), 0);
  await tab.page.getByRole("link", { name: "All captures" }).click();
  await tab.page.waitForURL("**/captures");
}

/* Without the event: the collector's answer to a later read says it. */
async function deletionIsFound({ scene, open }) {
  const id = await captureOf(scene, "to be deleted unheard");
  const tab = await open();
  tab.expect(/40[04]|410|ERR_FAILED/);
  await tab.page.route("**/api/v1/events*", (route) => route.abort());
  await tab.page.route("**/trace?*", (route) => route.fulfill({ status: 404, contentType: "application/problem+json", body: '{"detail":"no such capture"}' }));
  await tab.open(`/captures/${id}/timeline`);
  await tab.says(/no such capture/);
  assert.equal(await tab.page.getByText(/This capture was deleted/).count(), 0, "it is there: one answer was no");
  await scene.api("DELETE", `/captures/${id}`);
  await tab.page.getByText(/could not be read/).first().click();
  await tab.page.getByRole("button", { name: "Try again" }).first().click();
  await tab.says(/This capture was deleted since it was opened here/, tab.page.getByRole("alert"));
}

async function decoderBeginsAgain({ scene, open }) {
  const tab = await open();
  tab.expect(/made to fail/);
  await tab.open(`/captures/${scene.capture.capture}/timeline`);
  await timelineReady(tab);
  await tab.says(/shop/, tab.page.getByRole("group", { name: "Tracks" }));
  await tab.page.getByRole("application").focus();
  await tab.page.keyboard.press("v");
  const panel = selection(tab);
  await tab.says(/\d records in this span[\s\S]*take_from_stock|\d records in this span[\s\S]*request/, panel);
  const [worker] = tab.page.workers();
  await worker.evaluate(() => void setTimeout(() => { throw new Error("made to fail"); }));
  await tab.says(/The decoder has failed/);
  tab.faults = tab.faults.filter((fault) => !/made to fail/.test(fault));
  await tab.page.getByRole("button", { name: "Try again" }).first().click();
  await panel.getByText(/records in this span/).waitFor();
  await tab.says(/request|take_from_stock/, panel);
  assert.equal(await tab.page.getByText(/The decoder has failed/).count(), 0);
}

/* The worker's own reads are refused: the login, and from there the same place. */
async function sessionEnds({ scene, open }) {
  scene.token ??= await scene.tokenCreate("tests", "admin");
  const secret = await scene.tokenCreate("looks", "viewer");
  const tab = await open();
  tab.expect(/40[13]|429|ERR_FAILED/);
  const { page } = tab;
  await page.route("**/api/v1/events*", (route) => route.abort()); /* nobody but the worker is to notice */
  let ended;
  let first;
  const revoked = new Promise((done) => (ended = done));
  await page.route("**/trace?*", async (route) => {
    const process = new URL(route.request().url()).searchParams.get("process");
    first ??= process;
    if (process !== first) await revoked;
    await route.continue();
  });
  await page.goto(`${tab.origin}/captures/${scene.capture.capture}/timeline`);
  await page.waitForURL("**/login?to=*");
  await page.getByLabel(/token/i).fill(secret);
  await page.getByRole("button", { name: /log in/i }).click();
  await page.waitForURL("**/timeline*");
  await timelineReady(tab);
  const canvas = page.getByRole("application");
  await tab.says(/not read yet/, page.getByRole("group", { name: "Tracks" }));
  await canvas.focus();
  let here = ""; // the last address of the timeline: a zoom that comes to rest changes it once more
  page.on("framenavigated", (frame) => {
    const url = new URL(frame.url());
    if (url.pathname.endsWith("/timeline")) here = url.pathname + url.search;
  });
  await page.keyboard.press("w");
  await page.waitForFunction(() => new URLSearchParams(location.search).has("from"));
  await scene.tokenRevoke("looks");
  ended();
  await page.waitForURL("**/login?to=*");
  const to = new URL(page.url()).searchParams.get("to") ?? "";
  assert.equal(to, here);
  await page.getByLabel(/token/i).fill(await scene.tokenCreate("looks-again", "viewer"));
  await page.getByRole("button", { name: /log in/i }).click();
  await page.waitForURL(`${tab.origin}${to}`);
  await timelineReady(tab);
}

export const tests = [
  { name: "the timeline has samples of the CPU as tracks", run: samplesAreATrack },
  { name: "the timeline says that its capture was deleted", run: deletionIsSaid },
  { name: "the timeline finds out that its capture was deleted", run: deletionIsFound },
  { name: "the timeline asks again when its decoder was begun again", run: decoderBeginsAgain },
];

/* Makes a token, as those of login.mjs do. */
export const lastTests = [{ name: "the timeline's session ends, and the login leads back to the same place", run: sessionEnds }];
