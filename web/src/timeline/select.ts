// SPDX-License-Identifier: Apache-2.0
// Selecting events: the one below a pixel, neighbours in its lane, those around and inside of it, outliers of its name.
// What a lane tells of an event is rounded; its own numbers are asked for.
import { batch } from "@preact/signals";
import { type EventDetails, type EventRef, type EventRows, type Lane, SAMPLE, type SpanName, type View } from "../trace/trace";
import type { Model } from "./model";
import type { StripSet } from "./strips";
import { itemAt } from "./strip";
import type { Band, Row } from "./tracks";
import { eventWords, isSample } from "./words";
import { revealing } from "./zoom";

const FIT_ROWS = 1000; /* that overlap the begin of what is looked for, the longest first */
const OUTLIERS_MOST = 10_000;

export interface Picked {
  lane: Lane;
  from: number;
  to: number;
  longest: number;
  type: number;
  severity: number;
  row: boolean; /* one row, and no cell of several */
  share: number; /* of marks and samples: how many */
  value: readonly [number, number, number]; /* of a counter: least, most, last */
}

function pickOf(view: View, k: number, lane: Lane): Picked {
  return {
    lane,
    from: view.from[k]!,
    to: view.to[k]!,
    longest: view.longest[k]!,
    type: view.type[k]!,
    severity: view.severity[k]!,
    row: view.row[k] === 1,
    share: view.share[k]!,
    value: [view.least[k]!, view.most[k]!, view.last[k]!],
  };
}

/* What is drawn at a time of some lanes; of several the one that is drawn above the others. */
export function pickLanes(set: StripSet | null, lanes: readonly Lane[], time: number, near: number): Picked | null {
  if (set === null) return null;
  for (const lane of [...lanes].reverse()) {
    const i = set.lane.get(lane.id);
    if (i === undefined) continue;
    const k = lane.kind === "counter" ? lastBefore(set.view, i, time) : itemAt(set.view, i, time, near);
    if (k >= 0) return pickOf(set.view, k, lane);
  }
  return null;
}

function lastBefore(view: View, i: number, time: number): number {
  let best = -1;
  for (let k = view.first[i] ?? 0; k < (view.first[i + 1] ?? 0) && view.from[k]! <= time; k++) best = k;
  return best;
}

export function pickLoss(set: StripSet | null, row: Row, time: number, near: number): Picked | null {
  return pickLanes(set, row.losses, time, near);
}

/* ---- to refs ---- */

export function refOfRows(model: Model, rows: EventRows, i: number): EventRef {
  return {
    process: rows.process[i]!,
    tid: model.thread(rows.thread[i]!)?.tid ?? 0,
    begin: rows.begin[i]!,
    length: rows.length[i]!,
    depth: rows.depth[i]!,
  };
}

/* Lanes show the part in the window, and round its length; rows do not know how deep lanes have them. */
function isAsLong(model: Model, ref: EventRef, length: number): boolean {
  const part = Math.min(ref.begin + ref.length, model.length) - Math.max(ref.begin, 0);
  return Math.abs(part - length) <= 2 + length * 1e-6;
}

/* The event that is meant by what is drawn: the longest of a cell is asked for. */
export async function refOfPick(model: Model, picked: Picked): Promise<EventRef | null> {
  const { lane } = picked;
  const tid = model.thread(lane.thread)?.tid ?? 0;
  const depth = lane.kind === "region" ? lane.number : 0;
  if (picked.row) return { process: lane.process, tid, begin: picked.from, length: picked.longest, depth };
  const window = { from: picked.from, to: Math.max(picked.to, picked.from + 1), processes: [lane.process] };
  const threads = lane.thread >= 0 ? { threads: [lane.thread] } : {};
  const text = lane.kind === "sample" ? { text: `name=${SAMPLE}` } : {};
  const page = await model.trace.events({ ...window, ...threads }, { order: "length", ...text }, { first: 0, count: 200 });
  const wanted = lane.kind === "mark" || lane.kind === "sample" ? ["instant", "log"] : ["region", "open"];
  for (let i = 0; i < page.begin.length; i++) {
    const ref = refOfRows(model, page, i);
    if (!wanted.includes(kindOf(page, i))) continue;
    if (lane.kind === "mark" || lane.kind === "sample") return ref;
    if (page.type[i] === picked.type && isAsLong(model, ref, picked.longest)) return { ...ref, depth };
  }
  return { process: lane.process, tid, begin: picked.from, length: picked.longest, depth };
}

