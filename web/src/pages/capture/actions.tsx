// SPDX-License-Identifier: Apache-2.0
// What can be done to a capture: stop, pin, keep for longer, say why, delete. Each asks once.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { captureDelete, capturePatch } from "../../api/captures";
import { type Schemas, part, send } from "../../api/client";
import { may } from "../../api/who";
import type { Capture } from "../../ui/capture_words";
import { CheckField, Confirm, TextField } from "../../ui/form";
import { Text, toast } from "../../ui/parts";
import { bytes, count } from "../../ui/units";
import { storedBytes } from "./raw";

type Asking = "stop" | "keep" | "delete" | undefined;

interface Props {
  capture: Capture;
  changed: () => void;
}

function Keep(props: Props & { close: () => void }): JSX.Element {
  const { capture } = props;
  const [pin, setPin] = useState(capture.pin === true);
  const [ttl, setTtl] = useState("");
  const [reason, setReason] = useState(capture.trigger?.reason ?? "");
  const act = async () => {
    const body: Record<string, unknown> = { pin };
    if (ttl.trim() !== "") body["ttl_ms"] = ttl.trim() === "none" ? null : ttl.trim();
    if (reason !== (capture.trigger?.reason ?? "")) body["reason"] = reason;
    await capturePatch(capture.capture, body as Schemas["CapturePatch"]);
    toast("Changed.");
    props.changed();
  };
  return (
    <Confirm title={`Keep capture ${capture.capture}`} verb="Change" act={act} close={props.close}>
      <CheckField label="Pin it: keep it, whatever its time and the quotas" value={pin} set={setPin} />
      <TextField label="Deleted after its end" value={ttl} set={setTtl} placeholder="as it is" hint="as 7d or 12h; none: never by time" />
      <TextField label="Reason" value={reason} set={setReason} hint="for whoever reads it" />
    </Confirm>
  );
}

function Delete(props: Props & { close: () => void }): JSX.Element {
  const { capture } = props;
  const { route } = useLocation();
  const act = async () => {
    await captureDelete(capture.capture);
    toast(`Capture ${capture.capture} is deleted.`);
    route("/captures");
  };
  return (
    <Confirm title={`Delete capture ${capture.capture}?`} verb="Delete" danger act={act} close={props.close}>
      <p>
        {count(capture.ledger.stored)} events ({bytes(storedBytes(capture))}) go with it, but for partitions that other captures share: these
        stay. This cannot be undone.
      </p>
    </Confirm>
  );
}

function Stop(props: Props & { close: () => void }): JSX.Element {
  const { capture } = props;
  const act = async () => {
    await send("POST", `/captures/${part(capture.capture)}:stop`);
    props.changed();
  };
  return (
    <Confirm title={`Stop capture ${capture.capture}?`} verb="Stop" act={act} close={props.close}>
      <p>
        Its window ends now; what is there by then stays. <Text text={capture.kind} />
      </p>
    </Confirm>
  );
}

export function Actions(props: Props): JSX.Element | null {
  const [asking, setAsking] = useState<Asking>();
  const close = () => setAsking(undefined);
  if (!may("operator")) return null;
  return (
    <>
      {props.capture.status === "running" && (
        <button type="button" class="button first" onClick={() => setAsking("stop")}>
          Stop…
        </button>
      )}
      <button type="button" class="button" onClick={() => setAsking("keep")}>
        Pin, keep, reason…
      </button>
      <button type="button" class="button danger" onClick={() => setAsking("delete")}>
        Delete…
      </button>
      {asking === "stop" && <Stop {...props} close={close} />}
      {asking === "keep" && <Keep {...props} close={close} />}
      {asking === "delete" && <Delete {...props} close={close} />}
    </>
  );
}
