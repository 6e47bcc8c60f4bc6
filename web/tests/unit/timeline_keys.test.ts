// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { KEYS, keyAction, keyWords } from "../../src/timeline/keys";
import { inTree } from "./in_tree";

const press = (key: string, more: Partial<KeyboardEvent> = {}) => ({ key, shiftKey: false, ctrlKey: false, altKey: false, metaKey: false, ...more });

test("each key of the table does what the table says, and none twice", () => {
  const seen = new Set<string>();
  for (const { keys, action } of KEYS)
    for (const key of keys) {
      assert.ok(!seen.has(key), `${key} stands once`);
      seen.add(key);
      let begun = "";
      const steps = key.split(" ").map((step) => {
        const letter = /^Shift\+(.)$/.exec(step)?.[1];
        const looked = keyAction(letter === undefined ? press(step) : press(letter.toUpperCase(), { shiftKey: true }), begun);
        begun = looked.begun;
        return looked.action;
      });
      assert.equal(steps[steps.length - 1], action, key);
      assert.ok(keyWords(key).length > 0);
    }
});

test("a letter with Shift is another key; a sign is the sign, however it is typed", () => {
  assert.equal(keyAction(press("E", { shiftKey: true }), "").action, "fold-all");
  assert.equal(keyAction(press("e"), "").action, "fold");
  assert.equal(keyAction(press("E"), "").action, "fold"); /* Caps Lock */
  assert.equal(keyAction(press("?", { shiftKey: true }), "").action, "help");
});

test("keys with Ctrl, Alt and Meta are left to the browser", () => {
  for (const more of [{ ctrlKey: true }, { altKey: true }, { metaKey: true }]) assert.equal(keyAction(press("f", more), "").action, undefined);
});

test("a second key that nothing has ends the sequence", () => {
  assert.deepEqual(keyAction(press("g"), ""), { action: undefined, begun: "g" });
  assert.deepEqual(keyAction(press("z"), "g"), { action: undefined, begun: "" });
  assert.equal(keyAction(press("f"), "g").action, "go-fleet");
});

/* The rows of the table in docs/console.md: the keys, and what they do. */
function documented(): [string, string][] {
  const text = inTree("docs/console.md").toString("utf8");
  const table = /\n\| Key \| \|\n\|---\|---\|\n((?:\|.*\|\n)+)/.exec(text)?.[1] ?? "";
  return table
    .trim()
    .split("\n")
    .map((row) => {
      const [keys = "", words = ""] = row.slice(1, -1).split("|").map((cell) => cell.trim());
      return [keys, words];
    });
}

test("the table of docs/console.md is the table of keys", () => {
  const wanted = KEYS.map(({ keys, words }): [string, string] => [keys.map((key) => `\`${keyWords(key)}\``).join(" "), words]);
  assert.deepEqual(documented(), wanted);
});
