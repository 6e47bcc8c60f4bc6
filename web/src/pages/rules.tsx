// SPDX-License-Identifier: Apache-2.0
// All rules with their states; and how a new one begins (?new, ?new&from=NAME for a copy, ?paste for several).
import type { JSX } from "preact";
import { useLocation } from "preact-iso";
import { useListing, useMade } from "../api/ask";
import { part } from "../api/client";
import { may } from "../api/who";
import { Editing } from "../manage/editing";
import type { JsonObject } from "../manage/document";
import { RULE_START } from "../manage/rule-fields";
import { type Rule, RuleForm, RuleStatus, TryIt, ruleFields } from "../manage/rule-parts";
import { RULE, versionedGet, withoutState } from "../manage/versioned";
import { conditionWords } from "../manage/words";
import { SeveralOf } from "../manage/several";
import "../manage/manage.css";
import { useAddress } from "../ui/address";
import { Command, Empty, Heading, More, Shown, Table, Text, Time } from "../ui/parts";
import { count } from "../ui/units";

function NewRule(props: { start: JsonObject }): JSX.Element {
  const { route } = useLocation();
  return (
    <Editing
      kind={RULE}
      start={props.start}
      name={undefined}
      etag={undefined}
      fieldsOf={ruleFields}
      form={(form) => <RuleForm {...form} />}
      tried={(value) => may("operator") && <TryIt name={undefined} rule={value} />}
      done={(name) => route(`/rules/${part(name)}`)}
      close={() => route("/rules")}
    />
  );
}

function CopyOf(props: { name: string }): JSX.Element {
  const answer = useMade(`copy ${props.name}`, (signal) => versionedGet<JsonObject>(RULE, props.name, signal));
  return (
    <Shown of={answer} what="the rule that is copied">
      {(rule) => <NewRule start={{ ...withoutState(rule.value), name: "" }} />}
    </Shown>
  );
}

function NoRules(): JSX.Element {
  return (
    <Empty title="No rules yet">
      <p>
        A rule makes the fleet capture by itself when something is wrong: a health check fails, a region takes too long, a
        process dies. Then what happened <em>before</em> is saved, on every host that is concerned.
      </p>
      {may("admin") && (
        <p>
          <a class="button first" href="/rules?new=1">
            Create a rule
          </a>
        </p>
      )}
      <p>Or in a terminal, with a rule in a file:</p>
      <Command text="skein rule apply redis-ping.json" />
    </Empty>
  );
}

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
  const address = useAddress();
  const adding = address.get("new") !== "" && may("admin");
  const from = address.get("from");
  const pasting = address.get("paste") !== "" && may("admin");
  const { route } = useLocation();
  const answer = useListing<Rule>(adding || pasting ? undefined : "/rules", {}, 10_000);
  if (pasting)
    return (
      <>
        <Heading title="Paste rules" />
        <SeveralOf kind={RULE} close={() => route("/rules")} />
      </>
    );
  if (adding)
    return (
      <>
        <Heading title={from === "" ? "A new rule" : `A copy of ${from}`} />
        {from === "" ? <NewRule start={RULE_START} /> : <CopyOf name={from} />}
      </>
    );
  return (
    <>
      <Heading title="Rules">
        {may("admin") && (
          <>
            <a class="button" href="/rules?paste=1">
              Paste rules
            </a>
            <a class="button first" href="/rules?new=1">
              New rule
            </a>
          </>
        )}
      </Heading>
      <Shown of={answer} what="the rules">
        {(rules) => (rules.length === 0 ? <NoRules /> : <RuleTable rules={rules} />)}
      </Shown>
      <More more={answer.more} />
    </>
  );
}
