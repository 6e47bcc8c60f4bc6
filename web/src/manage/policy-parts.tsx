// SPDX-License-Identifier: Apache-2.0
// What the pages of policies share: state, form, and how much of the time a draft records.
import type { JSX } from "preact";
import type { Schemas } from "../api/client";
import { Chip } from "../ui/parts";
import { count, share } from "../ui/units";
import type { JsonObject } from "./document";
import type { Managed } from "./editing";
import { FormFields, type FormProps, FormSections } from "./editor";
import { type FieldSpec, millisOf } from "./fields";
import { POLICY_SECTIONS, POLICY_START } from "./policy-fields";
import { HEAD_FIELDS } from "./rule-fields";
import { POLICY } from "./versioned";

export type Policy = Schemas["Policy"];
export type PolicyState = Schemas["PolicyState"];

export function PolicyStatus(props: { status: PolicyState["status"] }): JSX.Element {
  return <Chip {...(props.status === "active" ? { kind: "ok" } : props.status === "suspended" ? { kind: "warn" } : {})}>{props.status}</Chip>;
}

/* "2 of 3 (66.7 %)" */
export function shareWords(state: PolicyState): string {
  return `${count(state.agents_current)} of ${count(state.agents)} (${share(state.share_of_agents)})`;
}

function policyFields(_policy: JsonObject): FieldSpec[] {
  return [...HEAD_FIELDS, ...POLICY_SECTIONS.flatMap((section) => section.fields)];
}

function PolicyForm(props: FormProps): JSX.Element {
  const all = policyFields(props.draft.value);
  return (
    <>
      <FormFields {...props} fields={HEAD_FIELDS} all={all} />
      <FormSections {...props} sections={POLICY_SECTIONS} all={all} />
    </>
  );
}

/* How much of the time it records, before it is saved. */
function Planned(props: { policy: JsonObject }): JSX.Element | null {
  const record = millisOf(props.policy["record_ms"], 1000);
  const every = millisOf(props.policy["every_ms"], 1_000_000);
  if (record === undefined || every === undefined || !(every > 0)) return null;
  return (
    <p>
      It records each process for {share(record / every)} of the time: of 10,000 processes {count(Math.round((10_000 * record) / every))} at a moment on average.
    </p>
  );
}

export const POLICIES: Managed = {
  kind: POLICY,
  start: POLICY_START,
  fieldsOf: policyFields,
  form: (form) => <PolicyForm {...form} />,
  tried: (value) => <Planned policy={value} />,
};
