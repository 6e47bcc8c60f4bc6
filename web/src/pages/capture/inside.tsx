// SPDX-License-Identifier: Apache-2.0
// At the failure, threads were inside of: chains of regions, since when, file and line.
import type { JSX } from "preact";
import { type Capture, wentWrong } from "../../ui/capture_words";
import { Chip, Note, Table, Text } from "../../ui/parts";
import { timelineLink } from "../../ui/timeline_link";
import { count, duration, nanos } from "../../ui/units";
import type { Row } from "./ask_sql";
import { type Chain, type Inside, chainsOf } from "./chains";
import { SqlShown, useFirst, useSql } from "./parts";
import { type Report, isIdle } from "./report";

const FIRST = 8;
const MOST = 2000;

function insideOf(row: Row): Inside {
  const file = row.text("source_file");
  return {
    service: row.text("service"),
    host: row.text("host"),
    process: row.text("process"),
    pid: row.number("pid"),
    thread: row.text("thread"),
    tid: row.number("tid"),
    name: row.text("name"),
    begin: row.ns("ts"),
    length: row.has("dur") ? row.number("dur") : 0,
    open: row.number("is_open") === 1,
    place: file === "" ? "" : `${file}:${row.text("source_line")}`,
  };
}

function ChainRow(props: { capture: Capture; of: Chain; at: bigint }): JSX.Element {
  const { of, at, capture } = props;
  const inner = of.threads[0]!;
  const link = timelineLink(capture, {
    beginNs: inner.begin,
    lengthNs: inner.open ? Number(at - inner.begin) : inner.length,
    process: inner.process,
    tid: inner.tid,
    depth: of.regions.length - 1,
  });
  return (
    <tr>
      <td>
        {of.threads.length === 1 ? (
          <Text text={`${inner.thread}/${inner.tid}`} most={80} />
        ) : (
          <>
            {count(of.threads.length)} threads, as <Text text={`${inner.thread}/${inner.tid}`} most={80} />
          </>
        )}
      </td>
      <td>
        <Text text={`${of.service} on ${inner.host}`} most={80} />
      </td>
      <td class="what">
        <a href={link}>
          <Text text={of.names} most={300} />
        </a>
        {of.idle && (
          <>
            {" "}
            <Chip title="it waits for whatever comes">idle</Chip>
          </>
        )}
        {inner.place !== "" && (
          <>
            <br />
            <code>
              <Text text={inner.place} most={200} />
            </code>
          </>
        )}
      </td>
      <td class="number">{duration(Number(at - inner.begin))}</td>
      <td class="number">{inner.open ? "it had not ended" : duration(inner.length)}</td>
    </tr>
  );
}

export function InsideAt(props: { capture: Capture; report: Report | undefined }): JSX.Element {
  const { capture, report } = props;
  const at = nanos(capture.at) ?? 0n;
  const query = `select service, host, process, pid, thread, tid, name, ts, dur, is_open, source_file, source_line
    from slice where ts <= ${at} and (dur is null or ts + dur >= ${at}) limit ${MOST + 1}`;
  const answer = useSql(capture, query);
  return (
    <section aria-labelledby="inside">
      <h2 id="inside">{wentWrong(capture) ? "At the failure" : "At its instant"}, threads were inside of</h2>
      <SqlShown of={answer} what="what threads were inside of">
        {(rows) => <Chains capture={capture} rows={rows.rows} at={at} report={report} />}
      </SqlShown>
    </section>
  );
}

function Chains(props: { capture: Capture; rows: readonly Row[]; at: bigint; report: Report | undefined }): JSX.Element {
  const { capture, at, report } = props;
  const idle = (service: string, name: string) =>
    isIdle(report?.regions.find((region) => region.service === service && region.name === name));
  const chains = chainsOf(props.rows.slice(0, MOST).map(insideOf), idle);
  const { rows, more } = useFirst(chains, FIRST);
  if (chains.length === 0)
    return (
      <Note>
        <p>No thread was inside of anything then, as far as is recorded.</p>
      </Note>
    );
  const head = (
    <>
      <th>Thread</th>
      <th>Where</th>
      <th>Inside of, outermost first</th>
      <th class="number">For, until then</th>
      <th class="number">It took</th>
    </>
  );
  return (
    <>
      <Table caption="What threads were inside of" head={head}>
        {rows.map((chain) => (
          <ChainRow key={`${chain.service} ${chain.names}`} capture={capture} of={chain} at={at} />
        ))}
      </Table>
      {more}
      {props.rows.length > MOST && <p>More than {count(MOST)} regions were in progress; the others are left out.</p>}
    </>
  );
}
