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
    await banner.getByText(/reconnecting/).waitFor();
    assert.ok(await row.isVisible(), "what was shown stays");
  } finally {
    await scene.collectorStart();
  }
  await banner.getByText(/● live/).waitFor();
  /* Lists are read anew: a capture that was taken now comes by itself. */
  await scene.captureTake({ selector: "service=shop", pre_ms: 100, reason: "taken after the collector came back" });
  await tab.page.getByText(/taken after the collector came back|newer/).first().waitFor();
}

export const tests = [{ name: "pages outlive a collector that stops and starts", run: staysAndComesBack }];
