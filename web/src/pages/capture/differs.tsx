// SPDX-License-Identifier: Apache-2.0
// What differs before the failure from a baseline (docs/diff.md): the same table for a capture and for two of them.
import type { ComponentChildren, JSX } from "preact";
import type { Schemas } from "../../api/client";
import { type Range, AxisWords, HistogramView, rangeOf } from "../../ui/histogram_view";
import { Chip, Note, Table, Text } from "../../ui/parts";
import { timelineLink } from "../../ui/timeline_link";
import { count, duration, share } from "../../ui/units";
import type { Capture } from "../../ui/capture_words";
import { type Example, type Lengths, lengthsKey, longestOf } from "./lengths";
import { useFirst } from "./parts";

export type Diff = Schemas["Diff"];
type Change = Schemas["DiffChange"];
type Side = Schemas["DiffSide"];

const FIRST = 12;
const FEW = 200; /* calls on a side, below which a row says so */

const KINDS: Readonly<Record<Change["kind"], string>> = {
  region: "own time",
  wait: "wait",
  instant: "instant",
  stack: "stack",
  cpu: "on CPUs",
  sched: "waited for a CPU",
  counter: "counter",
  log: "log line",
};

/* Where the capture's page tells of such a row; a row of another kind has an example on the timeline. */
const PARTS: Partial<Record<Change["kind"], string>> = { stack: "flame", cpu: "flame", sched: "sched", log: "logs", counter: "counters" };

const TIMELESS: readonly Change["kind"][] = ["instant", "log"];

function shareOf(side: Side): string {
  return side.busy === undefined ? "–" : share(side.busy);
}

function rateOf(side: Side): string {
  if (side.rate === undefined) return "–";
  const rate = side.rate;
  return `${rate >= 100 ? count(Math.round(rate)) : rate >= 1 ? rate.toFixed(1) : rate === 0 ? "0" : rate.toPrecision(2)}/s`;
}

function lengthOf(ns: number | string | undefined): string {
  return ns === undefined ? "–" : duration(Number(ns));
}

function valueOf(side: Side, unit: string | undefined): string {
  if (side.mean === undefined) return "–";
  return `${Number(side.mean.toPrecision(4)).toLocaleString("en-US")}${unit === undefined || unit === "" ? "" : ` ${unit}`}`;
}

function Turn(props: { before: string; now: string }): JSX.Element {
  if (props.before === "–" && props.now === "–") return <>–</>;
  return (
    <>
      {props.before} → {props.now}
    </>
  );
}

function isFew(change: Change): boolean {
  if (change.kind === "counter" || change.kind === "sched" || change.kind === "cpu") return false;
  return Number(change.before.count) < FEW || Number(change.after.count) < FEW;
}

function Marks(props: { of: Change }): JSX.Element {
  const { of } = props;
  const [before, after] = [Number(of.before.count), Number(of.after.count)];
  return (
    <>
      {of.sure ? <Chip kind="ok">sure</Chip> : <Chip title="nothing makes it sure: it came too seldom. Such a line is often the cause">may be chance</Chip>}{" "}
      {before === 0 && after > 0 && <Chip kind="warn">new</Chip>} {before > 0 && after === 0 && <Chip kind="warn">vanished</Chip>}{" "}
      {isFew(of) && <Chip title={`less than ${FEW} in either: ${count(before)} before, ${count(after)} now`}>few</Chip>}
    </>
  );
}

export interface DiffContext {
  page: string; /* of the capture that is judged; "": this one */
  link: (example: Example) => string;
  lengths: ReadonlyMap<string, Lengths> | undefined; /* undefined: not known (yet) */
}

/* Its longest example; else the part of the capture's page that tells of it; an instant is looked for. */
export function changeLink(of: Pick<Change, "kind" | "name">, context: DiffContext, example: Example | undefined): string | undefined {
  if (example !== undefined) return context.link(example);
  if (of.kind === "instant" && of.name !== undefined) {
    const query = `name="${of.name.replaceAll(/["\\]/g, "\\$&")}"`; /* a name may be anything, also words of the search */
    return `${context.page || location.pathname}/timeline?q=${encodeURIComponent(query)}`;
  }
  const place = PARTS[of.kind];
  return place === undefined ? undefined : `${context.page}#${place}`;
}

function Picture(props: { of: Lengths | undefined; range: Range; context: DiffContext }): JSX.Element | null {
  const { of, context } = props;
  if (of === undefined) return null;
  return (
    <HistogramView
      label={of.name}
      of={of.before}
      and={of.after}
      range={props.range}
      link={(example) => ({ href: context.link(example), words: outlierWords(example) })}
    />
  );
}

export function outlierWords(example: Example): string {
  return `the longest of these: ${duration(example.length)}; show it on the timeline`;
}

