// SPDX-License-Identifier: Apache-2.0
// Top regions by self time, waiting by reason, and how long each region took.
import type { JSX } from "preact";
import type { Answer } from "../../api/ask";
import type { Capture } from "../../ui/capture_words";
import { quantile } from "../../ui/histogram";
import { AxisWords, HistogramView, rangeOf } from "../../ui/histogram_view";
import { Bar, Chip, Failure, Note, Table, Text } from "../../ui/parts";
import { timelineLink } from "../../ui/timeline_link";
import { count, duration, share } from "../../ui/units";
import { outlierWords } from "./differs";
import { type Example, type Lengths, allOf, lengthsKey, longestOf } from "./lengths";
import { useFirst } from "./parts";
import { type RegionRow, type Report, rowLink } from "./report";
import { type Waiting, waitingOf } from "./waiting";

const FIRST = 10;

export function exampleLink(capture: Capture, example: Example): string {
  return timelineLink(capture, {
    beginNs: example.begin,
    lengthNs: example.length,
    process: example.process,
    tid: example.tid,
    depth: example.depth,
  });
}

interface Known {
  capture: Capture;
  report: Report;
  lengths: ReadonlyMap<string, Lengths> | undefined;
}

function ns(value: number | string | undefined): number {
  return Number(value ?? 0);
}

function RegionLine(props: Known & { of: RegionRow; all: number; range: ReturnType<typeof rangeOf> }): JSX.Element {
  const { of, all, capture } = props;
  const lengths = props.lengths?.get(lengthsKey(of.service, of.name));
  const example = lengths === undefined ? undefined : longestOf(lengths);
  const buckets = lengths === undefined ? undefined : allOf(lengths);
  const own = ns(of.self_ns) - (of.wait ? ns(of.idle_ns) : 0);
  const name = <Text text={of.name} most={160} />;
  const ended = of.count ?? 0;
  return (
    <tr>
      <td class="what">
        {example === undefined ? name : <a href={exampleLink(capture, example)}>{name}</a>} {of.wait && <Chip>wait</Chip>}
        {of.others !== undefined && <span class="quiet"> ({count(of.others)} names in one row)</span>}
        <br />
        <span class="quiet">
          <Text text={of.service} most={80} />
        </span>
      </td>
      <td class="number">
        {duration(own)}
        <Bar share={all > 0 ? own / all : 0} words={`${share(all > 0 ? own / all : 0)} of all in this table`} />
      </td>
      <td class="number">{duration(ns(of.total_ns))}</td>
      <td class="number">
        {count(of.count ?? 0)}
        {of.open !== undefined && of.open > 0 && <> + {count(of.open)} open</>}
      </td>
      <td class="number">{ended === 0 || of.median_ns === undefined ? "–" : duration(ns(of.median_ns))}</td>
      <td class="number">{buckets === undefined || ended === 0 ? "–" : `≈ ${duration(Math.min(quantile(buckets, 0.9), ns(of.most_ns ?? Infinity)))}`}</td>
      <td class="number">{ended === 0 || of.p99_ns === undefined ? "–" : duration(ns(of.p99_ns))}</td>
      <td class="number">{ended === 0 || of.most_ns === undefined ? "–" : duration(ns(of.most_ns))}</td>
      <td>
        {buckets !== undefined && ended > 0 && (
          <HistogramView
            label={of.name}
            of={buckets}
            range={props.range}
            link={(outlier) => ({ href: exampleLink(capture, outlier), words: outlierWords(outlier) })}
          />
        )}
      </td>
    </tr>
  );
}

