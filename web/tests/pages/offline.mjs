// SPDX-License-Identifier: Apache-2.0
// The collector stops while pages are open, and comes back: pages say so, keep what they show, and go on.
import assert from "node:assert/strict";

async function staysAndComesBack({ scene, open }) {
  const tab = await open();
  tab.expect(/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY_RESPONSE|ERR_ABORTED/);
  const banner = tab.page.getByRole("banner");
  await tab.open("/captures");
  await banner.getByText("live", { exact: false }).filter({ hasNotText: "reconnecting" }).first().waitFor();
  const row = tab.page.getByRole("link", { name: /redis-ping/ }).first();
  await row.waitFor();
  await scene.collectorStop();
  try {
    await banner.getByText(/reconnecting, since .*, next try \d/).waitFor();
    await tab.page.setViewportSize({ width: 360, height: 800 });
    assert.deepEqual(await tab.clipped(), [], "nothing sticks out of a narrow window");
    await tab.page.setViewportSize({ width: 1280, height: 800 });
    assert.ok(await row.isVisible(), "what was shown stays");
  } finally {
    await scene.collectorStart();
  }
  await banner.getByText(/● live/).waitFor();
  /* Lists are read anew: a capture that was taken now comes by itself. */
  await scene.captureTake({ selector: "service=shop", pre_ms: 100, reason: "taken after the collector came back" });
  await tab.page.getByText(/taken after the collector came back|newer/).first().waitFor();
}

/* A page whose code the tab does not have, and cannot get now, says so; loaded again, it is there. */
async function codeIsAway({ open }) {
  const tab = await open();
  tab.expect(/ERR_FAILED|Failed to fetch dynamically imported module/);
  await tab.open("/captures");
  await tab.page.route("**/assets/**", (route) => route.abort());
  await tab.page.getByRole("navigation").getByRole("link", { name: "Storage" }).click();
  await tab.says(/This page could not be loaded/, tab.page.getByRole("main"));
  await tab.page.getByRole("navigation").getByRole("link", { name: "Captures" }).click();
  await tab.page.getByRole("link", { name: /redis-ping/ }).first().waitFor();
  await tab.page.unroute("**/assets/**");
  await tab.page.goBack();
  await tab.page.getByRole("button", { name: "Load the page again" }).click();
  await tab.says(/\bB\b/, tab.page.getByRole("main"));
}

/* A page that throws is replaced by what it threw; the frame and the other pages stay. */
async function pageThrows({ open }) {
  const tab = await open();
  await tab.page.route("**/api/v1/captures?*", (route) => route.fulfill({ contentType: "application/json", body: '{"items":[{}]}' }));
  await tab.page.goto(`${tab.origin}/captures`);
  await tab.says(/This page broke/, tab.page.getByRole("main"));
  await tab.page.unroute("**/api/v1/captures?*");
  await tab.page.getByRole("navigation").getByRole("link", { name: "Agents" }).click();
  await tab.page.getByRole("heading", { name: "Agents", level: 1 }).waitFor();
}

/* Tabs that nobody looks at hold no connection: a browser has six for all of them. */
async function manyTabs({ scene, open }) {
  const first = await open();
  const tabs = [];
  await first.open("/captures");
  for (let i = 0; i < MANY; i++) {
    const page = await first.context.newPage();
    await page.goto(`${first.origin}/captures`);
    await page.getByRole("link", { name: /redis-ping/ }).first().waitFor();
    await page.getByRole("banner").getByText(/● live/).waitFor();
    await page.evaluate(hide, true);
    tabs.push(page);
  }
  const reason = "taken while nobody looked";
  await scene.captureTake({ selector: "service=shop", pre_ms: 100, reason });
  await tabs[0].evaluate(hide, false);
  await tabs[0].getByText(/taken while nobody looked|newer/).first().waitFor();
}

/* A headless browser holds every tab to be looked at; what one does that is hidden is told to the page. */
function hide(hidden) {
  Object.defineProperty(document, "hidden", { configurable: true, value: hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}
const MANY = 8;

export const tests = [
  { name: "pages outlive a collector that stops and starts", run: staysAndComesBack },
  { name: "eight hidden tabs leave the ninth its connections", run: manyTabs },
  { name: "a page whose code cannot be loaded says so", run: codeIsAway },
  { name: "a page that throws says what", run: pageThrows },
];
