// SPDX-License-Identifier: Apache-2.0
// The slowest one in a hundred of a region, and what they have more often than the rest.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Capture } from "../../ui/capture_words";
import { ChoiceField } from "../../ui/form";
import { total } from "../../ui/histogram";
import { Note, Table, Text } from "../../ui/parts";
import { shown } from "../../ui/text";
import { count, duration, share } from "../../ui/units";
import type { Row } from "./ask_sql";
import { type Lengths, allOf, lengthsKey } from "./lengths";
import { SqlShown, useFirst, useSql } from "./parts";
import type { Report } from "./report";
import { BOUND, FEWEST, type Value, lifted, valuesQuery } from "./slow_values";

const LEAST = 200; /* regions of a name: one in a hundred of fewer says nothing */

interface Choice {
  key: string;
  lengths: Lengths;
  all: number;
}

/* Names with enough regions, in the order of the report: by own time. */
function choicesOf(report: Report, lengths: ReadonlyMap<string, Lengths>): Choice[] {
  return report.regions.flatMap((region) => {
    const key = lengthsKey(region.service, region.name);
    const found = lengths.get(key);
    const all = found === undefined ? 0 : total(allOf(found));
    return found === undefined || all < LEAST ? [] : [{ key, lengths: found, all }];
  });
}

function valueOf(row: Row): Value {
  return { attribute: row.text("attribute"), value: row.text("value"), slow: row.number("slow"), rest: row.number("rest") };
}

function Values(props: { rows: readonly Row[] }): JSX.Element {
  const told = props.rows.map(valueOf);
  const all = told.filter((value) => value.attribute !== BOUND);
  const bound = told.find((value) => value.attribute === BOUND)?.slow ?? NaN;
  /* Each region has one host: their sums are all regions. */
  const hosts = all.filter((value) => value.attribute === "host");
  const slow = hosts.reduce((sum, host) => sum + host.slow, 0);
  const rest = hosts.reduce((sum, host) => sum + host.rest, 0);
  const { rows, more } = useFirst(lifted(all, slow, rest), 12);
  const head = (
    <>
      <th>They have more often</th>
      <th class="number">Of the slow ones</th>
      <th class="number">Of the rest</th>
      <th class="number">Lift</th>
    </>
  );
  return (
    <>
      <p>
        {count(slow)} took {duration(bound)} or longer, {count(rest)} did not.
      </p>
      {rows.length === 0 ? (
        <Note>
          <p>{slow < FEWEST ? "They are too few to tell anything of them." : "They have nothing more often than the rest."}</p>
        </Note>
      ) : (
        <Table caption="What the slowest have more often than the rest" head={head}>
          {rows.map((row) => (
            <tr key={`${row.attribute} ${row.value}`}>
              <td class="what">
                <Text text={`${row.attribute} ${row.value}`} most={200} />
              </td>
              <td class="number">
                {share(row.slowShare)} ({count(row.slow)})
              </td>
              <td class="number">
                {share(row.restShare)} ({count(row.rest)})
              </td>
              <td class="number">{Number(row.lift.toPrecision(3)).toLocaleString("en-US")}</td>
            </tr>
          ))}
        </Table>
      )}
      {more}
    </>
  );
}

export function Slowest(props: { capture: Capture; report: Report; lengths: ReadonlyMap<string, Lengths> }): JSX.Element {
  const { capture, report, lengths } = props;
  const choices = choicesOf(report, lengths);
  const [key, setKey] = useState<string>();
  const chosen = choices.find((choice) => choice.key === key) ?? choices[0];
  const answer = useSql(capture, chosen === undefined ? undefined : valuesQuery(chosen.lengths.service, chosen.lengths.name));
  if (chosen === undefined) return <p>No region came {count(LEAST)} times or more: the slowest one in a hundred would be one or none.</p>;
  return (
    <>
      <ChoiceField
        label="Of the region"
        value={chosen.key}
        set={setKey}
        choices={choices.map((choice) => [choice.key, `${shown(choice.lengths.name, 80)} of ${shown(choice.lengths.service, 60)} (${count(choice.all)})`] as const)}
      />
      <SqlShown of={answer} what="what the slowest have in common">
        {(rows) => <Values rows={rows.rows} />}
      </SqlShown>
      <p class="quiet">
        The lift is the share among the slow ones by the share among the rest. Whether it is more than chance,{" "}
        <code>skein diff {capture.capture} --slowest NAME</code> tests.
      </p>
    </>
  );
}
