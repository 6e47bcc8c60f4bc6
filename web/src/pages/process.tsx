// SPDX-License-Identifier: Apache-2.0
// A process: who it is, how far its ring reaches, what of it is stored and missing, its health by each rule, its captures.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { lazy, useRoute } from "preact-iso";
import { useAsk, usePage } from "../api/ask";
import { useCaptures } from "../api/captures";
import { type Schemas, part } from "../api/client";
import { may } from "../api/who";
import { CaptureLink, StatusChip } from "../ui/capture_rows";
import { reasonWords } from "../ui/gap_words";
import { labelSelector } from "../ui/label_selector";
import { Awaited, Bar, Chip, Empty, Fact, Facts, Failure, Heading, Note, Shown, Table, Text, Time } from "../ui/parts";
import { PLACES_LOST, bytes, count, duration, numeric, share } from "../ui/units";

const CaptureNow = lazy(() => import("../ui/capture_now"));

/* Of one that no agent lists any more there is what its captures say. */
type Process = Schemas["ProcessWithLedger"] & Partial<Pick<Schemas["Process"], "samples_refused" | "refused">>;
type Rule = Schemas["Rule"];
type Ledger = Schemas["Ledger"];

const EVERY_MS = 10_000;

function StatusOf(props: { of: Process }): JSX.Element {
  const { status } = props.of;
  return <Chip {...(status === "live" ? { kind: "ok" as const } : status === "offline" ? { kind: "warn" as const } : {})}>{status}</Chip>;
}

function Who(props: { of: Process }): JSX.Element {
  const { of } = props;
  const labels = Object.entries(of.labels as Record<string, string>);
  const selector = labelSelector("service", of.service);
  return (
    <section class="card">
      <h2>Who</h2>
      <Facts>
        <Fact name="Status">
          <StatusOf of={of} />
        </Fact>
        <Fact name="Service">
          {selector === undefined ? <Text text={of.service} most={120} /> : <a href={`/?selector=${part(selector)}`}><Text text={of.service} most={120} /></a>}
        </Fact>
        <Fact name="Host">
          <Text text={of.host} most={120} />
        </Fact>
        <Fact name="Pid">{of.pid}</Fact>
        {of.title !== undefined && (
          <Fact name="Title">
            <Text text={of.title} most={300} />
          </Fact>
        )}
        <Fact name="Program">
          <Text text={of.exe} most={300} />
        </Fact>
        <Since name="Started" at={of.started} />
        <Since name="Recorded since" at={of.attached} />
        <Since name="Ended" at={of.ended} />
        <Fact name="Labels">{labels.length === 0 ? "none" : labels.map(([name, value]) => <div key={name}><Text text={`${name}=${value}`} most={200} /></div>)}</Fact>
        <Fact name="Id">
          <code>{of.process}</code>
        </Fact>
      </Facts>
    </section>
  );
}

function Since(props: { name: string; at: string | undefined }): JSX.Element | null {
  if (props.at === undefined) return null;
  return (
    <Fact name={props.name}>
      <Time at={props.at} />
    </Fact>
  );
}

function Ring(props: { of: Process }): JSX.Element {
  const { of } = props;
  const [size, used] = [numeric(of.ring_bytes ?? 0), numeric(of.used_bytes ?? 0)];
  const words = `${bytes(used)} of ${bytes(size)} used (${share(size > 0 ? used / size : 0)})`;
  const implausible = of.events_lost_implausible === undefined ? 0 : numeric(of.events_lost_implausible);
  return (
    <section class="card">
      <h2>Ring</h2>
      {of.ring_bytes === undefined ? (
        <p>No agent lists it any more: what is known is what its captures say.</p>
      ) : of.not_recorded !== undefined ? (
        <Note kind="warn">
          <p>Its agent has no ring of it: {reasonWords(of.not_recorded)}.</p>
        </Note>
      ) : (
        <Facts>
          <Fact name="Reaches back">{duration(numeric(of.reach_ms ?? 0) * 1e6)}</Fact>
          <Fact name="Written">{bytes(of.bytes_per_s ?? 0)} a second</Fact>
          <Fact name="Room">
            <Bar share={size > 0 ? used / size : 0} words={words} />
            {words}
          </Fact>
          <Fact name="Mode">
            <Text text={of.mode ?? ""} most={40} />, wrapped {count(of.wrapped ?? 0)} times
          </Fact>
          <Fact name="Events lost">
            {numeric(of.events_lost ?? 0) > 0 ? <Chip kind="warn">⚠ {count(of.events_lost ?? 0)}</Chip> : "0"}
            {implausible > 0 && <> (it says {count(implausible)} more, which it cannot have written)</>}
          </Fact>
        </Facts>
      )}
      {of.samples_refused !== undefined && (
        <p>
          CPUs: <Text text={of.samples_refused} most={500} />
        </p>
      )}
      {Object.entries((of.refused ?? {}) as Record<string, string>).map(([kind, why]) => (
        <p key={kind}>
          <Text text={kind} most={40} />: <Text text={why} most={500} />
        </p>
      ))}
      {of.age_ms !== undefined && <p class="quiet">As its agent said {duration(numeric(of.age_ms) * 1e6)} before this was asked.</p>}
    </section>
  );
}

const PLACES = ["ring", "spool", "wire", "quota", "store"] as const;

