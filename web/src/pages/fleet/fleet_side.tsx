// SPDX-License-Identifier: Apache-2.0
// Agents that are offline, and how full the collector's disk is. Fleetwide readers alone see them.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { useAsk, usePage } from "../../api/ask";
import type { Schemas } from "../../api/client";
import { listen } from "../../api/live";
import { NoAgent } from "../../ui/first_agent";
import { Bar, Note, Shown, Text, Time } from "../../ui/parts";
import { bytes, count, numeric, share } from "../../ui/units";

type Agent = Schemas["Agent"];
const LIMIT = 1000;
const NAMED = 10;

export function FleetAgents(): JSX.Element {
  const agents = usePage<Agent>("/agents", { limit: LIMIT }, 10_000);
  useEffect(() => listen(["agent.*"], agents.again, agents.again), [agents.again]);
  return (
    <section class="card" aria-labelledby="agents">
      <h2 id="agents">Agents</h2>
      <Shown of={agents} what="the agents" lines={2}>
        {(data) => <Agents items={data.items} whole={data.next_cursor === undefined} />}
      </Shown>
    </section>
  );
}

function Agents(props: { items: Agent[]; whole: boolean }): JSX.Element {
  if (props.items.length === 0) return <NoAgent />;
  const offline = props.items.filter((agent) => agent.status === "offline");
  return (
    <>
      <p>
        {count(props.items.length - offline.length)} online, {count(offline.length)} offline
        {props.whole ? "" : ` (of the first ${count(props.items.length)})`} · <a href="/agents">all</a>
      </p>
      {offline.length > 0 && (
        <ul class="lines">
          {offline.slice(0, NAMED).map((agent) => (
            <li key={agent.agent}>
              ⚠ <Text text={agent.host} most={64} />, last heard <Time at={agent.last_seen} short />
            </li>
          ))}
          {offline.length > NAMED && <li>and {count(offline.length - NAMED)} more</li>}
        </ul>
      )}
    </>
  );
}

export function FleetStorage(): JSX.Element {
  const storage = useAsk<Schemas["Storage"]>("/storage", {}, 10_000);
  return (
    <section class="card" aria-labelledby="storage">
      <h2 id="storage">Storage</h2>
      <Shown of={storage} what="the storage" lines={2}>
        {(data) => <Storage of={data} />}
      </Shown>
    </section>
  );
}

function Storage(props: { of: Schemas["Storage"] }): JSX.Element {
  const { of } = props;
  const most = of.quota.max_bytes === undefined ? undefined : numeric(of.quota.max_bytes);
  const taken = numeric(of.bytes);
  const room = most ?? taken + numeric(of.free_bytes);
  const used = room > 0 ? taken / room : 0;
  const words =
    most === undefined
      ? `Captures take ${bytes(of.bytes)}; ${bytes(of.free_bytes)} of the disk is free`
      : `Captures take ${bytes(of.bytes)} of ${bytes(room)} (${share(used)}) that they may; ${bytes(of.free_bytes)} of the disk is free`;
  return (
    <>
      <Bar share={used} words={words} />
      <p>
        {words} · <a href="/storage">more</a>
      </p>
      {of.status === "full" && (
        <Note kind="bad">
          <p>The disk is full: neither captures nor partitions are taken. Less than {bytes(of.min_free_bytes)} is free.</p>
        </Note>
      )}
      {of.quota.status === "exceeded" && (
        <Note kind="warn">
          <p>
            A quota is exceeded. <Text text={of.quota.reason ?? ""} />
          </p>
        </Note>
      )}
    </>
  );
}
