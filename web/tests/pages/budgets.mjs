// SPDX-License-Identifier: Apache-2.0
// The console's budgets, each printed with what it was: sizes, first paint, a capture of 10 million events (64 threads,
// 20 processes), frames and memory. Times are of a machine at rest: a loop of fixed work, timed beside each, tells how
// much slower this one is at the moment, and the bounds of times grow by that. .ci/run's phase `pages` runs this by itself.
//
//   node web/tests/pages/budgets.mjs        SKEIN_BUILD=FOLDER (build/release)
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { browserBegin, tabOpen } from "./support/browser.mjs";
import { median, share, sizesOf, tabBytes, watchFrames, zoomFrames } from "./support/measure.mjs";
import { ROOT, run } from "./support/programs.mjs";
import { PROGRAMS, emptyBegin } from "./support/scene.mjs";
import { until } from "./support/until.mjs";

const KIB = 1024;
const MIB = 1024 * 1024;
const ROUNDS = 5;
const STEPS = 200; /* of the zoom */
const GAP_P50_MS = 17; /* 60 frames a second */
const GAP_P99_MS = 34; /* one in a hundred may be missed by the screen */
/* Each of the 10 million events is looked at for these, and for the second one its arguments, too. */
const SEARCHES = [
  { text: "dur>=0", sql: "dur >= 0" },
  { text: "-rows=77", sql: "coalesce(args ->> 'rows', -1) <> 77" },
];
const OUT = join(ROOT, "build/web/budgets");
const LOOP_REST_MS = 130; /* `loop` on a machine at rest, as which the bounds were set */

let failed = 0;
/* slower: how much slower than at rest the machine was. */
function say(what, value, budget, unit, slower = 1) {
  const held = value <= budget * slower && (value > 0 || budget === 0); /* what is not there at all is no saving */
  failed += held ? 0 : 1;
  const digits = value >= 100 || Number.isInteger(value) ? 0 : 1;
  console.log(`${held ? "ok    " : "FAILED"} ${what.padEnd(52)} ${value.toFixed(digits).padStart(7)} ${unit}, at most ${budget}${slower > 1 ? ` × ${slower.toFixed(2)}, as the machine is busy` : ""}`);
}

async function sizes(origin, browser) {
  const files = await sizesOf(join(ROOT, "build/web/dist"));
  const sum = (wanted) => [...files].filter(([name]) => wanted(name)).reduce((bytes, [, size]) => bytes + size, 0) / KIB;
  const code = (name) => /\.(js|css)$/.test(name);
  const tab = await tabOpen(browser, origin);
  const loaded = new Set();
  tab.page.on("response", (answer) => loaded.add(new URL(answer.url()).pathname.split("/").pop()));
  await tab.open("/");
  await tab.close();
  say("JavaScript and CSS of the first page, packed", sum((name) => code(name) && loaded.has(name)), 60, "KiB");
  say("all JavaScript and CSS, packed", sum(code), 180, "KiB");
  /* What a timeline waits for, and what is fetched when a report, a span's sums or a difference are asked for. */
  say("WebAssembly that reads and draws, packed", sum((name) => /^trace-.*\.wasm$/.test(name)), 72, "KiB");
  say("WebAssembly that analyses, packed", sum((name) => /^analysis-.*\.wasm$/.test(name)), 140, "KiB");
}

/* How much slower than at rest: two workers' loops at once, as the page and its worker are two. */
async function slowness(browser) {
  const page = await browser.newPage();
  await page.goto("about:blank");
  const took = await page.evaluate(async () => {
    const loop = () => {
      const began = performance.now();
      let x = 1;
      for (let i = 0; i < 5e7; i++) x = (Math.imul(x, 1664525) + 1013904223) | 0;
      postMessage([performance.now() - began, x]);
    };
    const source = URL.createObjectURL(new Blob([`(${loop})()`], { type: "text/javascript" }));
    const one = () => new Promise((done) => (new Worker(source).onmessage = (event) => done(event.data[0])));
    return Math.max(...(await Promise.all([one(), one()])));
  });
  await page.close();
  return Math.max(1, took / LOOP_REST_MS);
}

