// SPDX-License-Identifier: Apache-2.0
// Makes the calls of api_dump.c of the WebAssembly, and compares each status and answer with what the native
// program prints: golden files, the corpora of the reader's fuzz targets, hostile traces made of their pieces, and an
// incident.
//     node wasm_is_native.mjs API_DUMP MAKE_HOSTILE MAKE_INCIDENT WASM_FOLDER TESTS_FOLDER
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [dump, makeHostile, makeIncident, wasmFolder, tests] = process.argv.slice(2);
const EVER = 9e18;
const VIEW_LANES = 64;
const DETAILS = 12;
const CHANGED = 40; // of each corpus file
const NONE = 0xffffffff;

// ---- the WebAssembly ----

const module = new WebAssembly.Module(readFileSync(join(wasmFolder, "analysis.wasm")));
const imports = Object.fromEntries(WebAssembly.Module.imports(module).map(({ name }) => [name, () => 8]));
let api;
let memory;
let lines;

function start() {
  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: imports });
  api = instance.exports;
  memory = api.memory;
  api._initialize();
}

function put(bytes) {
  const at = api.api_memory_new(bytes.length);
  new Uint8Array(memory.buffer).set(bytes, at);
  return at;
}

function lend(text, use) {
  const at = put(Buffer.from(text, "latin1"));
  const made = use(at, text.length);
  api.api_memory_free(at);
  return made;
}

const answer = () => Buffer.from(memory.buffer, api.api_answer(), api.api_answer_bytes());

function sumOf(bytes) {
  let sum = 2166136261;
  for (const byte of bytes) sum = Math.imul(sum ^ byte, 16777619);
  return sum >>> 0;
}

// As %.*s prints it: bytes, up to the first NUL.
function textSay(label, status) {
  const bytes = answer();
  const end = bytes.indexOf(0);
  lines.push(`${label} ${status} ${bytes.subarray(0, end < 0 ? bytes.length : end).toString("latin1")}`);
}

function columnsSay(label, status) {
  const bytes = answer();
  lines.push(`${label} ${status} ${bytes.length} ${sumOf(bytes)}`);
}

// ---- the calls of api_dump.c ----

function lanesSay(t, facts) {
  const l = api.api_lanes_new(t, NONE, -EVER, EVER, 0);
  lines.push(`lanes ${l !== 0 ? 1 : 0}`);
  if (l === 0) return;
  let status;
  do status = api.api_lanes_step(l, 3);
  while (status === 1);
  lines.push(`lanes_step ${status} ${api.api_lanes_rows(l)}`);
  textSay("lanes_list", api.api_lanes_list(l));
  const lanes = put(new Uint8Array(Uint32Array.from({ length: VIEW_LANES }, (_, i) => i).buffer));
  const length = Number(facts.to - facts.from);
  for (let zoom = 1; zoom <= 1000; zoom *= 10) {
    const from = length / 3;
    const to = from + length / zoom;
    columnsSay("lanes_view", api.api_lanes_view(l, lanes, VIEW_LANES, zoom === 1 ? 0 : from, to, 200));
  }
  api.api_memory_free(lanes);
  api.api_lanes_free(l);
}

function detailsSay(t, rows, n, threads) {
  const view = new DataView(rows.buffer, rows.byteOffset, rows.byteLength);
  for (let i = 0; i < n && i < DETAILS; i++) {
    const begin = view.getFloat64(8 * i, true);
    const length = view.getFloat64(8 * (n + i), true);
    const process = view.getUint32(16 * n + 4 * i, true);
    const thread = view.getUint32(20 * n + 4 * i, true);
    const depth = view.getUint32(28 * n + 4 * i, true);
    textSay("details", api.api_details(t, process, threads[thread]?.tid ?? 0, begin, length, depth));
  }
}

function searchSay(t, terms, order, most) {
  const s = lend(terms, (at, n) => api.api_search_new(t, at, n, -EVER, EVER, order, most));
  if (s === 0) {
    textSay("search", -1);
    return;
  }
  let status;
  do status = api.api_search_step(s, 2);
  while (status === 1);
  lines.push(`search_step ${status} ${api.api_search_total(s)}`);
  const n = api.api_search_rows(s, 0, most);
  columnsSay("search_rows", n);
  const rows = Buffer.from(answer());
  if (rows.length > 0) {
    api.api_trace_names(t, 0, 0);
    detailsSay(t, rows, n, JSON.parse(answer().toString()).threads);
  }
  api.api_search_free(s);
}

function jobSay(t, what, from, to) {
  const part = new DataView(new ArrayBuffer(32));
  part.setFloat64(0, from, true);
  part.setFloat64(8, to, true);
  const at = put(new Uint8Array(part.buffer));
  const job = api.api_job_new(t, what, at);
  api.api_memory_free(at);
  let status = -1;
  if (job !== 0)
    do status = api.api_job_step(job, 2);
    while (status === 1);
  lines.push(`job ${job !== 0 ? 1 : 0} ${status}`);
  if (status === 0) textSay("job_json", api.api_job_json(job));
  return job;
}

