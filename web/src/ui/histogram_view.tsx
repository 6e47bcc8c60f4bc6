// SPDX-License-Identifier: Apache-2.0
// Histograms as small pictures: bars by logarithms of counts, so that one outlier is seen beside a million. A second
// histogram hangs below the first. Outliers are links. Sizes are attributes: the page allows no inline style.
import type { JSX } from "preact";
import { type Bucket, STEPS, lengthOf, marks, outliers, quantile, total } from "./histogram";
import { count, duration } from "./units";
import { shown } from "./text";

const WIDTH = 200;
const HEIGHT = 34;
const DOT = 3.5;

export interface Range {
  first: number; /* steps */
  last: number;
}

export function rangeOf(all: readonly (readonly Bucket<unknown>[])[]): Range {
  const steps = all.flat().map((bucket) => bucket.step);
  if (steps.length === 0) return { first: 0, last: STEPS };
  return { first: steps.reduce((a, b) => Math.min(a, b)), last: steps.reduce((a, b) => Math.max(a, b)) };
}

function xOf(step: number, range: Range): number {
  return ((step - range.first) / (range.last - range.first + 1)) * WIDTH;
}

function Bars(props: { of: readonly Bucket<unknown>[]; range: Range; most: number; name: string; down?: boolean }): JSX.Element {
  const width = Math.max(1, WIDTH / (props.range.last - props.range.first + 1) - 0.5);
  return (
    <g class={props.name}>
      {props.of.map((bucket) => {
        const height = Math.max(2, (Math.log2(bucket.count + 1) / Math.log2(props.most + 1)) * HEIGHT);
        const y = props.down === true ? HEIGHT + 1 : HEIGHT - height;
        return <rect key={bucket.step} x={xOf(bucket.step, props.range)} y={y} width={width} height={height} />;
      })}
    </g>
  );
}

function words(of: readonly Bucket<unknown>[]): string {
  const all = total(of);
  if (all === 0) return "none";
  return `${count(all)}, half of them up to ${duration(quantile(of, 0.5))}, 99 % up to ${duration(quantile(of, 0.99))}, all up to ${duration(quantile(of, 1))}`;
}

/* of: the histogram, or what was before; and: what hangs below it. link: where an example is seen. */
export function HistogramView<E>(props: {
  label: string;
  of: readonly Bucket<E>[];
  and?: readonly Bucket<E>[] | undefined;
  range: Range;
  link?: (example: E) => { href: string; words: string };
}): JSX.Element {
  const { of, and, range, link } = props;
  const most = Math.max(1, ...of.map((bucket) => bucket.count), ...(and ?? []).map((bucket) => bucket.count));
  const height = and === undefined ? HEIGHT : 2 * HEIGHT + 1;
  const label = `${shown(props.label, 300)}: ${and === undefined ? words(of) : `before ${words(of)}; now ${words(and)}`}`;
  const dots = link === undefined ? [] : outliers(and ?? of).filter((bucket) => bucket.example !== undefined);
  const dotY = and === undefined ? DOT + 1 : height - DOT - 1;
  return (
    <svg class="histogram" width={WIDTH} height={height} viewBox={`0 0 ${WIDTH} ${height}`} role={dots.length > 0 ? "group" : "img"} aria-label={label}>
      <title>{label}</title>
      {marks(range.first, range.last).map((ns) => (
        <line key={ns} class="mark" x1={xOf(Math.log2(ns) * STEPS, range)} x2={xOf(Math.log2(ns) * STEPS, range)} y1={0} y2={height} />
      ))}
      <Bars of={of} range={range} most={most} name={and === undefined ? "now" : "before"} />
      {and !== undefined && <Bars of={and} range={range} most={most} name="now" down />}
      <line class="axis" x1={0} x2={WIDTH} y1={HEIGHT + 0.5} y2={HEIGHT + 0.5} />
      {dots.map((bucket) => {
        const { href, words: said } = link!(bucket.example!);
        return (
          <a key={bucket.step} href={href} aria-label={said}>
            <circle class="outlier" cx={Math.min(Math.max(xOf(bucket.step + 0.5, range), DOT + 1), WIDTH - DOT - 1)} cy={dotY} r={DOT}>
              <title>{said}</title>
            </circle>
          </a>
        );
      })}
    </svg>
  );
}

/* What the lines of a column of histograms stand for. */
export function AxisWords(props: { range: Range }): JSX.Element {
  const lengths = marks(props.range.first, props.range.last);
  return (
    <span class="quiet">
      {duration(lengthOf(props.range.first))} to {duration(lengthOf(props.range.last + 1))}
      {lengths.length > 0 ? `; lines at ${duration(lengths[0]!)}${lengths.length > 1 ? ` and each tenfold up to ${duration(lengths.at(-1)!)}` : ""}` : ""};
      higher is more, by logarithm
    </span>
  );
}
