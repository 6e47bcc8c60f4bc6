// SPDX-License-Identifier: Apache-2.0
// One rule: its state, why it fired and why not, each process that it looks at, what it did, what it would do; changed
// with form and JSON.
import type { JSX, RefObject } from "preact";
import { useRef, useState } from "preact/hooks";
import { useListing } from "../api/ask";
import { type Schemas, part, send } from "../api/client";
import { may } from "../api/who";
import type { JsonObject } from "../manage/document";
import { type LookedProps, OneHead, OneOf } from "../manage/managed";
import { MatchesOf } from "../manage/matches";
import { RULES, type Rule, RuleStatus, TryIt } from "../manage/rule-parts";
import { HistoryStrip } from "../manage/strip";
import { RULE } from "../manage/versioned";
import { HISTORY_WORDS, LIMIT_WORDS, conditionWords } from "../manage/words";
import { useAddress } from "../ui/address";
import { ChoiceField, Confirm, TextField } from "../ui/form";
import { Bar, Chip, Fact, Facts, More, Note, Shown, Table, Text, Time, toast } from "../ui/parts";
import { bytes, count, duration, numeric, times } from "../ui/units";

type State = Schemas["RuleState"];

/* ---- why, why not ---- */

function Why(props: { state: State }): JSX.Element {
  const { state } = props;
  return (
    <div class="why">
      <section class="card" aria-label="Why it fired">
        <h2>Why it fired</h2>
        {state.last_fired === undefined ? (
          <p>It has not fired. Its health is below; try it on what is stored.</p>
        ) : (
          <>
            <p><Time at={state.last_fired} /></p>
            <p><Text text={state.last_fired_why ?? ""} /></p>
            {state.last_capture !== undefined && <p><a href={`/captures/${part(state.last_capture)}`}>The capture of that firing</a></p>}
          </>
        )}
      </section>
      <section class="card" aria-label="Why it did not">
        <h2>Why it did not</h2>
        {state.last_not_fired === undefined ? (
          <p>No firing was held back.</p>
        ) : (
          <>
            <p><Time at={state.last_not_fired} /></p>
            <p><Text text={state.last_not_fired_why ?? ""} /></p>
          </>
        )}
        {state.unsupported !== undefined && (
          <p>
            {count(state.unsupported.agents)} agents do not run it ({state.unsupported.hosts.map((host) => <Text key={host} text={`${host} `} most={100} />)}): <Text text={state.unsupported.why} />
          </p>
        )}
      </section>
    </div>
  );
}

function RuleFacts(props: { rule: Rule; state: State }): JSX.Element {
  const { rule, state } = props;
  return (
    <Facts>
      <Fact name="Fires when"><Text text={conditionWords(rule.when as unknown as JsonObject)} /></Fact>
      <Fact name="Whom">{rule.selector === "" ? "every process" : <code><Text text={rule.selector} /></code>}</Fact>
      <Fact name="Fired">{times(state.fired)}; held back {times(state.suppressed)}</Fact>
      <Fact name="Agents that know it">{count(state.agents_current)} of {count(state.agents)} (generation {count(state.generation)})</Fact>
      {rule.notify !== undefined && (
        <Fact name="Tells">
          <Text text={rule.notify.webhook.url} most={300} />
          {state.notify !== undefined && (
            <>
              {": "}
              {count(state.notify.delivered)} told, {count(state.notify.pending)} waiting, {count(state.notify.dropped)} given up
              {state.notify.last_error !== undefined && <>; last failure: <Text text={state.notify.last_error} most={300} /></>}
            </>
          )}
        </Fact>
      )}
    </Facts>
  );
}

