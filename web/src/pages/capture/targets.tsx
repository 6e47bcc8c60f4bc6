// SPDX-License-Identifier: Apache-2.0
// Targets: each process of the capture with its state, what is stored, what is missing, evidence, clock.
import type { JSX } from "preact";
import { useAsk } from "../../api/ask";
import { type Schemas, part } from "../../api/client";
import type { Capture, Target } from "../../ui/capture_words";
import { gapWords, mergeGaps } from "../../ui/gap_words";
import { Chip, Table, Text, Time } from "../../ui/parts";
import { timelineLink } from "../../ui/timeline_link";
import { bytes, count, duration, nanos } from "../../ui/units";
import { useFirst } from "./parts";

type Overview = Schemas["Overview"];
type OverviewTarget = Schemas["OverviewTarget"];

const FIRST = 20;

/* clock_error_ns is told by collectors that know it. */
type Clocked = OverviewTarget & { clock_error_ns?: number };

function Clock(props: { of: Clocked | undefined }): JSX.Element {
  const { of } = props;
  if (of === undefined) return <>–</>;
  return (
    <>
      {duration(of.clock_offset_ns)}
      {of.clock_error_ns !== undefined && <> ± {duration(of.clock_error_ns)}</>}
    </>
  );
}

function Evidence(props: { of: Target }): JSX.Element {
  const kinds = props.of.evidence ?? [];
  if (kinds.length === 0) return <>–</>;
  return (
    <details>
      <summary>
        {kinds.map((kind) => `${kind.kind} ${kind.state}`).join(", ")}
      </summary>
      <ul class="lines">
        {kinds.map((kind) => (
          <li key={kind.kind}>
            <Text text={kind.kind} most={40} />: <Text text={kind.state} most={40} />, {count(kind.events)} events
            {kind.reason !== undefined && (
              <>
                {" "}
                – <Text text={kind.reason} most={600} />
              </>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

const MOODS: Readonly<Record<string, "ok" | "warn" | "bad">> = {
  complete: "ok",
  nothing: "ok",
  watched: "warn",
  offline: "warn",
  failed: "bad",
  expired: "bad",
};

function Gaps(props: { capture: Capture; of: Target }): JSX.Element | null {
  const all = mergeGaps(props.of.ledger.gaps);
  const { rows, more } = useFirst(all, 3);
  if (all.length === 0) return null;
  return (
    <>
      <ul class="lines">
        {rows.map((gap, i) => (
          <li key={i}>{gapWords(gap, props.capture)}</li>
        ))}
      </ul>
      {more}
    </>
  );
}

function TargetRow(props: { capture: Capture; of: Target; clock: Clocked | undefined }): JSX.Element {
  const { capture, of } = props;
  const at = nanos(capture.at) ?? 0n;
  const mood = MOODS[of.status];
  return (
    <tr>
      <td>
        <a href={`/processes/${part(of.process)}`}>
          <Text text={`${of.service}[${of.pid}]`} most={100} />
        </a>
        <br />
        <span class="quiet">
          on <Text text={of.host} most={64} />
        </span>
      </td>
      <td>
        <Chip {...(mood === undefined ? {} : { kind: mood })}>{of.status}</Chip>
        {of.reason !== undefined && (
          <>
            <br />
            <Text text={of.reason} most={400} />
          </>
        )}
        {of.death !== undefined && (
          <>
            <br />
            {of.death.signal !== 0 ? `died of signal ${of.death.signal}` : `ended with status ${of.death.status}`}
          </>
        )}
        <Gaps capture={capture} of={of} />
      </td>
      <td class="number">
        {count(of.events)}
        <br />
        <span class="quiet">{bytes(of.bytes)}</span>
      </td>
      <td>
        <Evidence of={of} />
      </td>
      <td class="number">
        <Clock of={props.clock} />
      </td>
      <td class="nowrap">
        <Time at={of.updated} short />
      </td>
      <td>
        <a href={timelineLink(capture, { beginNs: at, lengthNs: 1e9, process: of.process, select: false })}>Timeline</a>
      </td>
    </tr>
  );
}

export function Targets(props: { capture: Capture }): JSX.Element {
  const { capture } = props;
  const targets = capture.targets ?? [];
  const { rows, more } = useFirst(targets, FIRST);
  const overview = useAsk<Overview>(`/captures/${part(capture.capture)}/overview`, { buckets: 1, limit: 200 });
  const clocks = new Map((overview.data?.targets ?? []).map((target) => [target.process, target as Clocked]));
  const head = (
    <>
      <th>Process</th>
      <th>State</th>
      <th class="number">Stored events</th>
      <th>Evidence</th>
      <th class="number">Clock: collector less host</th>
      <th>Last heard</th>
      <th>
        <span class="visually-hidden">Timeline</span>
      </th>
    </>
  );
  return (
    <>
      {targets.length === 0 && <p>No process matched.</p>}
      {targets.length > 0 && (
        <Table caption="Targets" head={head}>
          {rows.map((target) => (
            <TargetRow key={target.process} capture={capture} of={target} clock={clocks.get(target.process)} />
          ))}
        </Table>
      )}
      {more}
      {overview.data?.next_cursor !== undefined && <p class="quiet">Clocks are told of the first 200 targets.</p>}
    </>
  );
}
