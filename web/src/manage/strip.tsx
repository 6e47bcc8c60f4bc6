// SPDX-License-Identifier: Apache-2.0
// What a rule did, as a strip of time: firings above, changes of health below. The table beside it says the same.
import type { JSX } from "preact";
import type { Schemas } from "../api/client";
import { shown } from "../ui/text";
import { clock, count, millis } from "../ui/units";
import { HISTORY_WORDS } from "./words";

type Entry = Schemas["RuleHistory"];
type What = Entry["what"];

const SHAPES: Readonly<Record<What, string>> = {
  fired: "M0 -9 L7 7 L-7 7 Z",
  joined: "M0 -7 L5 7 L-5 7 Z",
  suppressed: "M-6 -6 H6 V6 H-6 Z",
  passing: "M-6 0 A6 6 0 1 0 6 0 A6 6 0 1 0 -6 0 Z",
  failing: "M0 -8 L8 0 L0 8 L-8 0 Z",
  unknown: "M-6 -2 H6 V2 H-6 Z",
};
const WHATS: readonly What[] = ["fired", "joined", "suppressed", "failing", "passing", "unknown"];

function upper(what: What): boolean {
  return what === "fired" || what === "joined" || what === "suppressed";
}

function Mark(props: { what: What; share: number; y: number; words: string }): JSX.Element {
  return (
    <svg x={`${2 + props.share * 96}%`} y={props.y} overflow="visible">
      <path class={`mark-${props.what}`} d={SHAPES[props.what]}>
        <title>{props.words}</title>
      </path>
    </svg>
  );
}

/* entries: of from to `to` (ms), in any order. */
export function HistoryStrip(props: { entries: readonly Entry[]; from: number; to: number }): JSX.Element {
  const { entries, from, to } = props;
  const numbers = WHATS.map((what) => [what, entries.filter((entry) => entry.what === what).length] as const);
  const words = numbers.filter(([, n]) => n > 0).map(([what, n]) => `${count(n)} × ${HISTORY_WORDS[what]}`);
  const span = Math.max(1, to - from);
  return (
    <figure class="strip-figure">
      <svg class="strip" role="img" aria-label={`What it did: ${words.join("; ") || "nothing"}`}>
        {entries.map((entry, i) => {
          const at = millis(entry.time);
          const share = Math.min(1, Math.max(0, (at - from) / span));
          return <Mark key={i} what={entry.what} share={share} y={upper(entry.what) ? 17 : 41} words={`${clock(at)}: ${HISTORY_WORDS[entry.what] ?? entry.what}. ${shown(entry.why, 300)}`} />;
        })}
      </svg>
      <div class="strip-ends">
        <span>{clock(from)}</span>
        <span>{clock(to)}</span>
      </div>
      <ul class="legend">
        {numbers.map(([what, n]) => (
          <li key={what}>
            <svg viewBox="-10 -10 20 20" aria-hidden="true">
              <path class={`mark-${what}`} d={SHAPES[what]} />
            </svg>
            {HISTORY_WORDS[what]}: {count(n)}
          </li>
        ))}
      </ul>
    </figure>
  );
}