function jobsSay(t, facts) {
  const half = Number((facts.to - facts.from) / 2n);
  api.api_job_free(jobSay(t, 2, -EVER, EVER));
  const before = jobSay(t, 1, -EVER, half);
  const after = jobSay(t, 1, half, EVER);
  if (before !== 0 && after !== 0) textSay("diff", api.api_jobs_diff(before, after));
  api.api_job_free(before);
  api.api_job_free(after);
}

function fileSay(path) {
  start(); // as a new program would
  const bytes = readFileSync(path);
  const at = put(bytes);
  const t = api.api_trace_new();
  lines.push(`file ${path}`);
  const status = lend("trace\0", (name) => api.api_trace_add(t, at, bytes.length, name));
  textSay("add", status);
  if (status === 0) {
    textSay("facts", api.api_trace_facts(t));
    const facts = JSON.parse(answer().toString());
    const window = { from: BigInt(facts.from_ns), to: BigInt(facts.to_ns) };
    lanesSay(t, window);
    textSay("names", api.api_trace_names(t, 0, 0));
    searchSay(t, "", 0, 5000);
    searchSay(t, "dur\t>\t1000\n", 1, 20);
    searchSay(t, "!name\t:\te\narg/bytes\t>=\t10/ns\n", 0, 50);
    searchSay(t, "kind\t=\tlog\n", 0, 50);
    searchSay(t, "no\tterm", 0, 50);
    jobsSay(t, window);
  }
  api.api_trace_free(t);
  api.api_memory_free(at);
}

// ---- the comparison ----

const corpus = (name) => readdirSync(join(tests, "fuzz/corpus", name)).map((file) => join(tests, "fuzz/corpus", name, file));

function run(program, ...words) {
  const ran = spawnSync(program, words, { maxBuffer: 1 << 30, encoding: "latin1" });
  if (ran.status !== 0) throw new Error(`${program} ended with ${ran.status ?? ran.signal}: ${ran.stderr}`);
  return ran.stdout;
}

// The pieces of "trace" come behind four bytes that choose a query.
function piecesOf(folder) {
  const behind = corpus("trace").map((file, i) => {
    const path = join(folder, `pieces-${i}`);
    writeFileSync(path, readFileSync(file).subarray(4));
    return path;
  });
  return [...corpus("partition"), ...behind];
}

function filesOf(folder) {
  const golden = readdirSync(join(tests, "golden")).filter((file) => file.endsWith(".skein"));
  const incident = join(folder, "incident.skein");
  run(makeHostile, folder, String(CHANGED), ...piecesOf(folder));
  run(makeIncident, incident);
  const hostile = readdirSync(folder).filter((file) => /^\d+\.skein$/.test(file)).sort();
  const cut = join(folder, "cut.skein"); // the incident, torn at its end
  writeFileSync(cut, readFileSync(incident).subarray(0, -1000));
  return [
    ...golden.map((file) => join(tests, "golden", file)),
    ...["trace", "partition", "slice", "footer", "names"].flatMap(corpus),
    ...hostile.map((file) => join(folder, file)),
    incident,
    cut,
  ];
}

function differs(native, wasm, file) {
  const at = [...native].findIndex((byte, i) => byte !== wasm[i]);
  const from = Math.max(0, (at < 0 ? Math.min(native.length, wasm.length) : at) - 150);
  console.error(`${file}: native and WebAssembly differ\n  native: …${native.slice(from, from + 400)}`);
  console.error(`  wasm:   …${wasm.slice(from, from + 400)}`);
}

// How many bytes lanes take depends on the size of a pointer.
const withoutBytes = (line) => line.replace(/("pyramids":\d+,"bytes":)\d+/, "$1…");

function compare(files) {
  const native = run(dump, ...files).split("\n").map(withoutBytes);
  let file = "";
  let wrong = 0;
  lines = [];
  for (const path of files) fileSay(path);
  lines = lines.map(withoutBytes);
  for (let i = 0; i < Math.max(native.length - 1, lines.length) && wrong < 5; i++) {
    if (lines[i]?.startsWith("file ")) file = lines[i];
    if (native[i] === lines[i]) continue;
    differs(native[i] ?? "", lines[i] ?? "", file);
    wrong++;
  }
  const read = lines.filter((line) => line === "add 0 ").length;
  console.log(`${files.length} files, of which ${read} are traces: ${lines.length} answers, ${wrong} differ`);
  return wrong === 0 && read > 10;
}

const folder = mkdtempSync(join(tmpdir(), "skein-wasm-"));
try {
  process.exitCode = compare(filesOf(folder)) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
