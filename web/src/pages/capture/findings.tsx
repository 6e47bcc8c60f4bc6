// SPDX-License-Identifier: Apache-2.0
// Findings, in the words and the order of `skein report`; each with what it rests on, and its place on the timeline.
import type { JSX } from "preact";
import type { Capture } from "../../ui/capture_words";
import { Chip, Note, Text, Time } from "../../ui/parts";
import { count, duration } from "../../ui/units";
import { useFirst } from "./parts";
import { type Finding, type Report, rowLink } from "./report";

const FIRST = 8;
const FRAMES = 6;
const MARKS = { problem: "✖", warning: "⚠", note: "ℹ" } as const;

function Frames(props: { of: Finding }): JSX.Element | null {
  const frames = props.of.frames ?? [];
  const out = props.of.frames_left_out ?? 0;
  if (frames.length === 0) return null;
  const line = (frame: string, i: number) => (
    <li key={i}>
      at <code><Text text={frame} most={300} /></code>
    </li>
  );
  const rest = frames.slice(FRAMES);
  return (
    <>
      <ol class="frames">{frames.slice(0, FRAMES).map(line)}</ol>
      {rest.length + out > 0 && (
        <details>
          <summary>{count(rest.length + out)} more callers</summary>
          <ol class="frames">{rest.map(line)}</ol>
          {out > 0 && <p>{count(out)} further ones are left out.</p>}
        </details>
      )}
    </>
  );
}

function OneFinding(props: { capture: Capture; of: Finding }): JSX.Element {
  const { of } = props;
  const link = rowLink(props.capture, of);
  const mood = of.severity === "problem" ? "bad" : of.severity === "warning" ? "warn" : undefined;
  return (
    <li class={`finding ${mood ?? ""}`}>
      <p>
        <Chip {...(mood === undefined ? {} : { kind: mood })}>
          {MARKS[of.severity]} {of.severity}
        </Chip>{" "}
        <strong>{link === undefined ? <Text text={of.text} /> : <a href={link}><Text text={of.text} /></a>}</strong>
      </p>
      <p class="quiet">
        rule <code>{of.rule}</code>
        {of.thread !== undefined && (
          <>
            {" "}
            · thread <Text text={`${of.thread}/${of.tid ?? ""}`} most={80} />
          </>
        )}
        {of.region !== undefined && (
          <>
            {" "}
            · in <Text text={of.region} most={120} />
          </>
        )}
        {of.from !== undefined && (
          <>
            {" "}
            · from <Time at={of.from} />
          </>
        )}
        {of.dur_ns !== undefined && Number(of.dur_ns) > 0 && <> · for {duration(Number(of.dur_ns))}</>}
        {link !== undefined && (
          <>
            {" "}
            · <a href={link}>Show it on the timeline</a>
          </>
        )}
      </p>
      <Frames of={of} />
    </li>
  );
}

export function Findings(props: { capture: Capture; report: Report }): JSX.Element {
  const { findings, totals } = props.report;
  const { rows, more } = useFirst(findings, FIRST);
  const out = totals?.["findings_left_out"] ?? 0;
  const spans = totals?.["spans_left_out"] ?? 0;
  const counters = totals?.["counters_left_out"] ?? 0;
  return (
    <section aria-labelledby="findings">
      <h2 id="findings">Findings</h2>
      {findings.length === 0 && (
        <Note>
          <p>Nothing stands out: of what was recorded, nothing fits a rule.</p>
        </Note>
      )}
      <ol class="findings">
        {rows.map((finding, i) => (
          <OneFinding key={i} capture={props.capture} of={finding} />
        ))}
      </ol>
      {more}
      {out > 0 && (
        <p>
          {count(out)} more findings are left out: <code>skein report {props.capture.capture} --top 1000</code>
        </p>
      )}
      {spans > 0 && <p class="quiet">{count(spans)} shorter regions were not compared in time.</p>}
      {counters > 0 && <p class="quiet">{count(counters)} counters more than could be followed.</p>}
    </section>
  );
}
