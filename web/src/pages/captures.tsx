// SPDX-License-Identifier: Apache-2.0
// All captures: filtered by the address, page by page, live; several at once can be deleted, pinned or compared.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { lazy, useLocation } from "preact-iso";
import { captureDelete, capturePatch, useCaptures } from "../api/captures";
import { may } from "../api/who";
import { Incident } from "../manage/incident";
import { CaptureLink, StatusChip, Whose } from "../ui/capture_rows";
import { type Capture, windowWords } from "../ui/capture_words";
import { type Address, useAddress } from "../ui/address";
import { ChoiceField, Confirm, FilterForm, TextField } from "../ui/form";
import { Awaited, Empty, Failure, Heading, Table, Text, Time, toast } from "../ui/parts";
import { apiTime } from "../ui/time_text";
import { timelineLink } from "../ui/timeline_link";
import { count, nanos } from "../ui/units";

const CaptureNow = lazy(() => import("../ui/capture_now"));

/* The collector filters: what a page gives is shown at once, and the reader asks for more. */
const ONE_PAGE = { want: 1, pages: 1 };

const FILTERS = ["status", "kind", "rule", "policy", "selector", "from", "to", "incident", "trace_id"] as const;

type Filter = Record<(typeof FILTERS)[number], string>;

function filterOf(address: Address): Filter {
  return Object.fromEntries(FILTERS.map((name) => [name, address.get(name)])) as Filter;
}

function Filters(props: { filter: Filter; set: (values: Readonly<Record<string, string>>) => void }): JSX.Element {
  const [draft, setDraft] = useState(props.filter);
  const field = (name: keyof Filter) => ({ value: draft[name], set: (value: string) => setDraft({ ...draft, [name]: value }) });
  const choose = (name: keyof Filter) => (value: string) => {
    setDraft({ ...draft, [name]: value });
    props.set({ [name]: value });
  };
  return (
    <FilterForm choose={() => props.set({ ...draft, from: apiTime(draft.from), to: apiTime(draft.to) })}>
      <ChoiceField
        label="Status"
        value={props.filter.status}
        set={choose("status")}
        choices={[
          ["", "any"],
          ["running", "running"],
          ["complete", "complete"],
          ["incomplete", "incomplete"],
          ["stopped", "stopped"],
        ]}
      />
      <ChoiceField
        label="Kind"
        value={props.filter.kind}
        set={choose("kind")}
        choices={[
          ["", "any"],
          ["snapshot", "snapshot"],
          ["record", "record"],
          ["stream", "stream"],
          ["sample", "sample"],
        ]}
      />
      {may("viewer", true) && <TextField label="Rule" {...field("rule")} />}
      {may("viewer", true) && <TextField label="Policy" {...field("policy")} />}
      <TextField label="Selector" {...field("selector")} placeholder="service=checkout" />
      <TextField label="Trace id" {...field("trace_id")} placeholder="32 hex digits" />
      <TextField label="From" {...field("from")} placeholder="2026-11-23 06:00" />
      <TextField label="To" {...field("to")} placeholder="2026-11-23 07:00" />
      <button type="submit" class="button">
        Filter
      </button>
      <a class="button" href="/captures">
        All
      </a>
    </FilterForm>
  );
}

type Act = "delete" | "pin" | "unpin";

const ACTS: Readonly<Record<Act, { verb: string; done: string }>> = {
  delete: { verb: "Delete", done: "deleted" },
  pin: { verb: "Pin", done: "pinned" },
  unpin: { verb: "Unpin", done: "no longer pinned" },
};

/* One by one: what was refused stands at the first refusal, what was done before it stays done. */
async function actOn(act: Act, captures: readonly Capture[]): Promise<void> {
  for (const capture of captures)
    if (act === "delete") await captureDelete(capture.capture);
    else await capturePatch(capture.capture, { pin: act === "pin" });
}

