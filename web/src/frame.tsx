// SPDX-License-Identifier: Apache-2.0
// The frame around each page: head with the pages, who reads, the state of the connection, and what everybody is to
// know (nobody needs a token here; events were missed).
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { useLocation } from "preact-iso";
import { liveGap, liveNext, liveSince, liveState } from "./api/live";
import { logOut, may, who, whoError, whoState, whoAsk } from "./api/who";
import { routes } from "./routes";
import { Chip, Failure, Line, Toast } from "./ui/parts";
import { shown } from "./ui/text";
import { ago, clock } from "./ui/units";

/* What needs a fleetwide reader is not offered to one who is confined (docs/api.md, Access). */
const FLEETWIDE = ["/rules", "/policies", "/series", "/storage", "/agents"];
const ADMIN = ["/audit", "/tokens", "/join-tokens"];

function offered(path: string): boolean {
  if (ADMIN.includes(path)) return may("admin");
  return !FLEETWIDE.includes(path) || may("viewer", true);
}

/* A page that the reader's token would be refused at each of its questions. */
export function forOthers(path: string): boolean {
  const confined = who.value?.selector !== undefined;
  return confined && FLEETWIDE.some((page) => path === page || path.startsWith(`${page}/`));
}

function Pages(props: { path: string }): JSX.Element {
  return (
    <nav aria-label="Pages">
      <ul>
        {routes
          .filter((route) => route.nav !== undefined && offered(route.path))
          .map((route) => {
            const here = route.path === "/" ? props.path === "/" : props.path.startsWith(route.path);
            return (
              <li key={route.path}>
                <a href={route.path} {...(here ? { "aria-current": "page" } : {})}>
                  {route.nav}
                </a>
              </li>
            );
          })}
      </ul>
    </nav>
  );
}

function Connection(): JSX.Element | null {
  switch (liveState.value) {
    case "off":
      return null;
    case "live":
      return <Chip kind="ok">● live</Chip>;
    case "connecting":
      return <Chip>connecting…</Chip>;
    default:
      return <Chip kind="warn">⚠ reconnecting, since {ago(liveSince.value)}, next try {clock(liveNext.value, false)}; what is shown may be old</Chip>;
  }
}

function Reader(): JSX.Element | null {
  const reader = who.value;
  if (reader === undefined) return null;
  return (
    <>
      <span title={reader.selector === undefined ? "" : `sees what matches ${shown(reader.selector)}`}>
        {shown(reader.name, 64)} ({reader.scope}
        {reader.selector === undefined ? "" : ", confined"})
      </span>
      {reader.via === "session" && (
        <button type="button" class="button" onClick={() => void logOut()}>
          Log out
        </button>
      )}
    </>
  );
}

function Notices(): JSX.Element {
  const gap = liveGap.value;
  return (
    <>
      {whoState.value === "failed" && whoError.value !== undefined && (
        <Failure error={whoError.value} again={() => void whoAsk()} what="The collector could not be asked" />
      )}
      {who.value?.via === "local" && (
        <div class="note warn">
          <p>
            No token exists yet: you are an admin of this collector, as its own user and root are on its machine; nobody else is answered. <Line text={`skein token create NAME --scope admin --collector ${location.origin}`} /> (or <a href="/tokens">Tokens</a>) makes the first one, and from then on everybody needs one.
          </p>
        </div>
      )}
      {gap !== undefined && (
        <div class="note warn" role="status">
          <p>
            Events between {clock(gap.from, false)} and {clock(gap.to, false)} were missed; lists were read anew.{" "}
            <button type="button" class="button" onClick={() => (liveGap.value = undefined)}>
              Understood
            </button>
          </p>
        </div>
      )}
    </>
  );
}

/* Pages whose code is on its way: that of the address is not there yet, and the page before stands still. */
export const pagesAwaited = signal(0);

export function Frame(props: { children: ComponentChildren }): JSX.Element {
  const { path } = useLocation();
  const [open, setOpen] = useState(false);
  const wide = routes.some((route) => route.wide === true && matches(route.path, path));
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class={`frame-head ${open ? "open" : ""}`}>
        <a class="brand" href="/">
          Skein
        </a>
        {whoState.value !== "unknown" && (
          <>
            <button type="button" class="button menu-button" aria-expanded={open} onClick={() => setOpen(!open)}>
              Menu
            </button>
            <Pages path={path} />
          </>
        )}
        <div class="frame-side">
          <Connection />
          <Reader />
        </div>
      </header>
      <main id="main" class={`frame-main ${wide ? "wide" : ""}`} tabIndex={-1} aria-busy={pagesAwaited.value > 0}>
        <Notices />
        {props.children}
      </main>
      <Toast />
    </>
  );
}

/* Whether an address is of a route: "/captures/:capture/timeline". */
export function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const parts = path.split("/");
  return wanted.length === parts.length && wanted.every((word, i) => word === parts[i] || (word.startsWith(":") && parts[i] !== ""));
}
