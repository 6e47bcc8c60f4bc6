// SPDX-License-Identifier: Apache-2.0
// A rule or a policy as JSON that is being edited: text and members, kept in step. Pure. Members that no form knows
// stay where they are.

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [member: string]: Json;
}

export interface TextError {
  words: string;
  line: number; /* from 1 on; 0: nowhere in particular */
}

export type Parsed = { value: JsonObject; error?: undefined } | { value?: undefined; error: TextError };

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function lineOf(text: string, position: number): number {
  return text.slice(0, position).split("\n").length;
}

/* Browsers name the place in words of their own; both forms are looked for. */
function syntaxError(text: string, error: unknown): TextError {
  const words = error instanceof Error ? error.message : String(error);
  const line = /line (\d+)/.exec(words);
  const position = /position (\d+)/.exec(words);
  const at = line !== null ? Number(line[1]) : position !== null ? lineOf(text, Number(position[1])) : 0;
  return { words: words.replace(/^JSON\.parse: /, ""), line: at };
}

/* A whole number that a browser would round: it is to be written as text. Strings are passed over. */
function roundedNumber(text: string): TextError | undefined {
  for (const match of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/gs)) {
    const token = match[0];
    if (token.startsWith('"') || Number.isSafeInteger(Number(token))) continue;
    return { words: `${token} is more than a browser keeps exactly; write it as text: "${token}"`, line: lineOf(text, match.index) };
  }
  return undefined;
}

function parseJson(text: string): { value: Json; error?: undefined } | { error: TextError } {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    return { error: syntaxError(text, error) };
  }
  const rounded = roundedNumber(text);
  return rounded === undefined ? { value } : { error: rounded };
}

export function parseDocument(text: string): Parsed {
  const parsed = parseJson(text);
  if (parsed.error !== undefined) return parsed;
  if (!isObject(parsed.value)) return { error: { words: "an object is needed: { … }", line: 1 } };
  return { value: parsed.value };
}

export type Several = { items: JsonObject[]; error?: undefined } | { items?: undefined; error: TextError };

/* Several documents, each with a name of its own: an array, a listing of the API ({"items":[…]}), or one. */
export function parseSeveral(text: string): Several {
  const parsed = parseJson(text);
  if (parsed.error !== undefined) return parsed;
  const { value } = parsed;
  const wrong = (words: string): Several => ({ error: { words, line: 0 } });
  const listed = isObject(value) && Array.isArray(value["items"]) ? value["items"] : Array.isArray(value) ? value : [value];
  if (isObject(value) && typeof value["next_cursor"] === "string") return wrong("this is the first page of a listing, and there are more: ask for all of them");
  if (listed.length === 0) return wrong("the array is empty");
  const names = new Set<Json>();
  for (const [i, item] of listed.entries()) {
    if (!isObject(item)) return wrong(`element ${i + 1} is no object: { … }`);
    const name = item["name"];
    if (typeof name !== "string" || name === "") return wrong(`element ${i + 1} has no name`);
    if (names.has(name)) return wrong(`${name} is there twice`);
    names.add(name);
  }
  return { items: listed.filter(isObject) };
}

export function documentText(value: Json): string {
  return JSON.stringify(value, null, 2);
}

export function splitPath(path: string): string[] {
  return path === "" ? [] : path.split(".");
}

export function memberAt(value: Json | undefined, path: readonly string[]): Json | undefined {
  let here = value;
  for (const name of path) {
    if (!isObject(here) || !Object.hasOwn(here, name)) return undefined;
    here = here[name];
  }
  return here;
}

function without(value: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
}

/* A copy in which the member is `to`, or is not there. Objects on the way are made; those that become empty by it go,
 * but `when` and what is in it: {"crash":{}} says something. What is no object on the way is replaced. */
export function withMember(value: JsonObject, path: readonly string[], to: Json | undefined, inside = false): JsonObject {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const kept = inside || name === "when";
  if (rest.length === 0) return to === undefined ? without(value, name) : { ...value, [name]: to };
  const child = Object.hasOwn(value, name) ? value[name] : undefined;
  if (to === undefined && !isObject(child)) return value;
  const next = withMember(isObject(child) ? child : {}, rest, to, kept);
  if (to === undefined && !kept && Object.keys(next).length === 0) return without(value, name);
  return { ...value, [name]: next };
}

export interface Difference {
  path: string;
  theirs: Json | undefined; /* undefined: it is not there */
  mine: Json | undefined;
}

/* What differs, member by member; lists are compared as a whole. */
export function differences(theirs: JsonObject, mine: JsonObject, above = ""): Difference[] {
  const names = [...new Set([...Object.keys(theirs), ...Object.keys(mine)])];
  return names.flatMap((name) => {
    const path = above === "" ? name : `${above}.${name}`;
    const a = Object.hasOwn(theirs, name) ? theirs[name] : undefined;
    const b = Object.hasOwn(mine, name) ? mine[name] : undefined;
    if (isObject(a) && isObject(b)) return differences(a, b, path);
    return JSON.stringify(a) === JSON.stringify(b) ? [] : [{ path, theirs: a, mine: b }];
  });
}

/* Where an error of the API is shown: the field that it names, or the one around it; undefined: at none. */
export function fieldFor(paths: readonly string[], named: string | undefined): string | undefined {
  if (named === undefined) return undefined;
  const around = paths.filter((path) => path === named || named.startsWith(`${path}.`) || named.startsWith(`${path}[`));
  return around.sort((a, b) => b.length - a.length)[0];
}
