// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { KEYS, keyAction, keyWords } from "../../src/timeline/keys";

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
