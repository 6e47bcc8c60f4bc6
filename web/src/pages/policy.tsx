// SPDX-License-Identifier: Apache-2.0
// One sampling policy: how far it is in force, what that costs, its last samples; changed with form and JSON.
import type { JSX } from "preact";
import { useMade } from "../api/ask";
import { type Schemas, getListing, part } from "../api/client";
import { type LookedProps, OneHead, OneOf } from "../manage/managed";
import { MatchesOf } from "../manage/matches";
import { POLICIES, type Policy, type PolicyState, PolicyStatus, shareWords } from "../manage/policy-parts";
import { POLICY } from "../manage/versioned";
import { Bar, Chip, Fact, Facts, Note, Shown, Table, Text, Time } from "../ui/parts";
import { bytes, count, duration, numeric } from "../ui/units";

function PolicyFacts(props: { policy: Policy; state: PolicyState }): JSX.Element {
  const { policy, state } = props;
  const bound = policy.limits?.bytes_per_day;
  return (
    <Facts>
      <Fact name="Records">{duration(numeric(policy.record_ms ?? 1000) * 1e6)} of every {duration(numeric(policy.every_ms ?? 1e6) * 1e6)}, each process in its turn</Fact>
      <Fact name="Whom">{policy.selector === "" ? "every process" : <code><Text text={policy.selector} /></code>}</Fact>
      <Fact name="Agents that know it">
        {shareWords(state)} <Bar share={state.share_of_agents} words={shareWords(state)} />
      </Fact>
      <Fact name="Processes that match">{count(state.processes.matching)}, of those that live and have a ring</Fact>
      <Fact name="Recorded now">{count(state.processes.on)}; planned {state.processes.planned_on.toLocaleString("en-US", { maximumFractionDigits: 2 })} on average</Fact>
      <Fact name="Stored today">
        {bytes(state.bytes_today)} since midnight UTC
        {bound === undefined ? "; no bound" : ` of ${bytes(numeric(bound))}`}
        {bound !== undefined && <Bar share={numeric(state.bytes_today) / Math.max(1, numeric(bound))} words={`${bytes(state.bytes_today)} of ${bytes(numeric(bound))}`} />}
      </Fact>
      <Fact name="Captures">{count(state.captures)}</Fact>
    </Facts>
  );
}

function Held(props: { state: PolicyState }): JSX.Element {
  const { paused_agents: paused, slower_agents: slower, held_back: held } = props.state;
  return (
    <>
      {held !== undefined && (
        <Note kind="warn">
          <p>{count(held.samples)} samples were held back today. The last: <Text text={held.why} /></p>
        </Note>
      )}
      {paused !== undefined && (
        <Note kind="warn">
          <p>{count(paused.agents)} agents pause: <Text text={paused.why} /></p>
          <p>{paused.hosts.map((host) => <span key={host.host}><Text text={host.host} most={100} /> ({count(host.cpu_percent)} % of a core) </span>)}</p>
        </Note>
      )}
      {slower !== undefined && (
        <Note kind="warn">
          <p>{count(slower.agents)} agents sample CPUs less often than the policy asks. The first {count(slower.hosts.length)}:</p>
          <Table caption="Agents that sample less often" head={<><th>Host</th><th class="number">Samples a second</th><th>Why</th></>}>
            {slower.hosts.map((host) => (
              <tr key={host.host}>
                <td><Text text={host.host} most={100} /></td>
                <td class="number">{count(host.samples_hz)}</td>
                <td class="words"><Text text={host.why} /></td>
              </tr>
            ))}
          </Table>
        </Note>
      )}
    </>
  );
}

/* ---- last samples ---- */

const SHOWN = 10;

function LastSamples(props: { name: string; last: string | undefined }): JSX.Element {
  const answer = useMade(`samples ${props.name} ${props.last ?? ""}`, (signal) => getListing<Schemas["Capture"]>("/captures", { policy: props.name, limit: SHOWN }, signal));
  return (
    <section aria-label="Last samples">
      <h2>Last samples</h2>
      <Shown of={answer} what="its last samples">
        {(samples) => (
          <>
            {samples.items.length === 0 ? (
              <p>
                None is stored.{" "}
                {props.last !== undefined && <a href={`/captures/${part(props.last)}`}>The last one that it took</a>}
              </p>
            ) : (
              <Table caption="Last samples, newest first" head={<><th>Capture</th><th>Began</th><th>Status</th><th>Verdict</th><th>Gone</th></>}>
                {samples.items.map((capture) => (
                  <tr key={capture.capture}>
                    <td><a href={`/captures/${part(capture.capture)}`}>{capture.capture.slice(0, 12)}</a></td>
                    <td><Time at={capture.created} /></td>
                    <td><Chip kind={capture.status === "complete" ? "ok" : capture.status === "incomplete" ? "warn" : "ok"}>{capture.status}</Chip></td>
                    <td class="words"><Text text={capture.verdict?.text ?? "–"} most={300} /></td>
                    <td>{capture.expires === undefined ? "not by time" : <Time at={capture.expires} short />}</td>
                  </tr>
                ))}
              </Table>
            )}
            {samples.next_cursor !== undefined && <p><a href={`/captures?policy=${part(props.name)}`}>All of them</a></p>}
          </>
        )}
      </Shown>
    </section>
  );
}

/* ---- the page ---- */

function Looked(props: LookedProps<Policy>): JSX.Element {
  const { value: policy, etag } = props.one;
  const state = policy.state;
  return (
    <>
      <OneHead
        status={state && <PolicyStatus status={state.status} />}
        reason={state?.reason}
        whole={{ kind: POLICY, name: props.name, enabled: policy.enabled !== false, etag, changed: props.again }}
        edit={props.edit}
        description={policy.description}
      />
      {state !== undefined && (
        <>
          <PolicyFacts policy={policy} state={state} />
          <Held state={state} />
        </>
      )}
      <MatchesOf selector={policy.selector} />
      <LastSamples name={props.name} last={state?.last_capture} />
    </>
  );
}

export default function PolicyPage(): JSX.Element {
  return (
    <OneOf<Policy>
      of={POLICIES}
      title="Policy"
      gone={() => "What a deleted policy sampled stays until its time is over."}
      looked={(looked) => <Looked {...looked} />}
    />
  );
}
