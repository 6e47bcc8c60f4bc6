// SPDX-License-Identifier: Apache-2.0
// What of the fleet is stored and what is missing, and where it was lost; each line leads to its captures.
import type { JSX } from "preact";
import { useListing, useMade } from "../api/ask";
import { type Query, type Schemas, get } from "../api/client";
import { may } from "../api/who";
import "../manage/manage.css";
import { type By, type Row, capturesOf } from "../manage/loss-links";
import { PLACE_WORDS, REASON_WORDS } from "../manage/words";
import { type Address, useAddress } from "../ui/address";
import { ChoiceField } from "../ui/form";
import { Bar, Chip, Command, Empty, Fact, Facts, Heading, More, Shown, Table, Text } from "../ui/parts";
import { SelectorFilter } from "../ui/selector_filter";
import { PLACES_LOST, count, numeric, share } from "../ui/units";

type Ledger = Schemas["Ledger"];

const BY: readonly (readonly [By, string])[] = [
  ["service", "service"],
  ["host", "host"],
  ["process", "process"],
  ["capture", "capture"],
  ["rule", "rule"],
  ["reason", "reason"],
  ["place", "place"],
];
const SPANS: readonly (readonly [string, string])[] = [
  ["", "all that is known"],
  ["1", "captures of the last hour"],
  ["24", "captures of the last 24 h"],
  ["168", "captures of the last 7 days"],
];
const PLACES = ["ring", "spool", "wire", "quota", "store"] as const;

function lostOf(ledger: Ledger): number {
  return PLACES.reduce((sum, place) => sum + numeric(ledger.lost[place]), 0);
}

/* ---- tables ---- */

function nameOf(by: By, row: Row): string {
  if (by === "process") return `${row.service === "" ? "(no service)" : row.service} ${row.pid} on ${row.host}`;
  if (by === "capture") return row.capture?.slice(0, 12) ?? "";
  if (by === "rule") return row.rule === "" || row.rule === undefined ? "(no rule: requests, policies, rings)" : row.rule;
  const value = by === "service" ? row.service : row.host;
  return value === undefined || value === "" ? "(none)" : value;
}

function Linked(props: { to: string | undefined; children: string }): JSX.Element {
  return props.to === undefined ? <Text text={props.children} most={160} /> : <a href={props.to}><Text text={props.children} most={160} /></a>;
}

function Linking(props: { to: string | undefined; of: number | string }): JSX.Element {
  const words = count(props.of);
  return <td class="number">{props.to === undefined || numeric(props.of) === 0 ? words : <a href={props.to}>{words}</a>}</td>;
}

function LedgerRow(props: { by: By; row: Row; of: Query }): JSX.Element | null {
  const { by, row } = props;
  const ledger = row.ledger;
  if (ledger === undefined) return null;
  const to = capturesOf(by, row, props.of);
  const lost = lostOf(ledger);
  const produced = numeric(ledger.produced);
  return (
    <tr>
      <td><Linked to={to}>{nameOf(by, row)}</Linked></td>
      <Linking to={to} of={ledger.produced} />
      <Linking to={to} of={ledger.stored} />
      <Linking to={to} of={lost} />
      <td class="row-bar">{produced > 0 && lost > 0 ? <><Bar share={lost / produced} words={`${share(lost / produced)} lost`} /> {share(lost / produced)}</> : "–"}</td>
      {PLACES.map((place) => <Linking key={place} to={to} of={ledger.lost[place]} />)}
      <td>
        <Chip kind={ledger.complete ? "ok" : "warn"}>{ledger.complete ? "complete" : ledger.gaps.length > 0 ? `${count(ledger.gaps.length)} gaps` : "incomplete"}</Chip>
      </td>
    </tr>
  );
}

function LedgerTable(props: { by: By; rows: readonly Row[]; of: Query }): JSX.Element {
  const words = BY.find(([by]) => by === props.by)?.[1] ?? "";
  return (
    <Table caption={`Loss by ${words}; numbers are events`} seen head={<><th>{words.slice(0, 1).toUpperCase() + words.slice(1)}</th><th class="number">Produced</th><th class="number">Stored</th><th class="number">Lost</th><th>Share lost</th>{PLACES.map((place) => <th key={place} class="number">{PLACES_LOST[place]}</th>)}<th>Complete</th></>}>
      {props.rows.map((row, i) => <LedgerRow key={row.process ?? row.capture ?? i} by={props.by} row={row} of={props.of} />)}
    </Table>
  );
}

