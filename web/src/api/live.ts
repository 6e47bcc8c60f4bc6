// SPDX-License-Identifier: Apache-2.0
// What happens at the collector, as it happens: one EventSource a tab and selector, whoever listens. Events are hints,
// never the truth: lists are asked for again, and after a gap everything is. A tab that nobody looks at has none, as a
// browser opens six connections to a collector, for all of its tabs; it hears what it missed when it is looked at.
import { signal } from "@preact/signals";
import { address } from "./client";
import { whoAsk, whoState } from "./who";

export interface LiveEvent {
  type: string;
  time: string;
  [member: string]: unknown;
}

/* off: nobody listens */
export const liveState = signal<"off" | "connecting" | "live" | "reconnecting">("off");
export const liveSince = signal(Date.now()); /* of the state, ms */
export const liveNext = signal(0); /* when it is tried again, where it is reconnecting, ms */
export const liveGap = signal<{ from: number; to: number } | undefined>(undefined); /* when events were missed, ms */

const TYPES = [
  "agent.online", "agent.offline", "agent.enrolled", "policy.changed", "rule.changed", "rule.fired", "rule.suppressed",
  "retention.deleted", "capture.created", "capture.finished", "capture.deleted",
] as const; // prettier-ignore

export const liveTypes: readonly string[] = TYPES;

type Listener = { types: readonly string[]; told: (event: LiveEvent) => void; missed: () => void };

function state(next: typeof liveState.value): void {
  if (liveState.value === next) return;
  liveState.value = next;
  liveSince.value = Date.now();
}

function hears(listener: Listener, type: string): boolean {
  return listener.types.some((wanted) => wanted === type || (wanted.endsWith(".*") && type.startsWith(wanted.slice(0, -1))));
}

const RETRY_MS = 2000; /* as the collector tells browsers, which try again by themselves (retry of its streams) */

class Stream {
  readonly listeners = new Set<Listener>();
  private source: EventSource | undefined;
  private lastHeard = Date.now();
  private lastId = "";
  private readonly selector: string;

  constructor(selector: string) {
    this.selector = selector;
  }

  /* Open while somebody may look. What happened before a first opening that is `late` was missed. */
  follow(late = true): void {
    if (document.hidden) this.close();
    else if (this.source === undefined && this.listeners.size > 0) this.open(late && this.lastId === "");
  }

  private open(late: boolean): void {
    if (liveState.peek() !== "reconnecting") state("connecting"); /* since when, is told until it is live */
    const source = new EventSource(address("/events", { selector: this.selector, after: this.lastId }));
    this.source = source;
    source.onopen = () => {
      state("live");
      if (whoState.peek() === "failed") void whoAsk(); /* it answers again */
    };
    source.onerror = () => this.failed(source);
    source.addEventListener("ready", (event) => {
      this.heard(event);
      if (late) this.missed();
      late = false; /* the browser itself opens again with the newest id */
    });
    source.addEventListener("gap", (event) => {
      liveGap.value = { from: this.lastHeard, to: Date.now() };
      this.heard(event);
      this.missed();
    });
    for (const type of TYPES)
      source.addEventListener(type, (event) => {
        this.heard(event);
        this.tell(type, event.data);
      });
  }

  close(): void {
    this.source?.close();
    this.source = undefined;
  }

  private missed(): void {
    for (const listener of [...this.listeners]) listener.missed();
  }

  private heard(event: MessageEvent<string>): void {
    this.lastHeard = Date.now();
    if (event.lastEventId !== "") this.lastId = event.lastEventId;
  }

  /* A browser gives up for good where the answer is no stream: the session may have ended (then the login is shown),
   * or the collector is not there. It is tried again as long as somebody listens. */
  private failed(source: EventSource): void {
    if (this.source !== source) return;
    state("reconnecting");
    liveNext.value = Date.now() + RETRY_MS;
    if (source.readyState !== EventSource.CLOSED) return;
    this.source = undefined;
    void whoAsk();
    setTimeout(() => this.follow(), RETRY_MS);
  }

  private tell(type: string, text: string): void {
    let event: LiveEvent;
    try {
      event = JSON.parse(text) as LiveEvent;
    } catch {
      return; /* no event of this API */
    }
    for (const listener of [...this.listeners]) if (hears(listener, type)) listener.told(event);
  }
}

const streams = new Map<string, Stream>();
document.addEventListener("visibilitychange", () => {
  for (const stream of streams.values()) stream.follow();
});

/* Begins to listen to types ("capture.*"), of processes that match `selector` ("": of all); `gap` is called when some
 * were missed, and lists are to be asked for again. Returns what ends it. */
export function listen(types: readonly string[], told: (event: LiveEvent) => void, gap: () => void, selector = ""): () => void {
  const listener: Listener = { types, told, missed: gap };
  const stream = streams.get(selector) ?? new Stream(selector);
  stream.listeners.add(listener);
  if (!streams.has(selector)) {
    streams.set(selector, stream);
    stream.follow(false);
  }
  return () => {
    stream.listeners.delete(listener);
    if (stream.listeners.size > 0) return;
    stream.close();
    if (streams.get(selector) === stream) streams.delete(selector);
    if (streams.size === 0) state("off");
  };
}
