// SPDX-License-Identifier: Apache-2.0
// Every page in both themes and three widths: axe finds no violation of WCAG 2.2 AA, and nothing sticks out of the
// window.
import assert from "node:assert/strict";

const WIDTHS = [360, 1280, 1920];
const THEMES = ["light", "dark"];
const AT_ONCE = 2;

/* Every page of the console, with something to show. */
export async function addressesOf(scene) {
  const { capture, targets } = scene.capture;
  const shop = targets.find((target) => target.service === "shop");
  const other = (await scene.api("GET", "/captures")).items.find((item) => item.capture !== capture)?.capture ?? capture;
  return [
    "/",
    "/captures",
    `/captures/${capture}`,
    `/captures/${capture}/timeline`,
    `/compare?a=${other}&b=${capture}`,
    `/processes/${shop.process}`,
    "/rules",
    "/rules?paste=1",
    "/rules/redis-ping",
    "/policies",
    "/policies/everything",
    "/series",
    "/events",
    "/loss",
    "/storage",
    "/agents",
    "/audit",
    "/tokens",
    "/join-tokens",
    "/open",
    "/settings",
    "/login",
    "/no/such/page",
  ];
}

async function look(tab, path) {
  const found = [];
  await tab.open(path);
  if (!path.startsWith("/no/") && /^No such page/m.test(await tab.text())) found.push(`${path}: the console has no such page`);
  for (const theme of THEMES) {
    await tab.theme(theme);
    for (const width of WIDTHS) {
      await tab.page.setViewportSize({ width, height: 800 });
      for (const violation of await tab.axe()) found.push(`${path}, ${theme}, ${width}: ${violation}`);
      for (const out of theme === "light" ? await tab.clipped() : []) found.push(`${path}, ${width}: out of the window: ${out}`);
    }
  }
  return found;
}

async function everyPage({ scene, open }) {
  await scene.captureTake({ selector: "service=shop", pre_ms: 500, reason: "to be compared with the stall's" });
  const paths = await addressesOf(scene);
  const found = [];
  const worker = async () => {
    const tab = await open();
    tab.expect(/404 .*\/no\/such\/page/);
    for (let path = paths.shift(); path !== undefined; path = paths.shift())
      found.push(...(await look(tab, path).catch((error) => [`${path}: ${error.message.split("\n")[0]}`])));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  assert.equal(found.length, 0, `\n${found.join("\n")}`);
}

export const tests = [{ name: "every page in both themes and three widths: axe finds nothing, nothing sticks out", run: everyPage }];
