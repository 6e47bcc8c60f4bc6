// SPDX-License-Identifier: Apache-2.0
// Answers as states of a page: awaited, there, refused; asked again without taking away what is shown.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Listing, type Query, Refused, get, getListing } from "./client";

export interface Answer<T> {
  data: T | undefined; /* the last one, also while it is asked again or was refused */
  error: Refused | undefined;
  awaited: boolean;
  since: number; /* when it was asked, ms */
  again: () => void;
}

export function asRefused(error: unknown): Refused {
  return error instanceof Refused ? error : new Refused(0, error instanceof Error ? error.message : String(error));
}

/* Runs `make` when `key` changes, and when asked again; what a newer run has overtaken is dropped. key undefined: not
 * yet. every: again after so many ms, while the tab is visible; 0: never. */
export function useMade<T>(key: string | undefined, make: (signal: AbortSignal) => Promise<T>, every = 0): Answer<T> {
  const [state, setState] = useState<{ key?: string; data?: T; error?: Refused; awaited: boolean; since: number }>({
    awaited: true,
    since: Date.now(),
  });
  const [round, setRound] = useState(0);
  const latest = useRef(make);
  latest.current = make;
  useEffect(() => {
    if (key === undefined) return;
    const abort = new AbortController();
    setState((old) => ({ ...(old.key === key ? old : {}), key, awaited: true, since: Date.now() }));
    latest.current(abort.signal).then(
      (data) => !abort.signal.aborted && setState({ key, data, awaited: false, since: Date.now() }),
      (error: unknown) =>
        !abort.signal.aborted &&
        setState((old) => ({ ...old, key, error: asRefused(error), awaited: false, since: Date.now() })),
    );
    return () => abort.abort();
  }, [key, round]);
  const again = useCallback(() => setRound((n) => n + 1), []);
  useEffect(() => {
    if (every === 0) return;
    const timer = setInterval(() => document.visibilityState === "visible" && again(), every);
    return () => clearInterval(timer);
  }, [every, again]);
  const mine = state.key === key;
  return {
    data: mine ? state.data : undefined,
    error: mine ? state.error : undefined,
    awaited: !mine || state.awaited,
    since: state.since,
    again,
  };
}

/* GET path?query. path undefined: not yet. */
export function useAsk<T>(path: string | undefined, query: Query = {}, every = 0): Answer<T> {
  const key = path === undefined ? undefined : `${path} ${JSON.stringify(query)}`;
  return useMade<T>(key, (signal) => get<T>(path ?? "", query, signal), every);
}

/* GET path?query, the first page of a listing. */
export function usePage<T>(path: string | undefined, query: Query = {}, every = 0): Answer<Listing<T>> {
  const key = path === undefined ? undefined : `${path} ${JSON.stringify(query)}`;
  return useMade<Listing<T>>(key, (signal) => getListing<T>(path ?? "", query, signal), every);
}

export interface Pages<T> extends Answer<T[]> {
  more: (() => void) | undefined; /* asks for the next page; undefined: there is none */
}

/* A listing, page by page; what is there already stays. */
export function useListing<T>(path: string | undefined, query: Query = {}, every = 0): Pages<T> {
  const first = usePage<T>(path, query, every);
  const [rest, setRest] = useState<{ of: Listing<T> | undefined; items: T[]; next: string | undefined }>();
  const [error, setError] = useState<Refused>();
  const mine = rest !== undefined && rest.of === first.data ? rest : undefined;
  const next = mine === undefined ? first.data?.next_cursor : mine.next;
  const more = () => {
    if (path === undefined || next === undefined) return;
    setError(undefined);
    getListing<T>(path, { ...query, cursor: next }).then(
      (page) =>
        setRest({ of: first.data, items: [...(mine?.items ?? []), ...page.items], next: page.next_cursor }),
      (refused: unknown) => setError(asRefused(refused)),
    );
  };
  return {
    ...first,
    error: error ?? first.error,
    data: first.data === undefined ? undefined : [...first.data.items, ...(mine?.items ?? [])],
    more: next === undefined ? undefined : more,
  };
}
