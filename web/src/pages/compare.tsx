// SPDX-License-Identifier: Apache-2.0
// Two captures, one beside the other, aligned at nothing but their names: the table of the capture page, with one as the
// baseline of the other.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAsk, useMade, usePage } from "../api/ask";
import { get, part } from "../api/client";
import { useAddress } from "../ui/address";
import { CaptureLink, StatusChip } from "../ui/capture_rows";
import { type Capture, captureSentence, windowWords } from "../ui/capture_words";
import { ChoiceField, TextField } from "../ui/form";
import { Empty, Fact, Facts, Heading, Note, Shown, Time } from "../ui/parts";
import { shown } from "../ui/text";
import { clock, count } from "../ui/units";
import "../style/capture.css";
import { askSql } from "./capture/ask_sql";
import { type Diff, DiffTable } from "./capture/differs";
import { type Example, type Lengths, lengthsOf, lengthsQuery } from "./capture/lengths";
import { exampleLink } from "./capture/regions";

const ID = /^[0-9a-f]{32}$/;
const NEWEST = 50;

function Side(props: { title: string; of: Capture | undefined }): JSX.Element {
  const { of } = props;
  return (
    <section class="card">
      <h2>{props.title}</h2>
      {of === undefined ? (
        <p>Not chosen yet.</p>
      ) : (
        <>
          <p>
            <CaptureLink capture={of} /> <StatusChip capture={of} />
          </p>
          <Facts>
            <Fact name="When">
              <Time at={of.at} />
            </Fact>
            <Fact name="Window">
              {of.kind}, {windowWords(of)}
            </Fact>
            <Fact name="Events">{count(of.ledger.stored)}</Fact>
          </Facts>
        </>
      )}
    </section>
  );
}

/* One of the newest, or any other by its id. */
function Pick(props: { label: string; value: string; newest: readonly Capture[]; set: (id: string) => void }): JSX.Element {
  const [text, setText] = useState(props.value);
  const known = props.newest.some((capture) => capture.capture === props.value);
  const choices: [string, string][] = props.newest.map((capture) => [
    capture.capture,
    `${clock(capture.at)} ${shown(captureSentence(capture), 70)}`,
  ]);
  return (
    <form
      class="filters ids"
      onSubmit={(event) => {
        event.preventDefault();
        if (ID.test(text.trim())) props.set(text.trim());
      }}
    >
      <ChoiceField
        label={props.label}
        value={known ? props.value : ""}
        set={(id) => {
          setText(id);
          if (id !== "") props.set(id);
        }}
        choices={[["", "one of the newest…"], ...choices]}
      />
      <TextField label="or by its id" value={text} set={setText} {...(text !== "" && !ID.test(text.trim()) ? { wrong: "an id has 32 hex digits" } : {})} />
      <button type="submit" class="button">
        Take it
      </button>
    </form>
  );
}

/* Histograms of both as one: what was before in one, what is now in the other. */
async function lengthsOfBoth(a: string, b: string, signal: AbortSignal): Promise<Map<string, Lengths>> {
  const before = lengthsOf((await askSql(a, lengthsQuery(undefined), signal)).rows);
  const after = lengthsOf((await askSql(b, lengthsQuery(undefined), signal)).rows);
  for (const [key, lengths] of before) {
    const other = after.get(key);
    if (other === undefined) after.set(key, { ...lengths, before: lengths.after, after: [] });
    else other.before = lengths.after;
  }
  return after;
}

function Differences(props: { a: Capture; b: Capture }): JSX.Element {
  const { a, b } = props;
  const state = `${a.capture} ${a.status} ${b.capture} ${b.status}`;
  const diff = useMade(`compare ${state}`, (signal) => get<Diff>(`/captures/${part(b.capture)}/diff`, { with: a.capture }, signal));
  const lengths = useMade(diff.data === undefined ? undefined : `lengths ${state}`, (signal) => lengthsOfBoth(a.capture, b.capture, signal));
  /* An example of what vanished is in the other capture. */
  const link = (example: Example): string => {
    const inB = (b.targets ?? []).some((target) => target.process === example.process) && example.begin >= BigInt(Date.parse(b.window.from)) * 1_000_000n;
    return exampleLink(inB ? b : a, example);
  };
  return (
    <Shown of={diff} what="what differs">
      {(data) => <DiffTable diff={data} context={{ page: `/captures/${part(b.capture)}`, link, lengths: lengths.data }} />}
    </Shown>
  );
}

export default function Compare(): JSX.Element {
  const { get: wanted, set } = useAddress();
  const [a, b] = [wanted("a"), wanted("b")];
  const newest = usePage<Capture>("/captures", { limit: NEWEST });
  const before = useAsk<Capture>(ID.test(a) ? `/captures/${part(a)}` : undefined);
  const after = useAsk<Capture>(ID.test(b) ? `/captures/${part(b)}` : undefined);
  const items = newest.data?.items ?? [];
  return (
    <>
      <Heading title="Compare two captures" />
      <Pick key={`a ${a}`} label="Before: how it should be" value={a} newest={items} set={(id) => set({ a: id })} />
      <Pick key={`b ${b}`} label="Now: what is looked at" value={b} newest={items} set={(id) => set({ b: id })} />
      {a !== "" && b !== "" && (
        <p>
          <button type="button" class="button" onClick={() => set({ a: b, b: a })}>
            Change sides
          </button>
        </p>
      )}
      <div class="columns">
        {ID.test(a) ? <Shown of={before} what="the first capture">{(data) => <Side title="Before" of={data} />}</Shown> : <Side title="Before" of={undefined} />}
        {ID.test(b) ? <Shown of={after} what="the second capture">{(data) => <Side title="Now" of={data} />}</Shown> : <Side title="Now" of={undefined} />}
      </div>
      {a !== "" && a === b && (
        <Note kind="warn">
          <p>Both are the same capture: it differs in nothing from itself.</p>
        </Note>
      )}
      {before.data !== undefined && after.data !== undefined && a !== b && <Differences a={before.data} b={after.data} />}
      {(a === "" || b === "") && (
        <Empty title="Choose two captures">
          <p>
            Both are compared as a whole, services by their names. On the page of a capture, <em>What differs</em> sets its failure beside
            what was before.
          </p>
        </Empty>
      )}
    </>
  );
}
