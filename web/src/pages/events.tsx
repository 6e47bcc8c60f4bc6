// SPDX-License-Identifier: Apache-2.0
// What happens, as it happens: captures, firings, agents, changes. Paused and filtered by the reader; the newest are
// kept, older ones let go.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useMade } from "../api/ask";
import { get } from "../api/client";
import { liveTypes } from "../api/live";
import "../manage/manage.css";
import { type FeedRow, KEPT, useFeed } from "../manage/feed";
import { EVENT_WORDS } from "../manage/words";
import { useAddress } from "../ui/address";
import { CheckField } from "../ui/form";
import { Chip, Command, Empty, Failure, Heading, Note, Text, Time } from "../ui/parts";
import { SelectorFilter } from "../ui/selector_filter";
import { clock, count } from "../ui/units";
import { VirtualList } from "../ui/virtual_list";

const BAD = ["agent.offline", "rule.fired"];
const WARN = ["rule.suppressed", "retention.deleted"];

function TypeChip(props: { type: string }): JSX.Element {
  const kind = BAD.includes(props.type) ? "bad" : WARN.includes(props.type) ? "warn" : undefined;
  return (
    <Chip title={EVENT_WORDS[props.type] ?? ""} {...(kind === undefined ? {} : { kind })}>
      {props.type}
    </Chip>
  );
}

function Row(props: { row: FeedRow }): JSX.Element {
  const { row } = props;
  return (
    <>
      <span><Time at={row.time} clockOnly /></span>
      <span><TypeChip type={row.type} /></span>
      <span>
        <Text text={row.words} /> {row.link !== undefined && <a href={row.link.to}>{row.link.words}</a>}
      </span>
    </>
  );
}

function Types(props: { types: readonly string[]; set: (types: readonly string[]) => void }): JSX.Element {
  return (
    <fieldset class="choices">
      <legend>Types</legend>
      {liveTypes.map((type) => (
        <CheckField
          key={type}
          label={EVENT_WORDS[type] ?? type}
          value={props.types.includes(type)}
          set={(on) => props.set(on ? liveTypes.filter((known) => known === type || props.types.includes(known)) : props.types.filter((known) => known !== type))}
        />
      ))}
    </fieldset>
  );
}

/* A stream says nothing of what is wrong with a selector; a listing does. */
function useChecked(selector: string) {
  return useMade(`selector ${selector}`, async (signal) => {
    if (selector !== "") await get("/captures", { selector, limit: 1 }, signal);
    return selector;
  });
}

function typesOf(text: string): readonly string[] {
  if (text === "") return liveTypes;
  const wanted = text.split(",");
  return liveTypes.filter((type) => wanted.includes(type));
}

export default function Events(): JSX.Element {
  const address = useAddress();
  const types = typesOf(address.get("types"));
  const selector = address.get("selector");
  const [paused, setPaused] = useState(false);
  const [since] = useState(() => Date.now());
  const checked = useChecked(selector);
  const feed = useFeed(types, checked.data, paused);
  const setTypes = (next: readonly string[]) => address.set({ types: next.length === liveTypes.length ? "" : next.length === 0 ? "none" : next.join(",") }, true);
  return (
    <>
      <Heading title="Live">
        <button type="button" class="button first" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? `Go on (${count(feed.waiting)} new)` : "Pause"}
        </button>
        <button type="button" class="button" onClick={feed.clear}>
          Clear
        </button>
      </Heading>
      <SelectorFilter value={selector} set={(text) => address.set({ selector: text })} />
      <Types types={types} set={setTypes} />
      {checked.error !== undefined && <Failure error={checked.error} what="The selector was refused" />}
      {types.length === 0 && <Note kind="warn"><p>No type is chosen, so nothing will be shown.</p></Note>}
      {feed.rows.length === 0 ? (
        <Empty title={`Nothing has happened since ${clock(since, false)}`}>
          <p>Captures that begin and end, rules that fire or are held back, agents that come and go are shown here as it happens. To see something happen:</p>
          <Command text="skein snapshot --selector service=NAME" />
        </Empty>
      ) : (
        <>
          <p>
            {feed.rows.length === 1 ? "1 event" : `${count(feed.rows.length)} events`}, the newest first; kept are the newest {count(KEPT)}
            {feed.dropped > 0 ? `, ${count(feed.dropped)} older ones were let go` : ""}.
          </p>
          <VirtualList items={feed.rows} keyOf={(row) => row.id} row={(row) => <Row row={row} />} label="Events" height={38} />
        </>
      )}
    </>
  );
}
