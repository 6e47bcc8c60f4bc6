// SPDX-License-Identifier: Apache-2.0
// Tokens for the collector's HTTP interface: listed, made (the secret is shown once), revoked.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { asRefused, useListing } from "../api/ask";
import { Refused, type Schemas, part, send } from "../api/client";
import { logIn, may, who } from "../api/who";
import "../manage/manage.css";
import { fieldWords } from "../manage/editor";
import { endAfter } from "../manage/end_after";
import { Secret } from "../manage/secret";
import { ChoiceField, Confirm, TextField } from "../ui/form";
import { Chip, Empty, Failure, Heading, More, Note, Shown, Table, Text, Time, toast } from "../ui/parts";
import { millis } from "../ui/units";

type Token = Schemas["Token"];
type Scope = Token["scope"];

const SCOPES: readonly (readonly [Scope, string])[] = [
  ["viewer", "viewer: reads"],
  ["operator", "operator: captures, too"],
  ["admin", "admin: also changes rules, tokens and who is let in"],
];

interface Wanted {
  name: string;
  scope: Scope;
  selector: string;
  expires: string;
}

function bodyOf(wanted: Wanted): Schemas["TokenRequest"] {
  const expires = wanted.expires.trim() === "" ? undefined : endAfter(wanted.expires);
  if (wanted.expires.trim() !== "" && expires === undefined)
    throw new Refused(0, "write how long: 12h, 90d (units m h d w)", "", "expires");
  return {
    name: wanted.name.trim(),
    scope: wanted.scope,
    ...(wanted.selector.trim() === "" ? {} : { selector: wanted.selector.trim() }),
    ...(expires === undefined ? {} : { expires }),
  };
}

/* The first token ends that everybody here is an admin: who makes it goes on as that token. */
async function make(wanted: Wanted): Promise<{ token: Token; loggedIn: boolean }> {
  const first = who.value?.via === "local";
  const token = await send<Token>("POST", "/tokens", { body: bodyOf(wanted) });
  if (!first || token.secret === undefined) return { token, loggedIn: false };
  try {
    await logIn({ token: token.secret });
    return { token, loggedIn: true };
  } catch {
    return { token, loggedIn: false }; /* the secret is shown all the same: it is all that there is */
  }
}

const FIELDS = ["name", "scope", "selector", "expires"];

