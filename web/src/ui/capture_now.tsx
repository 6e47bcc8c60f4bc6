// SPDX-License-Identifier: Apache-2.0
// The dialog that takes a capture: all that `skein snapshot`, `record` and `stream` offer. Processes are counted first.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type Answer, useMade } from "../api/ask";
import { Refused, type Schemas, send } from "../api/client";
import { may } from "../api/who";
import { CAPTURE_ASK, type CaptureAsk, EVIDENCE_KINDS, captureBody } from "./capture_body";
import { CheckField, ChoiceField, Confirm, TextField } from "./form";
import { Note, Text } from "./parts";
import { count, numeric } from "./units";

function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

function Matches(props: { of: Answer<Schemas["Matches"]>; selector: string }): JSX.Element {
  const { data, error, awaited } = props.of;
  if (error !== undefined)
    return (
      <Note kind="bad">
        <p>
          <Text text={error.message} />
        </p>
      </Note>
    );
  if (data === undefined) return <p role="status">{awaited ? "Counting…" : ""}</p>;
  const all = numeric(data.matches);
  const live = data.items.filter((item) => item.status === "live").length;
  const few = data.items.slice(0, 5).map((item) => `${item.service}[${item.pid}] on ${item.host}`);
  return (
    <div role="status">
      <Note kind={all === 0 ? "warn" : "info"}>
        <p>
          {all === 1 ? "1 process matches" : `${count(all)} processes match`}
          {all <= data.items.length && live < all ? `, ${count(live)} of them live` : ""}
          {few.length > 0 ? ": " : "."}
          <Text text={few.join(", ")} most={300} />
          {all > few.length && few.length > 0 ? ` and ${count(all - few.length)} more` : ""}
        </p>
      </Note>
    </div>
  );
}

interface WindowProps {
  ask: CaptureAsk;
  set: (change: Partial<CaptureAsk>) => void;
  wrong: (field: string) => { wrong?: string };
}

const TIME_HINT = "as -90s (before now), 2026-11-23 06:14, or the API's 2026-11-23T06:14:02Z";

/* The window of a snapshot. */
function Past(props: WindowProps): JSX.Element {
  const { ask, set, wrong } = props;
  const instant = ask.when === "now" ? "now" : "the instant";
  return (
    <>
      <ChoiceField
        label="When"
        value={ask.when}
        set={(when) => set({ when })}
        choices={[
          ["now", "around now"],
          ["at", "around an instant (at)"],
          ["between", "all between two (from, to)"],
        ]}
      />
      {ask.when === "at" && <TextField label="At" value={ask.at} set={(at) => set({ at })} hint={TIME_HINT} required {...wrong("at")} />}
      {ask.when === "between" ? (
        <>
          <TextField label="From" value={ask.from} set={(from) => set({ from })} hint={TIME_HINT} required {...wrong("from")} />
          <TextField label="To" value={ask.to} set={(to) => set({ to })} placeholder="now" {...wrong("to")} />
        </>
      ) : (
        <div class="filters">
          <TextField label={`Before ${instant}`} value={ask.pre} set={(pre) => set({ pre })} hint="as 10s, 2m" {...wrong("pre_ms")} />
          <TextField label={`After ${instant}`} value={ask.post} set={(post) => set({ post })} hint="as 0s, 3s" {...wrong("post_ms")} />
        </div>
      )}
    </>
  );
}

function Window(props: WindowProps): JSX.Element {
  const { ask, set, wrong } = props;
  if (ask.kind === "snapshot") return <Past {...props} />;
  return (
    <TextField
      label={ask.kind === "record" ? "For how long" : "For how long at most"}
      value={ask.length}
      set={(length) => set({ length })}
      placeholder={ask.kind === "record" ? "5s" : "1h"}
      {...wrong(ask.kind === "record" ? "for_ms" : "max_ms")}
    />
  );
}

