// SPDX-License-Identifier: Apache-2.0
// All sampling policies, how far they are in force and what that costs; and how a new one begins.
import type { JSX } from "preact";
import { part } from "../api/client";
import { AllOf, NoneYet } from "../manage/managed";
import { POLICIES, type Policy, PolicyStatus, shareWords } from "../manage/policy-parts";
import { Table, Text } from "../ui/parts";
import { bytes, count, duration, numeric } from "../ui/units";

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
  return (
    <AllOf<Policy> of={POLICIES} title="Policies">
      {(policies) =>
        policies.length > 0 ? (
          <PolicyTable policies={policies} />
        ) : (
          <NoneYet of={POLICIES} file="sample.json">
            A policy samples the fleet all the time: it records a second of each process once in a while, so that there is
            something healthy to set a failure beside, and series over weeks.
          </NoneYet>
        )
      }
    </AllOf>
  );
}
