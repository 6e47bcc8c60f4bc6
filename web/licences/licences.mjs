// SPDX-License-Identifier: Apache-2.0
// Writes assets/licences.txt: the licence of each package whose code is in what was built, as the package has it,
// and of the C in the reader (c.txt, kept by hand). Fails where a package brings none.
//   node licences.mjs DIST SHIPPED      SHIPPED: names of packages, one a line (shipped.ts)
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const [dist, shipped] = process.argv.slice(2);
const web = fileURLToPath(new URL("..", import.meta.url));

function licenceOf(name) {
  const folder = join(web, "node_modules", name);
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e([.]|$)/i.test(entry));
  if (file === undefined || typeof about.license !== "string")
    throw new Error(`${name} has no licence in its package: put its text into web/licences, and say so in licences.mjs`);
  // Vite's own comes first; behind it are those of programs that it was built with, and that are not shipped.
  const text = readFileSync(join(folder, file), "utf8").split("# Licenses of bundled dependencies")[0];
  return `== ${name} ${about.version} (${about.license}) ==\n\n${text.trim()}\n`;
}

const names = [...new Set(readFileSync(shipped, "utf8").split("\n").filter((name) => name !== ""))].sort();
const parts = names.map(licenceOf);
const reader = readdirSync(join(dist, "assets")).some((name) => name.endsWith(".wasm"));
if (reader) parts.push(readFileSync(join(web, "licences", "c.txt"), "utf8"));
const head = "What Skein's console is made of beside Skein itself (Apache-2.0), and under which licences.\n";
writeFileSync(join(dist, "assets", "licences.txt"), [head, ...parts].join("\n"));
