// SPDX-License-Identifier: Apache-2.0
// All sampling policies, how far they are in force and what that costs; and how a new one begins.
import type { JSX } from "preact";
import { useLocation } from "preact-iso";
import { useListing, useMade } from "../api/ask";
import { part } from "../api/client";
import { may } from "../api/who";
import type { JsonObject } from "../manage/document";
import { Editing } from "../manage/editing";
import { POLICY_START } from "../manage/policy-fields";
import { type Policy, PolicyForm, PolicyStatus, Planned, policyFields, shareWords } from "../manage/policy-parts";
import { POLICY, versionedGet, withoutState } from "../manage/versioned";
import { SeveralOf } from "../manage/several";
import "../manage/manage.css";
import { useAddress } from "../ui/address";
import { Command, Empty, Heading, More, Shown, Table, Text } from "../ui/parts";
import { bytes, count, duration, numeric } from "../ui/units";

function NewPolicy(props: { start: JsonObject }): JSX.Element {
  const { route } = useLocation();
  return (
    <Editing
      kind={POLICY}
      start={props.start}
      name={undefined}
      etag={undefined}
      fieldsOf={policyFields}
      form={(form) => <PolicyForm {...form} />}
      tried={(value) => <Planned policy={value} />}
      done={(name) => route(`/policies/${part(name)}`)}
      close={() => route("/policies")}
    />
  );
}

function CopyOf(props: { name: string }): JSX.Element {
  const answer = useMade(`copy ${props.name}`, (signal) => versionedGet<JsonObject>(POLICY, props.name, signal));
  return (
    <Shown of={answer} what="the policy that is copied">
      {(policy) => <NewPolicy start={{ ...withoutState(policy.value), name: "" }} />}
    </Shown>
  );
}

function NoPolicies(): JSX.Element {
  return (
    <Empty title="No policies yet">
      <p>
        A policy samples the fleet all the time: it records a second of each process once in a while, so that there is
        something healthy to set a failure beside, and series over weeks.
      </p>
      {may("admin") && (
        <p>
          <a class="button first" href="/policies?new=1">
            Create a policy
          </a>
        </p>
      )}
      <p>Or in a terminal, with a policy in a file:</p>
      <Command text="skein policy apply sample.json" />
    </Empty>
  );
}

function PolicyTable(props: { policies: readonly Policy[] }): JSX.Element {
  return (
    <Table caption="Policies" head={<><th>Name</th><th>State</th><th>Selector</th><th>Records</th><th class="number">Matching</th><th class="number">On now</th><th>Agents that know it</th><th class="number">Stored today (UTC)</th><th class="number">Captures</th></>}>
      {props.policies.map((policy) => (
        <tr key={policy.name}>
          <td><a href={`/policies/${part(policy.name ?? "")}`}><Text text={policy.name ?? ""} /></a></td>
          <td>{policy.state !== undefined && <PolicyStatus status={policy.state.status} />}</td>
          <td><code><Text text={policy.selector === "" ? "(every process)" : policy.selector} most={200} /></code></td>
          <td>{duration(numeric(policy.record_ms ?? 1000) * 1e6)} of every {duration(numeric(policy.every_ms ?? 1e6) * 1e6)}</td>
          <td class="number">{count(policy.state?.processes.matching ?? 0)}</td>
          <td class="number">{count(policy.state?.processes.on ?? 0)}</td>
          <td>{policy.state === undefined ? "–" : shareWords(policy.state)}</td>
          <td class="number">{bytes(policy.state?.bytes_today ?? 0)}</td>
          <td class="number">{count(policy.state?.captures ?? 0)}</td>
        </tr>
      ))}
    </Table>
  );
}

export default function Policies(): JSX.Element {
  const address = useAddress();
  const adding = address.get("new") !== "" && may("admin");
  const from = address.get("from");
  const pasting = address.get("paste") !== "" && may("admin");
  const { route } = useLocation();
  const answer = useListing<Policy>(adding || pasting ? undefined : "/policies", {}, 10_000);
  if (pasting)
    return (
      <>
        <Heading title="Paste policies" />
        <SeveralOf kind={POLICY} close={() => route("/policies")} />
      </>
    );
  if (adding)
    return (
      <>
        <Heading title={from === "" ? "A new policy" : `A copy of ${from}`} />
        {from === "" ? <NewPolicy start={POLICY_START} /> : <CopyOf name={from} />}
      </>
    );
  return (
    <>
      <Heading title="Policies">
        {may("admin") && (
          <>
            <a class="button" href="/policies?paste=1">
              Paste policies
            </a>
            <a class="button first" href="/policies?new=1">
              New policy
            </a>
          </>
        )}
      </Heading>
      <Shown of={answer} what="the policies">
        {(policies) => (policies.length === 0 ? <NoPolicies /> : <PolicyTable policies={policies} />)}
      </Shown>
      <More more={answer.more} />
    </>
  );
}
