// SPDX-License-Identifier: Apache-2.0
// Reads a trace in WebAssembly, as native_read of wasm.c does natively; writes seconds of lanes and of a search, and
// how many rows there were, into a file.
//     node wasm_read.mjs trace.wasm TRACE FILE
import { readFileSync, writeFileSync } from "node:fs";

const [wasm, trace, told] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(wasm));
const imports = Object.fromEntries(WebAssembly.Module.imports(module).map(({ name }) => [name, () => 8]));
const api = new WebAssembly.Instance(module, { wasi_snapshot_preview1: imports }).exports;
api._initialize();

function put(bytes) {
  const at = api.api_memory_new(bytes.length);
  new Uint8Array(api.memory.buffer).set(bytes, at);
  return at;
}

const seconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
const must = (fine) => {
  if (!fine) throw new Error("the trace cannot be read");
};

const bytes = readFileSync(trace);
const at = put(bytes);
const t = api.api_trace_new();
let began = seconds();
must(api.api_trace_add(t, at, bytes.length, put(Buffer.from("made\0"))) === 0);
const l = api.api_lanes_new(t, 0xffffffff, -9e18, 9e18, 0);
must(l !== 0);
while (api.api_lanes_step(l, 16) === 1);
const lanes = seconds() - began;
began = seconds();
const terms = Buffer.from("dur\t>\t1000\n");
const s = api.api_search_new(t, put(terms), terms.length, -9e18, 9e18, 1, 1000);
must(s !== 0);
while (api.api_search_step(s, 16) === 1);
writeFileSync(told, `${lanes} ${seconds() - began} ${api.api_lanes_rows(l)}\n`);
