// SPDX-License-Identifier: Apache-2.0
// What a timeline does by itself while it is open: opens at what the link names, asks for the processes that are looked
// at, finds out which threads only wait, and reads a selection again when its process has come.
import { effect, untracked } from "@preact/signals";
import { topLanes, workingOf } from "./density";
import type { Finder } from "./find";
import { applyLink } from "./history";
import type { LinkState } from "./link";
import type { Model } from "./model";
import { selectRef } from "./select";
import { told } from "./actions";

const WORKING_MS = 150;
const SEARCH_MS = 500;
const WORKING_CELLS = 256; /* of a lane */

/* Once the trace tells its window. Who was faster than that and searches already goes on searching. */
function openFollow(model: Model, finder: Finder, link: () => LinkState): () => void {
  return effect(() => {
    const there = model.trace.length.value > 0 && model.trace.state.value.phase !== "opening";
    if (!there || model.ready) return;
    queueMicrotask(() => {
      const named = link();
      if (!model.ready) applyLink(model, finder, { ...named, query: model.query.peek() || named.query });
    });
  });
}

/* A decoder that has failed and was begun again opens a second time. */
function restartFollow(model: Model): () => void {
  let before = "";
  return effect(() => {
    const { phase } = model.trace.state.value;
    if (phase === "opening" && before !== phase && model.ready) untracked(() => model.restart());
    before = phase;
  });
}

/* The process of the selection, the one that fired, pinned ones, those in view: in this order. */
function wanted(model: Model): number[] {
  const list = new Set<number>();
  const selected = model.selected.value?.ref.process;
  if (selected !== undefined) list.add(selected);
  if (model.fired.value >= 0) list.add(model.fired.value);
  for (const pin of model.pins.value) {
    const number = Number(pin.slice(1));
    const process = pin.startsWith("p") ? number : model.thread(number)?.process;
    if (process !== undefined) list.add(process);
  }
  for (const pin of model.pinsAwaited.value) {
    const process = model.trace.processes.value.find((one) => one.id === pin.process);
    if (process !== undefined) list.add(process.index);
  }
  void [model.scroll.value, model.size.value, model.tracks.value];
  for (const row of model.rowsInView(0)) if (row.process >= 0) list.add(row.process);
  return [...list];
}

function wantFollow(model: Model): () => void {
  let before = "";
  return effect(() => {
    const { phase } = model.trace.state.value;
    if (phase === "opening") before = ""; /* also of a decoder that was begun again */
    if (phase === "opening" || phase === "closed" || phase === "stopped" || model.trace.processes.value.length === 0) return;
    const list = wanted(model);
    const missing = list.filter((index) => !["whole", "failed"].includes(model.process(index)?.loaded ?? "failed"));
    const key = `${list.join()} ${missing.filter((index) => ["nothing", "let-go"].includes(model.process(index)?.loaded ?? "")).join()}`;
    if (key === before) return;
    before = key;
    queueMicrotask(() => model.trace.want(list, model.trace.at.peek() ?? undefined));
  });
}

/* Which threads only wait; again when more of the trace is there. */
function workingFollow(model: Model): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ask = async (): Promise<void> => {
    const lanes = topLanes(model.trace.lanes.peek());
    if (lanes.length === 0) return;
    for (let i = 0; i < 8; i++) {
      const span = { from: 0, to: Math.max(model.length, 1) };
      const view = await model.trace.view({ ...span, width: WORKING_CELLS, lanes: lanes.map((lane) => lane.id) });
      if (view === null) continue;
      model.working.value = workingOf(view, lanes, (type) => model.type(type)?.groupName ?? "");
      return;
    }
  };
  const stop = effect(() => {
    void [model.trace.lanes.value, model.trace.state.value.generation];
    clearTimeout(timer);
    timer = setTimeout(() => void ask().catch(() => undefined), WORKING_MS);
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}

/* With each change of what is there: a selection that was missing, pins of threads, and the search. */
function againFollow(model: Model, finder: Finder): () => void {
  let generation = -1;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = effect(() => {
    const now = model.trace.state.value.generation;
    void model.trace.threads.value;
    if (now === generation || !model.ready) return;
    generation = now;
    queueMicrotask(() => {
      const selected = model.selected.peek();
      if (selected?.state === "missing") told(model, selectRef(model, selected.ref, { quiet: true }));
      model.settlePins();
    });
    clearTimeout(timer);
    timer = setTimeout(() => finder.again(), SEARCH_MS);
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}

export function follow(model: Model, finder: Finder, link: () => LinkState): () => void {
  const all = [openFollow(model, finder, link), restartFollow(model), wantFollow(model), workingFollow(model), againFollow(model, finder)];
  return () => all.forEach((stop) => stop());
}
