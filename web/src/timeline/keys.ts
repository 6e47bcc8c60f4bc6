// SPDX-License-Identifier: Apache-2.0
// The timeline's keys: one table, from which keys are looked up and the help is made. Pure.

export type Action =
  | "zoom-in" | "zoom-out" | "pan-left" | "pan-right" | "page-left" | "page-right" | "scroll-up" | "scroll-down"
  | "previous" | "next" | "parent" | "child" | "fit" | "all" | "failure" | "mark" | "compare" | "select-view"
  | "track-next" | "track-previous" | "fold" | "fold-all" | "pin" | "search" | "match-next" | "match-previous"
  | "outlier-next" | "outlier-previous" | "sample-next" | "sample-previous" | "link" | "time" | "table" | "clear" | "help"
  | "go-fleet" | "go-captures" | "go-rules" | "go-live" | "go-storage";

export interface Key {
  keys: readonly string[]; /* KeyboardEvent.key, "Shift+" before it where Shift is needed; "g f": one after the other */
  action: Action;
  words: string;
  group: "Look around" | "Regions" | "Find" | "Spans and tracks" | "Elsewhere";
}

export const KEYS: readonly Key[] = [
  { keys: ["w", "+"], action: "zoom-in", words: "zoom in at the pointer", group: "Look around" },
  { keys: ["s", "-"], action: "zoom-out", words: "zoom out at the pointer", group: "Look around" },
  { keys: ["a"], action: "pan-left", words: "earlier", group: "Look around" },
  { keys: ["d"], action: "pan-right", words: "later", group: "Look around" },
  { keys: ["Shift+a"], action: "page-left", words: "a page earlier", group: "Look around" },
  { keys: ["Shift+d"], action: "page-right", words: "a page later", group: "Look around" },
  { keys: ["PageUp"], action: "scroll-up", words: "tracks above", group: "Look around" },
  { keys: ["PageDown"], action: "scroll-down", words: "tracks below", group: "Look around" },
  { keys: ["f"], action: "fit", words: "fit the selection", group: "Look around" },
  { keys: ["0"], action: "all", words: "the whole time", group: "Look around" },
  { keys: ["."], action: "failure", words: "the failure", group: "Look around" },
  { keys: ["ArrowLeft"], action: "previous", words: "previous region of the lane", group: "Regions" },
  { keys: ["ArrowRight"], action: "next", words: "next region of the lane", group: "Regions" },
  { keys: ["ArrowUp"], action: "parent", words: "the region around it", group: "Regions" },
  { keys: ["ArrowDown"], action: "child", words: "the first region inside of it", group: "Regions" },
  { keys: ["["], action: "outlier-previous", words: "previous outlier of its name", group: "Regions" },
  { keys: ["]"], action: "outlier-next", words: "next outlier of its name", group: "Regions" },
  { keys: ["k"], action: "sample-next", words: "next CPU sample of the thread", group: "Regions" },
  { keys: ["Shift+k"], action: "sample-previous", words: "previous CPU sample of the thread", group: "Regions" },
  { keys: ["/"], action: "search", words: "search", group: "Find" },
  { keys: ["n"], action: "match-next", words: "next match", group: "Find" },
  { keys: ["p"], action: "match-previous", words: "previous match", group: "Find" },
  { keys: ["v"], action: "select-view", words: "select the time in view", group: "Spans and tracks" },
  { keys: ["m"], action: "mark", words: "mark the selected span, to compare with", group: "Spans and tracks" },
  { keys: ["c"], action: "compare", words: "compare the selected span with the marked one", group: "Spans and tracks" },
  { keys: ["j"], action: "track-next", words: "choose the next track", group: "Spans and tracks" },
  { keys: ["Shift+j"], action: "track-previous", words: "choose the previous track", group: "Spans and tracks" },
  { keys: ["e"], action: "fold", words: "fold or open the track", group: "Spans and tracks" },
  { keys: ["Shift+e"], action: "fold-all", words: "fold or open all tracks", group: "Spans and tracks" },
  { keys: ["b"], action: "pin", words: "pin the track on top, or let it go", group: "Spans and tracks" },
  { keys: ["Escape"], action: "clear", words: "leave the comparison, else clear the span, the mark, the chosen track, the selection", group: "Spans and tracks" },
  { keys: ["l"], action: "link", words: "copy a link with words", group: "Elsewhere" },
  { keys: ["t"], action: "time", words: "time: relative, UTC, local", group: "Elsewhere" },
  { keys: ["x"], action: "table", words: "show or hide the table of events in view", group: "Elsewhere" },
  { keys: ["g f"], action: "go-fleet", words: "go to the fleet", group: "Elsewhere" },
  { keys: ["g c"], action: "go-captures", words: "go to the captures", group: "Elsewhere" },
  { keys: ["g r"], action: "go-rules", words: "go to the rules", group: "Elsewhere" },
  { keys: ["g l"], action: "go-live", words: "go to live events", group: "Elsewhere" },
  { keys: ["g s"], action: "go-storage", words: "go to storage", group: "Elsewhere" },
  { keys: ["?"], action: "help", words: "this list", group: "Elsewhere" },
];

export interface Pressed {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
}

/* Letters by Shift, all else by what they are: "?" needs Shift on one keyboard and none on another. */
function nameOf(pressed: Pressed): string {
  const letter = /^[a-z]$/i.test(pressed.key);
  return letter ? `${pressed.shiftKey ? "Shift+" : ""}${pressed.key.toLowerCase()}` : pressed.key;
}

export interface Looked {
  action: Action | undefined;
  begun: string; /* the first key of two; "" */
}

/* What a key does, after `begun`. Keys with Ctrl, Alt or Meta are the browser's. */
export function keyAction(pressed: Pressed, begun: string): Looked {
  if (pressed.ctrlKey || pressed.altKey || pressed.metaKey) return { action: undefined, begun: "" };
  const name = nameOf(pressed);
  const wanted = begun === "" ? name : `${begun} ${name}`;
  const found = KEYS.find((key) => key.keys.includes(wanted));
  if (found !== undefined) return { action: found.action, begun: "" };
  const begins = begun === "" && KEYS.some((key) => key.keys.some((keys) => keys.startsWith(`${name} `)));
  return { action: undefined, begun: begins ? name : "" };
}

const SHOWN: Readonly<Record<string, string>> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  PageUp: "Page up",
  PageDown: "Page down",
};

/* As it is written on the keyboard: "Shift E", "←", "g f". */
export function keyWords(keys: string): string {
  return keys
    .split(" ")
    .map((key) => key.replace(/^Shift\+(.)$/, (_, letter: string) => `Shift ${letter.toUpperCase()}`))
    .map((key) => SHOWN[key] ?? key)
    .join(" ");
}
