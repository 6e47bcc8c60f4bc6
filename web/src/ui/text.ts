// SPDX-License-Identifier: Apache-2.0
// Text that came from elsewhere, made safe to look at. Traces, labels and rules hold any characters: what would not
// be seen, or would move what stands beside it, is shown by its code. (common/text_shown.c does it for terminals.)

const MOST = 4096;

/* Controls, separators of lines, marks of direction, joiners, the byte order mark, private use, lone surrogates. */
const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ue000-\uf8ff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function code(character: string): string {
  const number = character.charCodeAt(0);
  return number < 0x100 ? `\\x${number.toString(16).padStart(2, "0")}` : `\\u{${number.toString(16)}}`;
}

/* One line that is safe in a text node. Longer texts than `most` are cut, and say so. */
export function shown(text: string, most = MOST): string {
  const cut = text.length > most ? `${text.slice(0, most)}… (${text.length - most} more)` : text;
  return cut.replace(UNSEEN, code);
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
