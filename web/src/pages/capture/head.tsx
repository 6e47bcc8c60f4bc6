// SPDX-License-Identifier: Apache-2.0
// The head of a capture: why, by whom, when, and in words what is missing.
import type { JSX } from "preact";
import { usePage } from "../../api/ask";
import type { Schemas } from "../../api/client";
import { may } from "../../api/who";
import type { Capture, Target } from "../../ui/capture_words";
import { lacksBegins, statusWords, verdictWords, windowWords } from "../../ui/capture_words";
import { type Missing, gapWords, mergeGaps } from "../../ui/gap_words";
import { Bar, Fact, Facts, Note, Text, Time } from "../../ui/parts";
import { count, duration, millis, numeric } from "../../ui/units";
import { StatusChip, Whose } from "../../ui/capture_rows";
import { useFirst } from "./parts";

const FIRST = 6;

const BEGAN: Readonly<Record<string, string>> = {
  application: "the program itself",
  crash: "a crash",
};

/* The audit log alone knows whose token it was; admins read it. */
function ByHand(props: { capture: Capture }): JSX.Element {
  const query = { action: "capture.create", object: props.capture.capture };
  const found = usePage<Schemas["AuditEntry"]>(may("admin") ? "/audit" : undefined, { ...query, limit: 1 });
  const actor = found.data?.items[0]?.actor;
  return (
    <>
      a request
      {actor !== undefined && (
        <>
          {" "}
          of <a href={`/audit?${new URLSearchParams(query)}`}>{actor === "local" ? "somebody on the collector's host" : <Text text={actor} most={120} />}</a>
        </>
      )}
    </>
  );
}

function began(capture: Capture): JSX.Element {
  const trigger = capture.trigger;
  if (trigger === undefined) return <>not told to a confined reader</>;
  if (trigger.rule !== undefined && trigger.rule !== "")
    return (
      <>
        rule <a href={`/rules/${encodeURIComponent(trigger.rule)}`}><Text text={trigger.rule} most={120} /></a> ({trigger.type})
      </>
    );
  if (trigger.policy !== undefined && trigger.policy !== "")
    return (
      <>
        policy <a href={`/policies/${encodeURIComponent(trigger.policy)}`}><Text text={trigger.policy} most={120} /></a>
      </>
    );
  if (trigger.type === "request") return <ByHand capture={capture} />;
  return <Text text={BEGAN[trigger.type] ?? trigger.type} most={60} />;
}

export function Kept(props: { capture: Capture }): JSX.Element {
  const { capture } = props;
  if (capture.pin === true) return <>pinned: kept, whatever its time and the quotas</>;
  if (capture.expires !== undefined)
    return (
      <>
        until <Time at={capture.expires} />
      </>
    );
  return capture.ttl_ms === undefined ? <>without bound</> : <>{duration(numeric(capture.ttl_ms) * 1e6)} after its end</>;
}

function GapLine(props: { capture: Capture; target: Target; gap: Missing }): JSX.Element {
  const { target } = props;
  return (
    <li>
      <strong>
        <Text text={`${target.service}[${target.pid}] on ${target.host}`} most={120} />
      </strong>{" "}
      {gapWords(props.gap, props.capture)}
    </li>
  );
}

export function Verdict(props: { capture: Capture }): JSX.Element | null {
  const { capture } = props;
  const missing = (capture.targets ?? []).flatMap((target) => mergeGaps(target.ledger.gaps).map((gap) => ({ target, gap })));
  const { rows, more } = useFirst(missing, FIRST);
  if (capture.status === "running") return null;
  return (
    <Note kind={capture.status === "complete" || lacksBegins(capture) ? "info" : "warn"}>
      <p>
        <StatusChip capture={capture} /> {capture.verdict !== undefined && <Text text={verdictWords(statusWords(capture), capture.verdict.text)} most={600} />}
      </p>
      {rows.length > 0 && (
        <ul class="lines">
          {rows.map(({ target, gap }, i) => (
            <GapLine key={i} capture={capture} target={target} gap={gap} />
          ))}
        </ul>
      )}
      {more}
      {capture.known_from !== undefined && (
        <p>
          Processes that ended before <Time at={capture.known_from} /> may be missing from it.
        </p>
      )}
    </Note>
  );
}

const ENDED = ["complete", "nothing", "watched", "failed", "expired"];

/* How far a capture that runs is. */
export function Progress(props: { capture: Capture }): JSX.Element | null {
  const { capture } = props;
  if (capture.status !== "running") return null;
  const targets = capture.targets ?? [];
  const ended = targets.filter((target) => ENDED.includes(target.status)).length;
  const counts = Object.entries(capture.target_counts as Record<string, number>).filter(([, n]) => n > 0);
  const left = millis(capture.window.to) - Date.now();
  return (
    <Note kind="info">
      <p role="status">
        {left > 0 ? <>Its window ends in {duration(left * 1e6)}. </> : <>Its window is over; agents send what they have. </>}
        {count(ended)} of {count(targets.length)} targets are done ({counts.map(([status, n]) => `${count(n)} ${status}`).join(", ")});{" "}
        {count(capture.ledger.stored)} events are stored. What has not come by <Time at={capture.deadline} /> is missing.
      </p>
      <Bar share={targets.length === 0 ? 0 : ended / targets.length} words={`${count(ended)} of ${count(targets.length)} targets are done`} />
    </Note>
  );
}

export function CaptureFacts(props: { capture: Capture }): JSX.Element {
  const { capture } = props;
  const late = capture.trigger?.reason !== undefined && capture.trigger.reason !== "";
  return (
    <Facts>
      <Fact name="When">
        <Time at={capture.at} />
      </Fact>
      <Fact name="Begun by">{began(capture)}</Fact>
      {late && capture.trigger?.rule === undefined && (
        <Fact name="Reason">
          <Text text={capture.trigger?.reason ?? ""} most={600} />
        </Fact>
      )}
      {capture.selector !== undefined && (
        <Fact name="Whom">
          <Whose capture={capture} />
        </Fact>
      )}
      <Fact name="Window">
        {capture.kind}, {windowWords(capture)}
      </Fact>
      <Fact name="Kept">
        <Kept capture={capture} />
      </Fact>
      {capture.incident !== capture.capture && (
        <Fact name="Incident">
          <a href={`/captures?incident=${encodeURIComponent(capture.incident)}`}>its captures</a>
        </Fact>
      )}
    </Facts>
  );
}
