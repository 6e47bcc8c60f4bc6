// SPDX-License-Identifier: Apache-2.0
// What the pages of rules share: its state, its form, what a try says.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { useMade } from "../api/ask";
import { type Schemas, part, send } from "../api/client";
import { may } from "../api/who";
import { ChoiceField } from "../ui/form";
import { Chip, Fact, Facts, Note, Shown, Table, Text, Time } from "../ui/parts";
import { bytes, clock, count, times } from "../ui/units";
import { type JsonObject, isObject, withMember } from "./document";
import { FormFields, type FormProps, FormSections, draftOf } from "./editor";
import type { Managed } from "./editing";
import type { FieldSpec } from "./fields";
import {
  CHECKS, CHECK_STARTS, CONDITIONS, CONDITION_STARTS, HEAD_FIELDS, RULE_SECTIONS, RULE_START, checkOf, conditionFields, conditionOf,
} from "./rule-fields";
import { RULE } from "./versioned";

export type Rule = Schemas["Rule"];
type RuleState = Schemas["RuleState"];

const KINDS: Readonly<Record<RuleState["status"], "ok" | "warn" | "bad" | undefined>> = {
  armed: "ok",
  firing: "bad",
  throttled: "warn",
  suspended: undefined,
};

export function RuleStatus(props: { status: RuleState["status"] }): JSX.Element {
  const kind = KINDS[props.status];
  return <Chip {...(kind === undefined ? {} : { kind })}>{props.status}</Chip>;
}

/* ---- form ---- */

function ruleFields(rule: JsonObject): FieldSpec[] {
  return [...HEAD_FIELDS, ...conditionFields(rule), ...RULE_SECTIONS.flatMap((section) => section.fields)];
}

function Condition(props: FormProps & { all: readonly FieldSpec[] }): JSX.Element {
  const rule = props.draft.value;
  const condition = conditionOf(rule);
  const check = condition === "health" ? checkOf(rule) : undefined;
  const choose = (name: string) => props.set(draftOf(withMember(rule, ["when"], { [name]: CONDITION_STARTS[name] ?? {} })));
  const chooseCheck = (name: string) => {
    const when = rule["when"];
    const health = isObject(when) && isObject(when["health"]) ? when["health"] : {};
    const rest = Object.fromEntries(Object.entries(health).filter(([key]) => !CHECKS.some(([known]) => known === key)));
    props.set(draftOf(withMember(rule, ["when", "health"], { ...rest, [name]: CHECK_STARTS[name] ?? {} })));
  };
  return (
    <>
      <ChoiceField
        label="Fires when"
        value={condition ?? ""}
        set={choose}
        choices={condition === undefined ? [["", "see the JSON: this form does not know it"], ...CONDITIONS] : CONDITIONS}
      />
      {condition === "health" && (
        <ChoiceField label="Check" value={check ?? ""} set={chooseCheck} choices={check === undefined ? [["", "choose one"], ...CHECKS] : CHECKS} />
      )}
      <FormFields {...props} fields={conditionFields(rule)} />
    </>
  );
}

function RuleForm(props: FormProps): JSX.Element {
  const all = ruleFields(props.draft.value);
  return (
    <>
      <FormFields {...props} fields={HEAD_FIELDS} all={all} />
      <Condition {...props} all={all} />
      <FormSections {...props} sections={RULE_SECTIONS} all={all} />
    </>
  );
}

/* ---- trying ---- */

const SOURCES: Readonly<Record<string, string>> = {
  records: "what is stored of the matching processes; what nobody has captured is not seen",
  history: "the rule's own firings of the last 7 days: no trace shows this condition",
  schedule: "computed, as if somebody matched each time",
};

function Covered(props: { covered: NonNullable<Schemas["RuleTest"]["covered"]> }): JSX.Element {
  const { covered } = props;
  return (
    <Note kind={covered.complete ? "info" : "warn"}>
      <p>
        {covered.complete ? "All that is stored was looked at" : `Not all was looked at: ${covered.why ?? "a bound was reached"}`}:{" "}
        {count(covered.partitions_read)} of {count(covered.partitions)} partitions of {count(covered.processes)} processes, {bytes(covered.bytes_read)} read.
      </p>
    </Note>
  );
}

