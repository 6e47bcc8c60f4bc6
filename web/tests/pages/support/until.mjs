// SPDX-License-Identifier: Apache-2.0
// Waiting for what is to come, with a deadline. Owns no state.
import { setTimeout as pause } from "node:timers/promises";

export const DEADLINE_MS = Number(process.env.SKEIN_TEST_DEADLINE_MS ?? 20_000);
const STEP_MS = 20;

/* Asks `look` again and again until it answers something true, which it gives back. An error of `look` counts as not
 * yet, and its words are in the failure. */
export async function until(what, look, deadlineMs = DEADLINE_MS) {
  const end = Date.now() + deadlineMs;
  let last = "";
  for (;;) {
    try {
      const got = await look();
      if (got) return got;
      last = "";
    } catch (error) {
      last = `: ${error instanceof Error ? error.message : error}`;
    }
    if (Date.now() > end) throw new Error(`${what} did not come within ${deadlineMs} ms${last}`);
    await pause(STEP_MS);
  }
}
