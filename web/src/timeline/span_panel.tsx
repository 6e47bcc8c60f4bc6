// SPDX-License-Identifier: Apache-2.0
// What a selected span came to: names with counts, own time and percentiles, a flame graph; and what differs between
// it and the span that was marked before.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Json, JsonObject, SpanName, Window } from "../trace/trace";
import { Awaited, Note, Table } from "../ui/parts";
import { shown } from "../ui/text";
import { count, duration, share } from "../ui/units";
import { told } from "./actions";
import { Flame } from "./flame";
import type { Model } from "./model";
import { PanelFrame } from "./panel";
import { selectRef } from "./select";
import { pointWords, processWords } from "./words";
import { type Span, lengthOf } from "./zoom";

const NAMES_MOST = 200;
const CHANGES_MOST = 100;
const RECORDS_TOLD =
  "Counted is what programs recorded: regions that ended here, instants, logs and values of counters. Regions that went on, samples and losses are not; the table of events counts all that touches the time in view.";

interface Made<T> {
  key: string;
  data?: T;
  error?: string;
}

/* Something is read that could be asked about; else the answer would be that there is nothing. */
function isRead(model: Model): boolean {
  const { phase, rows } = model.trace.state.value;
  return phase !== "opening" && (phase !== "loading" || rows > 0);
}

