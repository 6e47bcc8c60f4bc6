// SPDX-License-Identifier: Apache-2.0
// A capture's timeline: opens its trace, and closes it with the page.
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { useRoute } from "preact-iso";
import { useAsk, useMade } from "../api/ask";
import { type Schemas, get, part } from "../api/client";
import { type Density, type Overview, BUCKETS, overviewDensity, overviewWhole } from "../timeline/density";
import { Timeline } from "../timeline/timeline";
import { openTrace } from "../trace/client";
import type { CaptureSource, Trace } from "../trace/trace";
import { Awaited, Failure, Heading } from "../ui/parts";
import { nanos } from "../ui/units";

const ID = /^[0-9a-f]{32}$/;

/* The process that a link names. */
function linkedProcess(): string | undefined {
  const linked = new URLSearchParams(location.search).get("p") ?? "";
  return ID.test(linked) ? linked : undefined;
}

function titleOf(capture: Schemas["Capture"]): string {
  const { trigger } = capture;
  if (trigger === undefined) return `Timeline of a ${capture.kind}`;
  const who = trigger.rule !== undefined ? `${trigger.rule} fired` : trigger.policy !== undefined ? `sample of ${trigger.policy}` : trigger.type;
  return trigger.reason === "" ? who : `${who} · ${trigger.reason}`;
}

/* The overview's density, once the trace tells where its window begins. */
function useDensity(trace: Trace, overview: Overview | undefined): Density | undefined {
  const origin = trace.origin.value;
  return useMemo(() => {
    if (overview === undefined || origin === 0n || !overview.targets.some((target) => target.events.some((events) => events > 0))) return undefined;
    return overviewDensity(overview, (time) => {
      const at = nanos(time);
      return at === null ? null : Number(at - origin);
    });
  }, [overview, origin]);
}

function Opened(props: { capture: Schemas["Capture"] }): JSX.Element {
  const { capture } = props;
  const id = capture.capture;
  const linked = useMemo(linkedProcess, [id]);
  const process = capture.trigger?.process ?? linked; /* that failed */
  const trace = useMemo(() => {
    const source: CaptureSource = { capture: id };
    const first = linked ?? process;
    if (first !== undefined) source.process = first;
    return openTrace(source);
  }, [id]);
  useEffect(() => () => trace.close(), [trace]);
  const path = `/captures/${part(id)}/overview`;
  const overview = useMade(path, (signal) => overviewWhole((cursor) => get<Overview>(path, { buckets: BUCKETS, cursor }, signal)));
  const density = useDensity(trace, overview.data);
  return (
    <Timeline trace={trace} title={titleOf(capture)} linked {...(process === undefined ? {} : { process })} {...(density === undefined ? {} : { density })}>
      <a href={`/captures/${part(id)}`}>The capture</a>
      <a href={`/api/v1/captures/${part(id)}/trace`} download={`${id}.skein`}>
        Download .skein
      </a>
    </Timeline>
  );
}

export default function TimelinePage(): JSX.Element {
  const id = useRoute().params["capture"] ?? "";
  const capture = useAsk<Schemas["Capture"]>(`/captures/${part(id)}`);
  if (capture.data !== undefined) return <Opened key={id} capture={capture.data} />;
  return (
    <div class="frame-main">
      <Heading title="Timeline" />
      {capture.error !== undefined ? <Failure error={capture.error} again={capture.again} what="The capture could not be read" /> : <Awaited what="the capture" again={capture.again} lines={12} />}
    </div>
  );
}
