// SPDX-License-Identifier: Apache-2.0
// Counters over the window: the programs' own first, then vitals of processes and hosts, each as a small line.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Capture } from "../../ui/capture_words";
import { CheckField, TextField } from "../../ui/form";
import { Note, Table, Text } from "../../ui/parts";
import { shown } from "../../ui/text";
import { bytes, count, nanos } from "../../ui/units";
import type { Row } from "./ask_sql";
import { type Counter, countersOf } from "./counter_rows";
import { SqlShown, useFirst, useSql } from "./parts";

const BUCKETS = 60;
const FIRST = 24;
const WIDTH = 240;
const HEIGHT = 28;

/* Of each counter its buckets, and as slot -1 the last value until the failure. */
function query(from: bigint, to: bigint, at: bigint): string {
  const step = (to - from) / BigInt(BUCKETS) + 1n;
  const whose = "select service, host, pid, case when name like 'host.%' then '' else process end as process, name, unit, evidence";
  return `select * from (${whose},
      (ts - ${from}) / ${step} as slot, min(value) as least, max(value) as most, avg(value) as mean
      from counter where ts >= ${from} and ts <= ${to} group by host, 4, name, slot
    union all select service, host, pid, process, name, unit, evidence, -1, value, value, value
      from (${whose}, value, max(ts) from counter where ts >= ${from} and ts <= ${at} group by host, 4, name))
    order by evidence, host, 4, name, slot`;
}

function value(of: number, unit: string): string {
  if (!Number.isFinite(of)) return "–";
  if (unit === "bytes" || unit === "B") return bytes(Math.round(of));
  if (unit === "bytes/s") return `${bytes(Math.round(of))}/s`;
  return `${Number(of.toPrecision(4)).toLocaleString("en-US")}${unit === "" ? "" : ` ${unit}`}`;
}

function Line(props: { of: Counter; slots: number; at: number }): JSX.Element {
  const { of } = props;
  const span = of.most - of.least;
  const x = (slot: number): number => ((slot + 0.5) / props.slots) * WIDTH;
  const y = (mean: number): number => (span > 0 ? HEIGHT - 2 - ((mean - of.least) / span) * (HEIGHT - 4) : HEIGHT / 2);
  const points = of.points.map((point) => `${x(point.slot).toFixed(1)},${y(point.mean).toFixed(1)}`).join(" ");
  const words = `${shown(of.name, 120)}: from ${value(of.least, of.unit)} to ${value(of.most, of.unit)}`;
  return (
    <svg class="spark" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={words}>
      <line class="at" x1={props.at * WIDTH} x2={props.at * WIDTH} y1={0} y2={HEIGHT} />
      {of.points.length === 1 ? <circle class="dot" cx={x(of.points[0]!.slot)} cy={y(of.points[0]!.mean)} r={2} /> : <polyline points={points} />}
    </svg>
  );
}

function Rows(props: { all: Counter[]; at: number }): JSX.Element {
  const [text, setText] = useState("");
  const [flat, setFlat] = useState(false);
  const wanted = props.all.filter((counter) => (flat || counter.most > counter.least) && counter.name.includes(text.trim()));
  const { rows, more } = useFirst(wanted, FIRST);
  const still = props.all.filter((counter) => !(counter.most > counter.least)).length;
  const head = (
    <>
      <th>Counter</th>
      <th>Of</th>
      <th class="number">Least</th>
      <th class="number">Most</th>
      <th class="number">At the failure</th>
      <th>Over the window; the line is the failure</th>
    </>
  );
  return (
    <>
      <div class="filters">
        <TextField label="Name has" value={text} set={setText} kind="search" placeholder="cpu" />
        <CheckField label={`also those that stood still (${count(still)})`} value={flat} set={setFlat} />
      </div>
      <Table caption="Counters and vitals" head={head}>
        {rows.map((counter) => (
          <tr key={counter.key}>
            <td class="what">
              <Text text={counter.name} most={120} />
            </td>
            <td>
              <Text text={counter.of} most={100} />
            </td>
            <td class="number">{value(counter.least, counter.unit)}</td>
            <td class="number">{value(counter.most, counter.unit)}</td>
            <td class="number">{value(counter.last, counter.unit)}</td>
            <td>
              <Line of={counter} slots={BUCKETS} at={props.at} />
            </td>
          </tr>
        ))}
      </Table>
      {more}
    </>
  );
}

export function Counters(props: { capture: Capture }): JSX.Element {
  const { capture } = props;
  const [from, to, at] = [nanos(capture.window.from), nanos(capture.window.to), nanos(capture.at)];
  const answer = useSql(capture, from === null || to === null ? undefined : query(from, to, at ?? to));
  const place = from === null || to === null || at === null || to <= from ? 0 : Number(at - from) / Number(to - from);
  return (
    <SqlShown of={answer} what="counters and vitals">
      {(rows: { rows: Row[] }) =>
        rows.rows.length === 0 ? (
          <Note>
            <p>No counter is in this capture, neither of programs nor of hosts.</p>
          </Note>
        ) : (
          <Rows all={countersOf(rows.rows)} at={Math.min(1, Math.max(0, place))} />
        )
      }
    </SqlShown>
  );
}