async function firstPaint(origin, browser) {
  const times = [];
  const slower = [];
  for (let i = 0; i < ROUNDS; i++) {
    slower.push(await slowness(browser));
    const tab = await tabOpen(browser, origin);
    await tab.open("/");
    times.push(await tab.page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
    await tab.close();
  }
  say(`first contentful paint, median of ${ROUNDS}`, median(times), 300, "ms", median(slower));
}

/* Notes when the timeline's canvas first shows more than its ground and lines. */
const watchPaint = () => {
  const look = () => {
    const canvas = document.querySelector('canvas[role="application"]');
    const context = canvas?.getContext("2d");
    if (context && canvas.width > 300 && canvas.height > 100) {
      const { data } = context.getImageData(0, 40, canvas.width, canvas.height - 60);
      const colours = new Map();
      for (let i = 0; i < data.length; i += 4 * 7) {
        const colour = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
        colours.set(colour, (colours.get(colour) ?? 0) + 1);
      }
      const most = Math.max(...colours.values());
      if (most < (data.length / 28) * 0.97) {
        window.paintedAt = performance.now();
        return;
      }
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
};

async function timelineOpen(origin, browser, capture) {
  const tab = await tabOpen(browser, origin, { viewport: { width: 1600, height: 1000 } });
  await tab.page.addInitScript(watchFrames);
  await tab.page.addInitScript(watchPaint);
  await tab.page.goto(`${origin}/captures/${capture}/timeline`);
  const painted = await until("the timeline's first paint", () => tab.page.evaluate(() => window.paintedAt), 60_000);
  await tab.page.waitForFunction((busy) => !new RegExp(busy).test(document.body.innerText), "(^|\\n)(Opening the trace|Reading )", { timeout: 60_000 });
  const whole = await tab.page.evaluate(() => performance.now());
  return { tab, painted, whole };
}

/* Without the page's and the worker's garbage. */
async function restBytes(browser, tab) {
  const session = await tab.context.newCDPSession(tab.page);
  const workers = [];
  session.on("Target.attachedToTarget", ({ sessionId }) => workers.push(sessionId));
  await session.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
  if (workers.length !== 1) throw new Error(`the tab has ${workers.length} workers`);
  const message = JSON.stringify({ id: 1, method: "HeapProfiler.collectGarbage" });
  const collected = new Promise((done) => session.once("Target.receivedMessageFromTarget", done));
  await session.send("Target.sendMessageToTarget", { sessionId: workers[0], message });
  await collected;
  await session.send("HeapProfiler.collectGarbage");
  await session.detach();
  return tabBytes(browser);
}

/* How many events of the capture match, by skein sql of the file that the collector gives. */
async function countsOf(empty, capture) {
  const file = join(OUT, "large.skein");
  const answer = await fetch(`${empty.url}/api/v1/captures/${capture}/trace`);
  if (!answer.ok) throw new Error(`the collector answers ${answer.status} for the trace`);
  await writeFile(file, Buffer.from(await answer.arrayBuffer()));
  const count = async ({ text, sql }) => {
    const out = await run(PROGRAMS.skein, ["sql", file, `select count(*) as n from event where ${sql}`]);
    return [text, Number(/^\s*(\d+)\s*$/m.exec(out)?.[1])];
  };
  return new Map(await Promise.all(SEARCHES.map(count))); /* nothing is timed yet */
}

/* The zoom again while all of it is searched, over and over; what was found is what skein sql counts. */
async function searchedFrames(page, counts) {
  const { works, gaps, searching, found } = await zoomFrames(page, STEPS, SEARCHES.map(({ text }) => text));
  for (const { text, words } of found) {
    const total = Number(/^([\d,]+) match/.exec(words)?.[1].replaceAll(",", ""));
    if (total !== counts.get(text)) throw new Error(`the page says of ${text}: ${words}; skein sql counts ${counts.get(text)}`);
  }
  if (works.length < STEPS / 2) throw new Error(`the searched zoom drew ${works.length} frames in ${STEPS} steps`);
  if (searching < STEPS / 2) throw new Error(`it was searched in ${searching} of ${STEPS} frames only`);
  return { ...sharesOf(works, gaps), searching, searches: found.length };
}

const sharesOf = (works, gaps) => ({
  p50: share(works, 0.5), p99: share(works, 0.99), gap50: share(gaps, 0.5), gap99: share(gaps, 0.99),
});

function sayFrames(what, frames, slower) {
  const of = (name) => median(frames.map((one) => one[name]));
  say(`${what}: p50, median of ${ROUNDS}`, of("p50"), 8, "ms", slower);
  say("the same: p99", of("p99"), 16, "ms", slower);
  say("from frame to frame: p50", of("gap50"), GAP_P50_MS, "ms", slower);
  say("the same: p99", of("gap99"), GAP_P99_MS, "ms", slower);
}

async function large(empty, browser) {
  const blank = await browser.newPage();
  await blank.goto("about:blank");
  const ground = await tabBytes(browser);
  await blank.close();
  const capture = await upload(empty);
  const counts = await countsOf(empty, capture);
  const painted = [];
  const whole = [];
  const frames = [];
  const searched = [];
  let bytes = 0;
  let searchedBytes = 0;
  const foreign = [];
  const slower = [];
  for (let i = 0; i < ROUNDS; i++) {
    slower.push(await slowness(browser));
    const opened = await timelineOpen(empty.url, browser, capture);
    painted.push(opened.painted);
    whole.push(opened.whole);
    const { works, gaps } = await zoomFrames(opened.tab.page, STEPS);
    if (works.length < STEPS / 2) throw new Error(`the zoom drew ${works.length} frames in ${STEPS} steps`);
    frames.push(sharesOf(works, gaps));
    bytes = Math.max(bytes, (await restBytes(browser, opened.tab)) - ground);
    searched.push(await searchedFrames(opened.tab.page, counts));
    searchedBytes = Math.max(searchedBytes, (await restBytes(browser, opened.tab)) - ground);
    foreign.push(...opened.tab.faults);
    await opened.tab.close();
  }
  say(`timeline's first paint, 10 million events, median of ${ROUNDS}`, median(painted), 1000, "ms", median(slower));
  say(`all of it there, median of ${ROUNDS}`, median(whole), 4000, "ms", median(slower));
  sayFrames(`frame of ${STEPS} steps of the zoom`, frames, median(slower));
  sayFrames("the same while all of it is searched", searched, median(slower));
  console.log(`       searching in ${median(searched.map((one) => one.searching))} of ${STEPS} frames; ${SEARCHES.map(({ text }) => `${text}: ${counts.get(text)} events`).join(", ")}, as skein sql counts`);
  say("memory of the tab beside that of a blank one", bytes / MIB, 300, "MiB");
  say("the same after searches that keep 200,000 rows", searchedBytes / MIB, 340, "MiB");
  say("requests to other origins, errors", foreign.length, 0, "");
  for (const fault of foreign.slice(0, 5)) console.log(`       ${fault}`);
}

async function upload(empty) {
  const out = await run(PROGRAMS.trace, ["upload", empty.ports.control, empty.ports.data]);
  const capture = /[0-9a-f]{32}/.exec(out)?.[0];
  await until("the end of the large capture", async () => (await (await fetch(`${empty.url}/api/v1/captures/${capture}`)).json()).status !== "running", 60_000);
  return capture;
}

await mkdir(OUT, { recursive: true });
const empty = await emptyBegin(OUT);
const browser = await browserBegin();
try {
  await sizes(empty.url, browser);
  await firstPaint(empty.url, browser);
  await large(empty, browser);
} finally {
  await browser.close();
  await empty.end();
}
process.exitCode = failed === 0 ? 0 : 1;