const KINDS = ["begin", "begin", "region", "instant", "counter", "log", "open", "loss", "end-only"] as const;
export function kindOf(rows: EventRows, i: number): (typeof KINDS)[number] {
  return KINDS[rows.kind[i]!] ?? "instant";
}

/* ---- selecting ---- */

let asked = 0;

/* Links of other pages and lanes round begin and length, and may not know the depth. */
function fits(found: EventRef, ref: EventRef): boolean {
  const near = (a: number, b: number): boolean => Math.abs(a - b) <= Math.max(1000, 0.01 * ref.length);
  return near(found.begin, ref.begin) && near(found.length, ref.length);
}

async function detailsOf(model: Model, ref: EventRef): Promise<EventDetails | null> {
  const details = await model.trace.details(ref);
  if (details !== null && fits(details.ref, ref)) return details;
  const thread = model.threadOf(ref.process, ref.tid);
  const beside = Math.max(1000, 0.01 * ref.length);
  const window = { from: ref.begin - beside, to: ref.begin + beside, processes: [ref.process], ...(thread === undefined ? {} : { threads: [thread.index] }) };
  const page = await model.trace.events(window, { order: "length" }, { first: 0, count: FIT_ROWS });
  let best: EventRef | null = null;
  const away = (one: EventRef): number => Math.abs(one.begin - ref.begin) + Math.abs(one.length - ref.length);
  for (let i = 0; i < page.begin.length; i++) {
    const found = refOfRows(model, page, i);
    if (fits(found, ref) && (best === null || away(found) < away(best))) best = found;
  }
  return best === null ? details : model.trace.details(best);
}

/* quiet: it comes from a link, and Back is not to undo it. */
export async function selectRef(model: Model, ref: EventRef, how: { quiet?: boolean; show?: boolean } = {}): Promise<void> {
  const mine = ++asked;
  batch(() => {
    model.selected.value = { ref, details: null, state: "asked" };
    model.track.value = null;
    model.panel.value = "event";
    if (how.quiet !== true) model.pushed.value++;
  });
  if (how.show === true) model.view.value = revealing(model.view.peek(), { from: ref.begin, to: ref.begin + ref.length }, model.length);
  model.reveal(ref);
  let details: EventDetails | null = null;
  for (let generation = -1; details === null && generation !== model.trace.state.peek().generation; ) {
    generation = model.trace.state.peek().generation; /* what comes while it is asked may hold it */
    details = await detailsOf(model, ref).catch(() => null);
    if (mine !== asked || model.selected.peek()?.ref !== ref) return;
  }
  if (details === null) {
    model.selected.value = { ref, details: null, state: "missing" };
    return;
  }
  model.selected.value = { ref: details.ref, details, state: "there" };
  model.reveal(details.ref);
  const thread = model.thread(details.thread);
  model.spoken.value = eventWords(details, model.process(details.ref.process), thread, model.base);
}

export async function selectPick(model: Model, picked: Picked): Promise<void> {
  if (picked.lane.kind === "counter" || picked.lane.kind === "state" || picked.lane.kind === "loss") return;
  const ref = await refOfPick(model, picked);
  if (ref !== null) await selectRef(model, ref);
}

/* ---- neighbours ---- */

function laneOfRef(model: Model, ref: EventRef): Lane | undefined {
  const thread = model.threadOf(ref.process, ref.tid)?.index ?? -1;
  const details = model.selected.peek()?.details ?? null;
  if (details !== null && isSample(details)) return sampleLane(model, ref.process, ref.tid);
  const kind = details?.kind;
  const mark = kind === "instant" || kind === "log";
  return model.trace.lanes
    .peek()
    .find((lane) =>
      lane.process === ref.process && lane.thread === thread && (mark ? lane.kind === "mark" : lane.kind === "region" && lane.number === ref.depth),
    );
}

/* Samples of a thread have a number of their own for it, and the same tid. */
function sampleLane(model: Model, process: number, tid: number): Lane | undefined {
  return model.trace.lanes
    .peek()
    .find((lane) => lane.kind === "sample" && lane.layer === 0 && lane.process === process && model.thread(lane.thread)?.tid === tid);
}