function ReasonTable(props: { by: By; rows: readonly Row[]; byCapture: string }): JSX.Element {
  return (
    <>
      <Table caption="Where and why; numbers are events, gaps are times" seen head={<><th>Place</th>{props.by === "reason" && <th>Reason</th>}<th>What that means</th><th class="number">Events</th><th class="number">Gaps</th></>}>
        {props.rows.map((row) => (
          <tr key={`${row.place} ${row.reason ?? ""}`}>
            <td>{row.place}</td>
            {props.by === "reason" && <td><code><Text text={row.reason ?? ""} /></code></td>}
            <td class="words">{(row.reason === undefined ? PLACE_WORDS[row.place ?? ""] : REASON_WORDS[row.reason]) ?? "this console does not know it"}</td>
            <td class="number">{row.events === undefined || numeric(row.events) === 0 ? (numeric(row.gaps ?? 0) > 0 ? "not counted" : "0") : <a href={props.byCapture}>{count(row.events)}</a>}</td>
            <td class="number">{numeric(row.gaps ?? 0) > 0 ? <a href={props.byCapture}>{count(row.gaps ?? 0)}</a> : "0"}</td>
          </tr>
        ))}
      </Table>
      <p>A gap is a time of which something is missing; of what a ring has overwritten nobody knows how many events there were. The numbers lead to the captures, by how much each lost.</p>
    </>
  );
}

function Total(props: { total: Ledger; processes: number | string | undefined }): JSX.Element {
  const { total } = props;
  const lost = lostOf(total);
  const produced = numeric(total.produced);
  return (
    <Facts>
      <Fact name="Processes">{props.processes === undefined ? "–" : count(props.processes)}</Fact>
      <Fact name="Events produced">{count(total.produced)}</Fact>
      <Fact name="Events stored">{count(total.stored)}</Fact>
      <Fact name="Events lost">{count(lost)}{produced > 0 && lost > 0 ? ` (${share(lost / produced)})` : ""}</Fact>
      {total.implausible !== undefined && numeric(total.implausible) > 0 && <Fact name="Implausible">{count(total.implausible)}: programs say that they lost them and cannot have written so many; in no sum</Fact>}
      {total.unnamed !== undefined && numeric(total.unnamed) > 0 && <Fact name="Without a name">{count(total.unnamed)} stored events, of which a name or text is not</Fact>}
    </Facts>
  );
}

/* ---- the page ---- */

function queryOf(address: Address, by: By): Query {
  const hours = Number(address.get("hours"));
  /* To the minute, so that the question stays the same while the page is drawn again. */
  const from = hours > 0 ? new Date(Math.floor(Date.now() / 60_000) * 60_000 - hours * 3_600_000).toISOString() : "";
  return { by, selector: address.get("selector"), from };
}

export default function Loss(): JSX.Element {
  const address = useAddress();
  const choices = BY.filter(([by]) => by !== "rule" || may("viewer", true));
  const by = choices.find(([value]) => value === address.get("by"))?.[0] ?? "service";
  const query = queryOf(address, by);
  const selector = address.get("selector");
  const first = useMade(`loss ${JSON.stringify(query)}`, (signal) => get<Schemas["LossList"]>("/loss", { ...query, limit: 1 }, signal));
  const answer = useListing<Row>("/loss", query);
  const parameters = new URLSearchParams({ by: "capture", ...(selector === "" ? {} : { selector }), ...(address.get("hours") === "" ? {} : { hours: address.get("hours") }) });
  const nothing = first.data !== undefined && numeric(first.data.processes ?? 0) === 0;
  return (
    <>
      <Heading title="Loss" />
      <p>Every event that was produced is stored, or was lost in a ring, in an agent's spool, on the wire, to a quota, or in the store.</p>
      <div class="filters">
        <ChoiceField label="By" value={by} set={(value) => address.set({ by: value })} choices={choices} />
        <ChoiceField label="Of" value={SPANS.some(([value]) => value === address.get("hours")) ? address.get("hours") : ""} set={(value) => address.set({ hours: value })} choices={SPANS} />
        <SelectorFilter value={selector} set={(text) => address.set({ selector: text })} />
      </div>
      {first.data?.total !== undefined && <Total total={first.data.total} processes={first.data.processes} />}
      <Shown of={answer} what="the losses">
        {(rows) =>
          rows.length > 0 ? (
            by === "reason" || by === "place" ? <ReasonTable by={by} rows={rows} byCapture={`/loss?${parameters}`} /> : <LedgerTable by={by} rows={rows} of={query} />
          ) : nothing ? (
            <Empty title="No process was traced yet">
              <p>Start one under the tracer, and its ledger is kept from its first event on:</p>
              <Command text="skein run --service NAME -- PROGRAM" />
            </Empty>
          ) : (
            <Empty title="Nothing was lost">
              <p>Of what was asked for nothing is missing.</p>
            </Empty>
          )
        }
      </Shown>
      <More more={answer.more} />
    </>
  );
}
