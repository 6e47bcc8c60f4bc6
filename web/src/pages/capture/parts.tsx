// SPDX-License-Identifier: Apache-2.0
// What the capture's parts share: a part that is opened when it is wanted, a table that shows its first rows, an answer
// of SQL with what it left out.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Answer, useMade } from "../../api/ask";
import type { Capture } from "../../ui/capture_words";
import { Note, Shown } from "../../ui/parts";
import { count } from "../../ui/units";
import { type Rows, askSql } from "./ask_sql";

/* A part of the page. Its content is made when it is first open; an address that ends with its id opens it. */
export function Part(props: { id: string; title: string; open?: boolean; about?: string; children: () => ComponentChildren }): JSX.Element {
  const [wanted, setWanted] = useState(props.open === true);
  const part = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const named = () => {
      if (location.hash !== `#${props.id}` || part.current === null) return;
      part.current.open = true; /* its toggle makes the content */
      part.current.scrollIntoView();
    };
    /* Also a link to where the address is already. */
    const clicked = (event: MouseEvent) => {
      if (event.target instanceof Element && event.target.closest("a")?.hash === `#${props.id}`) setTimeout(named);
    };
    named();
    addEventListener("hashchange", named);
    addEventListener("click", clicked);
    return () => {
      removeEventListener("hashchange", named);
      removeEventListener("click", clicked);
    };
  }, [props.id]);
  return (
    <details ref={part} class="part" id={props.id} open={wanted} onToggle={(event) => event.currentTarget.open && setWanted(true)}>
      <summary>
        <h2>{props.title}</h2>
        {props.about !== undefined && <span class="quiet"> {props.about}</span>}
      </summary>
      {wanted && <div>{props.children()}</div>}
    </details>
  );
}

/* The first `first` of some rows, and a button for all. */
export function useFirst<T>(all: readonly T[], first: number): { rows: readonly T[]; more: JSX.Element | null } {
  const [whole, setWhole] = useState(false);
  const left = all.length - first;
  const more =
    whole || left <= 0 ? null : (
      <p>
        <button type="button" class="button" onClick={() => setWhole(true)}>
          Show {count(left)} more
        </button>
      </p>
    );
  return { rows: whole ? all : all.slice(0, first), more };
}

/* An answer that stays while the capture does; `of` tells what of it is meant. */
export function useSql(capture: Capture, query: string | undefined): Answer<Rows> {
  const key = query === undefined ? undefined : `${capture.capture} ${capture.status} ${query}`;
  return useMade(key, (signal) => askSql(capture.capture, query ?? "", signal));
}

export function SqlShown(props: { of: Answer<Rows>; what: string; children: (rows: Rows) => ComponentChildren }): JSX.Element {
  return (
    <Shown of={props.of} what={props.what}>
      {(rows) => (
        <>
          {props.children(rows)}
          <LeftOut rows={rows} />
        </>
      )}
    </Shown>
  );
}

export function LeftOut(props: { rows: Rows }): JSX.Element | null {
  const { rows, more, gaps } = props.rows;
  if (!more && gaps === 0) return null;
  return (
    <Note kind="warn">
      {more && <p>The collector gave the first {count(rows.length)} rows; further ones are left out. The timeline has all.</p>}
      {gaps > 0 && <p>{gaps === 1 ? "1 part" : `${count(gaps)} parts`} of the capture could not be read, and is left out.</p>}
    </Note>
  );
}