async function asView(model: Model, from: number, to: number, lane: number): Promise<View | null> {
  for (let i = 0; i < 8; i++) {
    const view = await model.trace.view({ from, to, width: 64, lanes: [lane] });
    if (view !== null) return view; /* null: a frame's question came between */
  }
  return null;
}

/* The row of a lane that begins next after a time: cells are asked for again, each time closer. */
async function rowAfter(model: Model, lane: Lane, time: number): Promise<Picked | null> {
  let span = Math.max((model.view.peek().to - model.view.peek().from) / 16, 64);
  let from = time;
  for (let i = 0; i < 80; i++) {
    const to = Math.min(from + span, model.length);
    const view = await asView(model, from, to, lane.id);
    if (view === null) return null;
    let k = view.first[0] ?? 0;
    while (k < (view.first[1] ?? 0) && view.row[k] === 1 && view.from[k]! < time) k++;
    if (k >= (view.first[1] ?? 0)) {
      if (to >= model.length) return null;
      from = to;
      span *= 4;
    } else if (view.row[k] === 1) return pickOf(view, k, lane);
    else span = Math.max(Math.min(span / 8, view.to[k]! - from), 1);
  }
  return null;
}

/* The row that begins last before a time. */
async function rowBefore(model: Model, lane: Lane, time: number): Promise<Picked | null> {
  let span = Math.max((model.view.peek().to - model.view.peek().from) / 16, 64);
  let to = time;
  for (let i = 0; i < 80; i++) {
    const from = Math.max(0, to - span);
    const view = await asView(model, from, to, lane.id);
    if (view === null) return null;
    let k = (view.first[1] ?? 0) - 1;
    while (k >= (view.first[0] ?? 0) && view.row[k] === 1 && view.from[k]! >= time) k--;
    if (k < (view.first[0] ?? 0)) {
      if (from <= 0) return null;
      to = from;
      span *= 4;
    } else if (view.row[k] === 1) return pickOf(view, k, lane);
    else span = Math.max(Math.min(span / 8, to - view.from[k]!), 1);
  }
  return null;
}

/* A track was chosen, and what is selected lies in another: keys begin in the chosen one. */
function isElsewhere(model: Model, lane: Lane | undefined): boolean {
  const row = model.chosenRow();
  return row !== undefined && (lane === undefined || !row.bands.some((band) => band.lanes.includes(lane)));
}

export async function selectNeighbour(model: Model, way: 1 | -1): Promise<void> {
  const ref = model.selected.peek()?.ref;
  const lane = ref === undefined ? undefined : laneOfRef(model, ref);
  if (ref === undefined || isElsewhere(model, lane)) {
    await selectFirst(model);
    return;
  }
  if (lane === undefined) {
    model.spoken.value = "What is selected lies in no lane: it has no neighbours.";
    return;
  }
  const picked = way > 0 ? await rowAfter(model, lane, ref.begin + Math.max(ref.length * 0.999, 1)) : await rowBefore(model, lane, ref.begin);
  if (picked === null) {
    model.spoken.value = way > 0 ? "There is none after it in this lane." : "There is none before it in this lane.";
    return;
  }
  const found = await refOfPick(model, picked);
  if (found !== null) await selectRef(model, found, { show: true });
}

/* The longest region in view of the chosen track, or of the first. */
async function selectFirst(model: Model): Promise<void> {
  const view = model.view.peek();
  const chosen = model.chosenRow();
  const row = (chosen === undefined ? model.rowsInView(0) : [chosen]).find((one) => one.bands.some((band) => band.kind === "region"));
  const lane = row?.bands.find((band: Band) => band.kind === "region")?.lanes[0];
  if (lane === undefined) {
    model.spoken.value = chosen === undefined ? "No track in view shows regions." : "The chosen track shows no regions.";
    return;
  }
  const threads = lane.thread >= 0 ? { threads: [lane.thread] } : {};
  const page = await model.trace.events({ ...view, processes: [lane.process], ...threads }, { order: "length" }, { first: 0, count: 20 });
  for (let i = 0; i < page.begin.length; i++)
    if (kindOf(page, i) === "region" || kindOf(page, i) === "open") {
      await selectRef(model, refOfRows(model, page, i), { show: true });
      return;
    }
  model.spoken.value = "No region of this track is in the time in view.";
}