function ChangeRow(props: { of: Change; range: Range; context: DiffContext }): JSX.Element {
  const { of, context } = props;
  const who = of.service ?? (of.host === undefined ? "" : `host ${of.host}`);
  const timed = of.kind === "region" || of.kind === "wait";
  const lengths = timed ? context.lengths?.get(lengthsKey(of.service ?? "", of.name ?? "")) : undefined;
  const example = lengths === undefined ? undefined : longestOf(lengths);
  const to = changeLink(of, context, example);
  const name = `${who}: ${of.name ?? KINDS[of.kind]}`;
  return (
    <tr>
      <td class="what">
        {to === undefined ? <Text text={name} most={200} /> : <a href={to}><Text text={name} most={200} /></a>}
        <br />
        <span class="quiet">
          {KINDS[of.kind]}
          {of.stack !== undefined && (
            <>
              {" "}
              at <Text text={of.stack.split(";").slice(0, 4).join(" ← ")} most={200} />
            </>
          )}
        </span>
      </td>
      <td class="number">
        {of.kind === "counter" && <Turn before={valueOf(of.before, of.unit)} now={valueOf(of.after, of.unit)} />}
        {TIMELESS.includes(of.kind) && "–"}
        {of.kind !== "counter" && !TIMELESS.includes(of.kind) && <Turn before={shareOf(of.before)} now={shareOf(of.after)} />}
      </td>
      <td class="number">
        <Turn before={rateOf(of.before)} now={rateOf(of.after)} />
      </td>
      <td class="number">
        {timed ? <Turn before={lengthOf(of.before.p99_ns)} now={lengthOf(of.after.p99_ns)} /> : "–"}
      </td>
      <td class="number">
        {timed ? <Turn before={lengthOf(of.before.max_ns)} now={lengthOf(of.after.max_ns)} /> : "–"}
      </td>
      <td>
        <Picture of={lengths} range={props.range} context={context} />
      </td>
      <td>
        <Marks of={of} />
      </td>
    </tr>
  );
}

export function DiffTable(props: { diff: Diff; context: DiffContext }): JSX.Element {
  const { diff, context } = props;
  const { rows, more } = useFirst(diff.changes, FIRST);
  const shown = rows.flatMap((change) => {
    const lengths = context.lengths?.get(lengthsKey(change.service ?? "", change.name ?? ""));
    return lengths === undefined ? [] : [lengths.before, lengths.after];
  });
  const range = rangeOf(shown);
  const head = (
    <>
      <th>What</th>
      <th class="number">Share of a second</th>
      <th class="number">How often</th>
      <th class="number">p99</th>
      <th class="number">Longest</th>
      <th>Before above, now below</th>
      <th>Judged</th>
    </>
  );
  if (diff.changes.length === 0) return <Outcome diff={diff} />;
  return (
    <>
      <Outcome diff={diff} />
      <Table caption="What differs, the largest change first" head={head}>
        {rows.map((change, i) => (
          <ChangeRow key={i} of={change} range={range} context={context} />
        ))}
      </Table>
      {more}
      {shown.length > 0 && (
        <p>
          <AxisWords range={range} />
        </p>
      )}
      <p class="quiet">
        {count(diff.compared)} rows compared, {count(diff.tests)} tests; at most {share(diff.sure_at_q)} of the sure ones are chance. Time is
        own time: that of regions inside is not in it. Several threads can have more than a second of each second.
      </p>
    </>
  );
}

function Outcome(props: { diff: Diff }): JSX.Element {
  return (
    <>
      <p>
        <strong>
          <Text text={props.diff.outcome_words} />
        </strong>
      </p>
      {props.diff.notes.length > 0 && (
        <Note>
          {props.diff.notes.map((note, i) => (
            <p key={i}>
              <Text text={note} />
            </p>
          ))}
        </Note>
      )}
      {props.diff.damaged && (
        <Note kind="warn">
          <p>Damaged partitions were left out.</p>
        </Note>
      )}
    </>
  );
}

/* Which baseline, why, why not the others, and the onset. */
export function DiffHead(props: { diff: Diff; capture: Capture; children?: ComponentChildren }): JSX.Element {
  const { baseline, onset } = props.diff;
  const at = onset === undefined ? undefined : BigInt(onset.at_ns);
  const lasted = onset?.lasted_ns === undefined ? 0 : Number(onset.lasted_ns);
  return (
    <>
      {props.children}
      <p>
        Baseline: <strong>{baseline.chosen}</strong>
        {baseline.why !== undefined && (
          <>
            {" "}
            – <Text text={baseline.why} />
          </>
        )}
        {baseline.capture !== undefined && (
          <>
            {" "}
            · <a href={`/captures/${encodeURIComponent(baseline.capture)}`}>its capture</a>
          </>
        )}
        {baseline.others.map((other) => (
          <span key={other.baseline} class="quiet">
            <br />
            not {other.baseline}: <Text text={other.why_not} />
          </span>
        ))}
      </p>
      {onset !== undefined && at !== undefined && (
        <p>
          Onset: <a href={timelineLink(props.capture, { beginNs: at, lengthNs: lasted, select: lasted > 0 })}><Text text={onset.words} /></a>
        </p>
      )}
    </>
  );
}