function Limits(props: { limits: State["limits"] }): JSX.Element | null {
  const rows = Object.entries(props.limits);
  if (rows.length === 0) return <p>No limit but the cooldown holds its firings back.</p>;
  return (
    <Table caption="Limits" head={<><th>Limit</th><th class="number">Used</th><th class="number">Of</th><th>Share</th><th>Next is free</th></>}>
      {rows.map(([name, limit]) => {
        const show = name.startsWith("bytes") ? bytes : count;
        const share = numeric(limit.used) / Math.max(1, numeric(limit.limit));
        return (
          <tr key={name}>
            <td>{LIMIT_WORDS[name] ?? <Text text={name} />}</td>
            <td class="number">{show(limit.used)}</td>
            <td class="number">{show(limit.limit)}</td>
            <td class="row-bar"><Bar share={share} words={`${show(limit.used)} of ${show(limit.limit)}`} /></td>
            <td>{numeric(limit.next_free_ms) === 0 ? "now" : `in ${duration(numeric(limit.next_free_ms) * 1e6)}`}</td>
          </tr>
        );
      })}
    </Table>
  );
}

/* ---- processes ---- */

const HEALTH = { passing: "ok", failing: "bad", unknown: "warn" } as const;

function Processes(props: { rule: Rule; state: State }): JSX.Element {
  const when = props.rule.when;
  const rows = props.state.processes;
  if (rows.length === 0) {
    const own = when.webhook !== undefined || when.schedule !== undefined;
    return (
      <p>
        {own
          ? "The collector itself sees this condition, so no process has a health; below it says whom the rule is for."
          : "No agent has told of a process yet; below it says whom the rule is for."}
      </p>
    );
  }
  return (
    <Table caption="Processes" head={<><th>Process</th><th>Health</th><th>Since</th><th class="number">Checks</th><th class="number">Failures</th><th>Last error</th><th class="number">Cooldown left</th><th class="number">Fired</th><th class="number">Held back</th></>}>
      {rows.map((row) => (
        <tr key={row.process}>
          <td><a href={`/processes/${part(row.process)}`}><Text text={`${row.host} / ${row.pid}`} most={120} /></a></td>
          <td><Chip kind={HEALTH[row.health]}>{row.health}</Chip></td>
          <td><Time at={row.since} short /></td>
          <td class="number">{count(row.checks)}</td>
          <td class="number">{count(row.failures)}</td>
          <td class="words"><Text text={row.last_error === "" ? "–" : row.last_error} most={400} /></td>
          <td class="number">{numeric(row.cooldown_left_ms) === 0 ? "–" : duration(numeric(row.cooldown_left_ms) * 1e6)}</td>
          <td class="number">{count(row.fired)}</td>
          <td class="number">{count(row.suppressed)}</td>
        </tr>
      ))}
    </Table>
  );
}

/* ---- what it did ---- */

const SPANS: readonly (readonly [string, string])[] = [["1", "the last hour"], ["24", "the last 24 h"], ["168", "the last 7 days"]];
const MOST = 500;

function History(props: { name: string }): JSX.Element {
  const address = useAddress();
  const hours = SPANS.some(([value]) => value === address.get("hours")) ? address.get("hours") : "24";
  const [to, setTo] = useState(() => Date.now());
  const from = to - Number(hours) * 3_600_000;
  const answer = useListing<Schemas["RuleHistory"]>(`/rules/${part(props.name)}/history`, { from: new Date(from).toISOString(), limit: MOST });
  const entries = answer.data ?? [];
  return (
    <section aria-label="What it did">
      <h2>What it did</h2>
      <div class="filters">
        <ChoiceField label="Time" value={hours} set={(value) => { setTo(Date.now()); address.set({ hours: value }, true); }} choices={SPANS} />
        <button type="button" class="button" onClick={() => setTo(Date.now())}>
          Read again
        </button>
      </div>
      <Shown of={answer} what="what the rule did">
        {() =>
          entries.length === 0 ? (
            <p>It did nothing in that time.</p>
          ) : (
            <>
              <HistoryStrip entries={entries} from={from} to={to} />
              {answer.more !== undefined && <Note kind="warn"><p>The newest {count(entries.length)} of that time are drawn; there are more.</p></Note>}
              <HistoryTable entries={entries} />
              <More more={answer.more} />
            </>
          )
        }
      </Shown>
    </section>
  );
}

const ROWS = 50;

function HistoryTable(props: { entries: readonly Schemas["RuleHistory"][] }): JSX.Element {
  const [all, setAll] = useState(false);
  const { entries } = props;
  const table = useRef<HTMLDivElement>(null);
  return (
    <>
      <HistoryRows entries={all ? entries : entries.slice(0, ROWS)} place={table} />
      {!all && entries.length > ROWS && (
        <button type="button" class="button" onClick={() => (setAll(true), table.current?.focus())}>
          List all {count(entries.length)} that are drawn
        </button>
      )}
    </>
  );
}

