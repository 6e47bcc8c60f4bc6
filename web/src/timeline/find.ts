// SPDX-License-Identifier: Apache-2.0
// Searching: what matches, how many, and going from one match to the next by time. The grammar is the trace's own
// (src/trace/search.ts); what it says of a text that is no search is shown.
import { type Signal, signal } from "@preact/signals";
import type { SearchResult } from "../trace/trace";
import type { Model } from "./model";
import { refOfRows, selectRef } from "./select";

export interface Found {
  text: string;
  result: SearchResult | null;
  error: string;
  busy: boolean;
}

export class Finder {
  readonly found: Signal<Found> = signal({ text: "", result: null, error: "", busy: false });
  readonly at = signal(-1); /* match that is selected */
  private abort: AbortController | null = null;
  private latest: Promise<void> = Promise.resolve(); /* the search that is under way, or was last */

  constructor(private readonly model: Model) {}

  /* Done when this search is, or another has taken its place. */
  search(text: string): Promise<void> {
    return (this.latest = this.run(text));
  }

  private async run(text: string): Promise<void> {
    this.abort?.abort();
    this.model.query.value = text;
    this.at.value = -1;
    if (text.trim() === "") {
      this.found.value = { text: "", result: null, error: "", busy: false };
      return;
    }
    const abort = new AbortController();
    this.abort = abort;
    this.found.value = { ...this.found.peek(), text, error: "", busy: true };
    try {
      const result = await this.model.trace.search(text, abort.signal);
      if (!abort.signal.aborted) this.found.value = { text, result, error: "", busy: false };
    } catch (error) {
      if (abort.signal.aborted || (error instanceof DOMException && error.name === "AbortError")) return;
      this.found.value = { text, result: null, error: error instanceof Error ? error.message : String(error), busy: false };
    }
  }

  /* Searches again, as more of the trace is there. */
  again(): void {
    const { text } = this.found.peek();
    if (text !== "") void this.search(text);
  }

  /* From the match that is selected; else from the selection; else from the window's begin. */
  async step(way: 1 | -1): Promise<void> {
    for (let awaited; awaited !== this.latest; await awaited) awaited = this.latest;
    const { result } = this.found.peek();
    if (result === null || result.kept === 0) {
      const soFar = (result?.notSearched ?? 0) > 0 ? " in what is read so far" : "";
      this.model.spoken.value = result === null ? "Nothing is searched for." : `Nothing matches${soFar}.`;
      return;
    }
    const here = this.model.selected.peek()?.ref.begin ?? this.model.view.peek().from;
    let at = this.at.peek();
    if (at >= 0) at = (at + way + result.kept) % result.kept;
    else at = way > 0 ? firstFrom(result, here) % result.kept : (firstFrom(result, here) - 1 + result.kept) % result.kept;
    this.at.value = at;
    await selectRef(this.model, refOfRows(this.model, result, at), { show: true });
    this.model.spoken.value = `Match ${at + 1} of ${result.total}. ${this.model.spoken.peek()}`;
  }
}

/* The first match that begins at a time or later. */
export function firstFrom(result: SearchResult, time: number): number {
  let low = 0;
  let high = result.kept;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (result.begin[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* "3 of 214 (first 10,000 kept)" */
export function foundWords(found: Found, at: number): string {
  if (found.error !== "") return found.error;
  if (found.busy) return "searching…";
  if (found.result === null) return "";
  const { total, kept, notSearched } = found.result;
  const words = [total === 0 ? "nothing matches" : `${at >= 0 ? `${(at + 1).toLocaleString("en-US")} of ` : ""}${total.toLocaleString("en-US")} ${total === 1 ? "match" : "matches"}`];
  if (kept < total) words.push(`n and p go through the first ${kept.toLocaleString("en-US")}`);
  if (notSearched > 0) words.push(`${notSearched} ${notSearched === 1 ? "process is" : "processes are"} not read yet`);
  return words.join(", ");
}

