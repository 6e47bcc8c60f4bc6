// SPDX-License-Identifier: Apache-2.0
// What is selected: an event with its length among others of its name, source line, arguments, what is around and
// inside of it, and its frames. All of it is text of programs, shown as text.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { EventDetails, EventRef, SpanName } from "../trace/trace";
import { Facts, Fact, Text } from "../ui/parts";
import { shown } from "../ui/text";
import { count, duration } from "../ui/units";
import { told } from "./actions";
import { useFocusBack } from "./focus";
import type { Model } from "./model";
import { nameStats, selectOutlier, selectRef } from "./select";
import { isSample, nameWords, pointWords, processWords, ranWords, threadWords, valueWords } from "./words";

const CHILDREN_SHOWN = 12;
const FRAMES_SHOWN = 64;

function useNameStats(model: Model, details: EventDetails | null): SpanName | undefined {
  const [of, setOf] = useState<{ key: string; stats: SpanName | undefined }>({ key: "", stats: undefined });
  const { generation } = model.trace.state.value;
  const key = details === null || details.type < 0 || isSample(details) ? "" : `${details.ref.process} ${generation} ${details.name}`;
  useEffect(() => {
    if (details === null || key === "") return;
    let over = false;
    nameStats(model, details.ref.process, details.name).then(
      (stats) => !over && setOf({ key, stats }),
      () => undefined,
    );
    return () => {
      over = true;
    };
  }, [key]);
  return of.key === key ? of.stats : undefined;
}

function Among(props: { stats: SpanName; length: number; model: Model }): JSX.Element {
  const { stats, length, model } = props;
  const longest = length >= stats.maxNs * 0.999999;
  return (
    <>
      <Fact name="Others of its name">
        p50 {duration(stats.p50Ns)} · p99 {duration(stats.p99Ns)} · longest {duration(stats.maxNs)} of {count(stats.count)} in this process, as far as it
        is read
        {longest ? "; this is the longest" : length > stats.p99Ns ? "; this is above p99" : ""}
        {stats.count < 200 && " (few)"}
        <div class="buttons">
          <button type="button" class="button" onClick={() => told(model, selectOutlier(model, -1))}>
            ← outlier
          </button>
          <button type="button" class="button" onClick={() => told(model, selectOutlier(model, 1))}>
            outlier →
          </button>
        </div>
      </Fact>
    </>
  );
}

function Steps(props: { model: Model; list: readonly { ref: EventRef; name: string }[] }): JSX.Element {
  return (
    <ol class="tl-steps">
      {props.list.map((step, i) => (
        <li key={i}>
          <button type="button" class="tl-link" onClick={() => told(props.model, selectRef(props.model, step.ref, { show: true }))}>
            {shown(step.name, 120)}
          </button>{" "}
          {duration(step.ref.length)}
        </li>
      ))}
    </ol>
  );
}