function EvidenceFields(props: { ask: CaptureAsk; set: (change: Partial<CaptureAsk>) => void }): JSX.Element {
  const { ask, set } = props;
  const flip = (kind: string, wanted: boolean) =>
    set({ kinds: wanted ? [...ask.kinds, kind] : ask.kinds.filter((other) => other !== kind) });
  return (
    <fieldset>
      <legend>Evidence beside the events</legend>
      <ChoiceField
        label="Kinds"
        value={ask.evidence}
        set={(evidence) => set({ evidence })}
        choices={[
          ["usual", "all but threads and go"],
          ["some", "these alone"],
          ["none", "none"],
        ]}
      />
      {ask.evidence === "some" && (
        <div class="filters">
          {EVIDENCE_KINDS.map((kind) => (
            <CheckField key={kind} label={kind} value={ask.kinds.includes(kind)} set={(wanted) => flip(kind, wanted)} />
          ))}
        </div>
      )}
      <CheckField label="Dump all threads of each process as it begins" value={ask.threads} set={(threads) => set({ threads })} />
    </fieldset>
  );
}

export default function CaptureNow(props: { selector: string; title?: string; ask?: Partial<CaptureAsk>; close: () => void }): JSX.Element {
  const { route } = useLocation();
  const [ask, setAsk] = useState<CaptureAsk>({ ...CAPTURE_ASK, selector: props.selector, ...props.ask });
  const [refused, setRefused] = useState<Refused>();
  const set = (change: Partial<CaptureAsk>) => setAsk((old) => ({ ...old, ...change }));
  const selector = useSettled(ask.selector.trim());
  const counts = may("viewer", true); /* of the fleet: who is confined would be refused */
  const matches = useMade(counts ? `match ${selector}` : undefined, (signal) =>
    send<Schemas["Matches"]>("POST", "/selectors:match", { body: { selector }, signal }),
  );
  const wrong = (field: string): { wrong?: string } => (refused?.field === field ? { wrong: refused.message } : {});
  const act = async () => {
    setRefused(undefined);
    try {
      const capture = await send<Schemas["Capture"]>("POST", "/captures", { body: captureBody(ask) });
      route(`/captures/${encodeURIComponent(capture.capture)}`);
    } catch (error) {
      if (error instanceof Refused) setRefused(error);
      throw error;
    }
  };
  return (
    <Confirm title={props.title ?? "Capture now"} verb="Capture" act={act} close={props.close}>
      <TextField
        label="Whom: a selector"
        value={ask.selector}
        set={(text) => set({ selector: text })}
        hint={counts ? "empty: every process of the fleet" : "empty: every process that you see; of others none is captured"}
        {...wrong("selector")}
      />
      {counts && <Matches of={matches} selector={selector} />}
      <ChoiceField
        label="What"
        value={ask.kind}
        set={(kind) => set({ kind })}
        choices={[
          ["snapshot", "what is past (snapshot)"],
          ["record", "the next seconds (record)"],
          ["stream", "until it is stopped (stream)"],
        ]}
      />
      <Window ask={ask} set={set} wrong={wrong} />
      <TextField label="Reason" value={ask.reason} set={(reason) => set({ reason })} hint="for whoever reads it" {...wrong("reason")} />
      <details>
        <summary>Evidence, bounds and how long it is kept</summary>
        <EvidenceFields ask={ask} set={set} />
        <TextField
          label="Only where so many processes match"
          value={ask.least}
          set={(least) => set({ least })}
          placeholder="1"
          hint="fewer: no capture (min-targets)"
          {...wrong("min_targets")}
        />
        <TextField label="Of no more processes than" hint="max-targets" value={ask.most} set={(most) => set({ most })} placeholder="all" {...wrong("max_targets")} />
        <TextField
          label="Time for agents after the window's end"
          value={ask.deadline}
          set={(deadline) => set({ deadline })}
          placeholder="30s"
          {...wrong("deadline_ms")}
        />
        <TextField
          label="Deleted after"
          value={ask.ttl}
          set={(ttl) => set({ ttl })}
          placeholder="as the collector is configured"
          {...wrong("ttl_ms")}
        />
        <CheckField label="Pin it: keep it, whatever its time and the quotas" value={ask.pin} set={(pin) => set({ pin })} />
      </details>
    </Confirm>
  );
}
