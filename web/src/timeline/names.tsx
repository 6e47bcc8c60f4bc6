// SPDX-License-Identifier: Apache-2.0
// Names of the tracks, beside the canvas or above their lanes: what a track is, its state in words, fold and pin. Only
// those in view are there. Their buttons are for the pointer; keys e and b do the same.
import type { JSX } from "preact";
import type { Model } from "./model";
import { AXIS_PX } from "./paint";
import type { Row } from "./tracks";
import { clockWords, threadWords } from "./words";
import { shown } from "../ui/text";
import { bytes, count } from "../ui/units";
import { valueWords } from "./words";

/* What is not as it should be of a process, or is still to come. */
function processState(model: Model, row: Row): string {
  const process = model.process(row.process);
  if (process === undefined) return "";
  const words: string[] = [];
  if (process.loaded === "failed") words.push(`failed: ${shown(process.problem?.text ?? "it could not be read", 160)}`);
  else if (process.loaded === "let-go") words.push("let go for memory");
  else if (process.loaded === "around") words.push(`${bytes(process.bytesDone)} of ${bytes(process.bytes)}`);
  else if (process.loaded !== "whole") words.push("not read yet");
  if (process.lost > 0) words.push(`⚠ ${count(process.lost)} ${process.lost === 1 ? "record" : "records"} lost`);
  if (process.death !== null)
    words.push(process.death.signal > 0 ? `✕ died of signal ${process.death.signal}` : `✕ ended with ${process.death.status}`);
  const clock = clockWords(process);
  if (clock !== "") words.push(process.clockErrorNs === null ? "clock unknown" : clock); /* the column is narrow */
  return words.join(" · ");
}

function counterName(model: Model, row: Row): [string, string] {
  const lane = row.bands[0]?.lanes[0];
  const type = model.type(lane?.number ?? -1);
  const unit = type?.args[0]?.unit ?? "";
  const range = lane === undefined ? "" : `${valueWords(lane.least, "", false)} to ${valueWords(lane.most, unit, false)}`;
  return [shown(type?.name ?? "counter", 80), range];
}

function nameOf(model: Model, row: Row): [string, string] {
  const process = model.process(row.process);
  switch (row.kind) {
    case "process":
      return [`${shown(process?.service ?? "?", 60)}/${process?.pid ?? "?"} ${shown(process?.host ?? "", 60)}`, processState(model, row)];
    case "thread":
      return [`${row.pinned && row.key.startsWith("!") ? `${shown(process?.service ?? "", 30)}: ` : ""}${threadWords(model.thread(row.thread))}`, ""];
    case "counter":
      return counterName(model, row);
    case "idle":
      return [`${count(row.idle.length)} threads that only wait`, ""];
    default:
      return [row.words, ""];
  }
}

/* In words, for whoever listens. */
export function trackName(model: Model, row: Row): string {
  return nameOf(model, row)
    .filter((words) => words !== "")
    .join(", ");
}

function Fold(props: { model: Model; row: Row; name: string }): JSX.Element {
  const { row, model } = props;
  if (!row.foldable || (row.pinned && row.kind === "process" && row.key.startsWith("!"))) return <span class="tl-fold" />;
  return (
    <button
      type="button"
      class="tl-fold"
      tabIndex={-1}
      aria-expanded={!row.folded}
      aria-label={`${row.folded ? "Open" : "Fold"} ${props.name}`}
      onClick={() => model.toggleFold(row.key.replace(/^!/, ""))}
    >
      {row.folded ? "▸" : "▾"}
    </button>
  );
}

function Name(props: { model: Model; row: Row }): JSX.Element {
  const { model, row } = props;
  const [name, state] = nameOf(model, row);
  const failure = row.kind === "process" && row.process === model.fired.value && model.trace.at.value !== null;
  const pinnable = row.kind === "process" || row.kind === "thread";
  const chosen = model.track.value === row.key;
  return (
    <div
      class={`tl-name tl-name-${row.kind} ${row.title > 0 ? "above" : ""} ${chosen ? "chosen" : ""}`}
      aria-current={chosen ? "true" : undefined}
      style={{ top: `${row.y}px`, height: `${row.title > 0 ? row.title : row.height}px`, "--tl-indent": `${row.indent * 14}px` }}
    >
      <Fold model={model} row={row} name={name} />
      <span class="tl-name-words" title={state === "" ? name : `${name}: ${state}`}>
        {failure && <span class="tl-failed">▲ </span>}
        {name}
        {state !== "" && <span class="tl-name-state">{row.kind === "counter" ? ` ${state}` : ` · ${state}`}</span>}
      </span>
      {pinnable && (
        <button
          type="button"
          class={`tl-pin ${row.pinned ? "on" : ""}`}
          tabIndex={-1}
          aria-pressed={row.pinned}
          aria-label={`Pin ${name}`}
          onClick={() => model.togglePin(row.key)}
        >
          {row.pinned ? "◆" : "◇"}
        </button>
      )}
    </div>
  );
}

export function Names(props: { model: Model }): JSX.Element {
  const { model } = props;
  void [model.tracks.value, model.size.value, model.trace.processes.value];
  const scroll = model.scroll.value;
  const rows = model.rowsInView(60);
  return (
    <div class="tl-names" role="group" aria-label="Tracks">
      <div class="tl-names-head" style={{ height: `${AXIS_PX}px` }}>
        Tracks
      </div>
      <div class="tl-names-view">
        <div class="tl-names-move" style={{ transform: `translateY(${-scroll}px)` }}>
          {rows.map((row) => (
            <Name key={row.key} model={model} row={row} />
          ))}
        </div>
      </div>
    </div>
  );
}