function Chosen(props: { captures: Capture[]; clear: () => void; again: () => void }): JSX.Element {
  const { captures } = props;
  const { route } = useLocation();
  const [act, setAct] = useState<Act>();
  const two = captures.length === 2;
  const compare = () => {
    const [newer, older] = captures[0]!.at > captures[1]!.at ? [captures[0]!, captures[1]!] : [captures[1]!, captures[0]!];
    route(`/compare?a=${encodeURIComponent(older.capture)}&b=${encodeURIComponent(newer.capture)}`);
  };
  return (
    <div class="buttons" role="group" aria-label="With the captures that are chosen">
      <span role="status">{captures.length === 0 ? "None chosen" : `${count(captures.length)} chosen`}</span>
      <button type="button" class="button" disabled={!two} title={two ? "" : "choose two"} onClick={compare}>
        Compare two
      </button>
      {may("operator") && (
        <>
          <button type="button" class="button" disabled={captures.length === 0} onClick={() => setAct("pin")}>
            Pin…
          </button>
          <button type="button" class="button" disabled={captures.length === 0} onClick={() => setAct("unpin")}>
            Unpin…
          </button>
          <button type="button" class="button danger" disabled={captures.length === 0} onClick={() => setAct("delete")}>
            Delete…
          </button>
        </>
      )}
      {act !== undefined && (
        <Confirm
          title={`${ACTS[act].verb} ${count(captures.length)} ${captures.length === 1 ? "capture" : "captures"}?`}
          verb={ACTS[act].verb}
          danger={act === "delete"}
          act={async () => {
            try {
              await actOn(act, captures);
              toast(`${count(captures.length)} ${ACTS[act].done}.`);
              props.clear();
            } finally {
              props.again();
            }
          }}
          close={() => setAct(undefined)}
        >
          <ActWords act={act} captures={captures} />
        </Confirm>
      )}
    </div>
  );
}

function ActWords(props: { act: Act; captures: Capture[] }): JSX.Element {
  return (
    <>
      <ul class="lines">
        {props.captures.slice(0, 5).map((capture) => (
          <li key={capture.capture}>
            <code>{capture.capture}</code>
          </li>
        ))}
        {props.captures.length > 5 && <li>and {count(props.captures.length - 5)} more</li>}
      </ul>
      <p>
        {props.act === "delete"
          ? "Their partitions go with them, but for those that other captures share: these stay. This cannot be undone."
          : props.act === "pin"
            ? "They are kept, whatever their time and the quotas."
            : "They are deleted when their time is over, or when room is needed."}
      </p>
    </>
  );
}

/* Why the capture is listed where a trace id was asked for, and where to look. */
function TraceAt(props: { capture: Capture }): JSX.Element | null {
  const at = props.capture.trace_id;
  if (at === undefined) return null;
  const begin = nanos(at.from ?? "");
  if (at.answer !== "perhaps" || begin === null)
    return <p class="quiet">No part that was read has the trace; {count(at.unread ?? 0)} could not be read.</p>;
  const place = { beginNs: begin, lengthNs: Number((nanos(at.to ?? "") ?? begin) - begin), process: at.process, select: false };
  return (
    <p class="quiet">
      The trace <a href={timelineLink(props.capture, place)}>may be in <Text text={`${at.service ?? ""} on ${at.host ?? ""}`} most={120} /></a>
    </p>
  );
}

interface RowsProps {
  items: Capture[];
  chosen: ReadonlySet<string>;
  choose: (ids: readonly string[], wanted: boolean) => void;
}

