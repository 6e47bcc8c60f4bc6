// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { timelineLink } from "../../src/ui/timeline_link";
import { NO_LINK, type LinkState, linkState, linkText } from "../../src/timeline/link";
import { timelineLink } from "../../src/ui/timeline_link";

const ORIGIN = 1_795_471_000_123_456_789n;
const PROCESS = "0123456789abcdef0123456789abcdef";

const FULL: LinkState = {
  view: { from: 1_832_450_123, to: 1_900_000_001 },
  process: PROCESS,
  tid: 8001,
  event: { begin: 1_832_450_123, length: 64_600_000, depth: 2 },
  pins: [
    { process: PROCESS, tid: null },
    { process: PROCESS, tid: 8002 },
  ],
  query: 'dur>5ms name:"a & b=#"',
  span: { from: 10, to: 20_000_000_000 },
  marked: { from: 0, to: 5 },
};

test("a link gives back the state that it was made of, to the nanosecond", () => {
  assert.deepEqual(linkState(`?${linkText(FULL, ORIGIN)}`, ORIGIN), FULL);
  assert.deepEqual(linkState("", ORIGIN), NO_LINK);
  assert.equal(linkText(NO_LINK, ORIGIN), "");
});

/* A hang is the usual one: it began before what was captured. */
test("a region from before the window keeps its place in a link", () => {
  const event = { begin: -680_100_140, length: 6_181_871_873, depth: 0 };
  const text = linkText({ ...NO_LINK, event }, ORIGIN);
  assert.equal(text, "ev=-680100140.6181871873.0");
  assert.deepEqual(linkState(`?${text}`, ORIGIN).event, event);
  const link = timelineLink(
    { capture: "0".repeat(32), window: { from: iso(0) } },
    { beginNs: ORIGIN - 680_100_140n, lengthNs: 6_181_871_873, process: PROCESS, tid: 8001 },
  );
  const state = linkState(link.slice(link.indexOf("?")), ORIGIN);
  assert.deepEqual([state.event, state.process, state.tid], [event, PROCESS, 8001]);
});

test("a link has the form that pages write", () => {
  const text = linkText({ ...NO_LINK, event: FULL.event, process: PROCESS, tid: 8001, view: FULL.view }, ORIGIN);
  const times = new URLSearchParams({ from: iso(1_832_450_123), to: iso(1_900_000_001) });
  assert.equal(text, `${times.toString()}&p=${PROCESS}&tid=8001&ev=1832450123.64600000.2`);
});

/* The API's own time text, by Date and by hand below the millisecond. */
function iso(ns: number): string {
  const at = ORIGIN + BigInt(ns);
  const ms = Number(at / 1_000_000n);
  return `${new Date(ms).toISOString().slice(0, 23)}${(at % 1_000_000n).toString().padStart(6, "0")}Z`;
}

test("an address that says nonsense opens all the same", () => {
  for (const text of [
    "from=yesterday&to=tomorrow", "p=../../x", "tid=-1", "tid=1e3", "ev=1.2", "ev=a.b.c", "ev=1.2.3.4", "pin=zz,&q=", "span=5-5", "span=9-3", "cmp=1",
    "from=2026-11-23T21:16:42Z&to=2026-11-23T21:16:41Z", `pin=${PROCESS}.1.2`, "ev=99999999999999999.1.1", "ev=--1.1.1", "ev=-.1.1", "ev=1.-1.1", "ev=1.1.-1",
  ])
    assert.deepEqual(linkState(`?${text}`, ORIGIN), NO_LINK, text);
});

test("pins and search are bounded", () => {
  const state = linkState(`?pin=${Array(500).fill(PROCESS).join()}&q=${"x".repeat(10_000)}`, ORIGIN);
  assert.equal(state.pins.length, 64);
  assert.equal(state.query.length, 4096);
});

/* Pages write links to the timeline, the timeline writes its own: two writers of one form. */
test("what pages write of a place is what the timeline reads, and would write of the same", () => {
  const capture = { capture: "01a2c0450000000000000000000010ad", window: { from: iso(0) } };
  const place = { beginNs: ORIGIN + 1_832_450_123n, lengthNs: 64_600_000, process: PROCESS, tid: 8001, depth: 2 };
  const queryOf = (of: Parameters<typeof timelineLink>[1]): string => timelineLink(capture, of).split("?")[1] ?? "";
  const [path, query = ""] = timelineLink(capture, place).split("?");
  assert.equal(path, "/captures/01a2c0450000000000000000000010ad/timeline");
  const state = linkState(`?${query}`, ORIGIN);
  assert.deepEqual(state, {
    ...NO_LINK, process: PROCESS, tid: 8001, event: { begin: 1_832_450_123, length: 64_600_000, depth: 2 },
    view: { from: 1_832_450_123 - 64_600_000, to: 1_832_450_123 + 2 * 64_600_000 },
  });
  assert.equal(linkText(state, ORIGIN), query);
  const shown = linkState(queryOf({ beginNs: ORIGIN + 5_000_000n, lengthNs: 0, process: PROCESS, select: false }), ORIGIN);
  assert.deepEqual(shown, { ...NO_LINK, process: PROCESS, view: { from: 4_000_000, to: 6_000_000 } });
  const before = linkState(queryOf({ beginNs: ORIGIN - 5_000n, lengthNs: 10_000 }), ORIGIN);
  assert.deepEqual([before.event, before.view], [{ begin: -5_000, length: 10_000, depth: 0 }, { from: -15_000, to: 15_000 }]);
});
