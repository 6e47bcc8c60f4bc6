// SPDX-License-Identifier: Apache-2.0
// A capture with nothing of its window: says so, how far each ring reached, and what is stored beside.
import type { JSX } from "preact";
import { useMade } from "../../api/ask";
import { type Schemas, get, part } from "../../api/client";
import type { Capture } from "../../ui/capture_words";
import { Empty, Text } from "../../ui/parts";
import { count } from "../../ui/units";
import { type Overview, reachWords } from "./nothing_words";

export function NothingStored(props: { capture: Capture }): JSX.Element {
  return (
    <Empty title="Nothing is stored of it">
      <p>
        No ring held a record of this window. The targets below say how far each reached, and the reason where there is one: a ring
        that was overwritten, a process that began later, an agent that did not answer.
      </p>
      {props.capture.kind === "snapshot" && <p>A shorter time before, or a larger ring, may have some.</p>}
    </Empty>
  );
}

/* Since when each is recorded; a process that is not known any more has none. */
async function attachedOf(overview: Overview, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  await Promise.all(
    overview.targets.map(async ({ process }) => {
      const known = await get<Schemas["Process"]>(`/processes/${part(process)}`, {}, signal).catch(() => undefined);
      if (known !== undefined) found.set(process, known.attached);
    }),
  );
  return found;
}

/* first: the first targets of the overview, none of which has a record in the window. */
export function NothingInWindow(props: { capture: Capture; first: Overview; read: () => void }): JSX.Element {
  const { capture, first } = props;
  const attached = useMade(`attached ${capture.capture}`, (signal) => attachedOf(first, signal));
  const evidence = first.targets.reduce((sum, target) => sum + target.evidence_events, 0);
  return (
    <Empty title="No recorded event lies in its window">
      <ul class="lines">
        {first.targets.map((target) => (
          <li key={target.process}>
            <strong>
              <Text text={`${target.service}[${target.pid}] on ${target.host}`} most={120} />
            </strong>{" "}
            {reachWords(target, attached.data?.get(target.process), first)}
          </li>
        ))}
      </ul>
      {first.next_cursor !== undefined && <p>Further targets are below.</p>}
      {evidence > 0 && (
        <p>
          What is stored is evidence: {count(evidence)} events that agents took from outside, in the window or around it.{" "}
          <button type="button" class="button" onClick={props.read}>
            Read it
          </button>
        </p>
      )}
      <p>
        A window that begins later may have some.{" "}
        {capture.selector !== undefined && <a href={`/captures?selector=${encodeURIComponent(capture.selector)}`}>Captures of the same processes</a>}
      </p>
    </Empty>
  );
}
