// SPDX-License-Identifier: Apache-2.0
// The console's begin: who reads, which page, and what catches a page that breaks.
import { type ComponentType, type JSX, render } from "preact";
import { useEffect } from "preact/hooks";
import { ErrorBoundary, LocationProvider, Route, Router, lazy, useLocation } from "preact-iso";
import "./style/theme.css";
import "./style/base.css";
import "./style/parts.css";
import "./api/login-code";
import { whoFollow, whoState } from "./api/who";
import { Frame } from "./frame";
import { pageOf, routes } from "./routes";
import { Awaited, Heading } from "./ui/parts";
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

const pages = routes.flatMap((route) => {
  const load = pageOf(route);
  return load === undefined ? [] : [{ path: route.path, page: lazy(load) as ComponentType }];
});

/* Where nobody is known, the page is kept in the login's address and returned to. */
function useLogin(): boolean {
  const { path, url, route } = useLocation();
  const needed = whoState.value === "unknown" && path !== "/login";
  useEffect(() => {
    if (needed) route(`/login?to=${encodeURIComponent(url)}`, true);
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
      ) : (
        <ErrorBoundary>
          <Router onRouteChange={() => scrollTo(0, 0)}>
            {pages.map(({ path: pattern, page }) => (
              <Route key={pattern} path={pattern} component={page} />
            ))}
            <Route default component={NoSuchPage} />
          </Router>
        </ErrorBoundary>
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
