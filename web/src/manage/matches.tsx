// SPDX-License-Identifier: Apache-2.0
// Whom a selector matches now: asked on demand, nothing is changed by it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useMade } from "../api/ask";
import { type Schemas, part, send } from "../api/client";
import { Chip, Shown, Table, Text } from "../ui/parts";
import { count, numeric } from "../ui/units";

export function StatusOf(props: { status: "live" | "gone" | "offline" }): JSX.Element {
  return <Chip kind={props.status === "live" ? "ok" : "warn"}>{props.status}</Chip>;
}

function MatchList(props: { selector: string }): JSX.Element {
  const answer = useMade(`match ${props.selector}`, (signal) =>
    send<Schemas["Matches"]>("POST", "/selectors:match", { body: { selector: props.selector }, signal }),
  );
  return (
    <Shown of={answer} what="whom it matches">
      {(matches) => (
        <>
          <p>
            {count(matches.matches)} {matches.matches === 1 ? "process matches" : "processes match"} now
            {numeric(matches.matches) > matches.items.length ? `; the first ${count(matches.items.length)} are listed` : ""}.
          </p>
          {matches.items.length > 0 && (
            <Table caption="Processes that match" head={<><th>Service</th><th>Host</th><th class="number">Pid</th><th>State</th></>}>
              {matches.items.map((item) => (
                <tr key={item.process}>
                  <td><a href={`/processes/${part(item.process)}`}><Text text={item.service === "" ? "(no service)" : item.service} most={120} /></a></td>
                  <td><Text text={item.host} most={120} /></td>
                  <td class="number">{item.pid}</td>
                  <td><StatusOf status={item.status} /></td>
                </tr>
              ))}
            </Table>
          )}
        </>
      )}
    </Shown>
  );
}

/* A button first: a selector that is still being written is not asked for at each letter. */
export function MatchesOf(props: { selector: string }): JSX.Element {
  const [asked, setAsked] = useState<string>();
  return (
    <section aria-label="Whom it matches now">
      <div class="buttons">
        <button type="button" class="button" onClick={() => setAsked(props.selector)}>
          Whom does the selector match now?
        </button>
      </div>
      {asked === props.selector && <MatchList selector={asked} />}
    </section>
  );
}
