/* SPDX-License-Identifier: Apache-2.0
 * What people type to search, as terms of the reader. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseLength, parseSearch, SearchError, searchLines } from "../../src/trace/search";

const lines = (text: string): string[] => searchLines(parseSearch(text)).split("\n").slice(0, -1);

test("a word is a part of a name", () => {
  assert.deepEqual(lines("query"), ["name\t:\tquery"]);
  assert.deepEqual(lines('  "GET /cart"  name="all of it"'), ["name\t:\tGET /cart", "name\t=\tall of it"]);
  assert.deepEqual(lines('"a\\"b\\\\c"'), ['name\t:\ta"b\\c']);
  assert.deepEqual(lines(""), []);
});

test("lengths have units, and are nanoseconds without", () => {
  assert.deepEqual(lines("dur>5ms dur<=1.5s dur>=7"), ["dur\t>\t5000000", "dur\t<=\t1500000000", "dur\t>=\t7"]);
  assert.deepEqual(lines("-dur>2min"), ["!dur\t>\t120000000000"]);
  assert.equal(parseLength("3us"), 3000);
  assert.equal(parseLength("3 us"), null);
  assert.equal(parseLength("-3us"), null);
});

test("any other field is an argument", () => {
  assert.deepEqual(lines("rows>100"), ["arg/rows\t>\t100"]);
  assert.deepEqual(lines("took>=2.5ms"), ["arg/took\t>=\t2500000/ns"]);
  assert.deepEqual(lines("size<64KiB"), ["arg/size\t<\t65536"]);
  assert.deepEqual(lines('sql:select -sql="drop table"'), ["arg/sql\t:\tselect", "!arg/sql\t=\tdrop table"]);
  assert.deepEqual(lines("fd=-1"), ["arg/fd\t=\t-1"]);
  assert.deepEqual(lines("id=12345678901234567891 at>=0x7F00"), ["arg/id\t=\t12345678901234567891", "arg/at\t>=\t0x7f00"]);
});

test("threads, hosts, kinds and groups have fields of their own", () => {
  assert.deepEqual(lines("-thread:worker host=web-1 service:shop"), [
    "!thread\t:\tworker", "host\t=\tweb-1", "service\t:\tshop",
  ]);
  assert.deepEqual(lines("group:lock tid=8001 depth:2 kind:log"), [
    "group\t=\t3", "tid\t=\t8001", "depth\t=\t2", "kind\t:\tlog",
  ]);
});

test("a quoted word is no field, and a lone minus is a name", () => {
  assert.deepEqual(lines('"dur>5ms" -'), ["name\t:\tdur>5ms", "name\t:\t-"]);
});

test("what is no search says where", () => {
  const wrong = (text: string, at: number): void => {
    assert.throws(() => parseSearch(text), (error: unknown) => error instanceof SearchError && error.at === at, text);
  };
  wrong("dur>five", 0);
  wrong("a dur>", 2);
  wrong('x "open', 2);
  wrong("rows>many", 0);
  wrong("thread>3", 0);
  wrong("tid=x", 0);
  wrong("kind:nothing", 0);
  wrong('name:"a\tb"', 0);
  wrong(Array.from({ length: 33 }, () => "a").join(" "), 64);
});
