// SPDX-License-Identifier: Apache-2.0
// Answers of a collector that were recorded once (recorded.json.gz, by shots.mjs), and given again: pages are then the
// same whenever, wherever and however slowly they are looked at. The clock stands still at the moment of the recording.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

const FILE = fileURLToPath(new URL("../recorded.json.gz", import.meta.url));
const API = "**/api/v1/**";
const KEPT = ["content-type", "etag"]; /* headers of an answer that pages look at */

const keyOf = (request) => {
  const { pathname, search } = new URL(request.url());
  return `${request.method()} ${pathname}${search} ${request.postData() ?? ""}`.trim();
};

/* In the page: the clock stands, and a stream of events is open without an event. */
const still = (at) => {
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...given) {
      if (given.length === 0) super(at);
      else super(...given);
    }
    static now() {
      return at;
    }
  };
  globalThis.EventSource = class extends EventTarget {
    static CLOSED = 2;
    readyState = 1;
    onopen = null;
    onerror = null;
    constructor() {
      super();
      setTimeout(() => this.onopen?.(new Event("open")), 0);
    }
    close() {
      this.readyState = 2;
    }
  };
};

export class Recorded {
  /* at: when it was, ms; facts: ids that addresses need; answers: by method, path and body. */
  constructor(at, facts, answers = {}) {
    this.at = at;
    this.facts = facts;
    this.answers = answers;
  }

  static async read() {
    const { at, facts, answers } = JSON.parse(gunzipSync(await readFile(FILE)).toString());
    return new Recorded(at, facts, answers);
  }

  async write() {
    const { at, facts } = this;
    const answers = Object.fromEntries(Object.entries(this.answers).sort(([a], [b]) => (a < b ? -1 : 1)));
    await writeFile(FILE, gzipSync(JSON.stringify({ at, facts, answers }), { level: 9 }));
    return FILE;
  }

  /* What the page asks the collector from now on is recorded. */
  async follow(page) {
    await page.addInitScript(still, this.at);
    await page.route(API, async (route) => {
      const answer = await route.fetch();
      const body = await answer.body();
      if (answer.status() !== 503)
        this.answers[keyOf(route.request())] ??= {
          status: answer.status(),
          headers: Object.fromEntries(Object.entries(answer.headers()).filter(([name]) => KEPT.includes(name))),
          body: body.toString("base64"),
        };
      await route.fulfill({ response: answer, body });
    });
  }

  /* What the page asks is answered as it was; what it did not ask then goes into `missing`. */
  async answer(page, missing) {
    await page.addInitScript(still, this.at);
    await page.route(API, async (route) => {
      const key = keyOf(route.request());
      const answer = this.answers[key];
      if (answer === undefined) {
        missing.push(key);
        return route.fulfill({ status: 404, contentType: "application/problem+json", body: JSON.stringify({ detail: `not recorded: ${key}` }) });
      }
      return route.fulfill({ status: answer.status, headers: answer.headers, body: Buffer.from(answer.body, "base64") });
    });
  }
}
