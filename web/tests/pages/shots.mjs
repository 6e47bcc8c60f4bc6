// SPDX-License-Identifier: Apache-2.0
// Makes the console's pictures for README and docs anew: docs/pictures/console-NAME-light.png and -dark.png, of the
// tests' own fleet. They are looked at before they are committed; nothing compares them, as each run's capture is
// another one.
//
//   node web/tests/pages/shots.mjs [--only NAME]...     SKEIN_BUILD=FOLDER (build/release)
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { browserBegin, tabOpen } from "./support/browser.mjs";
import { ROOT } from "./support/programs.mjs";
import { sceneBegin } from "./support/scene.mjs";
import { placeLinks, selection, timelineReady } from "./support/walk.mjs";

const OUT = join(ROOT, "docs/pictures");
const WIDE = { width: 1280, height: 800 };

async function timeline(tab, scene) {
  await tab.open(`/captures/${scene.capture.capture}`);
  await placeLinks(tab.page, /take_from_stock/).first().click();
  await timelineReady(tab);
  await selection(tab).getByText("take_from_stock").first().waitFor();
}

const SHOTS = [
  { name: "fleet", path: () => "/" },
  { name: "fleet-narrow", path: () => "/", size: { width: 360, height: 740 } },
  { name: "captures", path: () => "/captures" },
  { name: "capture", path: (scene) => `/captures/${scene.capture.capture}`, size: { width: 1280, height: 1100 } },
  { name: "timeline", act: timeline },
  {
    name: "timeline-span",
    act: async (tab, scene) => {
      await timeline(tab, scene);
      await tab.page.getByRole("application").focus();
      await tab.page.keyboard.press("v");
      await tab.page.getByRole("table").first().waitFor();
    },
  },
  { name: "rule", path: () => "/rules/redis-ping" },
  { name: "process", path: (scene) => `/processes/${scene.capture.targets.find((target) => target.service === "redis").process}` },
];

async function shoot(scene, browser, shot, theme) {
  const tab = await tabOpen(browser, scene.url, {
    viewport: shot.size ?? WIDE,
    colorScheme: theme,
    extraHTTPHeaders: { Authorization: `Bearer ${scene.token}` },
  });
  const path = join(OUT, `console-${shot.name}-${theme}.png`);
  if (shot.act === undefined) await tab.open(shot.path(scene));
  else await shot.act(tab, scene);
  await tab.settled();
  await tab.page.screenshot({ path, animations: "disabled", caret: "hide" });
  if (tab.faults.length > 0) throw new Error(`${shot.name}: ${tab.faults[0]}`);
  await tab.close();
  console.log(path);
}

const { values } = parseArgs({ options: { only: { type: "string", multiple: true } } });
await mkdir(OUT, { recursive: true });
const scene = await sceneBegin(join(ROOT, "build/web/shots"));
const browser = await browserBegin();
try {
  scene.token = await scene.tokenCreate("ada", "admin"); /* else each page says that everybody is an admin */
  for (const shot of SHOTS.filter(({ name }) => values.only === undefined || values.only.includes(name)))
    for (const theme of ["light", "dark"]) await shoot(scene, browser, shot, theme);
} finally {
  await browser.close();
  await scene.end();
}
