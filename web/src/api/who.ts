// SPDX-License-Identifier: Apache-2.0
// Who reads: asked once for a tab, and again after login and logout. Without a known reader the console shows the
// login; what a reader may not do is not offered.
import { signal } from "@preact/signals";
import { Refused, get, onUnknownReader, send } from "./client";
import { asRefused } from "./ask";

export interface Who {
  name: string;
  scope: "viewer" | "operator" | "admin";
  selector?: string;
  via: "local" | "token" | "session";
  version: string;
  features: string[];
  expires?: string; /* when the token or the session ends, at the latest */
}

export const who = signal<Who | undefined>(undefined);
/* known: `who` is there; unknown: a login is needed; failed: the collector could not be asked */
export const whoState = signal<"awaited" | "known" | "unknown" | "failed">("awaited");
/* Why nobody is known any more in this tab: out: the reader has logged out; ended: the session has. */
export const whoLeft = signal<"" | "out" | "ended">("");
export const whoError = signal<Refused | undefined>(undefined);

const RANK = { viewer: 1, operator: 2, admin: 3 } as const;

/* Whether the reader may do what needs `scope`; who is confined to a selector may not do what is of the fleet. */
export function may(scope: Who["scope"], fleetwide = false): boolean {
  const reader = who.value;
  if (reader === undefined) return false;
  return RANK[reader.scope] >= RANK[scope] && !(fleetwide && reader.selector !== undefined);
}

export async function whoAsk(): Promise<void> {
  try {
    who.value = await get<Who>("/whoami");
    whoState.value = "known";
    whoLeft.value = "";
    whoError.value = undefined;
  } catch (error) {
    const refused = asRefused(error);
    whoError.value = refused;
    if (refused.status === 401) unknown();
    else whoState.value = "failed";
  }
}

function unknown(): void {
  if (who.value?.via === "session") whoLeft.value = "ended";
  who.value = undefined;
  whoState.value = "unknown";
}

export function whoFollow(): void {
  onUnknownReader(unknown);
  void whoAsk();
}

/* {token} or {code}; throws Refused. */
export async function logIn(secret: { token: string } | { code: string }): Promise<void> {
  await send("POST", "/session", { body: secret });
  await whoAsk();
}

export async function logOut(): Promise<void> {
  await send("DELETE", "/session");
  unknown();
  whoLeft.value = "out";
}
