// SPDX-License-Identifier: Apache-2.0
// What of the record is not there, as `skein report` lists it: parts that are broken, torn or missing, and lost records.
// And the threads by their time.
import type { JSX } from "preact";
import type { Capture } from "../../ui/capture_words";
import { reasonWords } from "../../ui/gap_words";
import { Table, Text, Time } from "../../ui/parts";
import { count, duration } from "../../ui/units";
import { useFirst } from "./parts";
import { type LossRow, type Report, type Whose, rowLink } from "./report";

function who(row: Whose): string {
  if (row.service === undefined && row.host === undefined) return "–";
  const process = `${row.service ?? ""}${row.pid === undefined ? "" : `[${row.pid}]`}`;
  const thread = row.thread === undefined ? "" : `, ${row.thread}/${row.tid ?? ""}`;
  return `${process}${row.host === undefined ? "" : ` on ${row.host}`}${thread}`;
}

function Missing(props: { of: LossRow }): JSX.Element {
  const { of } = props;
  return (
    <tr>
      <td>
        <Text text={reasonWords(of.reason)} most={120} />
      </td>
      <td>
        <Text text={who(of)} most={160} />
      </td>
      <td>{of.from === undefined ? "nobody knows when" : <Time at={of.from} />}</td>
      <td class="number">{of.dur_ns === undefined ? "–" : duration(Number(of.dur_ns))}</td>
      <td class="number">{of.records === undefined ? "nobody knows" : count(of.records)}</td>
      <td class="what">
        <Text text={of.text ?? ""} most={400} />
      </td>
    </tr>
  );
}

export function MissingRecords(props: { report: Report }): JSX.Element | null {
  const { report } = props;
  const { rows, more } = useFirst([...report.gaps, ...report.losses], 8);
  if (rows.length === 0) return null;
  const head = (
    <>
      <th>Why</th>
      <th>Of</th>
      <th>From</th>
      <th class="number">For</th>
      <th class="number">Records</th>
      <th>In words</th>
    </>
  );
  return (
    <section aria-labelledby="missing">
      <h2 id="missing">What of the record is not there</h2>
      <Table caption="What of the record is not there" head={head}>
        {rows.map((row, i) => (
          <Missing key={i} of={row} />
        ))}
      </Table>
      {more}
    </section>
  );
}

export function ThreadTimes(props: { capture: Capture; report: Report }): JSX.Element {
  const { capture, report } = props;
  const { rows, more } = useFirst(report.threads, 15);
  const idle = report.totals?.["idle_threads"] ?? 0;
  const out = report.totals?.["threads_left_out"] ?? 0;
  const head = (
    <>
      <th>Thread</th>
      <th>Of</th>
      <th class="number">Regions ended</th>
      <th class="number">Time in regions, not idle</th>
      <th class="number">Longest</th>
      <th>In</th>
    </>
  );
  return (
    <>
      {rows.length > 0 && (
        <Table caption="Threads by their time in regions" head={head}>
          {rows.map((row, i) => {
            const link = rowLink(capture, { ...row, ...whole(report) }, { select: false });
            const name = <Text text={`${row.thread ?? ""}/${row.tid ?? ""}`} most={80} />;
            return (
              <tr key={i}>
                <td>{link === undefined ? name : <a href={link}>{name}</a>}</td>
                <td>
                  <Text text={`${row.service ?? ""}[${row.pid ?? ""}] on ${row.host ?? ""}`} most={120} />
                </td>
                <td class="number">{count(row.count)}</td>
                <td class="number">{duration(Number(row.total_ns))}</td>
                <td class="number">{duration(Number(row.most_ns))}</td>
                <td>
                  <Text text={row.most ?? ""} most={120} />
                </td>
              </tr>
            );
          })}
        </Table>
      )}
      {more}
      <p>
        {idle > 0 && <>{count(idle)} threads were idle and are left out. </>}
        {out > 0 && <>{count(out)} further threads are left out.</>}
        {rows.length === 0 && idle === 0 && "No thread has a region."}
      </p>
    </>
  );
}

/* The time of the whole record: a thread's row is of no time of its own. */
function whole(report: Report): Pick<Report, "ts_ns" | "dur_ns"> {
  return { ...(report.ts_ns === undefined ? {} : { ts_ns: report.ts_ns }), ...(report.dur_ns === undefined ? {} : { dur_ns: report.dur_ns }) };
}
