// SPDX-License-Identifier: Apache-2.0
// Captures as lists: the API filters them; what it does not filter by (several rules, all but samples) is looked for
// page by page, with a bound on pages: a page may be long in coming and empty, with older captures behind it. Lists
// are patched by what happens.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { asRefused } from "./ask";
import { type Query, type Refused, type Schemas, getListing, part, send } from "./client";
import { type LiveEvent, listen } from "./live";

type Capture = Schemas["Capture"];

export interface Found {
  items: Capture[];
  looked: number; /* captures that the collector gave, wanted or not */
  next: string | undefined; /* where to go on */
}

export interface Bounds {
  want: number;
  pages: number; /* that are asked for at once, whatever they hold */
}

const PAGE = 100;

/* Captures that `keep` wants, newest first: until there are `want`, or `pages` were read. */
export async function findCaptures(
  query: Query,
  keep: (capture: Capture) => boolean,
  bounds: Bounds & { cursor?: string | undefined },
  signal?: AbortSignal,
): Promise<Found> {
  const found: Found = { items: [], looked: 0, next: bounds.cursor };
  let pages = 0;
  do {
    const page = await getListing<Capture>("/captures", { ...query, limit: PAGE, cursor: found.next }, signal);
    found.looked += page.items.length;
    found.items.push(...page.items.filter(keep));
    found.next = page.next_cursor;
  } while (found.next !== undefined && found.items.length < bounds.want && ++pages < bounds.pages);
  return found;
}

export interface CaptureList {
  items: Capture[] | undefined;
  looked: number;
  error: Refused | undefined;
  awaited: boolean;
  more: (() => void) | undefined;
  again: () => void;
  newer: number; /* that came since, and are not shown: the list does not move under its reader */
}

interface State {
  key: string;
  found: Found | undefined;
  error: Refused | undefined;
  awaited: boolean;
  newer: ReadonlySet<string>;
}

/* A list of captures: asked when `key` changes; ends and deletions are patched in as they happen, and what is new is
 * counted (or comes at once where `hold` says that nobody has a hand on the list). */
export function useCaptures(
  key: string,
  query: Query,
  keep: (capture: Capture) => boolean,
  bounds: Bounds,
  hold: () => boolean = () => true,
): CaptureList {
  const [state, setState] = useState<State>({ key, found: undefined, error: undefined, awaited: true, newer: NONE });
  const [round, setRound] = useState(0);
  const latest = useRef({ query, keep, bounds, hold });
  latest.current = { query, keep, bounds, hold };
  const again = useCallback(() => setRound((n) => n + 1), []);
  useEffect(() => {
    const abort = new AbortController();
    const { query, keep, bounds } = latest.current;
    setState((old) => (old.key === key ? { ...old, awaited: true } : { key, found: undefined, error: undefined, awaited: true, newer: NONE }));
    findCaptures(query, keep, bounds, abort.signal).then(
      (found) => !abort.signal.aborted && setState({ key, found, error: undefined, awaited: false, newer: NONE }),
      (error: unknown) => !abort.signal.aborted && setState((old) => ({ ...old, error: asRefused(error), awaited: false })),
    );
    return () => abort.abort();
  }, [key, round]);
  const came = useCallback((id: string) => {
    const { query, keep, hold } = latest.current;
    void captureNow(id, query, keep).then((wanted) => {
      if (!wanted) return;
      if (hold()) setState((old) => (shows(old, id) ? old : { ...old, newer: new Set(old.newer).add(id) }));
      else again();
    });
  }, []);
  useEffect(
    () => listen(["capture.*"], (event) => follow(event, (change) => setState((old) => changed(old, change)), came), again),
    [],
  );
  const next = state.found?.next;
  const more = () => {
    const shown = state.found;
    if (shown === undefined) return;
    setState((old) => ({ ...old, awaited: true }));
    findCaptures(query, keep, { ...bounds, cursor: next }).then(
      (page) =>
        setState((old) =>
          old.found !== shown ? { ...old, awaited: false } : { ...old, awaited: false, error: undefined, found: joined(shown, page) },
        ),
      (error: unknown) => setState((old) => ({ ...old, awaited: false, error: asRefused(error) })),
    );
  };
  const mine = state.key === key;
  return {
    items: mine ? state.found?.items : undefined,
    looked: mine ? (state.found?.looked ?? 0) : 0,
    error: mine ? state.error : undefined,
    awaited: !mine || state.awaited,
    more: mine && next !== undefined ? more : undefined,
    again,
    newer: state.newer.size,
  };
}

const NONE: ReadonlySet<string> = new Set();

function joined(shown: Found, page: Found): Found {
  return { items: [...shown.items, ...page.items], looked: shown.looked + page.looked, next: page.next };
}

function shows(state: State, id: string): boolean {
  return state.found?.items.some((item) => item.capture === id) === true;
}

type Change = { id: string; deleted: boolean; members: Partial<Capture> };

function changed(state: State, change: Change): State {
  if (state.found === undefined) return state;
  const newer = change.deleted && state.newer.has(change.id) ? new Set([...state.newer].filter((id) => id !== change.id)) : state.newer;
  if (!shows(state, change.id)) return newer === state.newer ? state : { ...state, newer };
  const items = change.deleted
    ? state.found.items.filter((item) => item.capture !== change.id)
    : state.found.items.map((item) => (item.capture === change.id ? { ...item, ...change.members } : item));
  return { ...state, newer, found: { ...state.found, items } };
}

/* What an event changes of a list. */
function follow(event: LiveEvent, patch: (change: Change) => void, came: (id: string) => void): void {
  const id = event["capture"];
  if (typeof id !== "string") return;
  if (event.type === "capture.created") {
    came(id);
    return;
  }
  const members: Partial<Capture> = {};
  for (const name of ["status", "target_counts", "verdict"] as const)
    if (event[name] !== undefined) Object.assign(members, { [name]: event[name] });
  patch({ id, deleted: event.type === "capture.deleted", members });
}

/* Whether a capture that began belongs in a list. */
async function captureNow(id: string, query: Query, keep: (capture: Capture) => boolean): Promise<boolean> {
  try {
    const page = await getListing<Capture>("/captures", { ...query, id, limit: 1 });
    return page.items.some((item) => item.capture === id && keep(item));
  } catch {
    return false; /* the next look at the list has it */
  }
}

export async function captureDelete(id: string): Promise<void> {
  await send("DELETE", `/captures/${part(id)}`);
}

export async function capturePatch(id: string, body: Schemas["CapturePatch"]): Promise<Capture> {
  return send<Capture>("PATCH", `/captures/${part(id)}`, { body });
}
