// SPDX-License-Identifier: Apache-2.0
// Scheduling: how long threads ran, waited for a CPU, or were blocked, where the kernel's records are there.
import type { JSX } from "preact";
import type { Capture } from "../../ui/capture_words";
import { Note, Table, Text } from "../../ui/parts";
import { count, duration, share } from "../../ui/units";
import type { Row } from "./ask_sql";
import { SqlShown, useFirst, useSql } from "./parts";

const STATES = `select service, host, pid, process, thread, tid, state, sum(dur) as total, count(*) as n, max(dur) as longest
  from thread_state group by process, tid, state`;
const SUMS = `select service, host, pid, process, thread, tid, args from event where name = 'thread.sched'`;

interface Thread {
  key: string;
  who: string;
  thread: string;
  ran: number;
  ready: number;
  blocked: number;
  longestReady: number;
  turns: number;
}

function threadsOf(rows: readonly Row[]): Thread[] {
  const threads = new Map<string, Thread>();
  for (const row of rows) {
    const key = `${row.text("process")} ${row.text("tid")}`;
    let thread = threads.get(key);
    if (thread === undefined) threads.set(key, (thread = threadNew(key, row)));
    const total = row.number("total");
    if (row.text("state") === "running") {
      thread.ran += total;
      thread.turns += row.number("n");
    } else if (row.text("state") === "runnable") {
      thread.ready += total;
      thread.longestReady = Math.max(thread.longestReady, row.number("longest"));
    } else thread.blocked += total;
  }
  return [...threads.values()].sort((a, b) => b.ready + b.ran - a.ready - a.ran);
}

function threadNew(key: string, row: Row): Thread {
  const who = `${row.text("service")}[${row.text("pid")}] on ${row.text("host")}`;
  return { key, who, thread: `${row.text("thread")}/${row.text("tid")}`, ran: 0, ready: 0, blocked: 0, longestReady: NaN, turns: 0 };
}

/* Where the records themselves are not there: sums since the thread's begin. */
function sumsOf(rows: readonly Row[]): Thread[] {
  return rows
    .map((row) => {
      const thread = threadNew(`${row.text("process")} ${row.text("tid")}`, row);
      try {
        const args = JSON.parse(row.text("args")) as Record<string, unknown>;
        Object.assign(thread, { ran: Number(args["run_ns"] ?? 0), ready: Number(args["runnable_ns"] ?? 0), turns: Number(args["runs"] ?? 0) });
      } catch {
        /* no sums of this one */
      }
      return thread;
    })
    .sort((a, b) => b.ready + b.ran - a.ready - a.ran);
}

function ThreadRows(props: { all: Thread[]; sums: boolean }): JSX.Element {
  const { rows, more } = useFirst(props.all, 15);
  const head = (
    <>
      <th>Thread</th>
      <th>Of</th>
      <th class="number">Ran</th>
      <th class="number">Ready, without a CPU</th>
      <th class="number">of ran and ready</th>
      {!props.sums && <th class="number">Longest such wait</th>}
      {!props.sums && <th class="number">Blocked</th>}
      <th class="number">Turns on a CPU</th>
    </>
  );
  return (
    <>
      <Table caption="Scheduling by thread" head={head}>
        {rows.map((thread) => (
          <tr key={thread.key}>
            <td>
              <Text text={thread.thread} most={80} />
            </td>
            <td>
              <Text text={thread.who} most={100} />
            </td>
            <td class="number">{duration(thread.ran)}</td>
            <td class="number">{duration(thread.ready)}</td>
            <td class="number">{thread.ran + thread.ready > 0 ? share(thread.ready / (thread.ran + thread.ready)) : "–"}</td>
            {!props.sums && <td class="number">{duration(thread.longestReady)}</td>}
            {!props.sums && <td class="number">{duration(thread.blocked)}</td>}
            <td class="number">{count(thread.turns)}</td>
          </tr>
        ))}
      </Table>
      {more}
    </>
  );
}

export function Sched(props: { capture: Capture }): JSX.Element {
  const states = useSql(props.capture, STATES);
  const missing = states.data !== undefined && states.data.rows.length === 0;
  const sums = useSql(props.capture, missing ? SUMS : undefined);
  const why = (props.capture.targets ?? []).flatMap((target) => target.evidence ?? []).find((kind) => kind.kind === "sched" && kind.state !== "taken");
  return (
    <SqlShown of={states} what="scheduling">
      {(rows) =>
        !missing ? (
          <ThreadRows all={threadsOf(rows.rows)} sums={false} />
        ) : (
          <>
            <Note>
              <p>
                The kernel's records of scheduling are not in this capture, so that nobody knows when threads ran, were ready, or blocked.{" "}
                <Text text={why?.reason ?? ""} />
              </p>
            </Note>
            <SqlShown of={sums} what="sums of scheduling">
              {(found) =>
                found.rows.length === 0 ? null : (
                  <>
                    <p>Sums since each thread began, as the kernel counts them:</p>
                    <ThreadRows all={sumsOf(found.rows)} sums />
                  </>
                )
              }
            </SqlShown>
          </>
        )
      }
    </SqlShown>
  );
}
