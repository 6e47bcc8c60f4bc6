// SPDX-License-Identifier: Apache-2.0
// Why a login was refused, and what to do, in words. Pure.
import type { Refused } from "../api/client";

const WORDS: Readonly<Record<string, string>> = {
  "token-refused": "This token is unknown, has ended or was revoked. An admin makes a new one: skein token create NAME.",
  "code-refused": "This link has been used, or is older than a minute. Ask for another one: skein console.",
  "too-many-wrong-tokens": "Too many wrong tokens came from this address. Right ones go on being taken; wrong ones are looked at again in a while.",
  "not-secure": "This page came over plain HTTP from another machine: everybody on the way could take the session, and the browser would not keep it.",
};

export function refusalWords(refused: Refused, byCode: boolean): string {
  const name = refused.type.replace("urn:skein:problem:", "");
  if (refused.status === 409) return "There is no token yet. On the collector's machine, root and its own user need none; for others they make one: skeind token create.";
  if (byCode && refused.status === 401) return WORDS["code-refused"]!;
  return WORDS[name] ?? refused.message;
}

/* Whether a session can be had here: with TLS, or on the browser's own machine. */
export function sessionsHere(protocol: string, hostname: string): boolean {
  const own = hostname === "localhost" || hostname === "[::1]" || hostname === "::1" || /^127(\.\d{1,3}){3}$/.test(hostname);
  return protocol === "https:" || own;
}

/* "#c=CODE"; undefined: there is none. */
export function codeOf(fragment: string): string | undefined {
  const code = new URLSearchParams(fragment.replace(/^#/, "")).get("c");
  return code === null || code === "" ? undefined : code;
}
