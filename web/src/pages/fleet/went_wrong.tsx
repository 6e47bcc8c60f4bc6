// SPDX-License-Identifier: Apache-2.0
// The newest captures that a rule, a crash or a program began: where a reader who was woken begins.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { useMade } from "../../api/ask";
import { type Schemas, get, part } from "../../api/client";
import { useCaptures } from "../../api/captures";
import { Awaited, Empty, Failure, Table, Text, Time } from "../../ui/parts";
import { CaptureLink, StatusChip } from "../../ui/capture_rows";
import { type Capture, selectorWords, wentWrong } from "../../ui/capture_words";
import { count } from "../../ui/units";

const ROWS = 8;
const MOST = 1000;

/* Listings do not say whose a capture is where an agent began it for one process: that is asked for once. */
const known = new Map<string, Promise<string>>();
function serviceOf(process: string): Promise<string> {
  let service = known.get(process);
  if (service === undefined) {
    service = get<Schemas["Process"]>(`/processes/${part(process)}`).then(
      (found) => `${found.service} on ${found.host}`,
      () => "a process that is forgotten",
    );
    if (known.size > 200) known.clear();
    known.set(process, service);
  }
  return service;
}

function Whose(props: { capture: Capture }): JSX.Element {
  const process = props.capture.trigger?.process;
  const service = useMade(process, () => serviceOf(process ?? ""));
  if (process === undefined) return <Text text={selectorWords(props.capture.selector)} most={80} />;
  return <Text text={service.data ?? "…"} most={80} />;
}

export function WentWrong(props: { selector: string }): JSX.Element {
  const place = useRef<HTMLElement>(null);
  const held = () => place.current?.matches(":hover, :focus-within") === true;
  const list = useCaptures(`wrong ${props.selector}`, { selector: props.selector }, wentWrong, { want: ROWS, most: MOST }, held);
  return (
    <section aria-labelledby="wrong" ref={place}>
      <h2 id="wrong">What went wrong</h2>
      {list.newer > 0 && (
        <button type="button" class="button first" onClick={list.again}>
          {list.newer === 1 ? "1 newer: show it" : `${count(list.newer)} newer: show them`}
        </button>
      )}
      {list.error !== undefined && <Failure error={list.error} again={list.again} what="Could not read the captures" />}
      {list.items === undefined && list.error === undefined && <Awaited what="the newest captures" again={list.again} />}
      {list.items !== undefined && <Strip items={list.items.slice(0, ROWS)} looked={list.looked} whole={list.more === undefined} />}
    </section>
  );
}

function Strip(props: { items: Capture[]; looked: number; whole: boolean }): JSX.Element {
  if (props.items.length === 0)
    return (
      <Empty title="Nothing that a rule, a crash or a program has noticed">
        <p>
          {props.whole
            ? "No capture was begun by any of them."
            : `None of the newest ${count(props.looked)} captures was begun by any of them.`}{" "}
          A rule keeps the seconds before a failure: <a href="/rules">Rules</a>.
        </p>
      </Empty>
    );
  const head = (
    <>
      <th>What</th>
      <th>Where</th>
      <th>When</th>
      <th>Record</th>
    </>
  );
  return (
    <>
      <Table caption="The newest captures that a rule, a crash or a program began" head={head}>
        {props.items.map((capture) => (
          <tr key={capture.capture}>
            <td class="what">
              <CaptureLink capture={capture} />
            </td>
            <td>
              <Whose capture={capture} />
            </td>
            <td class="nowrap">
              <Time at={capture.at} short />
            </td>
            <td>
              <StatusChip capture={capture} />
            </td>
          </tr>
        ))}
      </Table>
      <p>
        <a href="/captures">All captures</a>
      </p>
    </>
  );
}
