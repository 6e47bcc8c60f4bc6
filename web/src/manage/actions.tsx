// SPDX-License-Identifier: Apache-2.0
// What is done to a rule or a policy as a whole: switched on and off, deleted.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { asRefused } from "../api/ask";
import type { Refused } from "../api/client";
import { Confirm } from "../ui/form";
import { Failure, toast } from "../ui/parts";
import { type Kind, versionedDelete, versionedPatch } from "./versioned";

export interface WholeProps {
  kind: Kind;
  name: string;
  enabled: boolean;
  etag: string | undefined;
  changed: () => void;
}

const OFF: Readonly<Record<Kind["noun"], string>> = {
  rule: "It looks at nothing and captures nothing, until it is enabled again. What it captured stays.",
  policy: "It samples nothing, until it is enabled again. What it captured stays.",
};

/* Switching on is no danger and asks nothing. */
export function Switch(props: WholeProps): JSX.Element {
  const [asks, setAsks] = useState(false);
  const [refused, setRefused] = useState<Refused>();
  const set = async (enabled: boolean): Promise<void> => {
    await versionedPatch(props.kind, props.name, { enabled });
    toast(`The ${props.kind.noun} ${props.name} is ${enabled ? "enabled" : "disabled"}.`);
    props.changed();
  };
  const enable = () => {
    setRefused(undefined);
    set(true).catch((error: unknown) => setRefused(asRefused(error)));
  };
  return (
    <>
      {props.enabled ? (
        <button type="button" class="button" onClick={() => setAsks(true)}>
          Disable
        </button>
      ) : (
        <button type="button" class="button first" onClick={enable}>
          Enable
        </button>
      )}
      {refused !== undefined && <Failure error={refused} what="Enable: refused" />}
      {asks && (
        <Confirm title={`Disable the ${props.kind.noun} ${props.name}?`} verb="Disable" act={() => set(false)} close={() => setAsks(false)}>
          <p>{OFF[props.kind.noun]}</p>
        </Confirm>
      )}
    </>
  );
}

const STAYS: Readonly<Record<Kind["noun"], string>> = {
  rule: "What it captured stays, and so does its history for 7 days. Agents stop looking within seconds.",
  policy: "What it captured stays until its time is over. Agents stop sampling within seconds.",
};

export function Delete(props: WholeProps): JSX.Element {
  const [asks, setAsks] = useState(false);
  const { route } = useLocation();
  const act = async (): Promise<void> => {
    await versionedDelete(props.kind, props.name, props.etag);
    toast(`The ${props.kind.noun} ${props.name} is deleted.`);
    route(props.kind.folder);
  };
  return (
    <>
      <button type="button" class="button danger" onClick={() => setAsks(true)}>
        Delete…
      </button>
      {asks && (
        <Confirm title={`Delete the ${props.kind.noun} ${props.name}?`} verb="Delete" danger act={act} close={() => setAsks(false)}>
          <p>{STAYS[props.kind.noun]}</p>
        </Confirm>
      )}
    </>
  );
}