function Rows(props: RowsProps): JSX.Element {
  const all = props.items.map((capture) => capture.capture);
  const head = (
    <>
      <th>
        <input
          type="checkbox"
          aria-label="choose all that are listed"
          checked={all.every((id) => props.chosen.has(id))}
          onChange={(event) => props.choose(all, event.currentTarget.checked)}
        />
      </th>
      <th>What</th>
      <th>Whom</th>
      <th>When</th>
      <th>Window</th>
      <th class="number">Events</th>
      <th>Record</th>
      <th>Kept</th>
    </>
  );
  return (
    <Table caption="Captures, the newest first" head={head}>
      {props.items.map((capture) => (
        <tr key={capture.capture}>
          <td>
            <input
              type="checkbox"
              aria-label={`choose capture ${capture.capture}`}
              checked={props.chosen.has(capture.capture)}
              onChange={(event) => props.choose([capture.capture], event.currentTarget.checked)}
            />
          </td>
          <td class="what">
            <CaptureLink capture={capture} />
            {capture.incident !== capture.capture && (
              <>
                {" "}
                · <a href={`/captures?incident=${encodeURIComponent(capture.incident)}`}>of an incident</a>
              </>
            )}
            <TraceAt capture={capture} />
          </td>
          <td>
            <Whose capture={capture} />
          </td>
          <td class="nowrap">
            <Time at={capture.at} short />
          </td>
          <td>
            {capture.kind}, {windowWords(capture)}
          </td>
          <td class="number">{count(capture.ledger.stored)}</td>
          <td>
            <StatusChip capture={capture} />
          </td>
          <td>{capture.pin === true ? "pinned" : capture.expires === undefined ? "–" : <Time at={capture.expires} short />}</td>
        </tr>
      ))}
    </Table>
  );
}

export default function Captures(): JSX.Element {
  const address = useAddress();
  const filter = filterOf(address);
  const key = JSON.stringify(filter);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [asking, setAsking] = useState(false);
  const { selector, incident } = filter;
  const list = useCaptures(`captures ${key}`, filter, () => true, ONE_PAGE);
  const items = list.items ?? [];
  const picked = items.filter((capture) => chosen.has(capture.capture));
  const choose: RowsProps["choose"] = (ids, wanted) => {
    const next = new Set(chosen);
    for (const id of ids) next[wanted ? "add" : "delete"](id);
    setChosen(next);
  };
  return (
    <>
      <Heading title="Captures">
        {may("operator") && (
          <button type="button" class="button first" onClick={() => setAsking(true)}>
            Capture now…
          </button>
        )}
      </Heading>
      <Filters key={key} filter={filter} set={address.set} />
      {incident !== "" && (
        <Incident incident={incident} again={list.again} />
      )}
      {list.newer > 0 && (
        <button type="button" class="button first" onClick={list.again}>
          {list.newer === 1 ? "1 newer: show it" : `${count(list.newer)} newer: show them`}
        </button>
      )}
      {list.error !== undefined && <Failure error={list.error} again={list.again} what="Could not read the captures" />}
      {list.items === undefined && list.error === undefined && <Awaited what="the captures" again={list.again} lines={8} />}
      {list.items !== undefined && items.length > 0 && (
        <>
          <Chosen captures={picked} clear={() => setChosen(new Set())} again={list.again} />
          <Rows items={items} chosen={chosen} choose={choose} />
        </>
      )}
      {list.items !== undefined && items.length === 0 && <Nothing filtered={key !== JSON.stringify(EMPTY)} older={list.more !== undefined} />}
      {list.more !== undefined && (
        <button type="button" class="button" disabled={list.awaited} onClick={list.more}>
          {list.awaited ? "Looking…" : items.length === 0 ? "Look further back" : "Show more"}
        </button>
      )}
      {asking && <CaptureNow selector={selector} close={() => setAsking(false)} />}
    </>
  );
}

const EMPTY = Object.fromEntries(FILTERS.map((name) => [name, ""]));

function Nothing(props: { filtered: boolean; older: boolean }): JSX.Element {
  if (props.older)
    return (
      <Empty title="None among the newest captures">
        <p>Older ones were not looked at yet. A later From and an earlier To make it faster.</p>
      </Empty>
    );
  return props.filtered ? (
    <Empty title="No capture is like this">
      <p>
        Other filters may find some: <a href="/captures">all captures</a>.
      </p>
    </Empty>
  ) : (
    <Empty title="No capture yet">
      <p>
        A capture keeps what the rings of processes hold: <em>Capture now</em> takes the last seconds, a <a href="/rules">rule</a> takes
        them by itself when something goes wrong.
      </p>
      <pre>skein snapshot -l service=NAME --pre 10s</pre>
    </Empty>
  );
}
