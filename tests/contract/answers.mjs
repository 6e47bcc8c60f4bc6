// SPDX-License-Identifier: Apache-2.0
// Holds every answer that the tests got from a collector against the OpenAPI document: the path and
// method are in it, the status and the content type are, and a body of JSON is as its schema says.
//   node answers.mjs openapi.json FOLDER      FOLDER: *.jsonl as tests/support/contract.c writes them
// SKEIN_CONTRACT_ALL=1: an operation that no test has called is a failure too.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const SHOWN = 20; // failures that are printed; the rest is counted

const [documentPath, folder] = process.argv.slice(2);
const document = JSON.parse(readFileSync(documentPath, "utf8"));
const ajv = new Ajv2020({ strict: false, allErrors: false });
addFormats(ajv);
ajv.addSchema(document, "api");

const pointer = (...keys) => keys.map((k) => "/" + k.replaceAll("~", "~0").replaceAll("/", "~1")).join("");

// As OpenAPI has it a path without parameters wins: "/captures/trace" before "/captures/{capture}". Then longer
// patterns first: "/captures/{capture}:stop" before "/captures/{capture}".
const parameters = (path) => path.split("{").length;
const operations = Object.entries(document.paths)
  .sort(([a], [b]) => parameters(a) - parameters(b) || b.length - a.length)
  .flatMap(([path, item]) => {
    const pattern = new RegExp("^" + path.replace(/[.]/g, "\\.").replace(/\{[^}]*\}/g, "[^/]+") + "$");
    return Object.entries(item).map(([method, operation]) => ({ path, pattern, method, operation, seen: 0 }));
  });

// The operation's response for a status, with the place of its definition in the document.
function responseOf({ path, method, operation }, status) {
  const key = [String(status), `${String(status)[0]}XX`].find((k) => k in operation.responses);
  if (key === undefined) return undefined;
  const response = operation.responses[key];
  if (response.$ref === undefined) return { response, at: pointer("paths", path, method, "responses", key) };
  const at = response.$ref.slice(1);
  return { response: at.slice(1).split("/").reduce((o, k) => o[k], document), at };
}

function fault({ method, path, status, type, body }) {
  const bare = path.replace(/[?].*/, "");
  const verb = method === "HEAD" ? "get" : method.toLowerCase();
  const candidates = operations.filter((o) => o.pattern.test(bare));
  const found = candidates.filter((o) => o.path === candidates[0]?.path).find((o) => o.method === verb);
  if (found === undefined)
    return status >= 400 && status < 500 ? undefined : "the document has no such operation";
  found.seen++;
  const told = responseOf(found, status);
  if (told === undefined) return "the document has no such status";
  const media = type.replace(/;.*/, "");
  const content = told.response.content ?? {};
  if (media === "") return body === undefined ? undefined : "a body without a content type";
  if (!(media in content)) return `the document has no ${media} there`;
  if (body === undefined || content[media].schema === undefined) return undefined;
  const validate = ajv.getSchema(`api#${told.at}${pointer("content", media, "schema")}`);
  if (validate(JSON.parse(body))) return undefined;
  return ajv.errorsText(validate.errors, { dataVar: "body" }) + " " + JSON.stringify(validate.errors[0].params);
}

let answers = 0;
const faults = new Map(); // words → an example
for (const name of readdirSync(folder).filter((n) => n.endsWith(".jsonl"))) {
  // A test that is killed may leave half a line, the last one.
  for (const line of readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1)) {
    const answer = JSON.parse(line);
    answers++;
    const words = fault(answer);
    const title = `${answer.method} ${answer.path.replace(/[?].*/, "").replace(/[0-9a-f]{16,}[-0-9a-f]*/g, "ID")} ${answer.status}: ${words}`;
    if (words !== undefined && !faults.has(title)) faults.set(title, answer.body ?? "");
  }
}

const unseen = operations.filter((o) => o.seen === 0).map((o) => `${o.method.toUpperCase()} ${o.path}`);
console.log(`${answers} answers, ${operations.length - unseen.length} of ${operations.length} operations`);
for (const [title, body] of [...faults].slice(0, SHOWN)) console.log(`${title}\n    ${body.slice(0, 600)}`);
if (faults.size > SHOWN) console.log(`and ${faults.size - SHOWN} more`);
if (unseen.length > 0) console.log(`not called: ${unseen.join(", ")}`);
const all = process.env.SKEIN_CONTRACT_ALL === "1";
process.exitCode = answers === 0 || faults.size > 0 || (all && unseen.length > 0) ? 1 : 0;