function Notes(props: { details: EventDetails }): JSX.Element | null {
  const { details } = props;
  const notes: string[] = [];
  if (details.kind === "open") notes.push("It was still going on at the end of the record.");
  if (details.beginClipped) notes.push("It began before the record: it is longer than is said.");
  if (details.endClipped) notes.push("It ended after the record: it is longer than is said.");
  if (details.fixedUp) notes.push("Its time was raised, so that it is not before its cause.");
  if (isSample(details)) notes.push("The agent looks many times a second who is on each CPU: this thread was, at this moment. It stands for as much time as its weight says, where it has one.");
  else if (details.evidence) notes.push("The agent told of it, and not the program.");
  if (isSample(details) && details.frames.length === 0) notes.push("No stack was had of it.");
  if (details.loss !== null)
    notes.push(`Records were lost here: ${shown(details.loss.reason)}${details.loss.records > 0 ? `, ${count(details.loss.records)} of them` : ", nobody knows how many"}.`);
  return notes.length === 0 ? null : (
    <ul>
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}

function Frames(props: { details: EventDetails }): JSX.Element | null {
  const { frames, framesLeftOut, stackEnd } = props.details;
  if (frames.length === 0) return null;
  const left = framesLeftOut + Math.max(0, frames.length - FRAMES_SHOWN);
  return (
    <section>
      <h3>Stack of its thread</h3>
      <ol class="tl-steps mono">
        {frames.slice(0, FRAMES_SHOWN).map((frame, i) => (
          <li key={i}>
            <Text text={frame.function === "" ? frame.address : frame.function} most={300} />
            {frame.file !== "" && (
              <span class="tl-quiet">
                {" "}
                {shown(frame.file, 200)}:{frame.line}
              </span>
            )}
            {frame.file === "" && frame.module !== "" && <span class="tl-quiet"> {shown(frame.module, 200)}</span>}
            {frame.inlined && <span class="tl-quiet"> (inlined)</span>}
          </li>
        ))}
      </ol>
      {left > 0 && <p class="tl-quiet">{count(left)} more frames are not shown.</p>}
      {stackEnd !== "" && <p class="tl-quiet">The walk: {shown(stackEnd, 200)}.</p>}
    </section>
  );
}

function Args(props: { details: EventDetails }): JSX.Element | null {
  const { args } = props.details;
  if (args.length === 0) return null;
  return (
    <section>
      <h3>Arguments</h3>
      <Facts>
        {args.map((arg, i) => (
          <Fact key={i} name={shown(arg.name, 80)}>
            <span class="mono wrap-anywhere">{valueWords(arg.value, arg.unit, arg.pointer)}</span>
            {arg.cut && <span class="tl-quiet"> (cut: the program wrote more)</span>}
          </Fact>
        ))}
      </Facts>
    </section>
  );
}

function Nested(props: { model: Model; title: string; list: readonly { ref: EventRef; name: string }[]; most: number }): JSX.Element | null {
  const { list, most } = props;
  if (list.length === 0) return null;
  return (
    <section>
      <h3>{props.title}</h3>
      <Steps model={props.model} list={list.slice(0, most)} />
      {list.length > most && <p class="tl-quiet">{count(list.length - most)} more; ↓ goes into them.</p>}
    </section>
  );
}

function Event(props: { model: Model; details: EventDetails }): JSX.Element {
  const { model, details } = props;
  const stats = useNameStats(model, details);
  const process = model.process(details.ref.process);
  return (
    <div class="tl-event">
      <section>
        <Facts>
          {details.ref.length > 0 && <Fact name="Length">{duration(details.ref.length)}</Fact>}
          {stats !== undefined && details.ref.length > 0 && <Among model={model} stats={stats} length={details.ref.length} />}
          {isSample(details) && details.frames.length > 0 && <Fact name="Ran">{ranWords(details)}</Fact>}
          <Fact name={isSample(details) ? "Seen at" : "Began at"}>{pointWords(details.ref.begin, model.base)}</Fact>
          <Fact name="In">
            {threadWords(model.thread(details.thread))} of {processWords(process)}
            {process?.host !== "" && ` on ${shown(process?.host ?? "?", 80)}`}
          </Fact>
          {details.file !== "" && (
            <Fact name="Source">
              <code>
                {shown(details.file, 300)}
                {details.line > 0 ? `:${details.line}` : ""}
              </code>
            </Fact>
          )}
        </Facts>
        <Notes details={details} />
      </section>
      <Args details={details} />
      <Nested model={model} title="Around it" list={details.enclosing} most={64} />
      <Nested model={model} title="Inside of it, the longest first" list={details.inside} most={CHILDREN_SHOWN} />
      <Frames details={details} />
    </div>
  );
}

export function PanelFrame(props: { title: string; buttons?: ComponentChildren; close: () => void; children: ComponentChildren }): JSX.Element {
  const panel = useFocusBack<HTMLElement>();
  return (
    <section class="tl-panel" ref={panel} aria-label="Selection">
      <div class="tl-panel-head">
        <h2>{props.title}</h2>
        <span class="spacer" />
        {props.buttons}
        <button type="button" class="button" onClick={props.close}>
          Close
        </button>
      </div>
      <div class="tl-panel-body" tabIndex={0} role="region" aria-label="Details">
        {props.children}
      </div>
    </section>
  );
}

export function EventPanel(props: { model: Model; copyLink: (() => void) | undefined }): JSX.Element | null {
  const { model } = props;
  const selected = model.selected.value;
  if (selected === null) return null;
  const { details } = selected;
  const title = details === null ? "Selected" : details.loss === null ? `${nameWords(details, 160)}${details.ref.length > 0 ? ` ${duration(details.ref.length)}` : ""}` : "Lost records";
  const buttons = (
    <>
      <button type="button" class="button" onClick={() => model.fit()}>
        Fit
      </button>
      {props.copyLink !== undefined && (
        <button type="button" class="button" onClick={props.copyLink}>
          Copy link
        </button>
      )}
    </>
  );
  return (
    <PanelFrame title={title} buttons={buttons} close={() => model.unselect()}>
      {selected.state === "asked" && <p role="status">Reading it…</p>}
      {selected.state === "missing" && <Missing model={model} />}
      {details !== null && <Event model={model} details={details} />}
    </PanelFrame>
  );
}

function Missing(props: { model: Model }): JSX.Element {
  const process = props.model.process(props.model.selected.value?.ref.process ?? -1);
  const there = process?.loaded === "whole";
  return (
    <p role="status">
      {there ? "There is no such event in what is stored: it may lie in a part that is lost or was not captured." : "Its process is not read yet; it is shown as soon as it is."}
    </p>
  );
}
