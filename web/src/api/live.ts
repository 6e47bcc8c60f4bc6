// SPDX-License-Identifier: Apache-2.0
// What happens at the collector, as it happens: one EventSource a tab, whoever listens. Events are hints, never the
// truth: lists are asked for again, and after a gap everything is.
import { signal } from "@preact/signals";
import { address } from "./client";
import { whoAsk } from "./who";

export interface LiveEvent {
  type: string;
  time: string;
  [member: string]: unknown;
}

/* off: nobody listens */
export const liveState = signal<"off" | "connecting" | "live" | "reconnecting">("off");
export const liveSince = signal(Date.now()); /* of the state, ms */
export const liveGap = signal<{ from: number; to: number } | undefined>(undefined); /* when events were missed, ms */

type Listener = { types: readonly string[]; told: (event: LiveEvent) => void; missed: () => void };
const listeners = new Set<Listener>();
let source: EventSource | undefined;
let lastHeard = Date.now();

const TYPES = [
  "agent.online", "agent.offline", "agent.enrolled", "policy.changed", "rule.changed", "rule.fired", "rule.suppressed",
  "retention.deleted", "capture.created", "capture.finished", "capture.deleted",
] as const; // prettier-ignore

export const liveTypes: readonly string[] = TYPES;

function state(next: typeof liveState.value): void {
  if (liveState.value === next) return;
  liveState.value = next;
  liveSince.value = Date.now();
}

function hears(listener: Listener, type: string): boolean {
  return listener.types.some((wanted) => wanted === type || (wanted.endsWith(".*") && type.startsWith(wanted.slice(0, -1))));
}

function heard(type: string, text: string): void {
  let event: LiveEvent;
  try {
    event = JSON.parse(text) as LiveEvent;
  } catch {
    return; /* no event of this API */
  }
  for (const listener of [...listeners]) if (hears(listener, type)) listener.told(event);
}

function missed(): void {
  liveGap.value = { from: lastHeard, to: Date.now() };
  for (const listener of [...listeners]) listener.missed();
}

function open(): void {
  state("connecting");
  source = new EventSource(address("/events"));
  source.onopen = () => state("live");
  source.onerror = () => {
    state("reconnecting");
    /* A browser gives up for good where the answer is no stream; then it is tried again as long as somebody listens. */
    if (source?.readyState === EventSource.CLOSED) {
      source = undefined;
      void whoAsk(); /* it may be the session that has ended: then the login is shown */
      setTimeout(() => source === undefined && listeners.size > 0 && open(), 3000);
    }
  };
  source.addEventListener("ready", () => (lastHeard = Date.now()));
  source.addEventListener("gap", missed);
  for (const type of TYPES)
    source.addEventListener(type, (event) => {
      lastHeard = Date.now();
      heard(type, (event as MessageEvent<string>).data);
    });
}

/* Begins to listen to types ("capture.*"); `gap` is called when some were missed, and lists are to be asked for again.
 * Returns what ends it. */
export function listen(types: readonly string[], told: (event: LiveEvent) => void, gap: () => void): () => void {
  const listener: Listener = { types, told, missed: gap };
  listeners.add(listener);
  if (source === undefined) open();
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    source?.close();
    source = undefined;
    state("off");
  };
}
