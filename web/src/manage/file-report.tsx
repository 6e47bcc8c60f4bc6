// SPDX-License-Identifier: Apache-2.0
// What a file that was opened here holds and says: processes, gaps with rule and byte, findings of the same analysis as
// `skein report FILE`. Nothing of it leaves the browser.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useMade } from "../api/ask";
import type { Finding, Report } from "../pages/capture/report";
import type { Trace, TraceProcess } from "../trace/trace";
import { Chip, Fact, Facts, Note, Shown, Table, Text } from "../ui/parts";
import { bytes, clock, count, duration, share } from "../ui/units";

/* ---- summary ---- */

function span(trace: Trace): JSX.Element {
  const origin = trace.origin.value;
  if (origin === 0n) return <>–</>;
  const ms = Number(origin / 1_000_000n);
  return (
    <>
      {clock(ms)}, {duration(trace.length.value)} long
    </>
  );
}

function loadedWords(process: TraceProcess): string {
  if (process.problem !== null) return process.problem.text;
  return { nothing: "not read yet", queued: "waits", around: "partly read", whole: "read", "let-go": "let go for memory", failed: "failed" }[process.loaded];
}

function deathWords(process: TraceProcess): string {
  if (process.death === null) return "–";
  return process.death.signal !== 0 ? `died by signal ${process.death.signal}` : `ended with status ${process.death.status}`;
}

export function FileProcesses(props: { trace: Trace }): JSX.Element {
  const processes = props.trace.processes.value;
  return (
    <Table caption="Processes of the file" head={<><th>Service</th><th>Host</th><th class="number">Pid</th><th>Program</th><th class="number">Events</th><th class="number">Lost</th><th class="number">Size</th><th>End</th><th>State</th></>}>
      {processes.map((process) => (
        <tr key={process.index}>
          <td><Text text={process.service === "" ? "(no service)" : process.service} most={120} /></td>
          <td><Text text={process.host} most={120} /></td>
          <td class="number">{process.pid}</td>
          <td><Text text={process.exe === "" ? "–" : process.exe} most={200} /></td>
          <td class="number">{count(process.events)}</td>
          <td class="number">{process.lost > 0 ? `${count(process.lost)} (${share(process.lost / Math.max(1, process.lost + process.events))})` : "0"}</td>
          <td class="number">{bytes(process.bytes)}</td>
          <td>{deathWords(process)}</td>
          <td class="words"><Text text={loadedWords(process)} most={400} /></td>
        </tr>
      ))}
    </Table>
  );
}

export function FileSummary(props: { trace: Trace; file: File }): JSX.Element {
  const { trace, file } = props;
  const processes = trace.processes.value;
  const sum = (of: (process: TraceProcess) => number) => processes.reduce((all, process) => all + of(process), 0);
  return (
    <Facts>
      <Fact name="File">
        <Text text={file.name} most={300} />, {bytes(file.size)}; read in this browser, sent nowhere
      </Fact>
      <Fact name="Begins">{span(trace)}</Fact>
      <Fact name="Holds">
        {count(processes.length)} {processes.length === 1 ? "process" : "processes"}, {count(sum((process) => process.events))} events, {count(sum((process) => process.lost))} lost
      </Fact>
    </Facts>
  );
}

const SHOWN = 20;

export function FileGaps(props: { trace: Trace }): JSX.Element | null {
  const gaps = props.trace.gaps.value;
  if (gaps.length === 0) return null;
  return (
    <Note kind="warn">
      <p>
        <strong>Not all of the file can be read.</strong> {count(gaps.length)} {gaps.length === 1 ? "place" : "places"}:
      </p>
      <ul>
        {gaps.slice(0, SHOWN).map((gap, i) => (
          <li key={i}><Text text={gap.what} most={500} /></li>
        ))}
      </ul>
      {gaps.length > SHOWN && <p>{count(gaps.length - SHOWN)} more; skein check FILE lists every one.</p>}
    </Note>
  );
}

/* ---- findings ---- */

const MARKS = { problem: ["✖", "bad"], warning: ["⚠", "warn"], note: ["ℹ", undefined] } as const;

function OneFinding(props: { of: Finding }): JSX.Element {
  const { of } = props;
  const [mark, kind] = MARKS[of.severity] ?? MARKS.note;
  return (
    <li>
      <Chip {...(kind === undefined ? {} : { kind })}>{mark} {of.severity}</Chip> <strong><Text text={of.text} /></strong>{" "}
      <span>
        rule <code><Text text={of.rule} most={60} /></code>
        {of.thread !== undefined && <> · thread <Text text={`${of.thread}/${of.tid ?? ""}`} most={100} /></>}
        {of.region !== undefined && <> · in <Text text={of.region} most={160} /></>}
      </span>
      {of.frames !== undefined && of.frames.length > 0 && (
        <details>
          <summary>Stack, {count(of.frames.length + (of.frames_left_out ?? 0))} frames</summary>
          <ol>{of.frames.map((frame, i) => <li key={i}><code><Text text={frame} most={300} /></code></li>)}</ol>
          {(of.frames_left_out ?? 0) > 0 && <p>{count(of.frames_left_out ?? 0)} further ones are left out.</p>}
        </details>
      )}
    </li>
  );
}

function Found(props: { report: Report }): JSX.Element {
  const { findings } = props.report;
  const out = Number(props.report.totals?.["findings_left_out"] ?? 0);
  if (findings.length === 0) return <p>Nothing stands out: of what was recorded, nothing fits a rule.</p>;
  return (
    <>
      <ol class="file-findings">{findings.map((finding, i) => <OneFinding key={i} of={finding} />)}</ol>
      {out > 0 && <p>{count(out)} more are left out: <code>skein report FILE --top 1000</code></p>}
    </>
  );
}

/* How many processes are there, once nothing is being read: what is asked then is not overtaken by what comes. */
function useSettled(trace: Trace): number | undefined {
  const [settled, setSettled] = useState<number>();
  const idle = trace.state.value.phase === "idle";
  const whole = trace.processes.value.filter((process) => process.loaded === "whole").length;
  useEffect(() => {
    if (idle && whole > 0) setSettled(whole);
  }, [idle, whole]);
  return settled;
}

export function FileFindings(props: { trace: Trace }): JSX.Element {
  const { trace } = props;
  const settled = useSettled(trace);
  const answer = useMade(settled === undefined ? undefined : `report ${settled}`, async () => {
    const report = await trace.report({ from: 0, to: trace.length.peek() });
    return report as unknown as Report;
  });
  const waiting = trace.processes.value.filter((process) => process.loaded === "nothing" || process.loaded === "let-go");
  return (
    <section aria-label="Findings">
      <h2>Findings</h2>
      {settled === undefined ? <p role="status">They come when the file is read.</p> : <Shown of={answer} what="the findings">{(report) => <Found report={report} />}</Shown>}
      {waiting.length > 0 && (
        <div class="buttons">
          <span>{count(waiting.length)} processes are not read, and not in it.</span>
          <button type="button" class="button" onClick={() => trace.want(waiting.map((process) => process.index))}>
            Read them, too
          </button>
        </div>
      )}
    </section>
  );
}
