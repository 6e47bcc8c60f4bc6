// SPDX-License-Identifier: Apache-2.0
// The console's begin: who reads, which page, and what catches a page that breaks.
import { type ComponentChildren, type ComponentType, type JSX, render } from "preact";
import { useEffect, useErrorBoundary } from "preact/hooks";
import { ErrorBoundary, LocationProvider, Route, Router, lazy, useLocation } from "preact-iso";
import "./style/theme.css";
import "./style/base.css";
import "./style/parts.css";
import "./api/login-code";
import { who, whoFollow, whoState } from "./api/who";
import { Frame, forOthers, pageAwaited } from "./frame";
import { pageOf, routes } from "./routes";
import { Awaited, Heading, Note } from "./ui/parts";
import { settingsFollow } from "./ui/settings";
import { shown } from "./ui/text";

function NoSuchPage(): JSX.Element {
  const { path } = useLocation();
  return (
    <>
      <Heading title="No such page" />
      <p>
        The console has no page <code>{shown(path, 200)}</code>. <a href="/">The fleet</a> · <a href="/captures">Captures</a>
      </p>
    </>
  );
}

/* Typed, or linked by who may see it: pages that are offered to a confined reader are none of these. */
function NotYours(): JSX.Element {
  return (
    <>
      <Heading title="This page is of the whole fleet" />
      <Note kind="warn">
        <p>
          Your token is confined to the processes that match <code>{shown(who.value?.selector ?? "", 200)}</code>. <a href="/">What you see</a>
        </p>
      </Note>
    </>
  );
}

function ReadAnew(): JSX.Element {
  return (
    <button type="button" class="button" onClick={() => location.reload()}>
      Load the page again
    </button>
  );
}

/* The page's code is not there: the collector is away, or was replaced by another version since the tab was opened. */
function NotLoaded(): JSX.Element {
  return (
    <>
      <Heading title="This page could not be loaded" />
      <Note kind="bad">
        <p role="alert">The collector does not answer, or is another version than this tab's.</p>
        <ReadAnew />
      </Note>
    </>
  );
}

/* What a page threw, in its place; gone with the next address. */
function Guard(props: { children: ComponentChildren }): JSX.Element {
  const { url } = useLocation();
  const [error, forget] = useErrorBoundary() as [unknown, () => void];
  useEffect(forget, [url]);
  if (error === undefined) return <>{props.children}</>;
  return (
    <>
      <Heading title="This page broke" />
      <Note kind="bad">
        <p role="alert">
          The console could not draw it: <code>{shown(String(error), 500)}</code>. This is a fault of the console; the collector's data is not
          touched.
        </p>
        <ReadAnew />
      </Note>
    </>
  );
}

const pages = routes.flatMap((route) => {
  const load = pageOf(route);
  return load === undefined ? [] : [{ path: route.path, page: lazy(() => load().catch(() => ({ default: NotLoaded }))) as ComponentType }];
});

/* Where nobody is known, the page is kept in the login's address and returned to. */
function useLogin(): boolean {
  const { path, route } = useLocation();
  const needed = whoState.value === "unknown" && path !== "/login";
  useEffect(() => {
    if (needed) route(`/login?to=${encodeURIComponent(location.pathname + location.search)}`, true); /* also what the page has replaced */
  }, [needed]);
  return needed;
}

function Console(): JSX.Element {
  const needed = useLogin();
  const { path } = useLocation();
  const awaited = whoState.value === "awaited";
  return (
    <Frame>
      {awaited || (needed && path !== "/login") ? (
        <Awaited what="the collector" />
      ) : forOthers(path) ? (
        <NotYours />
      ) : (
        <Guard>
          <ErrorBoundary>
            <Router
              onRouteChange={() => scrollTo(0, 0)}
              onLoadStart={() => (pageAwaited.value = true)}
              onLoadEnd={() => (pageAwaited.value = false)}
            >
              {pages.map(({ path: pattern, page }) => (
                <Route key={pattern} path={pattern} component={page} />
              ))}
              <Route default component={NoSuchPage} />
            </Router>
          </ErrorBoundary>
        </Guard>
      )}
    </Frame>
  );
}

settingsFollow();
whoFollow();
render(
  <LocationProvider>
    <Console />
  </LocationProvider>,
  document.getElementById("console")!,
);
