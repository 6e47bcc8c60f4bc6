// SPDX-License-Identifier: Apache-2.0
// Files of the tree, for unit tests. Reads alone.
import { readFileSync } from "node:fs";

/* Tests are bundled: the tree is where they are run from, web/ or the top. */
export function inTree(path: string): Buffer {
  for (const top of ["", "../"]) {
    try {
      return readFileSync(top + path);
    } catch {
      /* the other one */
    }
  }
  throw new Error(`${path} is not there; tools/web.sh makes the WebAssembly`);
}
