// SPDX-License-Identifier: Apache-2.0
// The login: a token, or the one-time code that `skein console` put behind the "#" of the address, which
// api/login-code.ts takes out of it. Leads back to the page that was wanted, of this console alone.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { asRefused } from "../api/ask";
import type { Refused } from "../api/client";
import { loginCode } from "../api/login-code";
import { returnTarget } from "../api/target";
import { logIn, logOut, who, whoLeft } from "../api/who";
import { refusalWords, sessionsHere } from "../manage/login-words";
import { TextField } from "../ui/form";
import { Command, Copy, Heading, Note } from "../ui/parts";
import { shown } from "../ui/text";

function NoSessions(): JSX.Element {
  return (
    <Note kind="warn">
      <p>
        <strong>No login over plain HTTP from another machine.</strong> Everybody on the way could take the session, and this
        browser would not keep it. Use the collector's https address (its configuration has <code>http.tls_certificate</code> and{" "}
        <code>http.tls_key</code>), or come through a tunnel:
      </p>
      <Command text={`ssh -L 7462:127.0.0.1:7462 ${location.hostname}`} />
      <p>and open http://127.0.0.1:7462/ here.</p>
    </Note>
  );
}

function Known(props: { to: string }): JSX.Element | null {
  const reader = who.value;
  if (reader === undefined) return null;
  return (
    <Note kind="info">
      <p>
        You are <strong>{shown(reader.name, 64)}</strong> ({reader.scope}
        {reader.via === "local" ? ": no token exists yet, so no login is needed" : ""}). <a href={props.to}>Go on</a>
      </p>
      {reader.via === "session" && (
        <button type="button" class="button" onClick={() => void logOut()}>
          Log out
        </button>
      )}
    </Note>
  );
}

function Refusal(props: { refused: Refused; byCode: boolean }): JSX.Element {
  return (
    <div class="note bad" role="alert">
      <p>
        <strong>Not logged in.</strong> {shown(refusalWords(props.refused, props.byCode))}
      </p>
      {props.refused.requestId !== undefined && <Copy text={props.refused.requestId} label={`request ${props.refused.requestId}`} />}
    </div>
  );
}

const LEFT = { "": "", out: "You have logged out.", ended: "Your session has ended: it was idle for 8 hours, is a day old, or its token was revoked." };

export default function Login(): JSX.Element {
  const { route } = useLocation();
  const [code] = useState(loginCode);
  const [to] = useState(() => returnTarget(location.search, location.origin));
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(code !== undefined);
  const [refused, setRefused] = useState<{ error: Refused; byCode: boolean }>();
  const enter = (secret: { token: string } | { code: string }) => {
    setBusy(true);
    setRefused(undefined);
    logIn(secret).then(
      () => route(to, true),
      (error: unknown) => {
        setBusy(false);
        setRefused({ error: asRefused(error), byCode: "code" in secret });
      },
    );
  };
  useEffect(() => {
    if (code !== undefined) enter({ code });
  }, []);
  const possible = sessionsHere(location.protocol, location.hostname);
  return (
    <>
      <Heading title="Log in" />
      {whoLeft.value !== "" && <Note><p role="status">{LEFT[whoLeft.value]}</p></Note>}
      <Known to={to} />
      {!possible && <NoSessions />}
      {refused !== undefined && <Refusal refused={refused.error} byCode={refused.byCode} />}
      {possible && who.value === undefined && (
        <>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              enter({ token: token.trim() });
            }}
          >
            <TextField label="Token" hint="skn_…; it is exchanged for a session, and not kept in this browser" kind="password" autocomplete="current-password" value={token} set={setToken} required />
            <button type="submit" class="button first" disabled={busy || token.trim() === ""}>
              {busy ? "Logging in…" : "Log in"}
            </button>
          </form>
          <h2>Or from a terminal</h2>
          <p>Where the token is already, this opens the browser and logs it in:</p>
          <Command text="skein console" />
        </>
      )}
    </>
  );
}
