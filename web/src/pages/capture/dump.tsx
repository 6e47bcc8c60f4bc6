// SPDX-License-Identifier: Apache-2.0
// The thread dump: threads with equal stacks together, who waits for whom first.
import type { JSX } from "preact";
import type { Capture } from "../../ui/capture_words";
import { Note, Text } from "../../ui/parts";
import { timelineLink } from "../../ui/timeline_link";
import { type DumpThread, type StackGroup, groupStacks } from "../../ui/stacks";
import { count, duration, nanos } from "../../ui/units";
import type { Row, Rows } from "./ask_sql";
import { SqlShown, useFirst, useSql } from "./parts";

const FIRST = 6;
const NAMED = 8;

const THREADS = ["thread.state", "thread.wait", "thread.dump"]
  .map((name) => `select name, ts, process, service, pid, host, thread, tid, args, stack_id from event where name = '${name}'`)
  .join(" union all ");
const FRAMES = `select stack_id, position, function, file, line, module, address, inlined from frame
  where name = 'thread.state' group by stack_id, position order by stack_id, position`;

type Args = Record<string, unknown>;

function argsOf(row: Row): Args {
  try {
    const value: unknown = JSON.parse(row.text("args") || "{}");
    return typeof value === "object" && value !== null ? (value as Args) : {};
  } catch {
    return {};
  }
}

function word(args: Args, name: string): string {
  const value = args[name];
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function address(digits: string): string {
  return /^\d+$/.test(digits) ? `at ${hex(digits)}` : digits;
}

function hex(digits: string): string {
  return `0x${BigInt(digits).toString(16)}`;
}

export function dumpOf(rows: readonly Row[]): DumpThread[] {
  const waits = new Map<string, Args>();
  for (const row of rows) if (row.text("name") === "thread.wait") waits.set(`${row.text("process")} ${row.text("tid")}`, argsOf(row));
  return rows
    .filter((row) => row.text("name") === "thread.state")
    .map((row) => {
      const args = argsOf(row);
      const wait = waits.get(`${row.text("process")} ${row.text("tid")}`);
      return {
        process: row.text("process"),
        thread: row.text("thread"),
        tid: row.number("tid"),
        state: word(args, "state"),
        call: word(args, "syscall"),
        waitsFor: wait === undefined ? "" : `${word(wait, "for")} ${address(word(wait, "object"))}`.trim(),
        holder: wait === undefined ? 0 : Number(word(wait, "holder")) || 0,
        stack: row.text("stack_id"),
      };
    });
}

function framesOf(rows: Rows | undefined): Map<string, Row[]> {
  const frames = new Map<string, Row[]>();
  for (const row of rows?.rows ?? []) {
    const list = frames.get(row.text("stack_id"));
    if (list === undefined) frames.set(row.text("stack_id"), [row]);
    else list.push(row);
  }
  return frames;
}

function frameWords(frame: Row): string {
  const address = frame.text("address");
  const name = frame.text("function") || (/^\d+$/.test(address) ? hex(address) : address) || "unknown";
  const file = frame.text("file");
  const place = file !== "" ? ` (${file}:${frame.text("line")})` : frame.text("module") !== "" ? ` (${frame.text("module").split("/").at(-1)})` : "";
  return `${name}${place}${frame.text("inlined") === "1" ? " inlined" : ""}`;
}

function Group(props: { capture: Capture; of: StackGroup; frames: readonly Row[] }): JSX.Element {
  const { of, frames, capture } = props;
  const named = of.threads.slice(0, NAMED);
  const at = nanos(capture.at) ?? 0n;
  return (
    <section class="card">
      <h3>{of.threads.length === 1 ? "1 thread" : `${count(of.threads.length)} threads with one stack`}</h3>
      <ul class="lines">
        {named.map((thread) => (
          <li key={thread.tid}>
            <a href={timelineLink(capture, { beginNs: at, lengthNs: 0, process: thread.process, tid: thread.tid, select: false })}>
              <Text text={`${thread.thread}/${thread.tid}`} most={80} />
            </a>{" "}
            <Text text={thread.state} most={40} />
            {thread.call !== "" && (
              <>
                {" "}
                in <code><Text text={thread.call} most={200} /></code>
              </>
            )}
            {thread.waitsFor !== "" && (
              <>
                , waits for <Text text={thread.waitsFor} most={80} />
                {thread.holder > 0 && <> that thread {thread.holder} has</>}
              </>
            )}
          </li>
        ))}
        {of.threads.length > NAMED && <li>and {count(of.threads.length - NAMED)} more</li>}
      </ul>
      {of.stack === "" ? (
        <p class="quiet">no stack</p>
      ) : (
        <ol class="frames">
          {frames.map((frame, i) => (
            <li key={i}>
              at <code><Text text={frameWords(frame)} most={300} /></code>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function Summary(props: { of: Row }): JSX.Element {
  const args = argsOf(props.of);
  const out = Number(word(args, "left_out") || 0);
  return (
    <p>
      <Text text={`${props.of.text("service")}[${props.of.text("pid")}] on ${props.of.text("host")}`} most={120} />: {word(args, "threads")} threads,{" "}
      {word(args, "stacks")} with a stack
      {Number(word(args, "stop") || 0) > 0 && <>; {word(args, "stopped")} were stopped for it, {duration(Number(word(args, "stop")))} in all</>}
      {out > 0 && <>; {count(out)} are left out</>}. <span class="quiet"><Text text={word(args, "title")} most={200} /></span>
    </p>
  );
}

function Groups(props: { capture: Capture; rows: Rows; frames: Rows | undefined }): JSX.Element {
  const groups = groupStacks(dumpOf(props.rows.rows));
  const frames = framesOf(props.frames);
  const { rows, more } = useFirst(groups, FIRST);
  const why = (props.capture.targets ?? [])
    .flatMap((target) => target.evidence ?? [])
    .filter((kind) => kind.kind === "threads" && kind.state !== "taken")
    .map((kind) => kind.reason ?? kind.state);
  if (groups.length === 0)
    return (
      <Note>
        <p>
          There is no thread dump in this capture{why.length > 0 ? <>: <Text text={why[0]!} /></> : ""}. One is taken where a health check, a
          heartbeat or a latency rule fires, and where somebody asks for it.
        </p>
      </Note>
    );
  return (
    <>
      {props.rows.rows.filter((row) => row.text("name") === "thread.dump").map((row, i) => <Summary key={i} of={row} />)}
      {rows.map((group, i) => (
        <Group key={i} capture={props.capture} of={group} frames={frames.get(group.stack) ?? []} />
      ))}
      {more}
    </>
  );
}

export function Dump(props: { capture: Capture }): JSX.Element {
  const threads = useSql(props.capture, THREADS);
  const frames = useSql(props.capture, FRAMES);
  return (
    <SqlShown of={threads} what="the thread dump">
      {(rows) => (
        <SqlShown of={frames} what="its stacks">
          {(stacks) => <Groups capture={props.capture} rows={rows} frames={stacks} />}
        </SqlShown>
      )}
    </SqlShown>
  );
}
