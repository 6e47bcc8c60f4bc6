/* SPDX-License-Identifier: Apache-2.0
 *
 * What people type to search a trace, read in one place and written as terms for the reader
 * (web/wasm/search_terms.h). Pure functions.
 *
 *   query            the name contains it, without regard to case
 *   "GET /cart"      the same with spaces; name:"…" contains, name="…" is
 *   dur>5ms  dur<=1s length; ns us ms s min
 *   id=0x7f00        an argument; whole numbers of 64 bits are compared exactly
 *   rows>100         an argument; also >= < <= =, with : for text that it contains (sql:select)
 *   latency>5ms      of an argument with a unit of time
 *   thread: host: service: kind: tid= depth= group=
 *   -thread:worker   not that
 *
 * All terms must hold. SearchError says which character is wrong.
 */

export class SearchError extends Error {
  readonly at: number; /* character */
  constructor(at: number, sentence: string) {
    super(sentence);
    this.at = at;
  }
}

export interface Term {
  not: boolean;
  field: string; /* of search_terms.h: name, dur, arg/NAME … */
  sign: ":" | "=" | ">" | "<" | ">=" | "<=";
  value: string;
  at: number;
}

const TEXTS = new Set(["name", "thread", "host", "service", "kind"]);
const NUMBERS = new Set(["tid", "depth", "group"]);
export const KINDS = ["region", "instant", "counter", "log", "open", "loss", "end-only"] as const;
const GROUPS = ["app", "net", "io", "lock", "thread", "sleep", "log"];
const TIMES: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, min: 60e9 };
const SIZES: Readonly<Record<string, number>> = {
  B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1048576, GiB: 1073741824,
};
const MOST_TERMS = 32;

/* ---- words ---- */

interface Word {
  text: string;
  at: number;
  quoted: boolean; /* it begins with a quote: no field */
}

/* Splits at spaces that are not inside of quotes; quotes go, \" and \\ inside of them are characters. */
function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  let at = 0;
  while (at < text.length) {
    if (/\s/.test(text[at] ?? "")) {
      at++;
      continue;
    }
    const word: Word = { text: "", at, quoted: text[at] === '"' };
    at = wordTake(text, at, word);
    words.push(word);
  }
  return words;
}

function wordTake(text: string, from: number, word: Word): number {
  let quote = -1;
  let at = from;
  for (; at < text.length; at++) {
    const letter = text[at] ?? "";
    if (quote < 0 && /\s/.test(letter)) return at;
    if (letter === '"') quote = quote < 0 ? at : -1;
    else if (letter === "\\" && quote >= 0 && /["\\]/.test(text[at + 1] ?? "")) word.text += text[++at] ?? "";
    else word.text += letter;
  }
  if (quote >= 0) throw new SearchError(quote, "The quote that begins here has no end.");
  return at;
}

/* ---- values ---- */

function decimal(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value) : value.toPrecision(15);
}

/* A length in ns; a bare number is ns, too. */
export function parseLength(text: string): number | null {
  const found = /^(\d+(?:\.\d+)?)(ns|us|µs|ms|s|min)?$/.exec(text);
  if (found === null) return null;
  return Number(found[1]) * (TIMES[found[2] ?? "ns"] ?? 1);
}

/* The value of an argument: a number, a time ("5000000/ns"), bytes, or text as it is. */
function argValue(text: string): { value: string; number: boolean } {
  if (/^(-?\d{1,20}|0x[0-9a-f]{1,16})$/i.test(text)) return { value: text.toLowerCase(), number: true }; /* all 64 bits of it */
  const found = /^([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(\p{L}*)$/u.exec(text);
  if (found === null) return { value: text, number: false };
  const unit = found[2] ?? "";
  const value = Number(found[1]);
  if (unit === "") return { value: decimal(value), number: true };
  const time = TIMES[unit];
  if (time !== undefined) return { value: `${decimal(value * time)}/ns`, number: true };
  const size = SIZES[unit];
  return size !== undefined ? { value: decimal(value * size), number: true } : { value: text, number: false };
}

function numberValue(term: Term): string {
  const group = term.field === "group" ? GROUPS.indexOf(term.value) : -1;
  if (group >= 0) return String(group);
  if (!/^\d+$/.test(term.value))
    throw new SearchError(term.at, `${term.field} needs a whole number, as in ${term.field}=3.`);
  return term.value;
}

/* ---- terms ---- */

function checked(term: Term): Term {
  const ordered = term.sign !== ":" && term.sign !== "=";
  const { field, at } = term;
  if (term.value === "") throw new SearchError(at, `There is nothing behind ${field.replace("arg/", "")}${term.sign}`);
  if (/[\t\n\0]/.test(term.value) || /[\t\n\0]/.test(field))
    throw new SearchError(at, "Tabs and ends of lines cannot be searched for.");
  if (TEXTS.has(field)) {
    if (ordered) throw new SearchError(at, `${field} is a text: ${field}:part or ${field}="all of it".`);
    if (field === "kind" && !(KINDS as readonly string[]).includes(term.value))
      throw new SearchError(at, `kind is one of ${KINDS.join(", ")}.`);
    return term;
  }
  if (field === "dur") {
    const length = parseLength(term.value);
    if (length === null) throw new SearchError(at, "dur needs a length, as in dur>5ms (ns, us, ms, s, min).");
    return { ...term, sign: term.sign === ":" ? "=" : term.sign, value: decimal(length) };
  }
  if (NUMBERS.has(field)) return { ...term, sign: term.sign === ":" ? "=" : term.sign, value: numberValue(term) };
  const { value, number } = argValue(term.value);
  if (ordered && !number)
    throw new SearchError(at, `${field.slice(4)}${term.sign} needs a number, as in ${field.slice(4)}${term.sign}100.`);
  return { ...term, value: term.sign === ":" ? term.value : value };
}

function termOf(word: Word): Term {
  const not = !word.quoted && word.text.length > 1 && word.text.startsWith("-");
  const text = not ? word.text.slice(1) : word.text;
  const found = word.quoted ? null : /^([\p{L}_][\p{L}\p{N}_.-]*)(>=|<=|[:=<>])(.*)$/su.exec(text);
  if (found === null) return checked({ not, field: "name", sign: ":", value: text, at: word.at });
  const name = found[1] ?? "";
  const own = TEXTS.has(name) || NUMBERS.has(name) || name === "dur";
  const sign = found[2] as Term["sign"];
  return checked({ not, field: own ? name : `arg/${name}`, sign, value: found[3] ?? "", at: word.at });
}

/* Throws SearchError. An empty text has no terms: everything is found. */
export function parseSearch(text: string): Term[] {
  const words = wordsOf(text);
  const extra = words[MOST_TERMS];
  if (extra !== undefined) throw new SearchError(extra.at, `A search has ${MOST_TERMS} terms at most.`);
  return words.map(termOf);
}

/* As the reader takes them, a line each. */
export function searchLines(terms: readonly Term[]): string {
  return terms.map((term) => `${term.not ? "!" : ""}${term.field}\t${term.sign}\t${term.value}\n`).join("");
}
