// SPDX-License-Identifier: Apache-2.0
// What pages cost: sizes as they are sent, memory of a tab's process, times of frames. Owns no state.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
export function share(values, part) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

/* Bytes of each file of the console by its name, packed. */
export async function sizesOf(dist) {
  const sizes = new Map();
  for (const name of await readdir(join(dist, "assets"))) sizes.set(name, gzipSync(await readFile(join(dist, "assets", name)), { level: 9 }).length);
  return sizes;
}

/* Resident bytes of the renderer that has most: of the one tab with a page. */
export async function tabBytes(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const all = processInfo.filter(({ type }) => type === "renderer").map(async ({ id }) => {
    const text = await readFile(`/proc/${id}/status`, "utf8").catch(() => "");
    return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? 0) * 1024;
  });
  return Math.max(...(await Promise.all(all)));
}

/* Notes how long the page works for each frame: before it is opened, in the page. */
export const watchFrames = () => {
  const ask = window.requestAnimationFrame.bind(window);
  window.frameAsk = ask;
  window.frameWorks = [];
  window.requestAnimationFrame = (draw) =>
    ask((time) => {
      const begin = performance.now();
      draw(time);
      window.frameWorks.push(performance.now() - begin);
    });
};

/* Zooms in over five decades and out again, `steps` in all, one a frame; ms that the page works for each frame, and
 * between frames. With `searches`, two texts or more, one after the other is searched for as long as that takes, and until
 * each was found once: in how many of the frames a search was under way, and what the page said of each at its end. */
export function zoomFrames(page, steps, searches = []) {
  return page.getByRole("application").evaluate(
    async (canvas, { count, texts, mostMs }) => {
      const box = canvas.getBoundingClientRect();
      const deltaY = -Math.log(Math.pow(1e5, 2 / count)) * 500;
      const gaps = [];
      const found = [];
      const field = document.querySelector('[role="search"] input');
      const said = document.querySelector('[role="search"] [role="status"]');
      let round = -1;
      let begun = false;
      let searching = 0;
      const next = () => {
        begun = false;
        field.value = texts[++round % texts.length];
        field.dispatchEvent(new Event("input", { bubbles: true }));
      };
      /* Whether a search is under way; where one has ended, the next one is typed. */
      const look = () => {
        const busy = said.textContent === "searching…";
        if (begun && !busy) {
          found.push({ text: texts[round % texts.length], words: said.textContent });
          next();
        }
        begun = busy;
        return busy;
      };
      let last = 0;
      window.frameWorks = [];
      if (texts.length > 0) next();
      for (let i = 0; i < count; i++) {
        canvas.dispatchEvent(new WheelEvent("wheel", {
          bubbles: true, cancelable: true, ctrlKey: true,
          deltaY: i < count / 2 ? deltaY : -deltaY,
          clientX: box.left + box.width * 0.6, clientY: box.top + box.height / 2,
        }));
        const at = await new Promise((done) => window.frameAsk(done));
        if (last > 0) gaps.push(at - last);
        last = at;
        if (texts.length > 0 && look()) searching++;
      }
      const works = window.frameWorks;
      const end = performance.now() + mostMs;
      while (texts.some((text) => found.every((one) => one.text !== text))) {
        if (performance.now() > end) throw new Error(`the search for ${texts[round % texts.length]} has no end`);
        await new Promise((done) => window.frameAsk(done));
        look();
      }
      return { works, gaps, searching, found };
    },
    { count: steps, texts: searches, mostMs: 60_000 },
  );
}
