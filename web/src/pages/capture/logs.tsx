// SPDX-License-Identifier: Apache-2.0
// Log lines: around the failure as they came, and all of them by shape.
import type { JSX } from "preact";
import type { Capture } from "../../ui/capture_words";
import { type Shape, byShape } from "../../ui/log_shape";
import { Chip, Note, Table, Text } from "../../ui/parts";
import { timelineLink } from "../../ui/timeline_link";
import { count, duration, nanos } from "../../ui/units";
import type { Row } from "./ask_sql";
import { SqlShown, useFirst, useSql } from "./parts";

const AROUND = 12; /* lines before, and after */
const MOST = 5000; /* lines that shapes are made of: those next to the failure */

interface Line {
  at: bigint;
  level: number;
  severity: string;
  message: string;
  process: string;
  thread: string;
  tid: number;
  service: string;
}

function lineOf(row: Row): Line {
  return {
    at: row.ns("ts"),
    level: row.number("level"),
    severity: row.text("severity"),
    message: row.text("message"),
    process: row.text("process"),
    thread: row.text("thread"),
    tid: row.number("tid"),
    service: row.text("service"),
  };
}

function Severity(props: { of: { severity: string; level: number } }): JSX.Element {
  const { severity, level } = props.of;
  const mood = level >= 3 ? "bad" : level === 2 ? "warn" : undefined;
  return <Chip {...(mood === undefined ? {} : { kind: mood })}>{severity}</Chip>;
}

function fromAt(at: bigint, line: Line): string {
  const ns = Number(line.at - at);
  return ns < 0 ? `${duration(-ns)} before` : `${duration(ns)} after`;
}

function Message(props: { capture: Capture; of: Line; text?: string }): JSX.Element {
  const { of } = props;
  return (
    <a href={timelineLink(props.capture, { beginNs: of.at, lengthNs: 0, process: of.process, tid: of.tid })}>
      <Text text={props.text ?? of.message} most={400} />
    </a>
  );
}

function Around(props: { capture: Capture; lines: readonly Line[]; at: bigint }): JSX.Element {
  const { lines, at } = props;
  const first = lines.findIndex((line) => line.at > at);
  const middle = first < 0 ? lines.length : first;
  const near = lines.slice(Math.max(0, middle - AROUND), middle + AROUND);
  const head = (
    <>
      <th>When</th>
      <th>Level</th>
      <th>Line</th>
      <th>Thread</th>
    </>
  );
  return (
    <Table caption="Log lines around the failure" head={head} seen>
      {near.map((line, i) => (
        <tr key={i}>
          <td class="nowrap">{fromAt(at, line)}</td>
          <td>
            <Severity of={line} />
          </td>
          <td class="what">
            <Message capture={props.capture} of={line} />
          </td>
          <td>
            <Text text={`${line.service}, ${line.thread}/${line.tid}`} most={100} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function nearest(lines: readonly Line[], at: bigint): Line {
  const away = (line: Line): bigint => (line.at < at ? at - line.at : line.at - at);
  return lines.reduce((best, line) => (away(line) < away(best) ? line : best));
}

function Shapes(props: { capture: Capture; lines: readonly Line[]; at: bigint }): JSX.Element {
  const shapes = byShape(props.lines);
  const { rows, more } = useFirst(shapes, 15);
  const head = (
    <>
      <th>Level</th>
      <th>Shape</th>
      <th class="number">Lines</th>
      <th>The one next to the failure</th>
    </>
  );
  const row = (shape: Shape<Line>) => {
    const near = nearest(shape.lines, props.at);
    return (
      <tr key={`${shape.severity} ${shape.shape}`}>
        <td>
          <Severity of={near} />
        </td>
        <td class="what">
          <Text text={shape.shape} most={300} />
        </td>
        <td class="number">{count(shape.lines.length)}</td>
        <td class="what">
          {fromAt(props.at, near)}: <Message capture={props.capture} of={near} />
        </td>
      </tr>
    );
  };
  return (
    <>
      <Table caption="Log lines by shape: numbers and quoted text are left out of it. The gravest first, then the rarest" head={head} seen>
        {rows.map(row)}
      </Table>
      {more}
    </>
  );
}

export function Logs(props: { capture: Capture }): JSX.Element {
  const { capture } = props;
  const at = nanos(capture.at) ?? 0n;
  const columns = "ts, level, severity, message, process, thread, tid, service";
  const query = `select ${columns} from log order by abs(ts - ${at}) limit ${MOST + 1}`;
  const answer = useSql(capture, query);
  return (
    <SqlShown of={answer} what="log lines">
      {(rows) => {
        const lines = rows.rows.slice(0, MOST).map(lineOf);
        lines.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
        if (lines.length === 0)
          return (
            <Note>
              <p>No log line is in this capture. Programs log into their ring by libskein, or through what it hooks.</p>
            </Note>
          );
        return (
          <>
            <Around capture={capture} lines={lines} at={at} />
            <Shapes capture={capture} lines={lines} at={at} />
            {rows.rows.length > MOST && (
              <p>
                The {count(MOST)} lines next to the failure are counted; others are left out: <code>skein sql --remote {capture.capture}</code>{" "}
                asks for all.
              </p>
            )}
          </>
        );
      }}
    </SqlShown>
  );
}
