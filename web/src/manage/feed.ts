// SPDX-License-Identifier: Apache-2.0
// The live page's events: heard as they come, shown at most once a frame, bounded in number and in bytes an event, so
// that a tab that is left open does not grow.
import { useEffect, useRef, useState } from "preact/hooks";
import { type LiveEvent, listen } from "../api/live";
import { eventLink, eventWords } from "./live-words";
import { Recent } from "./recent";

export const KEPT = 500;
const WORDS = 600;

export interface FeedRow {
  id: number;
  type: string;
  time: string;
  words: string;
  link: { to: string; words: string } | undefined;
}

let numbers = 0;

/* What is kept of an event: its sentence, cut; not its members. */
export function feedRow(event: LiveEvent): FeedRow {
  const words = eventWords(event);
  const cut = words.length > WORDS ? `${words.slice(0, WORDS)}… (${words.length - WORDS} more)` : words;
  return { id: ++numbers, type: event.type, time: event.time, words: cut, link: eventLink(event) };
}

export interface Feed {
  rows: readonly FeedRow[]; /* the newest first */
  waiting: number; /* that came while paused */
  dropped: number; /* older ones that were let go */
  gaps: number;
  clear: () => void;
}

export function useFeed(types: readonly string[], selector: string | undefined, paused: boolean): Feed {
  const recent = useRef(new Recent<FeedRow>(KEPT));
  const came = useRef(0);
  const gaps = useRef(0);
  const pausedNow = useRef(paused);
  pausedNow.current = paused;
  const [shown, setShown] = useState<{ rows: FeedRow[]; came: number; dropped: number }>({ rows: [], came: 0, dropped: 0 });
  const [waiting, setWaiting] = useState(0);
  const key = types.join(",");
  const of = useRef<string | undefined>(undefined);
  const clear = () => {
    recent.current.clear();
    setShown({ rows: [], came: came.current, dropped: 0 });
  };
  useEffect(() => {
    if (selector === undefined) return;
    if (of.current !== selector) clear();
    of.current = selector;
    let frame = 0;
    const show = () => {
      frame = 0;
      if (pausedNow.current) setWaiting((_) => came.current);
      else setShown({ rows: recent.current.newest(), came: came.current, dropped: recent.current.dropped });
    };
    const soon = () => {
      if (frame === 0) frame = requestAnimationFrame(show);
    };
    const told = (event: LiveEvent) => {
      recent.current.add(feedRow(event));
      came.current++;
      soon();
    };
    const missed = () => {
      gaps.current++;
      soon();
    };
    const end = types.length === 0 ? () => undefined : listen(types, told, missed, selector);
    return () => {
      end();
      cancelAnimationFrame(frame);
    };
  }, [key, selector]);
  useEffect(() => {
    if (!paused) setShown({ rows: recent.current.newest(), came: came.current, dropped: recent.current.dropped });
  }, [paused]);
  return { rows: shown.rows.filter((row) => types.includes(row.type)), waiting: paused ? Math.max(0, Math.max(waiting, came.current) - shown.came) : 0, dropped: shown.dropped, gaps: gaps.current, clear };
}
