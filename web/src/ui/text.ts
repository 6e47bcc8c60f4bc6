// SPDX-License-Identifier: Apache-2.0
// Text that came from elsewhere, made safe to look at. Traces, labels and rules hold any characters: what would not
// be seen, or would move what stands beside it, is shown by its code. (common/text_shown.c does it for terminals.)

const MOST = 4096;

/* Controls, separators of lines, marks of direction, joiners, variation selectors, the byte order mark, tags, private
 * use, lone surrogates, and what is no character. */
const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{10ffff}]|\p{Noncharacter_Code_Point}/gu;

/* Marks on a letter from the third on: enough of them are drawn over the lines above and below. */
const PILED =
  /(?<=[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u0e31-\u0e3a\u0e47-\u0e4e\ufe20-\ufe2f]{2})[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u0e31-\u0e3a\u0e47-\u0e4e\ufe20-\ufe2f]/gu;

function code(character: string): string {
  const number = character.codePointAt(0) ?? 0;
  return number < 0x80 ? `\\x${number.toString(16).padStart(2, "0")}` : `\\u{${number.toString(16)}}`;
}

/* One line that is safe in a text node. Longer texts than `most` are cut, and say so. */
export function shown(text: string, most = MOST): string {
  const cut = text.length > most ? `${text.slice(0, most)}… (${text.length - most} more)` : text;
  return cut.replace(PILED, code).replace(UNSEEN, code);
}

/* The same of several lines: line feeds and tabs stay. */
export function shownLines(text: string, most = 65536): string {
  return text
    .slice(0, most)
    .split("\n")
    .map((line) => line.split("\t").map((part) => shown(part, most)).join("\t"))
    .join("\n")
    .concat(text.length > most ? `\n… (${text.length - most} more characters)` : "");
}