/* Asked again with another key; what was asked before is dropped. "": not yet. */
function useTraced<T>(key: string, ask: () => Promise<T>): Made<T> {
  const [made, setMade] = useState<Made<T>>({ key: "" });
  useEffect(() => {
    let over = false;
    if (key === "") return;
    ask().then(
      (data) => !over && setMade({ key, data }),
      (error: unknown) => !over && setMade({ key, error: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      over = true;
    };
  }, [key]);
  return made.key === key ? made : { key };
}

function Traced<T>(props: { of: Made<T>; what: string; children: (data: T) => JSX.Element }): JSX.Element {
  const { of } = props;
  if (of.error !== undefined) return <Note kind="bad">{shown(of.error, 500)}</Note>;
  return of.data === undefined ? <Awaited what={props.what} lines={3} /> : props.children(of.data);
}

/* ---- names ---- */

function NameRow(props: { model: Model; name: SpanName }): JSX.Element {
  const { name, model } = props;
  const example = name.examples[0];
  const open = (): void => {
    if (example === undefined) return;
    const ask = { process: name.process, tid: example.tid, begin: example.at, length: example.lengthNs, depth: 0 };
    told(model, openExample(model, ask, name.name));
  };
  return (
    <tr>
      <td class="wrap-anywhere">
        {example === undefined ? (
          shown(name.name, 160)
        ) : (
          <button type="button" class="tl-link" title="Show the longest" onClick={open}>
            {shown(name.name, 160)}
          </button>
        )}
        <div class="tl-quiet">{processWords(model.process(name.process))}</div>
      </td>
      <td class="number">{count(name.count)}</td>
      <td class="number">{duration(name.selfNs)}</td>
      <td class="number">{duration(name.totalNs)}</td>
      <td class="number">{duration(name.p50Ns)}</td>
      <td class="number">{duration(name.p99Ns)}</td>
      <td class="number">{duration(name.maxNs)}</td>
      <td class="number">{name.open === 0 ? "" : `${count(name.open)} for ${duration(name.openNs)}`}</td>
    </tr>
  );
}

/* Examples do not tell their depth: the event is looked for by begin and length. */
async function openExample(model: Model, ref: { process: number; tid: number; begin: number; length: number; depth: number }, name: string): Promise<void> {
  const thread = model.threadOf(ref.process, ref.tid);
  const window = { from: ref.begin - 1, to: ref.begin + 1, processes: [ref.process], ...(thread === undefined ? {} : { threads: [thread.index] }) };
  const page = await model.trace.events(window, { order: "length" }, { first: 0, count: 500 });
  for (let i = 0; i < page.begin.length; i++)
    if (Math.abs(page.begin[i]! - ref.begin) < 1 && model.type(page.type[i]!)?.name === name) {
      await selectRef(model, { ...ref, begin: page.begin[i]!, length: page.length[i]!, depth: page.depth[i]! }, { show: true });
      return;
    }
  await selectRef(model, ref, { show: true });
}

function NamesTable(props: { model: Model; names: readonly SpanName[] }): JSX.Element {
  const columns = ["Calls ended", "Own time", "With what is inside", "p50", "p99", "Longest", "Still going on"];
  if (props.names.length === 0) return <p>No region ended or was going on in this span.</p>;
  return (
    <>
      <Table
        caption="Regions of the span, the most own time first"
        head={
          <>
            <th scope="col">Region</th>
            {columns.map((column) => (
              <th key={column} scope="col" class="number">
                {column}
              </th>
            ))}
          </>
        }
      >
        {props.names.slice(0, NAMES_MOST).map((name) => (
          <NameRow key={`${name.process} ${name.group} ${name.name}`} model={props.model} name={name} />
        ))}
      </Table>
      {props.names.length > NAMES_MOST && <p class="tl-quiet">{count(props.names.length - NAMES_MOST)} more names are not shown.</p>}
    </>
  );
}

function Missing(props: { missing: readonly string[] }): JSX.Element | null {
  if (props.missing.length === 0) return null;
  return (
    <Note kind="warn">
      <ul>
        {props.missing.map((one) => (
          <li key={one}>{shown(one, 300)}</li>
        ))}
      </ul>
    </Note>
  );
}

type Tab = "names" | "samples" | "waits";
const TABS: readonly (readonly [Tab, string])[] = [
  ["names", "Regions"],
  ["samples", "What ran (CPU samples)"],
  ["waits", "Where it waited (stacks)"],
];

function NamesTab(props: { model: Model; window: Window; of: string }): JSX.Element {
  const made = useTraced(props.of === "" ? "" : `span ${props.of}`, () => props.model.trace.span(props.window));
  return (
    <Traced of={made} what="the figures of the span">
      {(stats) => (
        <>
          <Missing missing={stats.missing} />
          <p class="tl-quiet">
            {count(stats.events)} {stats.events === 1 ? "record" : "records"} in this span. {RECORDS_TOLD}
          </p>
          <NamesTable model={props.model} names={stats.names} />
        </>
      )}
    </Traced>
  );
}

function FlameTab(props: { model: Model; window: Window; of: string; what: "samples" | "waits" }): JSX.Element {
  const made = useTraced(props.of === "" ? "" : `${props.what} ${props.of}`, () => props.model.trace.flame(props.window, props.what));
  return (
    <Traced of={made} what="the stacks of the span">
      {(root) => <Flame root={root} of={props.what} />}
    </Traced>
  );
}

/* The processes that are read; one of them can be looked at alone. */
function Only(props: { model: Model; process: number; set: (process: number) => void }): JSX.Element | null {
  const there = props.model.trace.processes.value.filter((one) => one.loaded === "whole" || one.loaded === "around");
  if (there.length < 2) return null;
  return (
    <label class="tl-only">
      of{" "}
      <select value={String(props.process)} onChange={(event) => props.set(Number(event.currentTarget.value))}>
        <option value="-1">all processes that are read</option>
        {there.map((one) => (
          <option key={one.index} value={String(one.index)}>
            {processWords(one)} {shown(one.host, 60)}
          </option>
        ))}
      </select>
    </label>
  );
}

function SpanBody(props: { model: Model; span: Span }): JSX.Element {
  const { model, span } = props;
  const [tab, setTab] = useState<Tab>("names");
  const [process, setProcess] = useState(-1);
  const window: Window = process >= 0 ? { ...span, processes: [process] } : span;
  const of = isRead(model) ? `${span.from} ${span.to} ${process} ${model.trace.state.value.generation}` : "";
  return (
    <>
      <div class="buttons" role="group" aria-label="What is told of the span">
        {TABS.map(([name, words]) => (
          <button key={name} type="button" class={`button ${tab === name ? "first" : ""}`} aria-pressed={tab === name} onClick={() => setTab(name)}>
            {words}
          </button>
        ))}
        <Only model={model} process={process} set={setProcess} />
      </div>
      {tab === "names" ? <NamesTab model={model} window={window} of={of} /> : <FlameTab key={tab} model={model} window={window} of={of} what={tab} />}
    </>
  );
}

export function SpanPanel(props: { model: Model }): JSX.Element | null {
  const { model } = props;
  const span = model.span.value;
  if (span === null) return null;
  const buttons = (
    <>
      <button type="button" class="button" onClick={() => model.fit()}>
        Fit
      </button>
      <button type="button" class="button" onClick={() => model.mark()}>
        Mark
      </button>
      {model.marked.value !== null && (
        <button type="button" class="button" onClick={() => model.compare()}>
          Compare with the marked one
        </button>
      )}
    </>
  );
  return (
    <PanelFrame title={`Span of ${duration(lengthOf(span))} from ${pointWords(span.from, model.base)}`} buttons={buttons} close={() => model.selectSpan(null)}>
      <SpanBody model={model} span={span} />
    </PanelFrame>
  );
}

/* ---- compared ---- */

function object(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
function text(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}
function numberOf(value: Json | undefined): number {
  return typeof value === "number" ? value : 0;
}
function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function ChangeRow(props: { change: JsonObject }): JSX.Element {
  const { change } = props;
  const sides = [object(change["before"]), object(change["after"])];
  const counter = change["kind"] === "counter";
  return (
    <tr>
      <td class="wrap-anywhere">
        {shown(text(change["words"]), 600)}
        <div class="tl-quiet">{change["sure"] === true ? "sure" : "may be chance"}</div>
      </td>
      {sides.map((side, i) => (
        <td key={i} class="number">
          {counter ? numberOf(side["mean"]).toLocaleString("en-US", { maximumFractionDigits: 2 }) : `${share(numberOf(side["busy"]))} busy`}
        </td>
      ))}
      {sides.map((side, i) => (
        <td key={i} class="number">
          {counter || numberOf(side["max_ns"]) === 0 ? "–" : duration(numberOf(side["max_ns"]))}
        </td>
      ))}
    </tr>
  );
}

function Changes(props: { document: JsonObject }): JSX.Element {
  const changes = list(props.document["changes"]);
  const notes = list(props.document["notes"]).map((note) => text(note)).filter((note) => note !== "");
  return (
    <>
      <p>
        <strong>{shown(text(props.document["outcome_words"]), 600)}</strong>
      </p>
      <Missing missing={notes} />
      {changes.length > 0 && (
        <Table
          caption="What differs, the largest first"
          head={["What differs", "Marked", "Selected", "Longest marked", "Longest selected"].map((column, i) => (
            <th key={column} scope="col" class={i > 0 ? "number" : ""}>
              {column}
            </th>
          ))}
        >
          {changes.slice(0, CHANGES_MOST).map((change, i) => (
            <ChangeRow key={i} change={object(change)} />
          ))}
        </Table>
      )}
      {changes.length > CHANGES_MOST && <p class="tl-quiet">{count(changes.length - CHANGES_MOST)} more changes are not shown.</p>}
    </>
  );
}

export function ComparePanel(props: { model: Model }): JSX.Element | null {
  const { model } = props;
  const [span, marked] = [model.span.value, model.marked.value];
  const key = span === null || marked === null || !isRead(model) ? "" : `${marked.from} ${marked.to} ${span.from} ${span.to} ${model.trace.state.value.generation}`;
  const made = useTraced<JsonObject>(key, () => (span === null || marked === null ? Promise.resolve({}) : model.trace.diff(marked, span)));
  if (span === null || marked === null) return null;
  const title = `${duration(lengthOf(span))} from ${pointWords(span.from, model.base)} beside the marked ${duration(lengthOf(marked))} from ${pointWords(marked.from, model.base)}`;
  return (
    <PanelFrame title={title} close={() => (model.panel.value = "span")}>
      <Traced of={made} what="what differs">
        {(document) => <Changes document={document} />}
      </Traced>
    </PanelFrame>
  );
}
