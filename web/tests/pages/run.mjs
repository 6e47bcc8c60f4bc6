// SPDX-License-Identifier: Apache-2.0
// The console's page tests: real skeind, agent, Redis and Chromium, one scene for each part of them.
//
//   node web/tests/pages/run.mjs [--part NAME] [--only WORD]... [--keep]
//     --part   walks, looks or sessions: what ctest runs beside each other; all of them in one scene without it
//     --only   tests whose name has the word; --keep leaves the scene up until Ctrl-C, and says where it is
//   SKEIN_BUILD=FOLDER (build/release), SKEIN_CHROMIUM=PROGRAM, SKEIN_TEST_DEADLINE_MS
//
// What a test failed with is in build/web/pages, or its folder of the part: a picture of its page, logs of the
// programs.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { browserBegin, tabOpen } from "./support/browser.mjs";
import { ROOT } from "./support/programs.mjs";
import { sceneBegin } from "./support/scene.mjs";
import { tests as clicks } from "./clicks.mjs";
import { tests as addresses } from "./addresses.mjs";
import { tests as hostile } from "./hostile.mjs";
import { tests as states } from "./states.mjs";
import { tests as access } from "./access.mjs";
import { tests as offline } from "./offline.mjs";
import { tests as live } from "./live.mjs";
import { lastTests as timelineLast, tests as timeline } from "./timeline.mjs";
import { tests as login } from "./login.mjs";

/* In this order: the last ones change who may do what. */
const PARTS = {
  walks: [...clicks, ...addresses, ...hostile, ...states],
  looks: [...access, ...offline],
  sessions: [...live, ...timeline, ...login, ...timelineLast],
};
const { values } = parseArgs({ options: { part: { type: "string" }, only: { type: "string", multiple: true }, keep: { type: "boolean" } } });
const ALL = values.part === undefined ? Object.values(PARTS).flat() : (PARTS[values.part] ?? []);
const wanted = ALL.filter(({ name }) => values.only === undefined || values.only.some((word) => name.includes(word)));
if (wanted.length === 0) {
  console.error(`no such test; there are:\n${Object.entries(PARTS).map(([part, tests]) => `${part}\n${tests.map(({ name }) => `  ${name}`).join("\n")}`).join("\n")}`);
  process.exit(2);
}

const OUT = join(ROOT, "build/web/pages", values.part ?? "");
const began = Date.now();
const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;

async function one(test, scene, browser) {
  const tabs = [];
  const open = async (options, origin = scene.url) => {
    const tab = await tabOpen(browser, origin, options);
    tabs.push(tab);
    return tab;
  };
  const since = Date.now();
  let failure;
  try {
    await test.run({ scene, open });
    assert.deepEqual(tabs.flatMap((tab) => tab.faults), [], "what the pages did beside");
    assert.deepEqual(scene.gone(), [], "programs that have ended");
  } catch (error) {
    failure = error;
    const seen = tabs.flatMap((tab) => tab.faults);
    if (seen.length > 0 && error.message.indexOf(seen[0]) < 0) error.message += `\nbeside: ${seen.slice(0, 5).join("\n        ")}`;
    for (const [i, tab] of tabs.entries())
      await tab.page.screenshot({ path: join(OUT, `${test.name.replaceAll(/\W+/g, "_")}-${i}.png`), timeout: 5000 }).catch(() => undefined);
  }
  for (const tab of tabs) await tab.close();
  console.log(`${failure === undefined ? "ok    " : "FAILED"} ${test.name} (${seconds(since)})`);
  if (failure !== undefined) console.log(String(failure.message).replaceAll(/^/gm, "       "));
  return failure === undefined;
}

async function all() {
  const scene = await sceneBegin(join(OUT, "scene"));
  process.on("SIGTERM", () => void scene.end().then(() => process.exit(143)));
  process.on("SIGINT", () => void scene.end().then(() => process.exit(130)));
  console.log(`the scene stands at ${scene.url} (${seconds(began)})`);
  let failed = 0;
  let browser;
  try {
    browser = await browserBegin();
    for (const test of wanted) failed += (await one(test, scene, browser)) ? 0 : 1;
    await browser.close();
    if (values.keep) await new Promise(() => undefined);
  } finally {
    await browser?.close().catch(() => undefined);
    await scene.end();
  }
  console.log(`${wanted.length - failed} of ${wanted.length} page tests pass (${seconds(began)})`);
  return failed;
}

await mkdir(OUT, { recursive: true });
process.exitCode = (await all()) === 0 ? 0 : 1;