function LedgerCard(props: { of: Ledger }): JSX.Element {
  const { of } = props;
  const reasons = Object.entries(of.reasons as Record<string, number>).filter(([, n]) => n > 0);
  return (
    <section class="card">
      <h2>Ledger</h2>
      <p class="quiet">
        Events of its captures (where their windows overlap, an event counts in each) and what its ring lost outside of them: each is stored,
        or lost in one place.
      </p>
      <Facts>
        <Fact name="Produced">{count(of.produced)}</Fact>
        <Fact name="Stored">{count(of.stored)}</Fact>
        {PLACES.map((place) => (
          <Fact key={place} name={`Lost ${PLACES_LOST[place]}`}>
            {count(of.lost[place])}
          </Fact>
        ))}
        <Fact name="Gaps">{of.complete ? "none" : count(of.gaps.length)}</Fact>
      </Facts>
      {reasons.map(([reason, n]) => (
        <p key={reason}>
          {of.at_most?.includes(reason) ? "at most " : ""}
          {count(n)}: {reasonWords(reason)}
        </p>
      ))}
    </section>
  );
}

const HEALTH: Readonly<Record<string, "ok" | "bad" | undefined>> = { passing: "ok", failing: "bad" };

function Health(props: { process: string }): JSX.Element {
  const rules = usePage<Rule>("/rules", { limit: 1000 }, EVERY_MS);
  return (
    <section>
      <h2>Health, by rule</h2>
      <Shown of={rules} what="the rules" lines={2}>
        {(data) => {
          const rows = data.items.flatMap((rule) =>
            (rule.state?.processes ?? []).filter((process) => process.process === props.process).map((process) => ({ rule, process })),
          );
          if (rows.length === 0) return <p>No rule looks at this process{data.next_cursor === undefined ? "" : " (of the first 1,000)"}.</p>;
          const head = (
            <>
              <th>Rule</th>
              <th>Health</th>
              <th>Since</th>
              <th class="number">Checks</th>
              <th class="number">Failures</th>
              <th class="number">Fired</th>
              <th>Last error</th>
            </>
          );
          return (
            <Table caption="Health by rule" head={head}>
              {rows.map(({ rule, process }) => (
                <tr key={rule.name}>
                  <td>
                    <a href={`/rules/${part(rule.name ?? "")}`}><Text text={rule.name ?? ""} most={100} /></a>
                  </td>
                  <td>
                    <Chip {...(HEALTH[process.health] === undefined ? {} : { kind: HEALTH[process.health]! })}>{process.health}</Chip>
                  </td>
                  <td class="nowrap">
                    <Time at={process.since} short />
                  </td>
                  <td class="number">{count(process.checks)}</td>
                  <td class="number">{count(process.failures)}</td>
                  <td class="number">{count(process.fired)}</td>
                  <td class="what">
                    <Text text={process.last_error} most={300} />
                  </td>
                </tr>
              ))}
            </Table>
          );
        }}
      </Shown>
    </section>
  );
}

function Captures(props: { process: string }): JSX.Element {
  const list = useCaptures(`of ${props.process}`, { selector: `process=${props.process}` }, () => true, { want: 20, pages: 10 });
  const items = list.items ?? [];
  const head = (
    <>
      <th>What</th>
      <th>When</th>
      <th>Kind</th>
      <th class="number">Events</th>
      <th>Record</th>
    </>
  );
  return (
    <section>
      <h2>Captures</h2>
      {list.newer > 0 && (
        <button type="button" class="button first" onClick={list.again}>
          {count(list.newer)} newer: show
        </button>
      )}
      {list.error !== undefined && <Failure error={list.error} again={list.again} what="Could not read its captures" />}
      {list.items === undefined && list.error === undefined && <Awaited what="its captures" again={list.again} />}
      {list.items !== undefined && items.length === 0 && <p>{list.more === undefined ? "It is in no capture yet." : "It is in none of the newest captures; there are older ones."}</p>}
      {items.length > 0 && (
        <Table caption="Captures of this process, the newest first" head={head}>
          {items.map((capture) => (
            <tr key={capture.capture}>
              <td class="what">
                <CaptureLink capture={capture} />
              </td>
              <td class="nowrap">
                <Time at={capture.at} short />
              </td>
              <td>{capture.kind}</td>
              <td class="number">{count(capture.ledger.stored)}</td>
              <td>
                <StatusChip capture={capture} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {list.more !== undefined && (
        <button type="button" class="button" disabled={list.awaited} onClick={list.more}>
          {list.awaited ? "Looking…" : "Show more"}
        </button>
      )}
    </section>
  );
}

export default function ProcessPage(): JSX.Element {
  const { params } = useRoute();
  const id = params["process"] ?? "";
  const [asking, setAsking] = useState(false);
  const process = useAsk<Process>(`/processes/${part(id)}`, {}, EVERY_MS);
  const found = process.data;
  if (found === undefined && process.error?.status === 404)
    return (
      <>
        <Heading title="Process" />
        <Empty title="This process is not known">
          <p>
            No agent lists it, and no capture has it. <a href="/">The fleet</a>
          </p>
        </Empty>
      </>
    );
  return (
    <>
      <Heading title={found === undefined ? "Process" : `${found.service}[${found.pid}] on ${found.host}`}>
        {found?.status === "live" && may("operator") && (
          <button type="button" class="button first" onClick={() => setAsking(true)}>
            Capture the last 10 s…
          </button>
        )}
      </Heading>
      <Shown of={process} what="the process" lines={10}>
        {(data) => (
          <>
            <div class="columns">
              <Who of={data} />
              <Ring of={data} />
              {data.ledger !== undefined && <LedgerCard of={data.ledger} />}
            </div>
            {may("viewer", true) && <Health process={id} />}
            <Captures process={id} />
          </>
        )}
      </Shown>
      {asking && <CaptureNow selector={`process=${id}`} title="Capture the last 10 s" close={() => setAsking(false)} />}
    </>
  );
}
