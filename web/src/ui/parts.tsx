// SPDX-License-Identifier: Apache-2.0
// What pages are put together from: headings, states of an answer, tables, facts, chips, times, things to copy.
import { Component, type ComponentChildren, type JSX, type RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import type { Answer } from "../api/ask";
import type { Refused } from "../api/client";
import { shown } from "./text";
import { ago, clock } from "./units";

/* A page's heading; also the tab's title. */
export function Heading(props: { title: string; children?: ComponentChildren }): JSX.Element {
  const title = shown(props.title, 200);
  useEffect(() => {
    document.title = `${title} · Skein`;
  }, [title]);
  return (
    <div class="buttons">
      <h1 class="heading" tabIndex={-1}>
        {title}
      </h1>
      <div class="heading-side">{props.children}</div>
    </div>
  );
}

/* ---- states of an answer ---- */

/* What was refused, why, and what to do. */
export function Failure(props: { error: Refused; again?: (() => void) | undefined; what?: string }): JSX.Element {
  const { error } = props;
  return (
    <div class="note bad" role="alert">
      <p>
        <strong>{props.what ?? "This could not be read"}.</strong> {shown(error.message, 1000)}
        {error.field !== undefined && (
          <>
            {" "}
            (field <code>{shown(error.field)}</code>)
          </>
        )}
      </p>
      <div class="buttons">
        {props.again !== undefined && (
          <button type="button" class="button" onClick={props.again}>
            Try again
          </button>
        )}
        {error.requestId !== undefined && <Copy text={error.requestId} label={`request ${error.requestId}`} />}
      </div>
    </div>
  );
}

/* Lines of the final size. After 300 ms it says what is awaited; after 10 s it offers to try again. */
export function Awaited(props: { what: string; lines?: number; again?: (() => void) | undefined }): JSX.Element {
  const [step, setStep] = useState(0);
  useEffect(() => {
    const timers = [setTimeout(() => setStep(1), 300), setTimeout(() => setStep(2), 10_000)];
    return () => timers.forEach(clearTimeout);
  }, []);
  return (
    <div aria-busy="true">
      <p class="awaited" role="status">
        {step > 0 ? `Waiting for ${props.what}…` : ""}{" "}
        {step > 1 && props.again !== undefined && (
          <button type="button" class="button" onClick={props.again}>
            Try again
          </button>
        )}
      </p>
      {Array.from({ length: props.lines ?? 4 }, (_, i) => (
        <div key={i} class="skeleton skeleton-line" />
      ))}
    </div>
  );
}

function Drawn(props: { of: unknown; draw: (data: unknown) => ComponentChildren }): JSX.Element {
  return <>{props.draw(props.of)}</>;
}

/* An answer that lacks what a page needs breaks its own part of the page, until the next one comes. title: of the page,
 * where it is all of it. */
export class Caught extends Component<{ of: unknown; what: string; again: () => void; title?: string; children: ComponentChildren }, { broke?: true | undefined }> {
  private pressed = false; /* Try again, which goes away with the focus */
  static override getDerivedStateFromError(): { broke: true } {
    return { broke: true };
  }
  override componentDidUpdate(before: { of: unknown }): void {
    if (before.of !== this.props.of && this.state.broke !== undefined) this.setState({ broke: undefined });
    else if (this.pressed && this.state.broke === undefined) {
      this.pressed = false;
      document.querySelector<HTMLElement>("h1.heading")?.focus();
    }
  }
  private readonly press = (): void => {
    this.pressed = true;
    this.props.again();
  };
  override render(): ComponentChildren {
    if (this.state.broke === undefined) return this.props.children;
    return (
      <>
        {this.props.title !== undefined && <Heading title={this.props.title} />}
        <div class="note bad" role="alert">
          <p>
            <strong>Could not show {this.props.what}.</strong> The collector's answer lacks what this page needs. Is it a collector of another version?
          </p>
          <button type="button" class="button" onClick={this.press}>
            Try again
          </button>
        </div>
      </>
    );
  }
}

/* The answer where it is there; else why not. A refusal of a later question stands above what is there. */
export function Shown<T>(props: {
  of: Answer<T>;
  what: string;
  lines?: number;
  children: (data: T) => ComponentChildren;
}): JSX.Element {
  const { of, what } = props;
  if (of.data === undefined && of.error === undefined)
    return <Awaited what={what} again={of.again} {...(props.lines === undefined ? {} : { lines: props.lines })} />;
  return (
    <>
      {of.error !== undefined && <Failure error={of.error} again={of.again} what={`Could not read ${what}`} />}
      {of.data !== undefined && (
        <Caught of={of.data} what={what} again={of.again}>
          <Drawn of={of.data} draw={props.children as (data: unknown) => ComponentChildren} />
        </Caught>
      )}
    </>
  );
}

/* Nothing is there: what it would be, and how one gets it. */
export function Empty(props: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="card empty">
      <h3>{shown(props.title, 300)}</h3>
      {props.children}
    </div>
  );
}

