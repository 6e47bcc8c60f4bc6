// SPDX-License-Identifier: Apache-2.0
// What the pages that run the fleet compute: where a login leads, what a live list keeps, sentences of hostile values.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Refused } from "../../src/api/client";
import { returnTarget } from "../../src/api/target";
import { nextToGo } from "../../src/manage/going";
import { eventLink, eventWords } from "../../src/manage/live-words";
import { codeOf, refusalWords, sessionsHere } from "../../src/manage/login-words";
import { type Row, capturesOf } from "../../src/manage/loss-links";
import { Recent } from "../../src/manage/recent";
import { endAfter } from "../../src/manage/end_after";
import { conditionWords } from "../../src/manage/words";
import { shown } from "../../src/ui/text";

const ORIGIN = "http://127.0.0.1:7462";

test("a login leads to a page of this console", () => {
  const to = (path: string) => returnTarget(`?to=${encodeURIComponent(path)}`, ORIGIN);
  assert.equal(to("/captures?rule=a&x=%20#y"), "/captures?rule=a&x=%20#y");
  assert.equal(to("/"), "/");
  assert.equal(returnTarget("", ORIGIN), "/");
});

test("a login never leads to another place, however the address is written", () => {
  const hostile = [
    "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example/", "http:evil.example",
    "javascript:alert(1)", "data:text/html,x", "/\t/evil.example", "/\n/evil.example", "/.//evil.example", "/..//evil.example",
    "/%2e%2e//evil.example", "//evil.example@127.0.0.1", "/login", "/login?to=/login", "evil", "", " /x", "/\u0000/evil.example",
  ]; // prettier-ignore
  for (const path of hostile) {
    const target = returnTarget(`?to=${encodeURIComponent(path)}`, ORIGIN);
    const url = new URL(target, ORIGIN);
    assert.equal(url.origin, ORIGIN, JSON.stringify(path));
    assert.ok(target.startsWith("/") && !target.startsWith("//") && !target.startsWith("/\\"), JSON.stringify([path, target]));
    assert.notEqual(url.pathname, "/login", JSON.stringify(path));
  }
});

test("the code of the fragment is found, and nothing else is taken for one", () => {
  assert.equal(codeOf("#c=abc-_1"), "abc-_1");
  assert.equal(codeOf("#x=1&c=abc"), "abc");
  assert.equal(codeOf("#c="), undefined);
  assert.equal(codeOf("#main"), undefined);
  assert.equal(codeOf(""), undefined);
});

test("sessions are had with TLS or on the browser's own machine", () => {
  assert.equal(sessionsHere("https:", "skein.example"), true);
  for (const own of ["localhost", "127.0.0.1", "127.8.9.1", "[::1]"]) assert.equal(sessionsHere("http:", own), true, own);
  for (const other of ["skein.example", "10.0.0.1", "127.0.0.1.evil.example", "localhost.evil.example"]) assert.equal(sessionsHere("http:", other), false, other);
});

test("a refused login says what to do", () => {
  const of = (status: number, type: string) => new Refused(status, "the server's words", `urn:skein:problem:${type}`);
  assert.match(refusalWords(of(429, "too-many-wrong-tokens"), false), /wrong tokens/);
  assert.match(refusalWords(of(401, "token-refused"), true), /used|minute/);
  assert.match(refusalWords(of(401, "token-refused"), false), /revoked/);
  assert.match(refusalWords(of(409, "conflict"), false), /no token yet/);
  assert.equal(refusalWords(of(503, "unheard-of"), false), "the server's words");
});

test("a live list keeps the newest, counts what it let go, and does not grow", () => {
  const recent = new Recent<number>(500);
  for (let i = 0; i < 3600 * 100; i++) recent.add(i);
  assert.equal(recent.kept, 500);
  assert.equal(recent.dropped, 360_000 - 500);
  const newest = recent.newest();
  assert.equal(newest.length, 500);
  assert.equal(newest[0], 359_999);
  assert.equal(newest.at(-1), 359_500);
  recent.clear();
  recent.add(7);
  assert.deepEqual([recent.newest(), recent.dropped], [[7], 0]);
});

const ID = "01a20a7de11b235b0bc782c96f44a41c";

