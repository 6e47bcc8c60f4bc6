// SPDX-License-Identifier: Apache-2.0
// Looks at the timeline of a made trace in Chromium, under the Content-Security-Policy of skeind.
//   node tests/look/look.mjs shots FOLDER    pictures in both themes, at 1280 and 360 px
//   node tests/look/look.mjs frames          200 steps of a zoom over five decades, 60 lanes × 1600 px: p50, p99
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const here = path.dirname(new URL(import.meta.url).pathname);
const CSP =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Look</title>
<link rel="stylesheet" href="/timeline.css"></head><body><div id="console"></div><script type="module" src="/timeline.js"></script></body></html>`;
const TYPES = { ".js": "text/javascript", ".css": "text/css" };

async function served(folder) {
  await build({
    entryPoints: [path.join(here, "timeline.tsx")],
    outdir: folder,
    bundle: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    logLevel: "error",
  });
  const server = http.createServer((request, response) => {
    const name = path.basename(request.url.split("?")[0]);
    const file = path.join(folder, name);
    response.setHeader("Content-Security-Policy", CSP);
    response.setHeader("Content-Type", TYPES[path.extname(name)] ?? "text/html");
    response.end(TYPES[path.extname(name)] !== undefined && fs.existsSync(file) ? fs.readFileSync(file) : PAGE);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, address: `http://127.0.0.1:${server.address().port}` };
}

async function opened(browser, address, width, height, colorScheme, hash = "", query = "") {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme });
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && console.log(`console: ${message.text()}`));
  page.on("pageerror", (error) => console.log(`error: ${error.message}`));
  await page.goto(`${address}/captures/x/timeline${query}#${hash}`);
  await page.waitForFunction(() => globalThis.madeFrames?.length > 0);
  return page;
}

/* The same moment each time: three frames after the last change. */
async function settled(page) {
  await page.evaluate(
    () =>
      new Promise((resolve) => {
        let last = -1;
        const look = () => {
          const now = globalThis.madeFrames.length;
          if (now === last) resolve(undefined);
          else {
            last = now;
            setTimeout(look, 250);
          }
        };
        look();
      }),
  );
}

async function shots(browser, address, folder) {
  for (const [width, height, theme] of [[1280, 800, "light"], [1280, 800, "dark"], [360, 740, "light"], [360, 740, "dark"]]) {
    const page = await opened(browser, address, width, height, theme, "hostile=1");
    const shot = async (name) => {
      await settled(page);
      await page.screenshot({ path: path.join(folder, `${name}_${width}_${theme}.png`) });
    };
    await shot("first");
    await page.keyboard.press("ArrowRight");
    for (let i = 0; i < 14; i++) await page.keyboard.press("w");
    await page.keyboard.press("ArrowDown");
    await shot("selected");
    await page.keyboard.press("0");
    await page.keyboard.press("v");
    await shot("span");
    await page.getByRole("button", { name: /What ran/ }).click();
    await shot("flame");
    await page.locator("canvas[role=application]").focus();
    await page.keyboard.press("m");
    await page.keyboard.press("c");
    await shot("compare");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Shift+E");
    await page.keyboard.press("x");
    await page.keyboard.press("/");
    await page.keyboard.type("dur>20ms");
    await shot("table");
    await page.locator("canvas[role=application]").focus();
    await page.keyboard.press("?");
    await shot("help");
    await page.close();
  }
}

async function frames(browser, address) {
  const page = await opened(browser, address, 1600 + 240, 1200, "light", "processes=4&threads=6&rows=20000");
  await page.keyboard.press("Shift+E"); /* all processes are open: 60 lanes and more in view */
  await settled(page);
  const told = await page.evaluate(async () => {
    const { madeFrames, madeStrips } = globalThis;
    madeFrames.length = madeStrips.length = 0;
    const canvas = document.querySelector("canvas[role=application]");
    const box = canvas.getBoundingClientRect();
    const [clientX, clientY] = [box.left + box.width / 2, box.top + 200];
    const step = (500 * Math.log(10 ** 5)) / 100; /* pixels of the wheel: 100 of them are five decades */
    const drawn = () => new Promise((resolve) => requestAnimationFrame(resolve));
    for (let i = 0; i < 200; i++) {
      const deltaY = i < 100 ? -step : step;
      canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, ctrlKey: true, clientX, clientY, bubbles: true, cancelable: true }));
      await drawn();
      await drawn();
    }
    const of = (list, share) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))];
    const three = (list) => ({ count: list.length, p50: of(list, 0.5), p99: of(list, 0.99), most: of(list, 1) });
    return { frame_ms: three(madeFrames), strips_ms: three(madeStrips) };
  });
  console.log(JSON.stringify(told));
  await page.close();
}

const [what, folder] = process.argv.slice(2);
const work = fs.mkdtempSync(path.join(os.tmpdir(), "skein-look-"));
const { server, address } = await served(work);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  if (what === "shots" && folder !== undefined) await shots(browser, address, folder);
  else if (what === "frames") await frames(browser, address);
  else throw new Error("look.mjs shots FOLDER | frames");
} finally {
  await browser.close();
  server.close();
  fs.rmSync(work, { recursive: true, force: true });
}
