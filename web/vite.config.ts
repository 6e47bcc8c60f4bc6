// SPDX-License-Identifier: Apache-2.0
// Builds the console. Everything is a file of its own with a hash in its name: skeind's Content-Security-Policy
// allows no inline script or style, and its answers for /assets/ never change.
import { defineConfig } from "vite";
import { shipped } from "./licences/shipped";

/* Names end in eight hexadecimal digits, by which server/console tells what a browser may keep. */
const HASHED = { hashCharacters: "hex" } as const;

export default defineConfig({
  plugins: [shipped()],
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    outDir: process.env.SKEIN_WEB_OUT ?? "dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    reportCompressedSize: false,
    /* What several pages share is joined to pieces of this size: a request for each small module costs more than
     * it saves, and pieces pack better together (9 of 184 KiB; the first page takes 8 more). */
    rollupOptions: { output: { experimentalMinChunkSize: 40_000, ...HASHED } },
  },
  worker: { format: "es", plugins: () => [shipped()], rollupOptions: { output: HASHED } },
  /* build/web/wasm, which tools/web.sh makes, lies beside this folder. */
  server: { fs: { allow: [".."] }, proxy: { "/api": "http://127.0.0.1:7462", "/metrics": "http://127.0.0.1:7462" } },
});
