// SPDX-License-Identifier: Apache-2.0
// Keeps the address in step with what is looked at: moving replaces the entry when it has rested, selecting adds one,
// Back and Forward are followed. Only while it is attached, and only the query of this page's address.
import { effect } from "@preact/signals";
import type { Finder } from "./find";
import { type LinkState, linkState, linkText } from "./link";
import type { Model } from "./model";
import { selectRef } from "./select";
import { told } from "./actions";

const REST_MS = 250;

/* Puts what an address says into the model. */
export function applyLink(model: Model, finder: Finder, link: LinkState): void {
  model.showFirst(link);
  model.applyPins(link);
  model.span.value = link.span;
  model.marked.value = link.marked;
  if (link.query !== model.query.peek()) void finder.search(link.query);
  const ref = model.linkRef(link);
  const now = model.selected.peek()?.ref;
  if (ref === null) {
    model.selected.value = null;
    model.panel.value = link.span === null ? "event" : "span";
  } else if (now === undefined || now.begin !== ref.begin || now.length !== ref.length || now.depth !== ref.depth || now.tid !== ref.tid || now.process !== ref.process)
    told(model, selectRef(model, ref, { quiet: true }));
}

/* The address of what is looked at now. */
export function addressOf(model: Model): string {
  const text = linkText(model.link(), model.trace.origin.value);
  return `${location.origin}${location.pathname}${text === "" ? "" : `?${text}`}`;
}

export function historyFollow(model: Model, finder: Finder): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pushed = model.pushed.peek();
  let applying = false;
  let event = "";
  const path = location.pathname;
  const replace = (): void => {
    if (location.pathname === path) history.replaceState(history.state, "", addressOf(model));
  };
  const stop = effect(() => {
    const steps = model.pushed.value;
    const text = linkText(model.link(), model.trace.origin.value);
    if (applying || !model.ready) return;
    clearTimeout(timer);
    const named = new URLSearchParams(text).get("ev") ?? "";
    if (steps === pushed && named !== "" && named !== event) replace(); /* the event's own numbers are known now */
    else if (steps === pushed) timer = setTimeout(replace, REST_MS);
    else if (`?${text}` !== location.search) history.pushState(null, "", `${path}?${text}`);
    pushed = steps;
    event = named;
  });
  const back = (): void => {
    if (location.pathname !== path) return;
    applying = true;
    clearTimeout(timer);
    applyLink(model, finder, linkState(location.search, model.trace.origin.peek()));
    applying = false;
    pushed = model.pushed.peek();
  };
  addEventListener("popstate", back);
  return () => {
    stop();
    clearTimeout(timer);
    removeEventListener("popstate", back);
  };
}
