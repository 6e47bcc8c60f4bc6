// SPDX-License-Identifier: Apache-2.0
// What can be done with a whole incident: one file of it, its captures pinned or deleted, all of them or none. Who is
// confined may see some of its targets only, and would be refused: the acts are offered to fleetwide operators.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { part, send } from "../api/client";
import { may } from "../api/who";
import { Confirm } from "../ui/form";
import { Note, toast } from "../ui/parts";

type Act = "Pin" | "Unpin" | "Delete";

const ACTS: Readonly<Record<Act, string>> = {
  Pin: "They are kept, whatever their time and the quotas.",
  Unpin: "They go when their time is over, or where a quota wants room.",
  Delete: "Their records, reports and verdicts are gone for good. Records that captures of others hold, too, stay.",
};

export function Incident(props: { incident: string; again: () => void }): JSX.Element {
  const { incident } = props;
  const [act, setAct] = useState<Act>();
  const run = async (): Promise<void> => {
    const query = { incident };
    await (act === "Delete" ? send("DELETE", "/captures", { query }) : send("PATCH", "/captures", { query, body: { pin: act === "Pin" } }));
    toast(`All captures of the incident: ${act === "Delete" ? "deleted" : act === "Pin" ? "pinned" : "no longer pinned"}.`);
    props.again();
  };
  return (
    <Note>
      <p>
        Captures of one incident: firings of a rule that overlapped.{" "}
        <a href={`/api/v1/captures/trace?incident=${part(incident)}`}>All of them as one file</a>
      </p>
      {may("operator", true) && (
        <div class="buttons">
          {(Object.keys(ACTS) as Act[]).map((name) => (
            <button key={name} type="button" class={`button ${name === "Delete" ? "danger" : ""}`} onClick={() => setAct(name)}>
              {name} the incident…
            </button>
          ))}
        </div>
      )}
      {act !== undefined && (
        <Confirm title={`${act} all captures of the incident?`} verb={act} danger={act === "Delete"} act={run} close={() => setAct(undefined)}>
          <p>{ACTS[act]} All of them or none, also those that are not listed here.</p>
        </Confirm>
      )}
    </Note>
  );
}
