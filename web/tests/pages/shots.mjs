// SPDX-License-Identifier: Apache-2.0
// Records the answers that the console's pictures are made of, of the tests' own fleet (recorded.json.gz). tools/web.sh
// --shots then makes the pictures of the recording (pictures.mjs --make); they are looked at before they are committed.
//
//   node web/tests/pages/shots.mjs     SKEIN_BUILD=FOLDER (build/release)
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { SHOTS, pictureBrowser, pictureTake } from "./support/pictures.mjs";
import { Recorded } from "./support/recorded.mjs";
import { PROGRAMS, sceneBegin } from "./support/scene.mjs";

/* In a folder of its own: what is recorded names programs and files by their paths, and a builder's are nobody's. */
const folder = await mkdtemp(join(tmpdir(), "shots-"));
const build = dirname(dirname(PROGRAMS.skein));
for (const name of ["server/skeind", "server/skein-analyst", "agent/skein-agent", "cli/skein", "client-lib/preload/libskein-preload.so", "tests/console_subject"]) {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await copyFile(join(build, name), join(folder, name));
}
for (const [name, path] of Object.entries(PROGRAMS)) PROGRAMS[name] = join(folder, relative(build, path));
const scene = await sceneBegin(join(folder, "scene"));
const browser = await pictureBrowser();
try {
  scene.token = await scene.tokenCreate("ada", "admin"); /* else each page says that everybody is an admin */
  const process = scene.capture.targets.find((target) => target.service === "redis").process;
  const recorded = new Recorded(Date.now(), { capture: scene.capture.capture, process });
  const extraHTTPHeaders = { Authorization: `Bearer ${scene.token}` };
  for (const shot of SHOTS) {
    await pictureTake(browser, scene.url, shot, "light", recorded.facts, (page) => recorded.follow(page), { extraHTTPHeaders });
    console.log(`recorded ${shot.name}`);
  }
  console.log(await recorded.write());
} finally {
  await browser.close();
  await scene.end();
  await rm(folder, { recursive: true, force: true });
}
