// SPDX-License-Identifier: Apache-2.0
// Names and texts of traces are whatever a program wrote: pages show them, and do nothing else with them.
import assert from "node:assert/strict";
import { join } from "node:path";
import { PROGRAMS } from "./support/scene.mjs";
import { run } from "./support/programs.mjs";
import { searchFor, timelineReady } from "./support/walk.mjs";

/* What a text that became markup would leave in the document, and characters that nobody sees. */
const broken = () => {
  const inside = [...document.querySelectorAll("#console *")];
  const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/u;
  return {
    images: inside.filter((e) => ["IMG", "SCRIPT", "IFRAME", "OBJECT", "EMBED"].includes(e.tagName)).map((e) => e.outerHTML.slice(0, 200)),
    handlers: inside.filter((e) => [...e.attributes].some((a) => a.name.startsWith("on"))).map((e) => e.outerHTML.slice(0, 200)),
    links: [...document.links].map((a) => a.href).filter((href) => !/^(https?|blob):/.test(href)),
    unseen: inside.flatMap((e) => [...e.childNodes]).filter((n) => n.nodeType === 3 && unseen.test(n.data)).map((n) => n.data.slice(0, 80)),
    said: [document.title, ...inside.flatMap((e) => [...e.attributes]).map((a) => a.value)].filter((value) => unseen.test(value)).map((value) => value.slice(0, 80)),
  };
};

async function isHarmless(tab, where) {
  const found = await tab.page.evaluate(broken);
  assert.deepEqual(found, { images: [], handlers: [], links: [], unseen: [], said: [] }, where);
}

async function pagesShowText({ scene, open }) {
  const capture = await scene.captureTake({ selector: "service=hostile", pre_ms: 500, reason: "<img src=x onerror=alert(7)>\u202egnp\u{e0041}" });
  const process = capture.targets[0].process;
  const tab = await open();
  for (const path of ["/", "/captures", `/captures/${capture.capture}`, `/processes/${process}`, "/loss"]) {
    await tab.open(path);
    await isHarmless(tab, path);
  }
  await tab.open(`/captures/${capture.capture}`);
  await tab.says(/<img src=x onerror=alert\(7\)>/); /* the reason */
  await tab.open(`/captures/${capture.capture}/timeline`);
  await timelineReady(tab);
  await searchFor(tab, "<script>");
  await tab.page.getByText(/^Match \d+ of/).first().waitFor();
  await tab.page.keyboard.press("Enter"); /* the first may have begun before the record, whose arguments nobody has */
  await tab.page.getByText(/\\u\{200f\}/).first().waitFor();
  await tab.says(/<img src=x onerror=alert\(1\)>/); /* the thread's name */
  await isHarmless(tab, "timeline");
}

async function fileShowsText({ scene, open }) {
  const file = join(scene.folder, "hostile.skein");
  await run(PROGRAMS.trace, ["hostile", file]);
  const tab = await open();
  await tab.open("/open");
  await tab.page.locator('input[type="file"]').setInputFiles(file);
  await tab.page.getByText(/<img src=x onerror=alert\(1\)>/).first().waitFor();
  await tab.settled();
  await isHarmless(tab, "/open");
}

export const tests = [
  { name: "hostile names, reasons and arguments are text on every page", run: pagesShowText },
  { name: "a file with 64 KiB of right-to-left marks is text", run: fileShowsText },
];
