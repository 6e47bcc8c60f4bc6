// SPDX-License-Identifier: Apache-2.0
// Chromium, and pages that are watched: a line in the console that is an error, an exception, a violation of the
// Content-Security-Policy or a request to another origin is a fault, and a test with a fault has failed. A test that
// has the collector refuse or stop says which errors it expects.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { DEADLINE_MS, until } from "./until.mjs";

const require = createRequire(import.meta.url);
const CHROMIUM = process.env.SKEIN_CHROMIUM ?? "/usr/bin/chromium";
const AXE = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");
const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

export async function browserBegin() {
  const { chromium } = await import("playwright-core");
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--js-flags=--expose-gc", "--enable-precise-memory-info"],
  });
}

export class Tab {
  faults = [];
  /* What the browser says of answers that are none of the page's faults: a collector that is busy is asked again; a
   * capture may have nothing to be compared with. */
  #expected = [/status of 503 \(Service Unavailable\)/, /status of 422 .*\/diff\?baseline=auto/];
  constructor(context, page, origin) {
    this.context = context;
    this.page = page;
    this.origin = origin;
    page.setDefaultTimeout(DEADLINE_MS);
    context.on("request", (request) => {
      const { protocol, origin: to } = new URL(request.url());
      if (!["data:", "blob:"].includes(protocol) && to !== origin) this.faults.push(`request to ${request.url()}`);
    });
    page.on("console", (message) => message.type() === "error" && this.#fault(`console: ${message.text()} (${message.location().url})`));
    page.on("pageerror", (error) => this.#fault(`exception: ${error.stack ?? error.message}`));
    page.on("dialog", (dialog) => {
      this.faults.push(`a dialog of the browser: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }

  #fault(text) {
    if (!this.#expected.some((pattern) => pattern.test(text))) this.faults.push(text);
  }

  /* From now on, errors that say this are none. */
  expect(pattern) {
    this.#expected.push(pattern);
  }

  async open(path) {
    await this.page.goto(`${this.origin}${path}`);
    await this.settled();
  }

  /* The page of the address has its heading, and awaits nothing: neither its code nor an answer. */
  async settled() {
    const done = () => document.querySelector("h1") !== null && document.querySelector('[aria-busy="true"]') === null;
    await this.page.waitForFunction(done).catch(async (error) => {
      const busy = await this.page.evaluate(() => [...document.querySelectorAll('[aria-busy="true"]')].map((e) => e.outerHTML.slice(0, 300)));
      throw new Error(`${this.page.url()} awaits ${JSON.stringify(busy)} in ${JSON.stringify((await this.text()).slice(0, 600))}: ${error.message.split("\n")[0]}`);
    });
  }

  text() {
    return this.page.evaluate(() => document.body.innerText);
  }

  /* The page, or a part of it, comes to say this. Gives the words back. */
  async says(pattern, part = this.page.locator("body")) {
    let words = "";
    const seen = until(`${pattern}`, async () => pattern.test((words = await part.innerText())) && words);
    return seen.catch((error) => assert.match(words, pattern, error.message));
  }

  async theme(name) {
    await this.page.emulateMedia({ colorScheme: name });
    await this.page.waitForFunction((want) => document.documentElement.dataset.theme === want, name);
  }

  /* Violations of WCAG 2.2 AA that axe finds, one sentence each. */
  async axe() {
    if (!(await this.page.evaluate(() => "axe" in window))) await this.page.evaluate(AXE);
    const violations = await this.page.evaluate(async (tags) => {
      const found = await window.axe.run(document, { runOnly: tags, resultTypes: ["violations"] });
      return found.violations.map((rule) => [rule.id, rule.help, rule.nodes.map((node) => [node.target.join(" "), node.any.concat(node.all, node.none).map((check) => check.message).join("; ")])]);
    }, WCAG);
    return violations.flatMap(([id, help, nodes]) => nodes.map(([target, why]) => `${id} (${help}): ${target}: ${why}`));
  }

  /* What sticks out of the window, but for what lies in a box that scrolls. */
  clipped() {
    return this.page.evaluate(() => {
      const wide = document.documentElement.clientWidth;
      const scrolls = (element) => {
        for (let e = element.parentElement; e !== null && e !== document.body; e = e.parentElement)
          if (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(e).overflowX)) return true;
        return false;
      };
      const out = [];
      for (const element of document.body.querySelectorAll("*")) {
        const box = element.getBoundingClientRect();
        const hidden = element.closest(".skip, .visually-hidden, [hidden]") !== null;
        if (box.width > 0 && !hidden && (box.right > wide + 1 || box.left < -1) && !scrolls(element)) out.push(element.outerHTML.slice(0, 120));
      }
      if (document.documentElement.scrollWidth > wide) out.push(`the page is ${document.documentElement.scrollWidth} wide in a window of ${wide}`);
      return out.slice(0, 5);
    });
  }

  async close() {
    await this.context.close();
  }
}

/* A tab of its own, without cookies of others. */
export async function tabOpen(browser, origin, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: "en-US",
    timezoneId: "UTC",
    reducedMotion: "reduce",
    colorScheme: "light",
    ...options,
  });
  const page = await context.newPage();
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) =>
      console.error(`Content-Security-Policy ${event.effectiveDirective} refuses ${event.blockedURI} at ${event.sourceFile}:${event.lineNumber}`));
  });
  return new Tab(context, page, origin);
}
