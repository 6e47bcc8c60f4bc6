// SPDX-License-Identifier: Apache-2.0
// Ways through the console that several tests go: by what a reader sees, roles and words, never by classes.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "./programs.mjs";

/* "console_subject.c:57": where the shop's source says that the region is, by the source itself. */
export async function subjectLine(region) {
  const text = await readFile(join(ROOT, "tests/page/console_subject.c"), "utf8");
  const at = text.split("\n").findIndex((line) => line.includes(`SKEIN_REGION("${region}"`));
  assert.ok(at >= 0, `${region} is in the source`);
  return `console_subject.c:${at + 1}`;
}

/* Links of the page to a place on a timeline, in a row or line that has the words. */
export function placeLinks(page, words) {
  const place = page.locator('a[href*="/timeline?"][href*="ev="]');
  return page
    .getByRole("main")
    .locator("tr, li, p, div.card")
    .filter({ hasText: words })
    .locator(place)
    .or(place.filter({ hasText: words }));
}

export async function timelineReady(tab) {
  await tab.page.getByRole("application").waitFor();
  await tab.settled();
}

/* Searches the timeline; Enter selects the first that is found. */
export async function searchFor(tab, words) {
  await tab.page.getByRole("application").focus();
  await tab.page.keyboard.press("/");
  await tab.page.keyboard.type(words);
  await tab.says(/\d match/, tab.page.getByRole("search"));
  await tab.page.keyboard.press("Enter");
}

/* The panel of what is selected: it has where the region is in the source. */
export function selection(tab) {
  return tab.page.getByRole("region", { name: /selected|selection/i });
}

/* Presses Tab until what has the focus is as wanted. */
export async function tabTo(page, what, wanted, most = 250) {
  for (let i = 0; i < most; i++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(wanted.is, wanted.arg)) return;
  }
  assert.fail(`${most} times Tab do not reach ${what}`);
}

export const fleetLink = { is: () => document.activeElement?.matches('section a[href^="/captures/"]') === true && /what went wrong/i.test(document.activeElement.closest("section")?.textContent ?? "") };
