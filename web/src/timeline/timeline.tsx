// SPDX-License-Identifier: Apache-2.0
// The timeline of a trace: overview, tracks, what is selected, and the same as a table. Shared by the page of a capture
// and the page that opens a file; whoever opens the trace closes it.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { Trace } from "../trace/trace";
import { Heading, toast } from "../ui/parts";
import { shown } from "../ui/text";
import { type Actions, actionsOf, takesKeys } from "./actions";
import { TracksCanvas } from "./canvas";
import type { Density } from "./density";
import { Finder } from "./find";
import { follow } from "./follow";
import { Buttons, Gaps, Progress, Search } from "./head";
import { Help } from "./help";
import { addressOf, historyFollow } from "./history";
import { keyAction } from "./keys";
import { NO_LINK, linkState } from "./link";
import { Model } from "./model";
import { Names } from "./names";
import { OverviewStrip } from "./overview";
import { EventPanel } from "./panel";
import { ComparePanel, SpanPanel } from "./span_panel";
import { EventsTable } from "./table";
import { eventWords, pointWords } from "./words";
import "./timeline.css";

export interface TimelineProps {
  trace: Trace;
  title: string;
  children?: ComponentChildren; /* beside the title: what led here, downloads */
  notice?: ComponentChildren; /* below them: what has happened to the trace */
  linked?: boolean; /* the address names what is looked at: a trace that another tab finds, too */
  process?: string; /* id of the process that failed: the first track */
  density?: Density; /* of all processes, where the collector told it */
  differs?: ReadonlyMap<string, number>; /* by how much each process differs from before, where the collector told it */
}

const NARROW_PX = 640;

function useModel(props: TimelineProps): { model: Model; finder: Finder } {
  const { trace, linked } = props;
  const made = useMemo(() => {
    const model = new Model(trace, props.process);
    return { model, finder: new Finder(model) };
  }, [trace]);
  useEffect(() => {
    const { model, finder } = made;
    const first = linked === true ? location.search : "";
    const link = () => (first === "" ? NO_LINK : linkState(first, trace.origin.peek()));
    const stops = [follow(model, finder, link)];
    if (linked === true) stops.push(historyFollow(model, finder));
    return () => stops.forEach((stop) => stop());
  }, [made]);
  const { differs } = props;
  useEffect(() => {
    if (differs !== undefined) made.model.differs.value = differs;
  }, [made, differs]);
  return made;
}

function copyLink(model: Model): void {
  const details = model.selected.peek()?.details ?? null;
  const view = model.view.peek();
  const words =
    details === null
      ? `from ${pointWords(view.from, model.base)} to ${pointWords(view.to, model.base)}`
      : eventWords(details, model.process(details.ref.process), model.thread(details.thread), model.base);
  navigator.clipboard.writeText(`${words}: ${addressOf(model)}`).then(
    () => toast("The link is copied, with words beside it."),
    () => toast("The browser refused to copy; the address bar has the link."),
  );
}

/* Keys of the table, while the focus is inside of the timeline and not in a field. */
function useKeys(root: { current: HTMLElement | null }, actions: Actions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const element = root.current;
    if (element === null) return;
    let begun = "";
    const press = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement | null;
      if (takesKeys(target) || event.defaultPrevented) return;
      const scrolls = /^(Arrow|Page)/.test(event.key) && target?.closest(".tl-panel, .tl-table") != null;
      if (scrolls) return;
      const looked = keyAction(event, begun);
      begun = looked.begun;
      if (looked.action === undefined) return;
      event.preventDefault();
      latest.current[looked.action]();
    };
    element.addEventListener("keydown", press);
    return () => element.removeEventListener("keydown", press);
  }, []);
}

/* The window's height without what stands above, and whether names go above the lanes. */
function useRoom(root: { current: HTMLElement | null }, model: Model): void {
  useEffect(() => {
    const element = root.current;
    if (element === null) return;
    const measure = (): void => {
      element.style.setProperty("--tl-top", `${Math.round(element.getBoundingClientRect().top + scrollY)}px`);
      model.narrow.value = element.clientWidth < NARROW_PX;
    };
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    sizes.observe(document.body);
    if (document.activeElement === document.body || document.activeElement === null)
      element.querySelector<HTMLElement>("[data-timeline-keys]")?.focus({ preventScroll: true });
    return () => sizes.disconnect();
  }, [model]);
}

function Panels(props: { model: Model; linked: boolean }): JSX.Element | null {
  const { model } = props;
  const panel = model.panel.value;
  if (panel === "compare" && model.span.value !== null && model.marked.value !== null) return <ComparePanel model={model} />;
  if (panel === "span" && model.span.value !== null) return <SpanPanel model={model} />;
  return <EventPanel model={model} copyLink={props.linked ? () => copyLink(model) : undefined} />;
}

function Tracks(props: { model: Model; finder: Finder; title: string }): JSX.Element {
  const instructions = useId();
  return (
    <div class={`tl-tracks ${props.model.narrow.value ? "narrow" : ""}`}>
      <Names model={props.model} />
      <TracksCanvas model={props.model} finder={props.finder} label={`Timeline of ${shown(props.title, 200)}`} instructions={instructions} />
      <p id={instructions} class="visually-hidden">
        Arrow keys go from region to region: left and right in the lane, up and down to the one around or inside. W and S zoom, A and D move.
        K goes to the next sample of the CPU. Question mark lists all keys; x shows the events in view as a table.
      </p>
    </div>
  );
}

function Spoken(props: { model: Model }): JSX.Element {
  return (
    <p class="tl-said" role="status" aria-live="polite">
      {props.model.spoken.value}
    </p>
  );
}

export function Timeline(props: TimelineProps): JSX.Element {
  const { model, finder } = useModel(props);
  const { route } = useLocation();
  const root = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const [help, setHelp] = useState(false);
  const [table, setTable] = useState(false);
  const linked = props.linked === true;
  const actions = actionsOf(model, finder, {
    toSearch: () => field.current?.focus(),
    help: () => setHelp(true),
    table: () => setTable((open) => !open),
    copyLink: () => (linked ? copyLink(model) : toast("A file has no link: nobody else has it.")),
    go: (path) => route(path),
  });
  useKeys(root, actions);
  useRoom(root, model);
  return (
    <div class="tl" ref={root} tabIndex={-1}>
      <div class="tl-head">
        <Heading title={props.title}>{props.children}</Heading>
        <div class="tl-tools">
          <Search model={model} finder={finder} field={field} />
          <Buttons model={model} actions={actions} table={table} linked={linked} />
        </div>
        {props.notice}
        <Progress model={model} noticed={props.notice !== undefined && props.notice !== null} />
        <Gaps model={model} />
      </div>
      <OverviewStrip model={model} density={props.density ?? null} />
      <Tracks model={model} finder={finder} title={props.title} />
      <Spoken model={model} />
      <Panels model={model} linked={linked} />
      {table && <EventsTable model={model} />}
      {help && <Help close={() => setHelp(false)} />}
    </div>
  );
}