export function TopRegions(props: Known & { asked: Answer<unknown> }): JSX.Element {
  const { report, lengths, asked } = props;
  const own = (row: RegionRow): number => ns(row.self_ns) - (row.wait ? ns(row.idle_ns) : 0);
  const sorted = [...report.regions].sort((a, b) => own(b) - own(a));
  const { rows, more } = useFirst(sorted, FIRST);
  const all = sorted.reduce((sum, row) => sum + own(row), 0);
  const shown = rows.flatMap((row) => {
    const found = lengths?.get(lengthsKey(row.service, row.name));
    return found === undefined ? [] : [allOf(found)];
  });
  const range = rangeOf(shown);
  const out = report.totals?.["regions_left_out"] ?? 0;
  const head = (
    <>
      <th>Region or wait</th>
      <th class="number">Own time, not idle</th>
      <th class="number">With what is inside</th>
      <th class="number">Ended</th>
      <th class="number">p50</th>
      <th class="number">p90</th>
      <th class="number">p99</th>
      <th class="number">Longest</th>
      <th>How long they took</th>
    </>
  );
  return (
    <section aria-labelledby="regions">
      <h2 id="regions">Top regions by own time</h2>
      {sorted.length === 0 ? (
        <Note>
          <p>No region is recorded.</p>
        </Note>
      ) : (
        <Table caption="Regions and waits by own time" head={head}>
          {rows.map((row) => (
            <RegionLine key={lengthsKey(row.service, row.name)} {...props} of={row} all={all} range={range} />
          ))}
        </Table>
      )}
      {more}
      {shown.length > 0 && (
        <p>
          <AxisWords range={range} />. A dot is an outlier: it leads to the longest region there.
        </p>
      )}
      {asked.error !== undefined && <Failure error={asked.error} again={asked.again} what="How long they took could not be read" />}
      {out > 0 && (
        <p>
          {count(out)} more names are left out: <code>skein report {props.capture.capture} --top 1000</code>
        </p>
      )}
    </section>
  );
}

export function WaitingByReason(props: Known): JSX.Element | null {
  const { capture, report, lengths } = props;
  if (lengths === undefined) return null;
  const reasons = waitingOf(report.regions, (service, name) => lengths.get(lengthsKey(service, name))?.group);
  const most = reasons.reduce((most, reason) => Math.max(most, reason.ns), 0);
  if (reasons.length === 0 && report.waits.length === 0) return null;
  return (
    <section aria-labelledby="waiting">
      <h2 id="waiting">Waiting, by reason</h2>
      <Reasons of={reasons} most={most} />
      <p class="quiet">
        Of all threads together; what is in progress counts from its begin. The rest ran or waited for a CPU: which, only scheduling tells (below), where it was recorded.
      </p>
      <LongestWaits capture={capture} report={report} />
    </section>
  );
}

function Reasons(props: { of: Waiting[]; most: number }): JSX.Element | null {
  if (props.of.length === 0) return null;
  const head = (
    <>
      <th>Reason</th>
      <th class="number">Waited</th>
      <th>Of the most</th>
      <th class="number">Idle, for whatever comes</th>
      <th>In</th>
    </>
  );
  return (
    <Table caption="Waiting by reason" head={head}>
      {props.of.map((reason) => (
        <tr key={reason.reason}>
          <td>{reason.reason}</td>
          <td class="number">{duration(reason.ns)}</td>
          <td>
            <Bar share={props.most > 0 ? reason.ns / props.most : 0} words={duration(reason.ns)} />
          </td>
          <td class="number">{reason.idleNs > 0 ? duration(reason.idleNs) : "–"}</td>
          <td>
            <Text text={reason.names.join(", ")} most={200} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function LongestWaits(props: { capture: Capture; report: Report }): JSX.Element | null {
  const { capture, report } = props;
  const { rows, more } = useFirst(report.waits, 5);
  if (report.waits.length === 0) return null;
  const head = (
    <>
      <th>The longest waits that are not idle</th>
      <th class="number">Took</th>
      <th>Thread</th>
      <th>Where</th>
    </>
  );
  return (
    <>
      <Table caption="The longest waits" head={head}>
        {rows.map((wait, i) => {
          const link = rowLink(capture, wait);
          return (
            <tr key={i}>
              <td>{link === undefined ? <Text text={wait.name} most={120} /> : <a href={link}><Text text={wait.name} most={120} /></a>}</td>
              <td class="number">{duration(ns(wait.dur_ns))}</td>
              <td>
                <Text text={`${wait.thread ?? ""}/${wait.tid ?? ""}`} most={80} />
              </td>
              <td>
                <Text text={`${wait.service ?? ""}[${wait.pid ?? ""}] on ${wait.host ?? ""}`} most={100} />
              </td>
            </tr>
          );
        })}
      </Table>
      {more}
    </>
  );
}
