// SPDX-License-Identifier: Apache-2.0
// Where the time of the slowest tasks went: paths of segments that add up to the task's length.
import type { JSX } from "preact";
import type { Capture } from "../../ui/capture_words";
import { Chip, Text } from "../../ui/parts";
import { count, duration, share } from "../../ui/units";
import { type Report, type Segment, type SlowTask, type TaskRow, processOf, rowLink } from "./report";
import { useFirst } from "./parts";

const WHAT: Readonly<Record<string, string>> = {
  work: "worked",
  wait: "waited",
  ready: "ready, without a CPU",
  blocked: "blocked",
  unknown: "not recorded",
  several: "several short ones",
};

const WIDTH = 1000;

function PathBar(props: { of: SlowTask }): JSX.Element {
  const { of } = props;
  const all = Math.max(1, Number(of.dur_ns));
  let at = 0;
  const parts = of.path.map((segment, i) => {
    const width = (Number(segment.dur_ns) / all) * WIDTH;
    const x = at;
    at += width;
    return <rect key={i} class={`path ${Object.hasOwn(WHAT, segment.what) ? segment.what : "unknown"}`} x={x} y={0} width={Math.max(width, 1)} height={12} />;
  });
  return (
    <svg class="path-bar" viewBox={`0 0 ${WIDTH} 12`} preserveAspectRatio="none" aria-hidden="true">
      {parts}
    </svg>
  );
}

function SegmentLine(props: { capture: Capture; of: Segment; task: SlowTask }): JSX.Element {
  const { of, task } = props;
  const elsewhere = of.depth > 0;
  const whose = { ...task, ...of };
  const process = processOf(props.capture, whose);
  const link = rowLink(props.capture, whose, { process });
  return (
    <li>
      <span class={`swatch ${Object.hasOwn(WHAT, of.what) ? of.what : "unknown"}`} aria-hidden="true" />
      {duration(Number(of.dur_ns))} ({share(Number(of.dur_ns) / Math.max(1, Number(task.dur_ns)))}) {WHAT[of.what] ?? of.what}
      {of.in !== undefined && (
        <>
          {" "}
          in {link === undefined ? <Text text={of.in} most={120} /> : <a href={link}><Text text={of.in} most={120} /></a>}
        </>
      )}
      {elsewhere && (
        <>
          , thread <Text text={`${of.thread ?? ""}/${of.tid ?? ""}`} most={80} />
        </>
      )}
      {of.why !== undefined && (
        <>
          : <Text text={of.why} most={300} />
        </>
      )}
    </li>
  );
}

function Task(props: { capture: Capture; of: SlowTask; name: string }): JSX.Element {
  const { of } = props;
  const link = rowLink(props.capture, of);
  return (
    <li>
      <p>
        {link === undefined ? duration(Number(of.dur_ns)) : <a href={link}>{`${duration(Number(of.dur_ns))} on the timeline`}</a>} · thread{" "}
        <Text text={`${of.thread ?? ""}/${of.tid ?? ""}`} most={80} /> of <Text text={`${of.service ?? ""}[${of.pid ?? ""}]`} most={80} />
        {of.open === true && <Chip>it had not ended</Chip>} {of.clipped === true && <Chip>its begin is not in the record</Chip>}
        {of.trace_id !== undefined && (
          <>
            {" "}
            · trace <a href={`/captures?trace_id=${encodeURIComponent(of.trace_id)}`}><code>{of.trace_id}</code></a>
          </>
        )}
      </p>
      <PathBar of={of} />
      <ul class="lines">
        {of.path.map((segment, i) => (
          <SegmentLine key={i} capture={props.capture} of={segment} task={of} />
        ))}
      </ul>
    </li>
  );
}

function TaskName(props: { capture: Capture; of: TaskRow }): JSX.Element {
  const { of } = props;
  const { rows, more } = useFirst(of.slowest, 1);
  return (
    <section class="card">
      <h3>
        <Text text={`${of.name} of ${of.service}`} most={160} />
      </h3>
      <p class="quiet">
        {count(of.count)} ended, {duration(Number(of.total_ns))} in all; the slowest:
      </p>
      <ol class="lines">
        {rows.map((task, i) => (
          <Task key={i} capture={props.capture} of={task} name={of.name} />
        ))}
      </ol>
      {more}
    </section>
  );
}

export function Tasks(props: { capture: Capture; report: Report }): JSX.Element {
  const { report } = props;
  const out = report.tasks_left_out ?? 0;
  if (report.tasks.length === 0) return <p>No task (a region that is no wait) is recorded.</p>;
  return (
    <>
      {report.tasks.map((task) => (
        <TaskName key={`${task.service} ${task.name}`} capture={props.capture} of={task} />
      ))}
      {out > 0 && <p>{count(out)} further names of tasks are left out.</p>}
      {(report.task_regions_left_out ?? 0) > 0 && (
        <p>
          {count(report.task_regions_left_out ?? 0)} regions shorter than {duration(Number(report.task_regions_shorter_ns ?? 0))}{" "}
          are not told apart from what is around them.
        </p>
      )}
    </>
  );
}
