// SPDX-License-Identifier: Apache-2.0
// Tokens that let new agents in: listed, made (the secret is shown once), made worthless.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { asRefused, usePage } from "../api/ask";
import { Refused, type Schemas, part, send } from "../api/client";
import { may } from "../api/who";
import "../manage/manage.css";
import { fieldWords } from "../manage/editor";
import { endAfter } from "../manage/end_after";
import { Secret } from "../manage/secret";
import { Confirm, TextField } from "../ui/form";
import { Chip, Empty, Failure, Heading, Note, Shown, Table, Text, Time, toast } from "../ui/parts";
import { count } from "../ui/units";

type JoinToken = Schemas["JoinToken"];

function bodyOf(uses: string, expires: string): Schemas["JoinTokenRequest"] {
  const end = expires.trim() === "" ? undefined : endAfter(expires);
  if (expires.trim() !== "" && end === undefined) throw new Refused(0, "write how long: 30m, 12h, 7d (units m h d w)", "", "expires");
  if (uses.trim() !== "" && !/^\d+$/.test(uses.trim())) throw new Refused(0, "write a whole number, 1 to 1,000,000", "", "uses");
  return { ...(uses.trim() === "" ? {} : { uses: Number(uses) }), ...(end === undefined ? {} : { expires: end }) };
}

function Create(props: { made: (token: JoinToken) => void }): JSX.Element {
  const [uses, setUses] = useState("1");
  const [expires, setExpires] = useState("1h");
  const [refused, setRefused] = useState<Refused>();
  const [busy, setBusy] = useState(false);
  const wrong = (field: string) => (refused?.field === field ? fieldWords(refused) : undefined);
  const make = async (): Promise<void> => props.made(await send<JoinToken>("POST", "/join-tokens", { body: bodyOf(uses, expires) }));
  const submit = () => {
    setBusy(true);
    setRefused(undefined);
    make()
      .catch((error: unknown) => setRefused(asRefused(error)))
      .finally(() => setBusy(false));
  };
  return (
    <form
      class="card"
      aria-label="A new join token"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <h2>A new join token</h2>
      {refused !== undefined && refused.field !== "uses" && refused.field !== "expires" && <Failure error={refused} what="Not made" />}
      <TextField label="For how many agents" value={uses} set={setUses} hint="1 to 1,000,000; left empty: 1" wrong={wrong("uses")} />
      <TextField label="Good for" value={expires} set={setExpires} hint="30m, 12h, 7d; at most 366d; left empty: 1h" wrong={wrong("expires")} />
      <button type="submit" class="button first" disabled={busy}>
        {busy ? "Making it…" : "Create the join token"}
      </button>
    </form>
  );
}

const STATES = { active: "ok", used: undefined, expired: "warn" } as const;

function TokenTable(props: { tokens: readonly JoinToken[]; revoke: (token: JoinToken) => void }): JSX.Element {
  return (
    <Table caption="Join tokens" head={<><th>Id</th><th>State</th><th>Made</th><th>Ends</th><th class="number">Agents that it still lets in</th><th>Revoke</th></>}>
      {props.tokens.map((token) => {
        const kind = STATES[token.state as keyof typeof STATES];
        return (
          <tr key={token.id}>
            <td><code><Text text={token.id} most={64} /></code></td>
            <td><Chip {...(kind === undefined ? {} : { kind })}>{String(token.state)}</Chip></td>
            <td><Time at={token.created} short /></td>
            <td><Time at={token.expires} short /></td>
            <td class="number">{count(token.uses_left)}</td>
            <td>
              <button type="button" class="button danger" onClick={() => props.revoke(token)}>
                Revoke…
              </button>
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

function Revoke(props: { token: JoinToken; close: () => void; done: () => void }): JSX.Element {
  const act = async (): Promise<void> => {
    await send("DELETE", `/join-tokens/${part(props.token.id)}`);
    toast(`The join token ${props.token.id} is revoked.`);
    props.done();
  };
  return (
    <Confirm title={`Revoke the join token ${props.token.id}?`} verb="Revoke" danger act={act} close={props.close}>
      <p>It lets nobody in from now on. Agents that it let in stay.</p>
    </Confirm>
  );
}

export default function JoinTokens(): JSX.Element {
  const answer = usePage<JoinToken>(may("admin") ? "/join-tokens" : undefined);
  const [made, setMade] = useState<JoinToken>();
  const [revoked, setRevoked] = useState<JoinToken>();
  const done = (token: JoinToken) => {
    setMade(token);
    answer.again();
  };
  if (!may("admin"))
    return (
      <>
        <Heading title="Join tokens" />
        <Note kind="warn"><p>Join tokens are for admins; your token's scope is smaller.</p></Note>
      </>
    );
  return (
    <>
      <Heading title="Join tokens" />
      {made?.secret !== undefined && (
        <Secret title={`The join token ${made.id}`} secret={made.secret} kept={() => setMade(undefined)}>
          <p>
            Agents read it from the file that <code>collector.join_token_file</code> of their configuration names, and need it until they have joined.
          </p>
        </Secret>
      )}
      <Shown of={answer} what="the join tokens">
        {({ items }) =>
          items.length > 0 ? (
            <TokenTable tokens={items} revoke={setRevoked} />
          ) : (
            <Empty title="No join tokens">
              <p>No new agent is let in. A join token lets so many agents in, for so long; each then has a key of its own.</p>
            </Empty>
          )
        }
      </Shown>
      <Create made={done} />
      {revoked !== undefined && <Revoke token={revoked} close={() => setRevoked(undefined)} done={answer.again} />}
    </>
  );
}
