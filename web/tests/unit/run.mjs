// SPDX-License-Identifier: Apache-2.0
// Runs the unit tests: bundles each *.test.ts by esbuild (it comes with Vite) and gives all to node's test runner.
// node tests/unit/run.mjs [NAME …]: only files whose name contains one of these.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { build } from "esbuild";

const here = path.dirname(new URL(import.meta.url).pathname);
const wanted = process.argv.slice(2);
const files = fs
  .readdirSync(here)
  .filter((name) => name.endsWith(".test.ts") && (wanted.length === 0 || wanted.some((word) => name.includes(word))));
if (files.length === 0) {
  console.error("no test has that name");
  process.exit(2);
}
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "skein-unit-"));
try {
  await build({
    entryPoints: files.map((name) => path.join(here, name)),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node18",
    sourcemap: "inline",
    jsx: "automatic",
    jsxImportSource: "preact",
    logLevel: "error",
  });
  const made = fs.readdirSync(folder).map((name) => path.join(folder, name));
  process.exitCode = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...made], { stdio: "inherit" }).status ?? 1;
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}
