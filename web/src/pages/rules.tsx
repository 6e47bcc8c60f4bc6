// SPDX-License-Identifier: Apache-2.0
// All rules with their states; and how a new one begins.
import type { JSX } from "preact";
import { part } from "../api/client";
import type { JsonObject } from "../manage/document";
import { AllOf, NoneYet } from "../manage/managed";
import { RULES, type Rule, RuleStatus } from "../manage/rule-parts";
import { conditionWords } from "../manage/words";
import { Table, Text, Time } from "../ui/parts";
import { count } from "../ui/units";

function RuleTable(props: { rules: readonly Rule[] }): JSX.Element {
  return (
    <Table caption="Rules" head={<><th>Name</th><th>State</th><th>Fires when</th><th>Selector</th><th class="number">Agents that know it</th><th class="number">Fired</th><th class="number">Held back</th><th>Last fired</th></>}>
      {props.rules.map((rule) => (
        <tr key={rule.name}>
          <td><a href={`/rules/${part(rule.name ?? "")}`}><Text text={rule.name ?? ""} /></a></td>
          <td>{rule.state !== undefined && <RuleStatus status={rule.state.status} />}</td>
          <td class="words"><Text text={conditionWords(rule.when as unknown as JsonObject)} most={200} /></td>
          <td><code><Text text={rule.selector === "" ? "(every process)" : rule.selector} most={200} /></code></td>
          <td class="number">{rule.state === undefined ? "–" : `${count(rule.state.agents_current)} of ${count(rule.state.agents)}`}</td>
          <td class="number">{count(rule.state?.fired ?? 0)}</td>
          <td class="number">{count(rule.state?.suppressed ?? 0)}</td>
          <td>{rule.state?.last_fired === undefined ? "never" : <Time at={rule.state.last_fired} short />}</td>
        </tr>
      ))}
    </Table>
  );
}

export default function Rules(): JSX.Element {
  return (
    <AllOf<Rule> of={RULES} title="Rules">
      {(rules) =>
        rules.length > 0 ? (
          <RuleTable rules={rules} />
        ) : (
          <NoneYet of={RULES} file="redis-ping.json">
            A rule makes the fleet capture by itself when something is wrong: a health check fails, a region takes too long, a
            process dies. Then what happened <em>before</em> is saved, on every host that is concerned.
          </NoneYet>
        )
      }
    </AllOf>
  );
}
