// SPDX-License-Identifier: Apache-2.0
// What the timeline shows beside regions, and what it says when something happens to what it shows: samples of the CPU.
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

export const tests = [{ name: "the timeline has samples of the CPU as tracks", run: samplesAreATrack }];
