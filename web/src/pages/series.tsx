// SPDX-License-Identifier: Apache-2.0
// Series: what samples of policies came to over hours and weeks, as lines and as a table.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAsk } from "../api/ask";
import type { Schemas } from "../api/client";
import { type Address, useAddress } from "../ui/address";
import { ChoiceField, FilterForm, TextField } from "../ui/form";
import { Empty, Heading, Note, Shown, Table, Text } from "../ui/parts";
import { clock, count, duration, millis } from "../ui/units";
import "../style/series.css";
import { Chart } from "./series/chart";
import { type Series, lineName, stretchFrom, tableOf } from "./series/lines";

const METRICS = [
  ["latency", "how long a name takes"],
  ["rate", "how often a name comes, a second"],
  ["self", "own time of a name, of each second"],
  ["count", "how many were sampled"],
  ["wait", "waits of a service, by reason"],
  ["cpu", "time on CPUs"],
  ["errors", "log lines of the level error, a second"],
  ["sampled", "time that was sampled"],
] as const;

type Metric = (typeof METRICS)[number][0];

const STRETCHES = [
  ["6h", "6 hours"],
  ["1d", "a day"],
  ["7d", "a week"],
  ["28d", "four weeks"],
] as const;

type Stretch = (typeof STRETCHES)[number][0];

function Ask(props: { address: Address; metric: Metric; stretch: Stretch }): JSX.Element {
  const { address, metric } = props;
  const [service, setService] = useState(address.get("service"));
  const [name, setName] = useState(address.get("name"));
  return (
    <FilterForm choose={() => address.set({ service: service.trim(), name: name.trim() })}>
      <ChoiceField label="What" value={metric} set={(value: Metric) => address.set({ metric: value })} choices={METRICS} />
      {metric === "latency" && (
        <ChoiceField
          label="Of these, up to"
          value={address.get("quantile") || "0.99"}
          set={(quantile) => address.set({ quantile })}
          choices={[
            ["0.5", "half (p50)"],
            ["0.9", "90 % (p90)"],
            ["0.99", "99 % (p99)"],
            ["1", "all"],
          ]}
        />
      )}
      <TextField label="Service" value={service} set={setService} placeholder="shop" />
      <TextField label="Name" value={name} set={setName} placeholder="all" />
      <ChoiceField label="Over the last" value={props.stretch} set={(value: Stretch) => address.set({ stretch: value })} choices={STRETCHES} />
      <button type="submit" class="button">
        Show
      </button>
    </FilterForm>
  );
}

/* Values in the unit that the heading names. */
function valueWords(unit: string): (value: number) => string {
  switch (unit) {
    case "seconds":
      return (value) => duration(value * 1e9);
    case "seconds per sampled second":
      return (value) => `${duration(value * 1e9)}/s`;
    default:
      return (value) => Number(value.toPrecision(4)).toLocaleString("en-US");
  }
}

const ROWS = 60;

function SeriesTable(props: { of: Series; value: (value: number) => string }): JSX.Element {
  const { of, value } = props;
  const rows = tableOf(of);
  const shown = rows.slice(-ROWS);
  const head = (
    <>
      <th>From</th>
      {of.series.map((line, i) => (
        <th key={i} class="number">
          <Text text={lineName(line)} most={60} />
        </th>
      ))}
    </>
  );
  return (
    <>
      <Table caption={`The same as a table, in ${of.unit}`} head={head} seen>
        {shown.map((row) => (
          <tr key={row.at}>
            <th scope="row" class="nowrap">
              {clock(row.at)}
            </th>
            {row.values.map((point, i) => (
              <td key={i} class="number" title={point === undefined ? "nothing was sampled" : `from ${duration(point.seen_s * 1e9)} of sampled time`}>
                {point === undefined ? "–" : value(point.value)}
              </td>
            ))}
          </tr>
        ))}
      </Table>
      {rows.length > shown.length && <p>The newest {count(shown.length)} of {count(rows.length)} times; the chart has all.</p>}
    </>
  );
}

function LeftOut(props: { of: Series }): JSX.Element | null {
  const { of } = props;
  const out = of.left_out;
  const words = [
    Number(out.series) > 0 ? `${count(out.series)} lines with less are left out.` : "",
    Number(out.names) > 0 ? `At least ${count(out.names)} names of one time are in (others).` : "",
    Number(out.rows_dropped) > 0 ? `${count(out.rows_dropped)} rows of the oldest time were dropped.` : "",
    Number(out.late_captures) > 0 ? `${count(out.late_captures)} samples changed too late to be counted anew.` : "",
    Number(of.coarsest_s) > Number(of.step_s) ? "Some values are of whole hours." : "",
  ].filter((word) => word !== "");
  if (words.length === 0) return null;
  return (
    <Note>
      {words.map((word) => (
        <p key={word}>{word}</p>
      ))}
    </Note>
  );
}

export default function SeriesPage(): JSX.Element {
  const address = useAddress();
  const metric = METRICS.find(([name]) => name === address.get("metric"))?.[0] ?? (address.get("service") === "" ? "rate" : "latency");
  const stretch = STRETCHES.find(([name]) => name === address.get("stretch"))?.[0] ?? "1d";
  const service = address.get("service");
  const needed = service === "" && metric !== "count" && metric !== "rate";
  const [from] = useState(() => new Map<string, string>());
  const begin = from.get(stretch) ?? stretchFrom(stretch, Date.now());
  from.set(stretch, begin);
  const quantile = metric === "latency" ? address.get("quantile") || "0.99" : undefined;
  const series = useAsk<Schemas["Series"]>(needed ? undefined : "/series", { metric, service, name: address.get("name"), from: begin, quantile, limit: 8 });
  return (
    <>
      <Heading title="Series" />
      <p>What the samples of policies came to over time. Values are of sampled time: nothing is scaled up.</p>
      <Ask key={`${service} ${address.get("name")}`} address={address} metric={metric} stretch={stretch} />
      {needed ? (
        <Empty title="Of which service?">
          <p>
            This is told of one service. <button type="button" class="button" onClick={() => address.set({ metric: "rate" })}>How often regions of all services come</button>
          </p>
        </Empty>
      ) : (
        <Shown of={series} what="the series" lines={12}>
          {(data) =>
            data.series.length === 0 ? (
              <Empty title="Nothing was sampled in this time">
                <p>
                  A <a href="/policies">policy</a> samples processes for a part of the time; its samples make the series.
                </p>
              </Empty>
            ) : (
              <>
                <h2 class="sentence">
                  {METRICS.find(([name]) => name === metric)?.[1]}, in <Text text={data.unit} most={60} />
                </h2>
                <Chart of={data} value={valueWords(data.unit)} from={millis(data.from)} to={millis(data.to)} />
                <LeftOut of={data} />
                <SeriesTable of={data} value={valueWords(data.unit)} />
              </>
            )
          }
        </Shown>
      )}
    </>
  );
}