function HistoryRows(props: { entries: readonly Schemas["RuleHistory"][]; place: RefObject<HTMLDivElement | null> }): JSX.Element {
  return (
    <Table caption="History, newest first" place={props.place} head={<><th>Time</th><th>What</th><th>Service</th><th>Host</th><th>Capture</th><th>Why</th></>}>
      {props.entries.map((entry, i) => (
        <tr key={i}>
          <td><Time at={entry.time} /></td>
          <td>{HISTORY_WORDS[entry.what] ?? entry.what}</td>
          <td><Text text={entry.service ?? "–"} most={120} /></td>
          <td><Text text={entry.host ?? "–"} most={120} /></td>
          <td>{entry.capture === undefined ? "–" : <a href={`/captures/${part(entry.capture)}`}>{entry.capture.slice(0, 12)}</a>}</td>
          <td class="words"><Text text={entry.why} most={400} /></td>
        </tr>
      ))}
    </Table>
  );
}

/* ---- firing by hand ---- */

function FireNow(props: { name: string; fired: () => void }): JSX.Element {
  const [open, setOpen] = useState(false);
  const [reason, setReason] = useState("");
  const [selector, setSelector] = useState("");
  const act = async (): Promise<void> => {
    const body = { ...(reason === "" ? {} : { reason }), ...(selector === "" ? {} : { selector }) };
    const result = await send<Schemas["TriggerResult"]>("POST", `/triggers/${part(props.name)}`, { body });
    const why = result.why === undefined ? "" : `: ${result.why}`;
    toast(result.result === "fired" ? `The rule ${props.name} fired${why}.` : `The rule ${props.name} captured nothing new (${result.result})${why}.`);
    props.fired();
  };
  return (
    <>
      <button type="button" class="button" onClick={() => setOpen(true)}>
        Fire it…
      </button>
      {open && (
        <Confirm title={`Fire the rule ${props.name}?`} verb="Fire" act={act} close={() => setOpen(false)}>
          <p>It captures the processes that it is for, under its limits.</p>
          <TextField label="Reason" value={reason} set={setReason} />
          <TextField label="Only these: selector" hint="narrows the rule's own" value={selector} set={setSelector} />
        </Confirm>
      )}
    </>
  );
}

/* ---- the page ---- */

function Looked(props: LookedProps<Rule>): JSX.Element {
  const { value: rule, etag } = props.one;
  const state = rule.state;
  return (
    <>
      <OneHead
        status={state && <RuleStatus status={state.status} />}
        reason={state?.reason}
        whole={{ kind: RULE, name: props.name, enabled: rule.enabled !== false, etag, changed: props.again }}
        edit={props.edit}
        description={rule.description}
      >
        {rule.when.webhook !== undefined && may("operator", true) && <FireNow name={props.name} fired={props.again} />}
      </OneHead>
      {state !== undefined && (
        <>
          <Why state={state} />
          <RuleFacts rule={rule} state={state} />
          <h2>Processes</h2>
          <Processes rule={rule} state={state} />
          <MatchesOf selector={rule.selector} />
          <h2>Limits</h2>
          <Limits limits={state.limits} />
        </>
      )}
      {may("operator") && (
        <TryIt name={props.name}>
          <h2>Try it</h2>
          <p>Nothing is changed by it, and nothing captured.</p>
        </TryIt>
      )}
    </>
  );
}

export default function RulePage(): JSX.Element {
  return (
    <OneOf<Rule>
      of={RULES}
      title="Rule"
      above={(name) => <p><a href={`/captures?rule=${part(name)}`}>Its captures</a></p>}
      gone={(name) => (
        <>
          What a rule did is kept for 7 days, also of a deleted one. <a href={`/captures?rule=${part(name)}`}>Captures that it began</a> stay.
        </>
      )}
      looked={(looked) => <Looked {...looked} />}
      below={(name) => <History name={name} />}
    />
  );
}
