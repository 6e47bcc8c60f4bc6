// SPDX-License-Identifier: Apache-2.0
// A rule as form and JSON: kept in step, nothing lost, hostile members harmless.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, differences, documentText, fieldFor, memberAt, parseDocument, parseSeveral, splitPath, withMember } from "../../src/manage/document";
import { type FieldSpec, durationText, fieldText, fieldValue, millisOf, sizeText } from "../../src/manage/fields";
import { CHECK_STARTS, CONDITIONS, CONDITION_STARTS, HEAD_FIELDS, RULE_SECTIONS, conditionFields, conditionOf } from "../../src/manage/rule-fields";
import { POLICY_SECTIONS } from "../../src/manage/policy-fields";

const RULE: JsonObject = {
  name: "redis-ping",
  later: { deep: [1, { two: null }] },
  selector: "service=redis",
  when: { health: { every_ms: 1000, unheard_of: true, exec: { command: ["redis-cli", "ping"], expect: "PONG" } } },
  capture: { pre_ms: 10000 },
};

test("a member that a form writes changes nothing else, and members that it does not know stay where they are", () => {
  const next = withMember(RULE, splitPath("capture.pre_ms"), "5s");
  assert.equal(memberAt(next, ["capture", "pre_ms"]), "5s");
  assert.deepEqual(Object.keys(next), Object.keys(RULE));
  assert.deepEqual({ ...next, capture: RULE["capture"] }, RULE);
  assert.deepEqual(RULE["capture"], { pre_ms: 10000 }, "the one before is not changed");
  const deep = withMember(RULE, splitPath("when.health.exec.expect"), undefined);
  assert.deepEqual(memberAt(deep, ["when", "health"]), { every_ms: 1000, unheard_of: true, exec: { command: ["redis-cli", "ping"] } });
});

test("what is taken out leaves no empty object behind, but in `when`, where it says something", () => {
  assert.equal("capture" in withMember(RULE, ["capture", "pre_ms"], undefined), false);
  const crash: JsonObject = { when: { crash: { exit: true } } };
  assert.deepEqual(withMember(crash, ["when", "crash", "exit"], undefined), { when: { crash: {} } });
  assert.deepEqual(withMember({ notify: { webhook: { url: "x" } } }, splitPath("notify.webhook.url"), undefined), {});
  assert.deepEqual(withMember(RULE, splitPath("limits.firings"), undefined), RULE);
});

test("text and members are the same after a round trip", () => {
  const parsed = parseDocument(documentText(RULE));
  assert.deepEqual(parsed.value, RULE);
  assert.equal(documentText(parsed.value!), documentText(RULE));
});

test("several documents are an array, a listing or one, each with a name of its own", () => {
  const names = (text: string) => parseSeveral(text).items?.map((item) => item["name"]);
  assert.deepEqual(names('[{"name":"a"},{"name":"b"}]'), ["a", "b"]);
  assert.deepEqual(names('{"items":[{"name":"a","state":{}}]}'), ["a"]);
  assert.deepEqual(names(documentText(RULE)), ["redis-ping"]);
  const wrong = (text: string) => parseSeveral(text).error?.words ?? "";
  assert.match(wrong('[{"name":"a"},{"name":"a"}]'), /a is there twice/);
  assert.match(wrong('[{"name":"a"},{}]'), /element 2 has no name/);
  assert.match(wrong('[{"name":"a"},7]'), /element 2 is no object/);
  assert.match(wrong("[]"), /empty/);
  assert.match(wrong('{"items":[{"name":"a"}],"next_cursor":"x"}'), /first page/);
  assert.match(wrong('[{"name":"a","n":12345678901234567890}]'), /write it as text/);
  assert.equal(parseSeveral('[\n{"name":"a"},\n{b}]').error?.line, 3);
});

test("text that is no JSON object says where it is wrong", () => {
  assert.equal(parseDocument('{\n  "a": 1,\n  b\n}').error?.line, 3);
  assert.match(parseDocument("[1]").error?.words ?? "", /object/);
  assert.match(parseDocument("").error?.words ?? "", /./);
  assert.equal(parseDocument('{"a": 1}').error, undefined);
});

test("a number that a browser would round is refused, and one in a text is not", () => {
  const refused = parseDocument('{"limits": {\n"bytes_per_hour": 18446744073709551615}}');
  assert.match(refused.error?.words ?? "", /18446744073709551615/);
  assert.equal(refused.error?.line, 2);
  assert.equal(parseDocument('{"a": "18446744073709551615", "b": "\\"99999999999999999999"}').error, undefined);
  assert.equal(parseDocument('{"a": 9007199254740991}').error, undefined);
});

