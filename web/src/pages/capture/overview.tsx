// SPDX-License-Identifier: Apache-2.0
// Where events and losses lie in the window, process by process: drawn from footers, before anything is downloaded.
import type { JSX } from "preact";
import { type Answer, useMade } from "../../api/ask";
import { get, part } from "../../api/client";
import type { Capture } from "../../ui/capture_words";
import { Failure, Text } from "../../ui/parts";
import { shown } from "../../ui/text";
import { timelineLink } from "../../ui/timeline_link";
import { count, millis, nanos } from "../../ui/units";
import { type Overview, type OverviewTarget as Target, windowMayHave } from "./nothing_words";

const BUCKETS = 120;
const FIRST = 6;
const WIDTH = 600;
const HEIGHT = 22;

function Strip(props: { capture: Capture; of: Target; overview: Overview; id: number }): JSX.Element {
  const { of, capture } = props;
  const [from, to] = [millis(capture.window.from), millis(capture.window.to)];
  const x = (ms: number): number => (Math.min(Math.max(ms - from, 0), to - from) / Math.max(1, to - from)) * WIDTH;
  const most = of.events.reduce((a, b) => Math.max(a, b), 1);
  const width = WIDTH / Math.max(1, of.events.length);
  const total = of.events.reduce((a, b) => a + b, 0);
  const missing = [...of.gaps, ...of.losses];
  const words = `${shown(of.service, 120)}[${of.pid}] on ${shown(of.host, 120)}: ${count(Math.round(total))} events in the window, ${missing.length === 0 ? "nothing missing" : `${count(missing.length)} stretches in which some are missing`}`;
  const hatch = `hatch-${props.id}`;
  return (
    <svg class="density" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={words}>
      <title>{words}</title>
      <defs>
        <pattern id={hatch} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <line class="hatch" x1="0" x2="0" y1="0" y2="6" />
        </pattern>
      </defs>
      {of.events.map((events, i) => {
        if (events <= 0) return null;
        const height = Math.max(2, (Math.log2(events + 1) / Math.log2(most + 1)) * HEIGHT);
        return <rect key={i} class="now" x={i * width} y={HEIGHT - height} width={width} height={height} />;
      })}
      {missing.map((gap, i) => (
        <rect key={i} x={x(millis(gap.from))} y={0} width={Math.max(1, x(millis(gap.to)) - x(millis(gap.from)))} height={HEIGHT} fill={`url(#${hatch})`} />
      ))}
      <line class="at" x1={x(millis(capture.at))} x2={x(millis(capture.at))} y1={0} y2={HEIGHT} />
    </svg>
  );
}

export interface Looked {
  first: Overview; /* its first targets */
  mayHave: boolean; /* false: no target has a record in the window */
}

/* Pages behind the first are asked for only while nothing is found. wanted: false: not yet. */
export function useOverview(capture: Capture, wanted: boolean): Answer<Looked> {
  const key = `overview ${capture.capture} ${capture.status} ${capture.ledger.stored}`;
  return useMade(wanted ? key : undefined, async (signal) => {
    const path = `/captures/${part(capture.capture)}/overview`;
    const first = await get<Overview>(path, { buckets: BUCKETS, limit: FIRST }, signal);
    let page = first;
    while (!windowMayHave(page) && page.next_cursor !== undefined) page = await get<Overview>(path, { buckets: 1, cursor: page.next_cursor }, signal);
    return { first, mayHave: windowMayHave(page) };
  });
}

export function OverviewStrips(props: { capture: Capture; overview: Answer<Looked> }): JSX.Element | null {
  const { capture, overview } = props;
  if (overview.error !== undefined) return <Failure error={overview.error} again={overview.again} what="Where its events lie could not be read" />;
  const at = nanos(capture.at) ?? 0n;
  const targets = overview.data?.first.targets ?? [];
  const all = (capture.targets ?? []).length;
  return (
    <div class="densities" aria-busy={overview.data === undefined}>
      {targets.map((target, i) => (
        <a
          key={target.process}
          class="density-row"
          href={timelineLink(capture, { beginNs: at, lengthNs: 1e9, process: target.process, select: false })}
        >
          <span class="density-name">
            <Text text={`${target.service}[${target.pid}]`} most={60} />
          </span>
          <Strip capture={capture} of={target} overview={overview.data!.first} id={i} />
        </a>
      ))}
      {overview.data === undefined && Array.from({ length: Math.min(FIRST, Math.max(1, all)) }, (_, i) => <div key={i} class="skeleton density-row" />)}
      <p class="quiet">
        Events over the window, by logarithm; the line is the failure
        {targets.some((target) => target.gaps.length + target.losses.length > 0) && ", hatched is missing"}.
        {all > targets.length && targets.length > 0 && <> {count(all - targets.length)} further processes: see targets.</>}
      </p>
    </div>
  );
}
