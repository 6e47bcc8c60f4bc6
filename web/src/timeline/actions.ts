// SPDX-License-Identifier: Apache-2.0
// What each action of the key table does. Knows the model, the finder and what the component gives it; no DOM.
import type { Finder } from "./find";
import type { Action } from "./keys";
import type { Model } from "./model";
import { trackName } from "./names";
import { selectNeighbour, selectOutlier, selectRelative, selectSample } from "./select";

/* What the component does for actions. */
export interface Outside {
  toSearch: () => void;
  help: () => void;
  table: () => void;
  copyLink: () => void;
  go: (path: string) => void;
}

const ZOOM_STEP = 1.35;

/* A promise that nobody waits for: what it rejects with is said, unless the trace was closed. */
export function told(model: Model, promise: Promise<unknown>): void {
  promise.catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") return;
    model.spoken.value = error instanceof Error ? error.message : String(error);
  });
}

function lookAround(model: Model): Partial<Record<Action, () => void>> {
  return {
    "zoom-in": () => model.zoom(1 / ZOOM_STEP),
    "zoom-out": () => model.zoom(ZOOM_STEP),
    "pan-left": () => model.pan(-0.15),
    "pan-right": () => model.pan(0.15),
    "page-left": () => model.pan(-0.9),
    "page-right": () => model.pan(0.9),
    "scroll-up": () => model.scrollTo(model.scroll.peek() - model.size.peek().height * 0.8),
    "scroll-down": () => model.scrollTo(model.scroll.peek() + model.size.peek().height * 0.8),
    fit: () => model.fit(),
    all: () => model.show({ from: 0, to: model.length }),
    failure: () => model.failure(),
  };
}

function tracks(model: Model): Partial<Record<Action, () => void>> {
  const withRow = (act: (key: string) => void): void => {
    const row = model.currentRow();
    if (row === undefined) model.spoken.value = "Choose a track by j, select a region, or point at a track, first.";
    else act(row.key.replace(/^!/, ""));
  };
  const choose = (by: 1 | -1): void => {
    const row = model.chooseTrack(by);
    const folded = row === undefined || !row.foldable ? "" : row.folded ? ", folded" : ", open";
    model.spoken.value = row === undefined ? "There is no track further on." : `Track ${trackName(model, row)}${folded}`;
  };
  return {
    "track-next": () => choose(1),
    "track-previous": () => choose(-1),
    fold: () => withRow((key) => model.toggleFold(key)),
    "fold-all": () => model.foldAll(),
    pin: () => withRow((key) => model.togglePin(key)),
    mark: () => model.mark(),
    compare: () => model.compare(),
    "select-view": () => model.selectSpan({ ...model.view.peek() }),
    clear: () => model.clear(),
    time: () => model.nextTimeMode(),
  };
}

function events(model: Model, finder: Finder): Partial<Record<Action, () => void>> {
  return {
    previous: () => told(model, selectNeighbour(model, -1)),
    next: () => told(model, selectNeighbour(model, 1)),
    parent: () => told(model, selectRelative(model, "parent")),
    child: () => told(model, selectRelative(model, "child")),
    "outlier-next": () => told(model, selectOutlier(model, 1)),
    "outlier-previous": () => told(model, selectOutlier(model, -1)),
    "sample-next": () => told(model, selectSample(model, 1)),
    "sample-previous": () => told(model, selectSample(model, -1)),
    "match-next": () => told(model, finder.step(1)),
    "match-previous": () => told(model, finder.step(-1)),
  };
}

export type Actions = Readonly<Record<Action, () => void>>;

export function actionsOf(model: Model, finder: Finder, outside: Outside): Actions {
  return {
    ...(lookAround(model) as Actions),
    ...(tracks(model) as Actions),
    ...(events(model, finder) as Actions),
    search: outside.toSearch,
    link: outside.copyLink,
    table: outside.table,
    help: outside.help,
    "go-fleet": () => outside.go("/"),
    "go-captures": () => outside.go("/captures"),
    "go-rules": () => outside.go("/rules"),
    "go-live": () => outside.go("/events"),
    "go-storage": () => outside.go("/storage"),
  };
}

/* How much a wheel's step scrolls or zooms: lines and pages as pixels. */
export function wheelPixels(delta: number, mode: number, page: number): number {
  return mode === 1 ? delta * 16 : mode === 2 ? delta * page : delta;
}

export function wheelFactor(pixels: number): number {
  return Math.exp(Math.max(-500, Math.min(500, pixels)) / 500);
}

/* Where keys are not the timeline's: fields, and what has keys of its own. */
export function takesKeys(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || target.closest("dialog") !== null;
}