export function Note(props: { kind?: "info" | "warn" | "bad"; children: ComponentChildren }): JSX.Element {
  return <div class={`note ${props.kind ?? ""}`}>{props.children}</div>;
}

/* ---- text ---- */

/* Hostile text. Never put a value of a trace, label or rule into a page in another way. */
export function Text(props: { text: string; most?: number }): JSX.Element {
  return <span class="wrap-anywhere">{shown(props.text, props.most)}</span>;
}

export function Chip(props: { kind?: "ok" | "warn" | "bad"; children: ComponentChildren; title?: string }): JSX.Element {
  return (
    <span class={`chip ${props.kind ?? ""}`} title={props.title === undefined ? undefined : shown(props.title)}>
      {props.children}
    </span>
  );
}

/* A point in time, "06:14:02 UTC (3 min ago)"; `short`: "3 min ago"; `clockOnly`: "06:14:02 UTC". It keeps its age
 * while it stands. */
const now = signal(Date.now());
let ticking: ReturnType<typeof setInterval> | undefined; /* from the first time that is shown */
export function Time(props: { at: string | number; short?: boolean; clockOnly?: boolean }): JSX.Element {
  ticking ??= setInterval(() => (now.value = Date.now()), 10_000);
  const whole = clock(props.at);
  const age = ago(props.at, Math.max(now.value, Date.now()));
  const machine = typeof props.at === "string" ? props.at : new Date(props.at).toISOString();
  return (
    <time dateTime={machine} title={`${whole} · ${machine}`}>
      {props.clockOnly === true ? clock(props.at, false) : props.short === true ? age : `${whole} (${age})`}
    </time>
  );
}

export function Copy(props: { text: string; label?: string }): JSX.Element {
  const [done, setDone] = useState("");
  const copy = () => {
    navigator.clipboard.writeText(props.text).then(
      () => setDone("copied"),
      () => setDone("the browser refused; select and copy it by hand"),
    );
  };
  return (
    <span>
      <button type="button" class="button" onClick={copy}>
        Copy {shown(props.label ?? "", 80)}
      </button>{" "}
      <span role="status">{done}</span>
    </span>
  );
}

/* A line for a terminal inside of a sentence: it is broken between its words alone, never within "--name". */
export function Line(props: { text: string }): JSX.Element {
  return (
    <code class="words-whole">
      {props.text.split(" ").map((word, i) => [i > 0 && " ", <span key={i}>{word}</span>])}
    </code>
  );
}

/* A line for a terminal, to be copied. */
export function Command(props: { text: string }): JSX.Element {
  return (
    <div class="command">
      <pre>{props.text}</pre>
      <Copy text={props.text} />
    </div>
  );
}

/* ---- tables ---- */

/* A table that scrolls by itself where it is wider than the page. caption: what it holds, for who does not see it. */
export function Table(props: { caption: string; head: ComponentChildren; children: ComponentChildren; seen?: boolean; place?: RefObject<HTMLDivElement | null> }): JSX.Element {
  return (
    <div class="table-wrap" ref={props.place ?? null} role="region" aria-label={shown(props.caption, 300)} tabIndex={0}>
      <table>
        <caption class={props.seen === true ? "" : "visually-hidden"}>{shown(props.caption, 300)}</caption>
        <thead>
          <tr>{props.head}</tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
    </div>
  );
}

/* Names and values. */
export function Facts(props: { children: ComponentChildren }): JSX.Element {
  return <dl class="facts">{props.children}</dl>;
}
export function Fact(props: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </>
  );
}

/* Comes where a button that was pressed has gone, and takes the focus that it had. */
export function Landing(props: { label: string; children: ComponentChildren }): JSX.Element {
  const place = useRef<HTMLElement>(null);
  useEffect(() => place.current?.focus(), []);
  return (
    <section ref={place} tabIndex={-1} aria-label={props.label}>
      {props.children}
    </section>
  );
}

/* A share of a whole as a bar, with words for who does not see it. */
export function Bar(props: { share: number; words: string }): JSX.Element {
  return (
    <span class="bar" role="img" aria-label={shown(props.words, 300)}>
      <span style={{ width: `${Math.max(0, Math.min(1, props.share)) * 100}%` }} />
    </span>
  );
}

/* The next page of a listing. */
export function More(props: { more: (() => void) | undefined }): JSX.Element | null {
  if (props.more === undefined) return null;
  return (
    <button type="button" class="button" onClick={props.more}>
      Show more
    </button>
  );
}

/* ---- what was done ---- */

const toastText = signal("");
let toastTimer: ReturnType<typeof setTimeout> | undefined;
export function toast(text: string): void {
  toastText.value = shown(text, 400);
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => (toastText.value = ""), 6000);
}
export function Toast(): JSX.Element {
  return (
    <div role="status" aria-live="polite">
      {toastText.value !== "" && <div class="toast">{toastText.value}</div>}
    </div>
  );
}
