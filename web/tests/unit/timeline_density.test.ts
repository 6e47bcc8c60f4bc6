// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Overview, overviewDensity, overviewWhole } from "../../src/timeline/density";

/* `pages` of two processes each, of which one page has one more event than the one before. */
function paged(pages: number): { asked: (string | undefined)[]; page: (cursor: string | undefined) => Promise<Overview> } {
  const asked: (string | undefined)[] = [];
  return {
    asked,
    page: (cursor) => {
      const i = asked.push(cursor);
      const overview: Overview = { from_ns: 0, to_ns: 4, targets: [{ events: [i, 0, 0, 0] }, { events: [0, 0, 0, i] }] };
      return Promise.resolve(i < pages ? { ...overview, next_cursor: `after ${i}` } : overview);
    },
  };
}

test("the density is of all targets, however many pages they are", async () => {
  const { asked, page } = paged(3);
  const overview = await overviewWhole(page);
  assert.deepEqual(asked, [undefined, "after 1", "after 2"]);
  const density = overviewDensity(overview, () => null);
  assert.equal(density.what, "events of all 6 processes");
  assert.deepEqual([...density.share], [1, 0, 0, 1]);
});

test("where there are more than are asked for, that is said", async () => {
  const { asked, page } = paged(1000);
  const density = overviewDensity(await overviewWhole(page), () => null);
  assert.equal(asked.length, 20);
  assert.equal(density.what, "events of the first 40 processes alone, further ones are not drawn here");
});
