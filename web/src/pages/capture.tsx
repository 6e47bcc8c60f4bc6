// SPDX-License-Identifier: Apache-2.0
// A capture, read from the top: why it was taken, whether it is whole, what stands out, what differs, and all the rest.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useRoute } from "preact-iso";
import { type Answer, useAsk, useMade } from "../api/ask";
import { get, part } from "../api/client";
import { listen } from "../api/live";
import { useAddress } from "../ui/address";
import { type Capture, captureSentence } from "../ui/capture_words";
import { Caught, Empty, Failure, Heading, Landing, Note, Shown } from "../ui/parts";
import { timelineLink } from "../ui/timeline_link";
import { numeric } from "../ui/units";
import "../style/capture.css";
import { Actions } from "./capture/actions";
import { Baseline } from "./capture/baseline";
import { Counters } from "./capture/counters";
import { type Diff, DiffHead, DiffTable } from "./capture/differs";
import { Dump } from "./capture/dump";
import { Findings } from "./capture/findings";
import { Flame } from "./capture/flame";
import { CaptureFacts, Progress, Verdict } from "./capture/head";
import { InsideAt } from "./capture/inside";
import { type Lengths, lengthsOf, lengthsQuery } from "./capture/lengths";
import { Logs } from "./capture/logs";
import { MissingRecords, ThreadTimes } from "./capture/missing";
import { NothingInWindow, NothingStored } from "./capture/nothing";
import { type Looked, OverviewStrips, useOverview } from "./capture/overview";
import { Part, useSql } from "./capture/parts";
import { Downloads, Raw } from "./capture/raw";
import { TopRegions, WaitingByReason, exampleLink } from "./capture/regions";
import type { Report } from "./capture/report";
import { Sched } from "./capture/sched";
import { Slowest } from "./capture/slowest";
import { Targets } from "./capture/targets";
import { Tasks } from "./capture/tasks";

const RUNNING_MS = 1000;

/* The capture, again each second while it runs, and when something is heard of it. */
function useCapture(id: string): Answer<Capture> & { deleted: boolean } {
  const [every, setEvery] = useState(0);
  const [deleted, setDeleted] = useState(false);
  const answer = useAsk<Capture>(`/captures/${part(id)}`, {}, every);
  const status = answer.data?.status;
  useEffect(() => setEvery(status === "running" ? RUNNING_MS : 0), [status]);
  useEffect(() => setDeleted(false), [id]);
  useEffect(
    () =>
      listen(
        ["capture.*"],
        (event) => {
          if (event["capture"] !== id) return;
          if (event.type === "capture.deleted") setDeleted(true);
          else answer.again();
        },
        answer.again,
      ),
    [id, answer.again],
  );
  return { ...answer, deleted: deleted || (answer.data !== undefined && answer.error?.status === 404) };
}

export default function CapturePage(): JSX.Element {
  const { params } = useRoute();
  const id = params["capture"] ?? "";
  const capture = useCapture(id);
  if (capture.data === undefined && capture.error?.status === 404) return <Gone />;
  return capture.data === undefined ? (
    <>
      <Heading title="Capture" />
      {capture.error !== undefined && capture.data === undefined ? (
        <Failure error={capture.error} again={capture.again} what="Could not read the capture" />
      ) : (
        <Shown of={capture} what="the capture" lines={10}>
          {() => null}
        </Shown>
      )}
    </>
  ) : (
    <Caught of={capture.data} what="the capture" title="Capture" again={capture.again}>
      <Whole capture={capture.data} answer={capture} deleted={capture.deleted} />
    </Caught>
  );
}

function Gone(): JSX.Element {
  return (
    <>
      <Heading title="Capture" />
      <Empty title="There is no such capture">
        <p>
          It was deleted, by hand or when its time was over, or its id is wrong. <a href="/captures">All captures</a>
        </p>
      </Empty>
    </>
  );
}

function Whole(props: { capture: Capture; answer: Answer<Capture>; deleted: boolean }): JSX.Element {
  const { capture, answer, deleted } = props;
  const stored = numeric(capture.ledger.stored);
  const overview = useOverview(capture, stored > 0 && capture.status !== "running");
  const empty = overview.data?.mayHave === false ? overview.data.first : undefined;
  return (
    <>
      <Heading title={captureSentence(capture)}>
        {stored > 0 && empty === undefined && (
          <a class="button first" href={timelineLink(capture)}>
            Timeline
          </a>
        )}
        {!deleted && <Actions capture={capture} changed={answer.again} />}
      </Heading>
      {deleted && (
        <Note kind="warn">
          <p>This capture has been deleted. What stands here was read before, and what was not read yet is gone.</p>
        </Note>
      )}
      {answer.error !== undefined && !deleted && <Failure error={answer.error} again={answer.again} what="What is shown may be old" />}
      <Progress capture={capture} />
      <Verdict capture={capture} />
      <CaptureFacts capture={capture} />
      {stored > 0 ? <Stored capture={capture} overview={overview} empty={empty} /> : capture.status === "running" ? null : <NothingStored capture={capture} />}
      <Part id="targets" title="Targets" open={(capture.targets ?? []).length <= 20}>
        {() => <Targets capture={capture} />}
      </Part>
      <Part id="raw" title="Take it elsewhere" open>
        {() => (
          <>
            {stored > 0 && <Downloads capture={capture} />}
            <Raw capture={capture} />
          </>
        )}
      </Part>
    </>
  );
}