function Create(props: { made: (made: { token: Token; loggedIn: boolean }) => void; first: boolean }): JSX.Element {
  const [wanted, setWanted] = useState<Wanted>({ name: "", scope: props.first ? "admin" : "viewer", selector: "", expires: "" });
  const [refused, setRefused] = useState<Refused>();
  const [busy, setBusy] = useState(false);
  const wrong = (field: string) => (refused?.field === field ? fieldWords(refused) : undefined);
  const submit = () => {
    setBusy(true);
    setRefused(undefined);
    make(wanted)
      .then(
        (made) => {
          setWanted({ ...wanted, name: "", selector: "", expires: "" });
          props.made(made);
        },
        (error: unknown) => setRefused(asRefused(error)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <form
      class="card"
      aria-label="A new token"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <h2>A new token</h2>
      {props.first && (
        <Note kind="warn">
          <p>This is the first one, and must be an admin's: from then on everybody needs a token, also on this host. You go on as this token.</p>
        </Note>
      )}
      {refused !== undefined && !FIELDS.includes(refused.field ?? "") && <Failure error={refused} what="Not made" />}
      <TextField label="Name" hint="as the audit log will call who uses it" value={wanted.name} set={(name) => setWanted({ ...wanted, name })} wrong={wrong("name")} required />
      <ChoiceField label="Scope" value={wanted.scope} set={(scope) => setWanted({ ...wanted, scope })} choices={SCOPES} wrong={wrong("scope")} />
      <TextField label="Confined to: selector" hint="sees processes that match it alone; left empty: the whole fleet; not for an admin" value={wanted.selector} set={(selector) => setWanted({ ...wanted, selector })} wrong={wrong("selector")} />
      <TextField label="Good for" hint="90d, 12h; left empty: without end" value={wanted.expires} set={(expires) => setWanted({ ...wanted, expires })} wrong={wrong("expires")} />
      <button type="submit" class="button first" disabled={busy}>
        {busy ? "Making it…" : "Create the token"}
      </button>
    </form>
  );
}

function stateOf(token: Token): JSX.Element {
  if (token.revoked !== undefined) return <Chip kind="bad">revoked</Chip>;
  if (token.expires !== undefined && millis(token.expires) < Date.now()) return <Chip kind="warn">ended</Chip>;
  return <Chip kind="ok">good</Chip>;
}

function TokenTable(props: { tokens: readonly Token[]; revoke: (token: Token) => void }): JSX.Element {
  return (
    <Table caption="Tokens" head={<><th>Name</th><th>State</th><th>Scope</th><th>Confined to</th><th>Made by</th><th>Made</th><th>Ends</th><th>Last used</th><th>Revoke</th></>}>
      {props.tokens.map((token) => (
        <tr key={token.name}>
          <td><Text text={token.name} most={100} />{token.name === who.value?.name && who.value.via !== "local" ? " (you)" : ""}</td>
          <td>{stateOf(token)}</td>
          <td>{token.scope}</td>
          <td>{token.selector === undefined ? "nothing: the whole fleet" : <code><Text text={token.selector} most={300} /></code>}</td>
          <td><Text text={token.creator} most={100} /></td>
          <td><Time at={token.created} short /></td>
          <td>{token.expires === undefined ? "never" : <Time at={token.expires} short />}</td>
          <td>{token.last_used === undefined ? "never" : <Time at={token.last_used} short />}</td>
          <td>
            {token.revoked === undefined ? (
              <button type="button" class="button danger" onClick={() => props.revoke(token)}>
                Revoke…
              </button>
            ) : (
              <Time at={token.revoked} short />
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Revoke(props: { token: Token; close: () => void; done: () => void }): JSX.Element {
  const { token } = props;
  const own = token.name === who.value?.name && who.value.via !== "local";
  const act = async (): Promise<void> => {
    await send("DELETE", `/tokens/${part(token.name)}`);
    toast(`The token ${token.name} is revoked.`);
    props.done();
  };
  return (
    <Confirm title={`Revoke the token ${token.name}?`} verb="Revoke" danger act={act} close={props.close}>
      <p>
        It is worthless from now on, and its sessions and streams end within a second. What was done with it stays, and so does its name in the audit log.
        {own ? " It is yours: you will be logged out." : ""}
      </p>
    </Confirm>
  );
}

export default function Tokens(): JSX.Element {
  const answer = useListing<Token>(may("admin") ? "/tokens" : undefined);
  const [made, setMade] = useState<{ token: Token; loggedIn: boolean }>();
  const [revoked, setRevoked] = useState<Token>();
  const first = who.value?.via === "local";
  const done = (now: { token: Token; loggedIn: boolean }) => {
    setMade(now);
    answer.again();
  };
  if (!may("admin"))
    return (
      <>
        <Heading title="Tokens" />
        <Note kind="warn"><p>Tokens are for admins; your token's scope is smaller.</p></Note>
      </>
    );
  return (
    <>
      <Heading title="Tokens" />
      {made?.token.secret !== undefined && (
        <Secret title={`The token ${made.token.name}`} secret={made.token.secret} kept={() => setMade(undefined)}>
          {made.loggedIn && <p>You are logged in with it.</p>}
        </Secret>
      )}
      <Shown of={answer} what="the tokens">
        {(tokens) =>
          tokens.length > 0 ? (
            <TokenTable tokens={tokens} revoke={setRevoked} />
          ) : (
            <Empty title="No tokens">
              <p>Who reaches the collector on loopback is an admin of it. The first token ends that.</p>
            </Empty>
          )
        }
      </Shown>
      <More more={answer.more} />
      <Create key={String(first)} made={done} first={first} />
      {revoked !== undefined && <Revoke token={revoked} close={() => setRevoked(undefined)} done={answer.again} />}
    </>
  );
}
