// SPDX-License-Identifier: Apache-2.0
// "90d" as a point in time. Pure.

/* "90d" from now on as the API's time; undefined: it is none. */
export function endAfter(text: string, now = Date.now()): string | undefined {
  const match = /^(\d+(?:\.\d+)?)(m|h|d|w)$/.exec(text.trim());
  if (match === null) return undefined;
  const ms = Number(match[1]) * { m: 6e4, h: 3.6e6, d: 8.64e7, w: 6.048e8 }[match[2] as "m" | "h" | "d" | "w"];
  const end = now + ms;
  return ms > 0 && end < 8.64e15 ? new Date(end).toISOString() : undefined;
}