/* What is read of the trace. While the capture runs that is made on demand: it would be of a part. */
function Stored(props: { capture: Capture; overview: Answer<Looked>; empty: Looked["first"] | undefined }): JSX.Element {
  const { capture, overview, empty } = props;
  const [early, setEarly] = useState(false);
  if (empty !== undefined && !early) return <NothingInWindow capture={capture} first={empty} read={() => setEarly(true)} />;
  if (capture.status === "running" && !early)
    return (
      <p>
        <button type="button" class="button" onClick={() => setEarly(true)}>
          Read what has come so far
        </button>
      </p>
    );
  const analysed = <Analysed key={capture.status} capture={capture} overview={overview} />;
  return early ? <Landing label="What is read of the trace">{analysed}</Landing> : analysed;
}

function Analysed(props: { capture: Capture; overview: Answer<Looked> }): JSX.Element {
  const { capture } = props;
  const running = capture.status === "running";
  const early = useOverview(capture, running);
  const { get: wanted, set } = useAddress();
  const [baseline, other] = [wanted("baseline") || "auto", wanted("with")];
  const path = `/captures/${part(capture.capture)}`;
  const state = `${capture.capture} ${capture.status}`;
  const report = useMade(`report ${state}`, (signal) => get<Report>(`${path}/report`, {}, signal));
  const query = other !== "" ? { with: other } : { baseline };
  const diff = useMade(`diff ${state} ${JSON.stringify(query)}`, (signal) => get<Diff>(`${path}/diff`, query, signal));
  const settled = diff.data !== undefined || diff.error !== undefined;
  const sides = other === "" && (diff.data?.baseline.chosen ?? "earlier") === "earlier";
  const onset = sides && diff.data?.onset !== undefined ? BigInt(diff.data.onset.at_ns) : undefined;
  const asked = useSql(capture, settled ? lengthsQuery(onset) : undefined);
  const lengths = asked.data === undefined ? undefined : lengthsOf(asked.data.rows);
  const context = { page: "", link: (example: Parameters<typeof exampleLink>[1]) => exampleLink(capture, example), lengths: sides ? lengths : undefined };
  return (
    <>
      <OverviewStrips capture={capture} overview={running ? early : props.overview} />
      <Shown of={report} what="the findings">
        {(data) => (
          <>
            <Findings capture={capture} report={data} />
            <MissingRecords report={data} />
          </>
        )}
      </Shown>
      <InsideAt capture={capture} report={report.data} />
      <section aria-labelledby="differs">
        <h2 id="differs">What differs</h2>
        <Baseline baseline={baseline} other={other} set={set} />
        {diff.error?.type.endsWith(":no-match") === true ? (
          <Note>
            <p>{diff.error.message}</p>
          </Note>
        ) : (
          <Shown of={diff} what="what differs">
            {(data) => (
              <>
                <DiffHead diff={data} capture={capture} />
                <DiffTable diff={data} context={context} />
              </>
            )}
          </Shown>
        )}
      </section>
      {report.data !== undefined && (
        <Caught of={report.data} what="the regions and waits" again={report.again}>
          <TopRegions capture={capture} report={report.data} lengths={lengths} asked={asked} />
          <WaitingByReason capture={capture} report={report.data} lengths={lengths} />
        </Caught>
      )}
      <Further capture={capture} report={report.data} lengths={lengths} />
    </>
  );
}

function Further(props: { capture: Capture; report: Report | undefined; lengths: ReadonlyMap<string, Lengths> | undefined }): JSX.Element {
  const { capture, report, lengths } = props;
  return (
    <>
      {report !== undefined && lengths !== undefined && (
        <Part id="slowest" title="The slowest of a region" about="what they have more often than the rest">
          {() => <Slowest capture={capture} report={report} lengths={lengths} />}
        </Part>
      )}
      {report !== undefined && (
        <Part id="tasks" title="Slowest tasks" about="where their time went">
          {() => <Tasks capture={capture} report={report} />}
        </Part>
      )}
      {report !== undefined && (
        <Part id="times" title="Threads" about="by their time in regions">
          {() => <ThreadTimes capture={capture} report={report} />}
        </Part>
      )}
      <Part id="threads" title="Thread dump" about="what each thread did, with equal stacks together">
        {() => <Dump capture={capture} />}
      </Part>
      <Part id="logs" title="Logs" about="around the failure, and by shape">
        {() => <Logs capture={capture} />}
      </Part>
      <Part id="counters" title="Counters and vitals" about="over the window">
        {() => <Counters capture={capture} />}
      </Part>
      <Part id="sched" title="Scheduling" about="ran, ready, blocked">
        {() => <Sched capture={capture} />}
      </Part>
      <Part id="flame" title="Flame graph" about="what ran, or where threads waited">
        {() => <Flame capture={capture} />}
      </Part>
    </>
  );
}
