// SPDX-License-Identifier: Apache-2.0
// The newest captures that a rule, a crash or a program began: where a reader who was woken begins.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { useCaptures } from "../../api/captures";
import { may } from "../../api/who";
import { Awaited, Empty, Failure, Table, Time } from "../../ui/parts";
import { CaptureLink, StatusChip, Whose } from "../../ui/capture_rows";
import { type Capture, alike, wentWrong } from "../../ui/capture_words";
import { count } from "../../ui/units";

const ROWS = 8;
const WANT = 100; /* captures: of one cause there are often many */
const PAGES = 10;

/* What began a capture is not told to a reader who is confined: then it is the newest ones that are no samples. */
const notSampled = (capture: Capture): boolean => capture.kind !== "sample";

export function WentWrong(props: { selector: string }): JSX.Element {
  const told = may("viewer", true);
  const place = useRef<HTMLElement>(null);
  const held = () => place.current?.matches(":hover, :focus-within") === true;
  const list = useCaptures(`wrong ${told} ${props.selector}`, { selector: props.selector }, told ? wentWrong : notSampled, { want: WANT, pages: PAGES }, held);
  return (
    <section aria-labelledby="wrong" ref={place}>
      <h2 id="wrong">{told ? "What went wrong" : "The newest captures"}</h2>
      {list.newer > 0 && (
        <button type="button" class="button first" onClick={list.again}>
          {list.newer === 1 ? "1 newer: show it" : `${count(list.newer)} newer: show them`}
        </button>
      )}
      {list.error !== undefined && <Failure error={list.error} again={list.again} what="Could not read the captures" />}
      {list.items === undefined && list.error === undefined && <Awaited what="the newest captures" again={list.again} />}
      {list.items !== undefined && <Strip items={list.items} told={told} looked={list.looked} whole={list.more === undefined} />}
    </section>
  );
}

function Strip(props: { items: Capture[]; told: boolean; looked: number; whole: boolean }): JSX.Element {
  if (props.items.length === 0 && !props.told)
    return (
      <Empty title="No capture of what you see">
        <p>Captures of the processes that your token sees are listed here.</p>
      </Empty>
    );
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
  const groups = props.told ? alike(props.items) : props.items.map((newest) => ({ newest, others: [] }));
  const rows = groups.slice(0, ROWS);
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
      <Table caption={props.told ? "The newest captures that a rule, a crash or a program began" : "The newest captures"} head={head}>
        {rows.map(({ newest: capture, others }) => (
          <tr key={capture.capture}>
            <td class="what">
              <CaptureLink capture={capture} />
              {others.length > 0 && <Others capture={capture} of={others} />}
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
        {groups.length > rows.length && <>{count(groups.length - rows.length)} further ones are not listed. </>}
        <a href="/captures">All captures</a>
      </p>
    </>
  );
}

/* Captures of the same cause are told in one row. */
function Others(props: { capture: Capture; of: Capture[] }): JSX.Element {
  const { trigger } = props.capture;
  const query = new URLSearchParams();
  if (trigger?.rule !== undefined) query.set("rule", trigger.rule);
  if (trigger?.process !== undefined) query.set("selector", `process=${trigger.process}`);
  return (
    <>
      {" "}
      · <a href={`/captures?${query.toString()}`}>and {count(props.of.length)} like it</a>
      <span class="quiet">
        , since <Time at={props.of.at(-1)!.at} short />
      </span>
    </>
  );
}
