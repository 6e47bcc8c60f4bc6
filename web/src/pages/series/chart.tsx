// SPDX-License-Identifier: Apache-2.0
// Lines over time by uPlot. The chart is for eyes: the table below tells the same.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { shown } from "../../ui/text";
import { clock } from "../../ui/units";
import { settings } from "../../ui/settings";
import { type Series, lineName, lineValue, tableOf, withHoles } from "./lines";

const HEIGHT = 320;
/* Apart also for red-green blindness, on both surfaces; dashes tell them apart without colour. */
const HUES = ["#3182bd", "#e08214", "#5aae61", "#b2589c", "#8c6d31", "#17a2a2", "#7b74d0", "#c0504d"];
const DASHES: number[][] = [[], [8, 4], [2, 3], [8, 3, 2, 3]];

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* As the reader has chosen clocks; days where the chart has several. */
function tick(ms: number, span: number): string {
  return clock(ms, span > 36 * 3_600_000).replace(/(\d\d:\d\d):\d\d/, "$1").replace(/^\d{4}-/, "");
}

function optionsOf(of: Series, value: (value: number) => string, width: number, from: number, to: number): uPlot.Options {
  const axis = { stroke: colour("--text-2"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
  return {
    width,
    height: HEIGHT,
    ms: 1,
    ...(settings.zone.value === "utc" ? { tzDate: (ms: number) => uPlot.tzDate(new Date(ms), "Etc/UTC") } : {}),
    series: [
      { value: (_: uPlot, ms: number | null) => (ms === null ? "–" : clock(ms)) },
      ...of.series.map((line, i) => ({
        label: shown(lineName(line), 60),
        stroke: HUES[i % HUES.length]!,
        width: 2,
        dash: DASHES[Math.floor(i / 2) % DASHES.length]!,
        points: { size: 5 },
        value: (_: uPlot, point: number | null) => (point === null ? "–" : value(point)),
      })),
    ],
    axes: [{ ...axis, space: 100, values: (_: uPlot, ticks: number[]) => ticks.map((ms) => tick(ms, to - from)) }, { ...axis, size: 90, values: (_: uPlot, ticks: number[]) => ticks.map(value) }],
    scales: { x: { range: () => [from, to] }, y: { range: (_: uPlot, __: number, most: number) => [0, most > 0 ? most * 1.05 : 1] } },
  };
}

export function Chart(props: { of: Series; value: (value: number) => string; from: number; to: number }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const theme = settings.theme.value;
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const rows = withHoles(tableOf(props.of), Number(props.of.step_s) * 1000);
    const data: uPlot.AlignedData = [rows.map((row) => row.at), ...props.of.series.map((_, i) => rows.map((row) => lineValue(row.values[i])))];
    const plot = new uPlot(optionsOf(props.of, props.value, element.clientWidth, props.from, props.to), data, element);
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [props.of, theme]);
  return <div class="chart" ref={place} role="img" aria-label="The series as lines over time; the table below tells the same." />;
}
