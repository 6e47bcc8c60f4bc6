// SPDX-License-Identifier: Apache-2.0
// What is below the pointer in words: name, length, thread, arguments; a counter's values; states; losses. Lines of
// text, nothing else; what programs wrote goes through shown().
import { type EventDetails, STATE_RUNNABLE, STATE_RUNNING } from "../trace/trace";
import { shown } from "../ui/text";
import { count, duration } from "../ui/units";
import type { Model } from "./model";
import type { Below } from "./pointer";
import type { Picked } from "./select";
import { clockWords, pointWords, processWords, ranWords, threadWords, valueWords } from "./words";
import { relativeLabel } from "./zoom";

function stateWords(type: number): string {
  return type === STATE_RUNNING ? "running on a CPU" : type === STATE_RUNNABLE ? "ready, waiting for a CPU" : "blocked";
}

function counterWords(model: Model, picked: Picked): string[] {
  const [least, most, last] = picked.value;
  const type = model.type(picked.lane.number);
  const unit = type?.args[0]?.unit ?? "";
  const words = (value: number): string => valueWords(value, unit, false);
  const lines = [`${shown(type?.name ?? "counter", 120)}: ${words(last)}`];
  if (!picked.row && least !== most) lines.push(`here between ${words(least)} and ${words(most)}`);
  lines.push(`in all least ${words(picked.lane.least)}, most ${words(picked.lane.most)}`);
  return lines;
}

function samplesWords(share: number): string {
  const many = Math.round(share);
  return `${count(many)} ${many === 1 ? "sample" : "samples"}: it ran on a CPU`;
}

function pickedWords(model: Model, picked: Picked): string[] {
  const { lane } = picked;
  if (lane.kind === "counter") return counterWords(model, picked);
  if (lane.kind === "state") return [`${stateWords(picked.type)}${picked.row ? `: ${duration(picked.longest)}` : " for the most part here"}`];
  if (lane.kind === "sample") return [picked.row ? "a sample: it ran on a CPU" : samplesWords(picked.share)];
  const name = shown(model.type(picked.type)?.name ?? "?", 160);
  if (lane.kind === "mark") return [picked.row ? name : `several; the most severe: ${name}`];
  return [picked.row ? `${name}: ${duration(picked.longest)}` : `several; the longest: ${name}, ${duration(picked.longest)}`];
}

/* The first line, once it is known what ran: of several samples one is told. */
export function sampleWords(first: string, alone: boolean, details: EventDetails): string {
  const ran = ranWords(details);
  if (ran === "") return `${first}; no stack was had`;
  return alone ? `ran on a CPU: ${ran}` : `${first}, one of them in ${ran}`;
}

/* Lines for what is below the pointer. */
export function hoverWords(model: Model, below: Below): string[] {
  const { row, picked, lost, time } = below;
  if (row.kind === "heading") return [];
  const process = model.process(row.process);
  const thread = model.thread(picked?.lane.thread ?? row.thread);
  const lines = picked === null ? [] : pickedWords(model, picked);
  if (lost !== null) lines.push(`lost here: ${shown(model.trace.lossText(lost.type), 200)} (${duration(lost.longest)})`);
  if (process !== undefined && (time < process.from || time > process.to) && row.kind !== "note")
    lines.push(`nothing is recorded here: the record is from ${relativeLabel(process.from - model.base.zero, 1e6)} to ${relativeLabel(process.to - model.base.zero, 1e6)}`);
  if (row.kind === "idle") lines.push(`${count(row.idle.length)} threads that only wait; a click shows them`);
  lines.push(`${processWords(process)}${process?.host === "" ? "" : ` on ${shown(process?.host ?? "?", 80)}`}${thread === undefined ? "" : `, ${threadWords(thread)}`}`);
  const clock = process === undefined ? "" : clockWords(process);
  lines.push(`${pointWords(picked !== null && picked.row ? picked.from : time, model.base)}${clock === "" ? "" : ` (${clock})`}`);
  return lines;
}