function Instants(props: { tried: Schemas["RuleTest"] }): JSX.Element | null {
  const instants = props.tried.instants ?? [];
  if (instants.length === 0) return null;
  return (
    <Table caption="When the condition was met" head={<><th>Time</th><th>Result</th><th class="number">Incident</th><th>Service</th><th>Host</th><th class="number">Pid</th><th>Reason</th><th>Why held</th></>}>
      {instants.map((instant, i) => (
        <tr key={i}>
          <td><Time at={instant.time} /></td>
          <td><Chip kind={instant.result === "fired" ? "bad" : "warn"}>{instant.result}</Chip></td>
          <td class="number">{instant.incident ?? "–"}</td>
          <td><Text text={instant.service ?? "–"} most={120} /></td>
          <td><Text text={instant.host ?? "–"} most={120} /></td>
          <td class="number">{instant.pid ?? "–"}</td>
          <td class="words"><Text text={instant.reason} most={400} /></td>
          <td class="words"><Text text={instant.why ?? "–"} most={400} /></td>
        </tr>
      ))}
    </Table>
  );
}

function Tried(props: { tried: Schemas["RuleTest"] }): JSX.Element {
  const { tried } = props;
  const span = `between ${clock(tried.from)} and ${clock(tried.to)}`;
  if (!tried.evaluated)
    return (
      <Note kind="warn">
        <p>
          This could not be tried {span}: <Text text={tried.why ?? "the collector does not say why"} />
        </p>
      </Note>
    );
  return (
    <>
      <p>
        <strong>
          It would have fired {times(tried.fired ?? 0)}
        </strong>{" "}
        {span}, as {count(tried.incidents ?? 0)} {tried.incidents === 1 ? "incident" : "incidents"}.
      </p>
      <Facts>
        <Fact name="Condition met">{times(tried.met ?? 0)}</Fact>
        <Fact name="Would have captured">{times(tried.fired ?? 0)}</Fact>
        <Fact name="Held back by limits">{times(tried.held ?? 0)}</Fact>
        <Fact name="Looked at">{SOURCES[tried.source ?? ""] ?? tried.source ?? "–"}</Fact>
        {tried.left_out !== undefined && (
          <Fact name="Not applied">
            <code>{tried.left_out}</code>: what was not captured has no bytes
          </Fact>
        )}
      </Facts>
      {tried.covered !== undefined && (tried.source === "records" || !tried.covered.complete) && <Covered covered={tried.covered} />}
      <Instants tried={tried} />
      {(tried.instants?.length ?? 0) > 0 && <p>Listed are the first {count(tried.instants?.length ?? 0)}, without those that a cooldown holds back at once.</p>}
    </>
  );
}

function tryOut(name: string | undefined, rule: JsonObject | undefined, hours: number, signal: AbortSignal): Promise<Schemas["RuleTest"]> {
  const to = Date.now();
  const body = {
    from: new Date(to - hours * 3_600_000).toISOString(),
    to: new Date(to).toISOString(),
    ...(rule === undefined ? {} : { rule }),
  };
  return send("POST", name === undefined ? "/rules:test" : `/rules/${part(name)}:test`, { body, signal });
}

/* name without rule: as it is; rule: as it would be then. `running`: a number that grows with each try. */
function Trial(props: { name: string | undefined; rule: JsonObject | undefined; hours: number; running: number }): JSX.Element {
  const { name, rule, hours } = props;
  const key = `try ${props.running} ${name ?? ""} ${hours} ${rule === undefined ? "" : JSON.stringify(rule)}`;
  const answer = useMade(key, (signal) => tryOut(name, rule, hours, signal));
  return (
    <Shown of={answer} what="what it would have done">
      {(tried) => <Tried tried={tried} />}
    </Shown>
  );
}

const HOURS: readonly (readonly [string, string])[] = [["1", "the last hour"], ["24", "the last 24 h"], ["168", "the last 7 days"]];

export function TryIt(props: { name: string | undefined; rule?: JsonObject; children?: ComponentChildren }): JSX.Element {
  const [hours, setHours] = useState("24");
  const [asked, setAsked] = useState<{ rule: string; hours: string; running: number }>();
  const now = props.rule === undefined ? "" : JSON.stringify(props.rule);
  const words = HOURS.find(([value]) => value === hours)?.[1] ?? "";
  return (
    <section aria-label="Try it">
      {props.children}
      <div class="filters">
        <ChoiceField label="Time" value={hours} set={setHours} choices={HOURS} />
        <button type="button" class="button" onClick={() => setAsked({ rule: now, hours, running: (asked?.running ?? 0) + 1 })}>
          Try it on {words}
        </button>
      </div>
      {asked !== undefined && asked.rule !== now && <p>The rule has changed since; try it again.</p>}
      {asked !== undefined && asked.rule === now && (
        <Trial name={props.name} rule={props.rule} hours={Number(asked.hours)} running={asked.running} />
      )}
    </section>
  );
}

export const RULES: Managed = {
  kind: RULE,
  start: RULE_START,
  fieldsOf: ruleFields,
  form: (form) => <RuleForm {...form} />,
  tried: (value, name) => may("operator") && <TryIt name={name} rule={value} />,
};
