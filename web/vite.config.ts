// SPDX-License-Identifier: Apache-2.0
// Builds the console. Everything is a file of its own with a hash in its name: skeind's Content-Security-Policy
// allows no inline script or style, and its answers for /assets/ never change.
import { defineConfig } from "vite";
import { shipped } from "./licences/shipped";

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
     * it saves, and pieces pack better together (8 of 184 KiB). */
    rollupOptions: { output: { experimentalMinChunkSize: 20_000 } },
  },
  worker: { format: "es", plugins: () => [shipped()] },
  /* build/web/wasm, which tools/web.sh makes, lies beside this folder. */
  server: { fs: { allow: [".."] }, proxy: { "/api": "http://127.0.0.1:7462", "/metrics": "http://127.0.0.1:7462" } },
});
