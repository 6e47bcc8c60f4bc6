// SPDX-License-Identifier: Apache-2.0
// Events in view as a table: all that the canvas shows, for who does not see it or wants numbers. Rows are asked for in
// pages as they are scrolled to. The same window, search and processes as the canvas.
import { Virtualizer, elementScroll, observeElementOffset, observeElementRect } from "@tanstack/virtual-core";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type EventOrder, type EventPage, SAMPLE } from "../trace/trace";
import { shown } from "../ui/text";
import { count, duration } from "../ui/units";
import { told } from "./actions";
import { useFocusBack } from "./focus";
import type { Model } from "./model";
import { kindOf, refOfRows, selectRef } from "./select";
import { pointWords, processWords, threadWords } from "./words";

const ROW_PX = 30;
const PAGE = 100;
const PAGES_KEPT = 60;
const ROWS_MOST = 500_000; /* browsers draw no element that is much higher */
const SETTLE_MS = 300;
const COUNTED = "A region that began before or ends behind it is one, as are what is still going on, samples of the CPU and losses.";

/* Pages of the table that is shown now; another window, order or search makes all of it anew. */
class Pages {
  readonly pages = new Map<number, EventPage>();
  private readonly asked = new Set<number>();
  total = 0;
  reachable = 0;
  error = "";
  over = false;

  constructor(
    private readonly model: Model,
    private readonly window: { from: number; to: number },
    private readonly text: string,
    private readonly order: EventOrder,
    private readonly arrived: () => void,
  ) {}

  want(page: number): void {
    if (this.over || this.asked.has(page)) return;
    this.asked.add(page);
    this.model.trace.events(this.window, { text: this.text, order: this.order }, { first: page * PAGE, count: PAGE }).then(
      (rows) => this.put(page, rows),
      (error: unknown) => {
        if (this.over) return;
        this.error = error instanceof Error ? error.message : String(error);
        this.arrived();
      },
    );
  }

  private put(page: number, rows: EventPage): void {
    if (this.over) return;
    this.pages.set(page, rows);
    for (const old of this.pages.keys()) {
      if (this.pages.size <= PAGES_KEPT) break;
      this.pages.delete(old);
      this.asked.delete(old);
    }
    this.total = rows.total;
    this.reachable = rows.reachable;
    this.arrived();
  }
}

/* The window when it has rested: a table that runs along with a drag is no use. */
function useSettled(model: Model): { from: number; to: number } {
  const view = model.view.value;
  const [settled, setSettled] = useState(view);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(view), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [view]);
  return settled;
}

function usePages(model: Model, order: EventOrder): Pages {
  const window = useSettled(model);
  const [, redraw] = useState(0);
  const { generation } = model.trace.state.value;
  const text = model.query.value;
  const pages = useMemo(
    () => new Pages(model, window, text, order, () => redraw((n) => n + 1)),
    [model, window.from, window.to, text, order, generation],
  );
  useEffect(() => {
    pages.want(0);
    return () => {
      pages.over = true;
    };
  }, [pages]);
  return pages;
}

function useRows(rows: number): { scroller: { current: HTMLDivElement | null }; from: number; to: number } {
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const [virtual] = useState(
    () =>
      new Virtualizer<HTMLDivElement, HTMLTableRowElement>({
        count: 0,
        getScrollElement: () => scroller.current,
        estimateSize: () => ROW_PX,
        scrollToFn: elementScroll,
        observeElementRect,
        observeElementOffset,
      }),
  );
  virtual.setOptions({ ...virtual.options, count: rows, overscan: 8, onChange: () => redraw((n) => n + 1) });
  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  const items = virtual.getVirtualItems();
  return { scroller, from: items[0]?.index ?? 0, to: (items[items.length - 1]?.index ?? -1) + 1 };
}

function kindWords(model: Model, page: EventPage, i: number): string {
  const kind = kindOf(page, i);
  const sample = kind === "instant" && model.type(page.type[i]!)?.name === SAMPLE && model.thread(page.thread[i]!)?.evidence === true;
  return sample ? "CPU sample" : kind;
}