test("events become sentences, and links are made of ids and names alone", () => {
  const fired = { type: "rule.fired", time: "", rule: "redis-ping", why: "no answer", capture: ID };
  assert.equal(eventWords(fired), "rule redis-ping: no answer");
  assert.equal(eventLink(fired)?.to, `/captures/${ID}`);
  assert.equal(eventLink({ ...fired, capture: "javascript:alert(1)" })?.to, "/rules/redis-ping");
  assert.equal(eventLink({ ...fired, capture: "../../x", rule: "//evil.example" })?.to, "/rules/%2F%2Fevil.example");
  assert.equal(eventLink({ type: "capture.deleted", time: "", capture: ID }), undefined);
  assert.equal(eventWords({ type: "capture.finished", time: "", capture: ID, kind: "snapshot", trigger: { type: "request" }, verdict: { text: "complete" } }), "snapshot · on request · complete");
});

test("events that hold nothing, or other things than they should, break no sentence", () => {
  const odd: readonly unknown[] = [null, 1, [], {}, "x", { type: 5 }, { text: {} }];
  for (const type of ["capture.created", "agent.online", "rule.fired", "policy.changed", "unheard.of"])
    for (const value of odd) {
      const event = { type, time: "", capture: value, trigger: value, verdict: value, target_counts: value, why: value, agent: value, host: value, rule: value, kind: value };
      assert.equal(typeof eventWords(event), "string");
      const link = eventLink(event);
      assert.ok(link === undefined || link.to.startsWith("/"));
    }
});

test("a condition is a sentence, also one that nobody knows, and hostile words stay text", () => {
  assert.match(conditionWords({ latency: { region: "request", over_us: 20_000 } }), /request takes longer than 20 ms/);
  assert.match(conditionWords({ crash: { exit: false } }), /dies by a signal$/);
  assert.match(conditionWords({ tomorrow: {} }), /does not know/);
  assert.match(conditionWords({ constructor: {} } as never), /does not know/);
  for (const odd of [undefined, null, 1, "x", [], {}, { health: 1 }, { health: {} }, { a: {}, b: {} }]) assert.equal(typeof conditionWords(odd as never), "string");
  const words = shown(conditionWords({ latency: { region: "<img onerror>\u202e\u0007", over_us: "20ms" } }));
  assert.ok(words.includes("<img onerror>\\u{202e}\\x07") && !words.includes("\u202e"));
});

test("what goes next goes by time, and by age where all is known; pinned and running captures stay", () => {
  const capture = (n: number, more: object) => ({ capture: String(n), pin: false, status: "complete", created: new Date(n * 1000).toISOString(), ...more }) as never;
  const at = (n: number) => new Date(n * 1000).toISOString();
  const all = [capture(5, { expires: at(100) }), capture(4, { expires: at(50) }), capture(3, { pin: true, expires: at(1) }), capture(2, { status: "running" }), capture(1, {})];
  const going = nextToGo(all, true);
  assert.deepEqual(going.byTime.map((one) => one.capture), ["4", "5"]);
  assert.deepEqual(going.byQuota.map((one) => one.capture), ["1", "4", "5"]);
  assert.deepEqual([going.pinned, going.running, going.looked], [1, 1, 5]);
  assert.deepEqual(nextToGo(all, false).byQuota, []);
});

test("an end is so long from now, or none", () => {
  const now = Date.parse("2026-11-23T00:00:00Z");
  assert.equal(endAfter("90d", now), "2027-02-21T00:00:00.000Z");
  assert.equal(endAfter("1.5h", now), "2026-11-23T01:30:00.000Z");
  for (const text of ["", "90", "0d", "-1d", "soon", "1e9d", "99999999999w"]) assert.equal(endAfter(text, now), undefined, text);
});

test("a line of losses leads to its captures, of the time and the selector that were asked for", () => {
  const from = "2026-11-23T06:00:00.000Z";
  const of = (by: Parameters<typeof capturesOf>[0], row: object, query = {}) => {
    const to = capturesOf(by, row as Row, { by, ...query });
    return to === undefined ? undefined : decodeURIComponent(to);
  };
  assert.equal(of("service", { service: "redis" }), "/captures?selector=service=redis");
  assert.equal(of("service", { service: "redis" }, { selector: "zone=a", from }), `/captures?selector=service=redis,zone=a&from=${from}`);
  assert.equal(of("rule", { rule: "redis-ping" }, { selector: "zone=a", from }), `/captures?rule=redis-ping&selector=zone=a&from=${from}`);
  assert.equal(of("capture", { capture: "0a" }, { from }), "/captures/0a");
  assert.equal(of("rule", { rule: "" }), undefined);
  assert.equal(of("service", { service: "a,!b" }, { from }), undefined, "no selector says it");
  assert.equal(of("reason", { reason: "overwritten" }), undefined);
});
