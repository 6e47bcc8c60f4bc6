// SPDX-License-Identifier: Apache-2.0
// A plugin of Vite: tells of which packages code is in what it built, a name a line, in the file that
// SKEIN_WEB_SHIPPED names. Vite's own helper for pages that are loaded later is one of them.
import { appendFileSync } from "node:fs";
import type { Plugin } from "vite";

function packageOf(module: string): string | undefined {
  if (module.startsWith("\0vite/")) return "vite";
  return /.*[/]node_modules[/]((?:@[^/]+[/])?[^/?]+)/.exec(module)?.[1];
}

export function shipped(): Plugin {
  return {
    name: "shipped",
    apply: "build",
    generateBundle(_options, bundle) {
      const file = process.env["SKEIN_WEB_SHIPPED"];
      if (file === undefined) return;
      for (const part of Object.values(bundle)) {
        if (part.type !== "chunk") continue;
        const names = Object.keys(part.modules).map(packageOf).filter((name) => name !== undefined);
        appendFileSync(file, names.map((name) => `${name}\n`).join(""));
      }
    },
  };
}