function Row(props: { model: Model; pages: Pages; index: number }): JSX.Element {
  const { model, pages, index } = props;
  const page = pages.pages.get(Math.floor(index / PAGE));
  const i = index % PAGE;
  if (page === undefined || i >= page.begin.length) {
    pages.want(Math.floor(index / PAGE));
    return (
      <tr class="tl-row" aria-rowindex={index + 2}>
        <td colSpan={6} class="tl-quiet">
          …
        </td>
      </tr>
    );
  }
  const ref = refOfRows(model, page, i);
  const type = model.type(page.type[i]!);
  const process = model.process(ref.process);
  const select = (): void => told(model, selectRef(model, ref, { show: true }));
  const chosen = model.selected.value?.ref;
  const mine = chosen !== undefined && chosen.begin === ref.begin && chosen.length === ref.length && chosen.tid === ref.tid && chosen.process === ref.process;
  return (
    <tr class={`tl-row ${mine ? "chosen" : ""}`} aria-rowindex={index + 2} aria-selected={mine}>
      <td class="tl-cell-name">
        <button type="button" class="tl-link" onClick={select}>
          {shown(type?.name ?? "lost records", 120)}
        </button>
      </td>
      <td class="number">{pointWords(ref.begin, model.base)}</td>
      <td class="number">{ref.length > 0 ? duration(ref.length) : "–"}</td>
      <td>{kindWords(model, page, i)}</td>
      <td class="tl-cell-name">{threadWords(model.thread(page.thread[i]!))}</td>
      <td class="tl-cell-name">
        {processWords(process)} {shown(process?.host ?? "", 40)}
      </td>
    </tr>
  );
}

function Head(props: { order: EventOrder; set: (order: EventOrder) => void }): JSX.Element {
  const sortable = (order: EventOrder, words: string, direction: "ascending" | "descending"): JSX.Element => (
    <th scope="col" class="number" aria-sort={props.order === order ? direction : "none"}>
      <button type="button" class="tl-sort" onClick={() => props.set(order)}>
        {words} {props.order === order ? (direction === "ascending" ? "▲" : "▼") : ""}
      </button>
    </th>
  );
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th scope="col">Event</th>
        {sortable("begin", "At", "ascending")}
        {sortable("length", "Length", "descending")}
        <th scope="col">Kind</th>
        <th scope="col">Thread</th>
        <th scope="col">Process</th>
      </tr>
    </thead>
  );
}

function summary(pages: Pages, rows: number, text: string): string {
  if (pages.error !== "") return pages.error;
  const what = text === "" ? "" : ` that match ${shown(text, 60)}`;
  const rest = rows < pages.total ? `; the first ${count(rows)} can be scrolled to: zoom in, or search, for the others` : "";
  return `${count(pages.total)} ${pages.total === 1 ? "event" : "events"} that touch the time in view${what}${rest}. ${COUNTED}`;
}

export function EventsTable(props: { model: Model }): JSX.Element {
  const { model } = props;
  const table = useFocusBack<HTMLElement>();
  const [order, setOrder] = useState<EventOrder>("begin");
  const pages = usePages(model, order);
  const rows = Math.min(pages.reachable, ROWS_MOST);
  const { scroller, from, to } = useRows(rows);
  const indexes = Array.from({ length: Math.max(0, Math.min(to, rows) - from) }, (_, i) => from + i);
  return (
    <section class="tl-table" ref={table} aria-label="Events in view">
      <p class="tl-quiet" role="status">
        {summary(pages, rows, model.query.value)}
      </p>
      <div class="tl-table-scroll" ref={scroller} tabIndex={0} role="region" aria-label="Events in view, as a table">
        <table aria-rowcount={rows + 1}>
          <caption class="visually-hidden">Events in view</caption>
          <Head order={order} set={setOrder} />
          <tbody>
            {from > 0 && (
              <tr aria-hidden="true">
                <td colSpan={6} class="tl-space" style={{ height: `${from * ROW_PX}px` }} />
              </tr>
            )}
            {indexes.map((index) => (
              <Row key={index} model={model} pages={pages} index={index} />
            ))}
            {rows > to && (
              <tr aria-hidden="true">
                <td colSpan={6} class="tl-space" style={{ height: `${(rows - to) * ROW_PX}px` }} />
              </tr>
            )}
          </tbody>
        </table>
      </div>
    </section>
  );
}
