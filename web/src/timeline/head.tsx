// SPDX-License-Identifier: Apache-2.0
// The lines above the tracks: search with its count, buttons for what keys do, how far reading is, gaps and processes
// that failed.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { TraceProcess } from "../trace/trace";
import { Chip, Copy, Note } from "../ui/parts";
import { shown } from "../ui/text";
import { bytes, count, duration } from "../ui/units";
import type { Actions } from "./actions";
import { told } from "./actions";
import { type Finder, foundWords } from "./find";
import { gapWords, joinGaps } from "./gaps";
import type { Model } from "./model";
import { pointWords, processWords } from "./words";

const SEARCH_MS = 250;

export function Search(props: { model: Model; finder: Finder; field: { current: HTMLInputElement | null } }): JSX.Element {
  const { model, finder } = props;
  const [text, setText] = useState(model.query.value);
  const known = model.query.value;
  useEffect(() => setText(known), [known]);
  useEffect(() => {
    if (text === known) return;
    const timer = setTimeout(() => {
      if (text !== finder.found.peek().text) void finder.search(text); /* Enter was faster */
    }, SEARCH_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const keys = (event: KeyboardEvent): void => {
    if (event.key === "Enter") {
      event.preventDefault();
      const now = props.field.current?.value ?? text;
      const go = now === finder.found.peek().text ? Promise.resolve() : finder.search(now);
      told(model, go.then(() => finder.step(event.shiftKey ? -1 : 1)));
    } else if (event.key === "Escape") document.querySelector<HTMLElement>("[data-timeline-keys]")?.focus();
  };
  const words = foundWords(finder.found.value, finder.at.value);
  return (
    <div class="tl-search" role="search">
      <input
        ref={props.field}
        type="search"
        aria-label="Search events: a name, dur>5ms, an argument like rows>100, thread:worker, host:web-1"
        placeholder="Search: name  dur>5ms  rows>100  thread:worker"
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={keys}
      />
      <span role="status" class={finder.found.value.error === "" ? "tl-quiet" : "tl-wrong"}>
        {shown(words, 200)}
      </span>
    </div>
  );
}

export function Buttons(props: { model: Model; actions: Actions; table: boolean; linked: boolean }): JSX.Element {
  const { model, actions } = props;
  const button = (words: string, label: string, act: () => void, pressed?: boolean): JSX.Element => (
    <button type="button" class="button" title={label} aria-label={/^\w/.test(words) ? `${words}: ${label}` : label} {...(pressed === undefined ? {} : { "aria-pressed": pressed })} onClick={act}>
      {words}
    </button>
  );
  const times = model.timeMode.value === "relative" ? "Relative" : model.timeMode.value === "utc" ? "UTC" : "Local";
  return (
    <div class="tl-buttons" role="group" aria-label="Timeline">
      {button("−", "Zoom out (s)", actions["zoom-out"])}
      {button("+", "Zoom in (w)", actions["zoom-in"])}
      {button("All", "All: the whole time (0)", actions.all)}
      {model.trace.at.value !== null && button("Failure", "Show the failure (.)", actions.failure)}
      {button(times, `${times}: how times are shown (t)`, actions.time)}
      {button("Table", "Events in view as a table (x)", actions.table, props.table)}
      {props.linked && button("Link", "Copy a link with words (l)", actions.link)}
      {button("?", "All keys (?)", actions.help)}
    </div>
  );
}

/* ---- what is read ---- */

function progressWords(model: Model): string {
  const { phase, bytesDone, bytesTotal } = model.trace.state.value;
  const of = `${bytes(bytesDone)} of ${bytes(bytesTotal)}`;
  if (phase === "opening") return "Opening the trace…";
  if (phase === "loading") return `Reading ${of}`;
  if (phase === "stopped") return `Stopped at ${of}`;
  return phase === "failed" ? "Reading failed" : "";
}

/* noticed: what became of the trace stands above; that it is not found needs no saying. */
export function Progress(props: { model: Model; noticed: boolean }): JSX.Element | null {
  const { trace } = props.model;
  const { phase, problem, letGo, rowsBound, bytesDone, bytesTotal } = trace.state.value;
  const words = progressWords(props.model);
  return (
    <>
      {words !== "" && (
        <div class="tl-progress">
          <span {...(phase === "loading" ? {} : { role: "status" })}>{words}</span>
          {phase === "loading" && bytesTotal > 0 && <progress max={bytesTotal} value={bytesDone} aria-label="Read so far" />}
          {phase === "loading" && (
            <button type="button" class="button" onClick={() => trace.stop()}>
              Stop reading
            </button>
          )}
          {(phase === "stopped" || phase === "failed") && (
            <button type="button" class="button" onClick={() => trace.retry()}>
              {phase === "stopped" ? "Read on" : "Try again"}
            </button>
          )}
        </div>
      )}
      {problem !== null && !(props.noticed && (problem.status === 404 || problem.status === 410)) && (
        <Note kind="bad">
          <p>{shown(problem.text, 600)}</p>
          {problem.requestId !== undefined && <Copy text={problem.requestId} label={`request ${problem.requestId}`} />}
        </Note>
      )}
      {coarseWords(trace.length.value) !== "" && (
        <Note>
          <p>{coarseWords(trace.length.value)}</p>
        </Note>
      )}
      {letGo > 0 && (
        <Note kind="warn">
          <p>
            {count(letGo)} {letGo === 1 ? "process was" : "processes were"} let go: a tab keeps {count(rowsBound)} rows at most. What is looked at is
            read again.
          </p>
        </Note>
      )}
    </>
  );
}

/* Times are doubles: of a trace that is longer than 2^53 ns, the last digits are not there. */
export function coarseWords(length: number): string {
  if (length <= Number.MAX_SAFE_INTEGER) return "";
  const step = 2 ** (Math.floor(Math.log2(length)) - 52);
  return `This trace is ${duration(length)} long: its times are shown to ${duration(step)} at best.`;
}

function Failed(props: { model: Model; failed: readonly TraceProcess[] }): JSX.Element {
  return (
    <Note kind="bad">
      <details>
        <summary>
          {count(props.failed.length)} {props.failed.length === 1 ? "process" : "processes"} could not be read{" "}
        </summary>
        <ul>
          {props.failed.map((process) => (
            <li key={process.index}>
              {processWords(process)} on {shown(process.host, 80)}: {shown(process.problem?.text ?? "no reason is known", 400)}
            </li>
          ))}
        </ul>
        <button type="button" class="button" onClick={() => props.model.trace.retry()}>
          Try again
        </button>
      </details>
    </Note>
  );
}

const GAPS_SHOWN = 200;

export function Gaps(props: { model: Model }): JSX.Element | null {
  const { model } = props;
  const gaps = model.trace.gaps.value;
  const failed = model.trace.processes.value.filter((process) => process.loaded === "failed");
  if (gaps.length === 0 && failed.length === 0) return null;
  const joined = joinGaps(gaps);
  const show = (from: number, to: number): void => model.show({ from: from - (to - from), to: to + (to - from) });
  return (
    <>
      {failed.length > 0 && <Failed model={model} failed={failed} />}
      {gaps.length > 0 && (
        <details class="tl-gaps">
          <summary>
            <Chip kind="warn">▒ incomplete: {gapWords(gaps)}</Chip>
          </summary>
          <ul>
            {joined.slice(0, GAPS_SHOWN).map((gap, i) => (
              <li key={i}>
                <button type="button" class="tl-link" onClick={() => show(gap.from, gap.to)}>
                  {duration(gap.to - gap.from)} from {pointWords(gap.from, model.base)}
                </button>
                {gap.process >= 0 && ` of ${processWords(model.process(gap.process))}`}: {shown(gap.parts[0]?.what ?? "", 300)}
                {gap.parts.length > 1 && ` (and ${count(gap.parts.length - 1)} more pieces)`}
              </li>
            ))}
            {gaps
              .filter((gap) => gap.to <= gap.from)
              .slice(0, GAPS_SHOWN)
              .map((gap, i) => (
                <li key={`u${i}`}>{shown(gap.what, 300)} (when is not known)</li>
              ))}
          </ul>
        </details>
      )}
    </>
  );
}
