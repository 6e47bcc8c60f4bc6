// SPDX-License-Identifier: Apache-2.0
// The agents that the collector knows: versions, clocks, what they were refused and have lost; revoked and forgotten.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useListing } from "../api/ask";
import { type Schemas, part, send } from "../api/client";
import { listen } from "../api/live";
import { may } from "../api/who";
import "../manage/manage.css";
import { COUNTER_WORDS } from "../manage/words";
import { NoAgent } from "../ui/first_agent";
import { Confirm } from "../ui/form";
import { Chip, Fact, Facts, Heading, More, Note, Shown, Table, Text, Time, toast } from "../ui/parts";
import { shown } from "../ui/text";
import { bytes, count, duration, numeric } from "../ui/units";

type Agent = Schemas["Agent"];

function Status(props: { agent: Agent }): JSX.Element {
  const { agent } = props;
  return (
    <>
      <Chip kind={agent.status === "online" ? "ok" : "warn"}>{agent.status}</Chip>{" "}
      {agent.revoked !== undefined && <Chip kind="bad">revoked</Chip>} {agent.cloned === true && <Chip kind="bad">identity used twice</Chip>}
    </>
  );
}

/* "+1.2 ms ± 0.4 ms" */
function offset(agent: Agent): string {
  const sign = agent.clock_offset_ns >= 0 ? "+" : "";
  const error = agent.clock_error_ns;
  return `${sign}${duration(agent.clock_offset_ns)}${error === undefined ? "" : ` ± ${duration(numeric(error))}`}`;
}

/* What it could not do, and what would allow it. */
function refusals(agent: Agent): readonly (readonly [string, string])[] {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["CPU samples", agent.samples?.refused],
    ["scheduling", agent.refused?.sched],
    ["stacks", agent.refused?.threads],
  ];
  return rows.filter((row): row is readonly [string, string] => row[1] !== undefined);
}

/* ---- actions ---- */

type Asked = "revoke" | "forget";
const ACTIONS: Readonly<Record<Asked, { verb: string; words: string }>> = {
  revoke: { verb: "Revoke", words: "Its session ends now, and it is refused from then on. What it captured stays." },
  forget: {
    verb: "Forget",
    words: "It and its processes leave the lists; what was captured stays. It may join anew, with a token and another key; one that speaks plain and still runs comes back.",
  },
};

function Act(props: { agent: Agent; asked: Asked; close: () => void; done: () => void }): JSX.Element {
  const { agent, asked } = props;
  const act = async (): Promise<void> => {
    const path = `/agents/${part(agent.agent)}`;
    await (asked === "revoke" ? send("POST", `${path}:revoke`) : send("DELETE", path));
    toast(`The agent of ${agent.host} is ${asked === "revoke" ? "revoked" : "forgotten"}.`);
    props.done();
  };
  return (
    <Confirm title={`${ACTIONS[asked].verb} the agent of ${agent.host} (${agent.agent})?`} verb={ACTIONS[asked].verb} danger act={act} close={props.close}>
      <p>{ACTIONS[asked].words}</p>
    </Confirm>
  );
}

/* ---- one agent ---- */

function Samples(props: { agent: Agent }): JSX.Element | null {
  const samples = props.agent.samples;
  if (samples === undefined) return null;
  return (
    <Fact name="CPU samples">
      {numeric(samples.hz) === 0 ? "off" : `${count(samples.hz)} a second of ${count(samples.cpus)} CPUs, reaching back ${duration(numeric(samples.reach_ms) * 1e6)} in ${bytes(samples.bytes)}`}
    </Fact>
  );
}

