// SPDX-License-Identifier: Apache-2.0
// The audit log: who changed, downloaded and was refused what, newest first.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useListing } from "../api/ask";
import { type Schemas, part } from "../api/client";
import { may } from "../api/who";
import "../manage/manage.css";
import { useAddress } from "../ui/address";
import { FilterForm, TextField } from "../ui/form";
import { Chip, Empty, Heading, More, Note, Shown, Table, Text, Time } from "../ui/parts";
import { apiTime } from "../ui/time_text";
import { shown } from "../ui/text";

type Entry = Schemas["AuditEntry"];

const FILTERS: readonly (readonly [string, string, string])[] = [
  ["actor", "Actor", "a token's name, local, rule:NAME"],
  ["action", "Action", "capture.delete, rule.*"],
  ["object", "Object", "an id, a rule's name"],
  ["from", "From", "2026-11-21 09:40"],
  ["to", "To", "2026-11-21 10:00"],
];

/* A page of the object where there is one; ids alone make links. */
function pageOf(entry: Entry): string | undefined {
  const kind = entry.action.split(".")[0];
  if (kind === "capture" && /^[0-9a-f]{32}$/.test(entry.object)) return `/captures/${part(entry.object)}`;
  if (kind === "rule") return `/rules/${part(entry.object)}`;
  if (kind === "policy") return `/policies/${part(entry.object)}`;
  return undefined;
}

function AuditTable(props: { entries: readonly Entry[] }): JSX.Element {
  return (
    <Table caption="Audit log, newest first" head={<><th>Time</th><th>Actor</th><th>Action</th><th>Object</th><th>Result</th><th>Detail</th><th>From address</th><th>Request</th></>}>
      {props.entries.map((entry) => {
        const to = entry.action.endsWith(".delete") ? undefined : pageOf(entry);
        const id = /^[0-9a-f]{32}$/.test(entry.object);
        const object = id ? <code title={entry.object}>{entry.object.slice(0, 12)}</code> : <Text text={entry.object === "" ? "–" : entry.object} most={300} />;
        return (
          <tr key={entry.id}>
            <td><Time at={entry.time} /></td>
            <td><Text text={entry.actor === "" ? "(nobody known)" : entry.actor} most={120} /></td>
            <td class="nowrap"><code>{shown(entry.action, 60)}</code></td>
            <td class={id ? "nowrap" : ""}>{to === undefined ? object : <a href={to}>{object}</a>}</td>
            <td>{entry.result === "ok" ? <Chip kind="ok">ok</Chip> : <Text text={entry.result} most={300} />}</td>
            <td class="words"><Text text={entry.detail ?? "–"} most={1100} /></td>
            <td><Text text={entry.address ?? "–"} most={80} /></td>
            <td class="nowrap"><code>{shown(entry.request ?? "–", 64)}</code></td>
          </tr>
        );
      })}
    </Table>
  );
}

function Filters(props: { values: Readonly<Record<string, string>>; set: (values: Record<string, string>) => void }): JSX.Element {
  const [values, setValues] = useState<Record<string, string>>({ ...props.values });
  const now = JSON.stringify(props.values);
  useEffect(() => setValues({ ...props.values }), [now]);
  return (
    <FilterForm choose={() => props.set(Object.fromEntries(Object.entries(values).map(([name, value]) => [name, name === "from" || name === "to" ? apiTime(value) : value.trim()])))}>
      {FILTERS.map(([name, label, example]) => (
        <TextField key={name} label={label} placeholder={example} value={values[name] ?? ""} set={(value) => setValues({ ...values, [name]: value })} />
      ))}
      <button type="submit" class="button">
        Filter
      </button>
      <button type="button" class="button" onClick={() => props.set(Object.fromEntries(FILTERS.map(([name]) => [name, ""])))}>
        All
      </button>
    </FilterForm>
  );
}

export default function Audit(): JSX.Element {
  const address = useAddress();
  const values = Object.fromEntries(FILTERS.map(([name]) => [name, address.get(name)]));
  const answer = useListing<Entry>(may("admin") ? "/audit" : undefined, values);
  const filtered = Object.values(values).some((value) => value !== "");
  return (
    <>
      <Heading title="Audit">
        {may("admin") && (
          <button type="button" class="button" onClick={answer.again}>
            Read again
          </button>
        )}
      </Heading>
      {!may("admin") ? (
        <Note kind="warn"><p>The audit log is for admins; your token's scope is smaller.</p></Note>
      ) : (
        <>
          <Filters values={values} set={(next) => address.set(next)} />
          <Shown of={answer} what="the audit log">
            {(entries) =>
              entries.length > 0 ? (
                <AuditTable entries={entries} />
              ) : (
                <Empty title={filtered ? "No entry is as asked for" : "No entry yet"}>
                  <p>Changes, downloads and refusals are listed here, with who did them, from where and when. What was only looked at is not.</p>
                </Empty>
              )
            }
          </Shown>
          <More more={answer.more} />
        </>
      )}
    </>
  );
}