/* The next sample of the CPU of the chosen track; else of the selected event's thread, or of the first track in view that has some. */
export async function selectSample(model: Model, way: 1 | -1): Promise<void> {
  const chosen = model.chosenRow();
  const selected = model.selected.peek()?.ref;
  const own = selected === undefined ? undefined : sampleLane(model, selected.process, selected.tid);
  const ref = isElsewhere(model, own) ? undefined : selected;
  const band = (chosen === undefined ? model.rowsInView(0) : [chosen]).flatMap((row) => row.bands).find((one) => one.kind === "sample");
  const lane = ref === undefined ? band?.lanes[0] : own;
  const { from, to } = model.view.peek();
  const at = ref === undefined ? (way > 0 ? from : to) : way > 0 ? ref.begin + 1 : ref.begin;
  const picked = lane === undefined ? null : await (way > 0 ? rowAfter(model, lane, at) : rowBefore(model, lane, at));
  if (picked === null) {
    const whose = chosen !== undefined ? "the chosen track has" : ref === undefined ? "the tracks in view have" : "this thread has";
    model.spoken.value = lane === undefined ? `No sample of the CPU is there: ${whose} none.` : `No ${way > 0 ? "later" : "earlier"} sample of this thread.`;
    return;
  }
  const found = await refOfPick(model, picked);
  if (found !== null) await selectRef(model, found, { show: true });
}

export async function selectRelative(model: Model, where: "parent" | "child"): Promise<void> {
  const details = model.selected.peek()?.details;
  if (details === null || details === undefined || isElsewhere(model, laneOfRef(model, details.ref))) {
    await selectFirst(model);
    return;
  }
  const inside = [...details.inside].sort((a, b) => a.ref.begin - b.ref.begin);
  const found = where === "parent" ? details.enclosing[details.enclosing.length - 1] : inside[0];
  if (found === undefined) model.spoken.value = where === "parent" ? "No region is around it." : "No region is inside of it.";
  else await selectRef(model, found.ref, { show: true });
}

/* ---- its name ---- */

const stats = new WeakMap<object, Map<string, Promise<readonly SpanName[]>>>();

/* Figures of all names of a process, over all that is there of it; asked once for each state of the trace. */
export function namesOf(model: Model, process: number): Promise<readonly SpanName[]> {
  let of = stats.get(model.trace);
  if (of === undefined) stats.set(model.trace, (of = new Map()));
  const key = `${process} ${model.trace.state.peek().generation}`;
  let names = of.get(key);
  if (names === undefined) {
    if (of.size > 32) of.clear();
    names = model.trace.span({ from: 0, to: model.length, processes: [process] }).then((span) => span.names);
    names.catch(() => of.delete(key));
    of.set(key, names);
  }
  return names;
}

export async function nameStats(model: Model, process: number, name: string): Promise<SpanName | undefined> {
  return (await namesOf(model, process)).find((one) => one.name === name);
}

/* Events of a name that took at least as long as 99 of 100 of them, at most OUTLIERS_MOST. */
async function slowest(model: Model, process: number, name: string, of: SpanName): Promise<EventRef[]> {
  const window = { from: 0, to: model.length, processes: [process] };
  const text = `name="${name.replace(/["\\]/g, "\\$&")}"`;
  const count = Math.min(OUTLIERS_MOST, Math.max(1, Math.ceil(of.count / 100)));
  const page = await model.trace.events(window, { order: "length", text }, { first: 0, count });
  const found: EventRef[] = [];
  for (let i = 0; i < page.begin.length; i++) if (page.length[i]! >= of.p99Ns) found.push(refOfRows(model, page, i));
  return found;
}

/* The next event of the same name that took longer than 99 of 100 of them. */
export async function selectOutlier(model: Model, way: 1 | -1): Promise<void> {
  const details = model.selected.peek()?.details;
  if (details === null || details === undefined || details.type < 0) {
    model.spoken.value = "Select a region first.";
    return;
  }
  const of = await nameStats(model, details.ref.process, details.name);
  if (of === undefined) return;
  const found = await slowest(model, details.ref.process, details.name, of);
  found.sort((a, b) => a.begin - b.begin);
  const { begin } = details.ref;
  const next = way > 0 ? found.find((ref) => ref.begin > begin) : found.reverse().find((ref) => ref.begin < begin);
  if (next === undefined) model.spoken.value = `No ${way > 0 ? "later" : "earlier"} outlier of this name.`;
  else await selectRef(model, next, { show: true });
}