test("hostile names of members are members and nothing else", () => {
  const parsed = parseDocument('{"__proto__": {"polluted": true}, "constructor": 1, "selector": ""}');
  const next = withMember(parsed.value!, ["selector"], "a");
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
  assert.match(documentText(next), /"__proto__"/);
  assert.equal(memberAt({}, ["constructor"]), undefined);
  assert.equal(memberAt({}, ["__proto__", "polluted"]), undefined);
  assert.equal(conditionOf({ when: { constructor: {} } } as unknown as JsonObject), undefined);
});

/* ---- fields ---- */

function spec(kind: FieldSpec["kind"], more: Partial<FieldSpec> = {}): FieldSpec {
  return { path: "x", label: "", kind, ...more };
}

test("numbers of the API are shown with a unit, and nothing is rounded", () => {
  assert.equal(durationText(10000), "10s");
  assert.equal(durationText(1500), "1500ms");
  assert.equal(durationText(604800000), "7d");
  assert.equal(durationText(0), "0s");
  assert.equal(durationText(1500, 1000), "1500us");
  assert.equal(sizeText(1 << 30), "1GiB");
  assert.equal(sizeText(1000), "1000B");
  for (const ms of [1, 999, 1000, 90_000, 3_600_000, 86_399_999]) assert.equal(millisOf(durationText(ms), -1), ms);
});

test("what a field shows of a member is read back as the same member, or as what means the same", () => {
  const same: readonly (readonly [FieldSpec, unknown])[] = [
    [spec("text"), "a \u202e b"],
    [spec("count"), 20],
    [spec("number"), -1.5],
    [spec("flag"), false],
    [spec("words"), ["redis-cli", "-p", "", "ping pong"]],
    [spec("list"), ["samples", "vitals"]],
    [spec("labels"), { service: "job", host: "a=b" }],
    [spec("duration"), "10s"],
    [spec("size"), "64MiB"],
  ];
  for (const [field, value] of same) assert.deepEqual(fieldValue(field, fieldText(field, value as never)), value, field.kind);
  assert.equal(fieldValue(spec("text"), ""), undefined);
  assert.equal(fieldValue(spec("text", { required: true }), ""), "");
  assert.equal(fieldValue(spec("count"), "1e3"), "1e3", "the collector says what is wrong with it");
  assert.equal(fieldValue(spec("count"), "07"), "07");
});

test("every condition has a start and fields below it, and no two fields of a form are of one member", () => {
  for (const [name] of CONDITIONS) {
    const rule: JsonObject = { when: { [name]: CONDITION_STARTS[name]! } };
    assert.equal(conditionOf(rule), name);
    const paths = [...HEAD_FIELDS, ...conditionFields(rule), ...RULE_SECTIONS.flatMap((section) => section.fields)].map((field) => field.path);
    assert.equal(new Set(paths).size, paths.length, name);
    assert.ok(conditionFields(rule).every((field) => field.path.startsWith(`when.${name}.`)), name);
  }
  for (const [name, start] of Object.entries(CHECK_STARTS)) {
    const fields = conditionFields({ when: { health: { [name]: start } } });
    assert.ok(fields.some((field) => field.path.startsWith(`when.health.${name}.`)), name);
  }
  assert.ok(POLICY_SECTIONS.length > 0);
});

test("an error goes to the field that the API names, or to the one around it", () => {
  const paths = ["selector", "when.health.exec.command", "when.health"];
  assert.equal(fieldFor(paths, "selector"), "selector");
  assert.equal(fieldFor(paths, "when.health.exec.command[2]"), "when.health.exec.command");
  assert.equal(fieldFor(paths, "when.health.http.url"), "when.health");
  assert.equal(fieldFor(paths, "retain.ttl_ms"), undefined);
  assert.equal(fieldFor(paths, "selectors"), undefined);
  assert.equal(fieldFor(paths, undefined), undefined);
});

test("two versions are told apart member by member", () => {
  const mine = withMember(withMember(RULE, ["capture", "pre_ms"], 5000), ["description"], "new");
  assert.deepEqual(differences(RULE, mine), [
    { path: "capture.pre_ms", theirs: 10000, mine: 5000 },
    { path: "description", theirs: undefined, mine: "new" },
  ]);
  assert.deepEqual(differences(RULE, RULE), []);
});
