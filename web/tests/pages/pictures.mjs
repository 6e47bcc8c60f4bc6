// SPDX-License-Identifier: Apache-2.0
// Compares the console's pages with their pictures in docs/pictures (console-NAME-light.png, -dark.png), each of the
// same recorded answers: no program runs but Chromium. At most 0.5 % of a picture's pixels may differ.
//
//   node web/tests/pages/pictures.mjs [--only NAME]...          .ci/run's phase `pages` runs it
//   node web/tests/pages/pictures.mjs --make [--only NAME]...   makes them anew of the recording: look at each
//
// What differs is in build/web/pictures, as it is now. Recording anew: shots.mjs.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "./support/programs.mjs";
import { SHOTS, THEMES, consoleServe, fontIsThere, pictureBrowser, pictureTake, picturesCompare } from "./support/pictures.mjs";
import { Recorded } from "./support/recorded.mjs";

const MOST = 0.005;
const DOCS = join(ROOT, "docs/pictures");
const OUT = join(ROOT, "build/web/pictures");
const { values } = parseArgs({ options: { only: { type: "string", multiple: true }, make: { type: "boolean" } } });
const wanted = SHOTS.filter(({ name }) => values.only === undefined || values.only.includes(name));
if (wanted.length === 0) throw new Error(`no such picture; there are: ${SHOTS.map(({ name }) => name).join(", ")}`);

async function one(browser, blank, origin, recorded, shot, theme) {
  const name = `console-${shot.name}-${theme}.png`;
  const missing = [];
  let picture;
  try {
    picture = await pictureTake(browser, origin, shot, theme, recorded.facts, (page) => recorded.answer(page, missing));
  } catch (error) {
    console.log(`FAILED ${name}: ${error.message.split("\n")[0]}${missing.length > 0 ? `; not recorded: ${missing[0]}` : ""}`);
    return false;
  }
  if (missing.length > 0) {
    console.log(`FAILED ${name}: the page asks what was not recorded: ${missing[0]}; tools/web.sh --shots records anew`);
    return false;
  }
  if (values.make) {
    await writeFile(join(DOCS, name), picture);
    console.log(join(DOCS, name));
    return true;
  }
  const { share, where } = await picturesCompare(blank, await readFile(join(DOCS, name)), picture);
  if (share > MOST) await writeFile(join(OUT, name), picture);
  console.log(`${share > MOST ? "FAILED" : "ok    "} ${name}: ${(share * 100).toFixed(2)} % of its pixels differ${where === "" ? "" : `, ${where}`}`);
  return share <= MOST;
}

await mkdir(OUT, { recursive: true });
const recorded = await Recorded.read();
const server = await consoleServe();
const browser = await pictureBrowser();
let failed = 0;
try {
  const blank = await browser.newPage();
  if (!(await fontIsThere(blank))) throw new Error("DejaVu Sans is not installed (Debian: fonts-dejavu-core): pictures cannot be compared");
  const twins = await Promise.all(THEMES.map((theme) => readFile(join(DOCS, `console-${SHOTS[0].name}-${theme}.png`))));
  if ((await picturesCompare(blank, ...twins)).share <= MOST) throw new Error("light and dark compare as equal: nothing would be found");
  for (const shot of wanted) {
    const both = await Promise.all(THEMES.map((theme) => one(browser, blank, server.url, recorded, shot, theme)));
    failed += both.filter((good) => !good).length;
  }
} finally {
  await browser.close();
  server.end();
}
if (failed > 0 && !values.make) console.log(`${failed} pictures differ from docs/pictures: build/web/pictures has them as they are now. Where that is wanted: tools/web.sh --pictures --make`);
process.exitCode = failed === 0 ? 0 : 1;