function Details(props: { agent: Agent; changed: () => void }): JSX.Element {
  const { agent } = props;
  const [asked, setAsked] = useState<Asked>();
  const labels = Object.entries(agent.labels);
  return (
    <>
      {agent.cloned === true && <Note kind="bad"><p>Two agents have spoken with this id within the last minute: their state folders are copies of each other. Give one of them an empty one.</p></Note>}
      {refusals(agent).map(([what, why]) => <Note key={what} kind="warn"><p><strong>Refused: {what}.</strong> <Text text={why} /></p></Note>)}
      <Facts>
        <Fact name="Agent"><code>{agent.agent}</code></Fact>
        <Fact name="Labels">{labels.length === 0 ? "none" : <Text text={labels.map(([name, value]) => `${name}=${value}`).join(", ")} most={600} />}</Fact>
        <Fact name="Enrolled">{agent.enrolled === undefined ? "no: it speaks plain" : <Time at={agent.enrolled} />}</Fact>
        {agent.revoked !== undefined && <Fact name="Revoked"><Time at={agent.revoked} /></Fact>}
        <Fact name="Clock">collector's less the host's: {offset(agent)}{agent.clock_error_ns === undefined ? "; how uncertain that is nobody knows" : ""}</Fact>
        <Fact name="CPU used">{duration(numeric(agent.cpu_ms) * 1e6)} since its start</Fact>
        <Fact name="Starts">{count(agent.epoch)}</Fact>
        <Samples agent={agent} />
        <Fact name="Spool">{bytes(agent.spool.bytes)} in {count(agent.spool.partitions)} partitions wait for the collector</Fact>
        <Fact name="Lost in its spool">{count(agent.lost.spool_events)} events in {count(agent.lost.spool_partitions)} partitions</Fact>
        {agent.own_captures !== undefined && <Fact name="Captures of its own">{count(agent.own_captures.last_hour)} in the last hour; {count(agent.own_captures.refused)} refused</Fact>}
        <Fact name="Knows">rules of generation {count(agent.rules_generation)}, policies of {count(agent.policies_generation)}</Fact>
      </Facts>
      <Table caption={`Counters of the agent of ${agent.host}, since its start`} head={<><th>Counter</th><th>What</th><th class="number">Value</th></>}>
        {Object.entries(agent.counters).map(([name, value]) => (
          <tr key={name}>
            <td><code><Text text={name} /></code></td>
            <td>{COUNTER_WORDS[name] ?? "–"}</td>
            <td class="number">{count(value)}</td>
          </tr>
        ))}
      </Table>
      {may("admin") && (
        <div class="buttons">
          {agent.enrolled !== undefined && agent.revoked === undefined && (
            <button type="button" class="button danger" onClick={() => setAsked("revoke")}>
              Revoke…
            </button>
          )}
          <button type="button" class="button danger" onClick={() => setAsked("forget")}>
            Forget…
          </button>
        </div>
      )}
      {asked !== undefined && <Act agent={agent} asked={asked} close={() => setAsked(undefined)} done={props.changed} />}
    </>
  );
}

function AgentRow(props: { agent: Agent; open: boolean; toggle: () => void }): JSX.Element {
  const { agent, open } = props;
  const lost = numeric(agent.lost.spool_events);
  return (
    <tr>
      <td>
        <button type="button" class="button" aria-expanded={open} aria-controls="agent-details" onClick={props.toggle}>
          {open ? "▾" : "▸"} <Text text={agent.host} most={100} />
        </button>
      </td>
      <td><Status agent={agent} /></td>
      <td><Time at={agent.last_seen} short /></td>
      <td><Text text={agent.version} most={60} /></td>
      <td class="number">{count(agent.processes)}</td>
      <td class="number">{offset(agent)}</td>
      <td class="number">{bytes(agent.spool.bytes)}</td>
      <td class="number">{lost > 0 ? <Chip kind="warn">{count(lost)}</Chip> : "0"}</td>
      <td>{refusals(agent).length === 0 ? "nothing" : refusals(agent).map(([what]) => what).join(", ")}</td>
    </tr>
  );
}

function AgentTable(props: { agents: readonly Agent[]; changed: () => void }): JSX.Element {
  const [open, setOpen] = useState<string>();
  const opened = props.agents.find((agent) => agent.agent === open);
  return (
    <>
      <Table caption="Agents" head={<><th>Host</th><th>Status</th><th>Last seen</th><th>Version</th><th class="number">Processes</th><th class="number">Clock offset</th><th class="number">Spool</th><th class="number">Lost in spool (events)</th><th>Refused</th></>}>
        {props.agents.map((agent) => (
          <AgentRow key={agent.agent} agent={agent} open={agent.agent === open} toggle={() => setOpen(agent.agent === open ? undefined : agent.agent)} />
        ))}
      </Table>
      <div id="agent-details">
        {opened !== undefined && (
          <section class="card" aria-label={`Agent of ${shown(opened.host, 100)}`}>
            <h2>Agent of <Text text={opened.host} most={100} /></h2>
            <Details agent={opened} changed={props.changed} />
          </section>
        )}
      </div>
    </>
  );
}

export default function Agents(): JSX.Element {
  const answer = useListing<Agent>("/agents", {}, 10_000);
  useEffect(() => listen(["agent.*"], answer.again, answer.again), [answer.again]);
  const agents = answer.data ?? [];
  const offline = agents.filter((agent) => agent.status === "offline").length;
  return (
    <>
      <Heading title="Agents" />
      <Shown of={answer} what="the agents">
        {() =>
          agents.length === 0 ? (
            <NoAgent />
          ) : (
            <>
              <p>
                {count(agents.length)} listed{answer.more === undefined ? "" : " so far"}; {count(offline)} of them offline.
              </p>
              <AgentTable agents={agents} changed={answer.again} />
              <More more={answer.more} />
            </>
          )
        }
      </Shown>
    </>
  );
}
