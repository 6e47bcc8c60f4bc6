// SPDX-License-Identifier: Apache-2.0
// The console's pictures: which there are, how one is taken, and how two are compared. All that varies between machines
// is held: data and clock (recorded.mjs), the font, how letters are drawn, the size of a pixel.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { tabOpen } from "./browser.mjs";
import { ROOT } from "./programs.mjs";
import { until } from "./until.mjs";
import { placeLinks, selection, timelineReady } from "./walk.mjs";

export const THEMES = ["light", "dark"];
const WIDE = { width: 1280, height: 800 };
const CHROMIUM = process.env.SKEIN_CHROMIUM ?? "/usr/bin/chromium";
/* fonts-dejavu-core of Debian */
const FONTS = { "--font": '"DejaVu Sans"', "--mono": '"DejaVu Sans Mono"' };

async function timeline(tab, facts) {
  await tab.open(`/captures/${facts.capture}`);
  await placeLinks(tab.page, /take_from_stock/).first().click();
  await timelineReady(tab);
  await selection(tab).getByText("take_from_stock").first().waitFor();
}

/* facts: {capture, process} */
export const SHOTS = [
  { name: "fleet", path: () => "/" },
  { name: "fleet-narrow", path: () => "/", size: { width: 360, height: 740 } },
  { name: "captures", path: () => "/captures" },
  { name: "capture", path: ({ capture }) => `/captures/${capture}`, size: { width: 1280, height: 1100 } },
  { name: "timeline", act: timeline },
  {
    name: "timeline-span",
    act: async (tab, facts) => {
      await timeline(tab, facts);
      await tab.page.getByRole("application").focus();
      await tab.page.keyboard.press("v");
      await tab.page.getByRole("table").first().waitFor();
    },
  },
  { name: "rule", path: () => "/rules/redis-ping" },
  { name: "process", path: ({ process }) => `/processes/${process}` },
];

export async function pictureBrowser() {
  const { chromium } = await import("playwright-core");
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--font-render-hinting=none", "--disable-lcd-text", "--disable-font-subpixel-positioning", "--force-color-profile=srgb", "--hide-scrollbars"],
  });
}

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".wasm": "application/wasm" };
const CSP = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/* The console's files as they were built; nothing else answers. */
export async function consoleServe() {
  const dist = join(ROOT, "build/web/dist");
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    const name = /^\/assets\/[\w.-]+$/.test(pathname) ? pathname : "/index.html";
    try {
      const body = await readFile(join(dist, name));
      response.writeHead(200, { "Content-Type": TYPES[extname(name)] ?? "application/octet-stream", "Content-Security-Policy": CSP });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}`, end: () => server.close() };
}

/* Two pictures in a row that are equal: what was still being drawn is there. */
async function steady(page) {
  let last = Buffer.alloc(0);
  return until("a picture that stays as it is", async () => {
    const now = await page.screenshot({ animations: "disabled", caret: "hide" });
    const same = now.equals(last);
    last = now;
    return same && now;
  });
}

/* with: (page) => Promise, which says where answers come from. */
export async function pictureTake(browser, origin, shot, theme, facts, answers, options = {}) {
  const tab = await tabOpen(browser, origin, { viewport: shot.size ?? WIDE, colorScheme: theme, deviceScaleFactor: 1, ...options });
  try {
    await answers(tab.page);
    await tab.page.addInitScript((fonts) => {
      addEventListener("DOMContentLoaded", () => Object.entries(fonts).forEach(([name, value]) => document.documentElement.style.setProperty(name, value)));
    }, FONTS);
    if (shot.act === undefined) await tab.open(shot.path(facts));
    else await shot.act(tab, facts);
    await tab.settled();
    const picture = await steady(tab.page);
    if (tab.faults.length > 0) throw new Error(tab.faults[0]);
    return picture;
  } finally {
    await tab.close();
  }
}

/* Decoded and compared in a blank page: the share of pixels that differ by more than letters' edges do, and where. */
export function picturesCompare(page, a, b) {
  return page.evaluate(
    async (both) => {
      const pixels = async (text) => {
        const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${text}`)).blob());
        const canvas = new OffscreenCanvas(image.width, image.height);
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
      };
      const [one, two] = await Promise.all(both.map(pixels));
      if (one.width !== two.width || one.height !== two.height) return { share: 1, where: `${one.width} × ${one.height} px, and ${two.width} × ${two.height}` };
      const MOST = 32; /* of 255, in a channel */
      let differ = 0;
      let [left, top, right, bottom] = [one.width, one.height, 0, 0];
      for (let i = 0; i < one.data.length; i += 4) {
        if ([0, 1, 2].every((c) => Math.abs(one.data[i + c] - two.data[i + c]) <= MOST)) continue;
        differ++;
        const [x, y] = [(i / 4) % one.width, Math.floor(i / 4 / one.width)];
        [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x), Math.max(bottom, y)];
      }
      return { share: differ / (one.width * one.height), where: differ === 0 ? "" : `from ${left},${top} to ${right},${bottom} px` };
    },
    [a.toString("base64"), b.toString("base64")],
  );
}

/* The font is what all of it is measured by. */
export async function fontIsThere(page) {
  return page.evaluate((family) => {
    const context = new OffscreenCanvas(10, 10).getContext("2d");
    const wide = (font) => ((context.font = `40px ${font}`), context.measureText("Skein, wiggly 0123").width);
    return wide(`${family}, monospace`) === wide(`${family}, serif`);
  }, FONTS["--font"]);
}
