// SPDX-License-Identifier: Apache-2.0
// Where a login leads to: a page of this console, or the fleet. Never to another origin, whatever the address says.

export function returnTarget(search: string, origin: string): string {
  const wanted = new URLSearchParams(search).get("to");
  if (wanted === null || !wanted.startsWith("/")) return "/";
  let url: URL;
  try {
    url = new URL(wanted, origin);
  } catch {
    return "/";
  }
  /* "//host", "/\host" and "/\t/host" are other origins by now; "/.//host" has become a path that reads as one. */
  const stays = url.origin === origin && !url.pathname.startsWith("//") && url.pathname !== "/login";
  return stays ? url.pathname + url.search + url.hash : "/";
}
