// SPDX-License-Identifier: Apache-2.0
// Rules and policies with their version (ETag), so that of two who edit one neither undoes the other unseen.
import { type Answer, useMade } from "../api/ask";
import { Refused, part, request } from "../api/client";
import type { JsonObject } from "./document";

export interface Versioned<T> {
  value: T;
  etag: string | undefined;
}

/* What a kind of thing is called, and where it is. */
export interface Kind {
  noun: "rule" | "policy";
  several: "rules" | "policies";
  folder: "/rules" | "/policies";
}
export const RULE: Kind = { noun: "rule", several: "rules", folder: "/rules" };
export const POLICY: Kind = { noun: "policy", several: "policies", folder: "/policies" };

async function versioned<T>(response: Response): Promise<Versioned<T>> {
  return { value: (await response.json()) as T, etag: response.headers.get("ETag") ?? undefined };
}

function ask(signal?: AbortSignal): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

export async function versionedGet<T>(kind: Kind, name: string, signal?: AbortSignal): Promise<Versioned<T>> {
  return versioned(await request("GET", `${kind.folder}/${part(name)}`, ask(signal)));
}

export function useVersioned<T>(kind: Kind, name: string, every = 0): Answer<Versioned<T>> {
  return useMade(`${kind.folder} ${name}`, (signal) => versionedGet<T>(kind, name, signal), every);
}

/* etag: the version that is replaced; "none": there must be none of this name; undefined: whatever is there. */
export async function versionedPut<T>(
  kind: Kind, name: string, body: JsonObject, etag: string | "none" | undefined,
): Promise<Versioned<T>> {
  const headers: Record<string, string> =
    etag === "none" ? { "If-None-Match": "*" } : etag === undefined ? {} : { "If-Match": etag };
  return versioned(await request("PUT", `${kind.folder}/${part(name)}`, { body, headers }));
}

export async function versionedPatch<T>(kind: Kind, name: string, body: JsonObject): Promise<Versioned<T>> {
  return versioned(await request("PATCH", `${kind.folder}/${part(name)}`, { body }));
}

export async function versionedDelete(kind: Kind, name: string, etag: string | undefined): Promise<void> {
  await request("DELETE", `${kind.folder}/${part(name)}`, etag === undefined ? {} : { headers: { "If-Match": etag } });
}

export function isConflict(error: unknown): boolean {
  return error instanceof Refused && error.status === 412;
}

/* As it is put: without what the collector adds. */
export function withoutState(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== "state"));
}
