// SPDX-License-Identifier: Apache-2.0
// A capture's timeline: opens its trace, and closes it with the page.
import type { JSX } from "preact";
import { computed, effect } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { asRefused, useAsk, useMade } from "../api/ask";
import { type Schemas, get, part } from "../api/client";
import { listen } from "../api/live";
import { whoAsk } from "../api/who";
import { type Density, type Overview, BUCKETS, overviewDensity, overviewWhole } from "../timeline/density";
import { type Counted, differences } from "../timeline/differs";
import { Timeline } from "../timeline/timeline";
import { openTrace } from "../trace/client";
import type { CaptureSource, Trace } from "../trace/trace";
import { Awaited, Failure, Heading, Note } from "../ui/parts";
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

function useDiffers(overview: Counted | undefined): ReadonlyMap<string, number> | undefined {
  return useMemo(() => {
    if (overview === undefined) return undefined;
    return differences(overview, (time, from) => {
      const at = nanos(time);
      return at === null ? null : Number(at - BigInt(from));
    });
  }, [overview]);
}

/* Whether the capture was deleted since it was opened: an event says so, or it is not there when it is asked for after
 * missed events and after a read that was refused. A read whose session has ended leads to the login. */
function useDeleted(trace: Trace, id: string): boolean {
  const [deleted, setDeleted] = useState(false);
  useEffect(() => {
    const look = (): void =>
      void get(`/captures/${part(id)}`).catch((error: unknown) => {
        const { status } = asRefused(error);
        if (status === 404 || status === 410) setDeleted(true);
      });
    const problem = computed(() => trace.state.value.problem); /* stays while reading of the rest goes on */
    const refused = effect(() => {
      const status = problem.value?.status;
      if (status === 401) void whoAsk();
      else if (status === 404 || status === 410) look();
    });
    const heard = listen(["capture.deleted"], (event) => event["capture"] === id && setDeleted(true), look);
    return () => {
      refused();
      heard();
    };
  }, [trace, id]);
  return deleted;
}

function Deleted(props: { capture: Schemas["Capture"] }): JSX.Element {
  const { trigger } = props.capture;
  return (
    <Note kind="warn">
      <p role="alert">
        This capture was deleted since it was opened here. What is read already stays on this page until it is left; nothing more of it can be
        read, and its link leads nowhere.
      </p>
      <p>
        {trigger?.rule !== undefined && (
          <>
            <a href={`/captures/latest?rule=${part(trigger.rule)}`}>The newest capture of this rule</a> ·{" "}
          </>
        )}
        {trigger?.process !== undefined && (
          <>
            <a href={`/captures?selector=${part(`process=${trigger.process}`)}`}>Other captures of its process</a> ·{" "}
          </>
        )}
        <a href="/captures">All captures</a>
      </p>
    </Note>
  );
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
  const overview = useMade(path, (signal) => overviewWhole((cursor) => get<Overview & Counted>(path, { buckets: BUCKETS, cursor }, signal)));
  const density = useDensity(trace, overview.data);
  const differs = useDiffers(overview.data);
  const deleted = useDeleted(trace, id);
  return (
    <Timeline
      trace={trace}
      title={titleOf(capture)}
      linked
      notice={deleted ? <Deleted capture={capture} /> : undefined}
      {...(process === undefined ? {} : { process })}
      {...(density === undefined ? {} : { density })}
      {...(differs === undefined ? {} : { differs })}
    >
      {!deleted && (
        <>
          <a href={`/captures/${part(id)}`}>The capture</a>
          <a href={`/api/v1/captures/${part(id)}/trace`} download={`${id}.skein`}>
            Download .skein
          </a>
        </>
      )}
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
