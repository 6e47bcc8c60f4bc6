// SPDX-License-Identifier: Apache-2.0
// The console's pages: address, file in pages/, place in the head. Each is loaded when it is first looked at. The
// addresses are those that server/console answers with the console.
import type { ComponentType } from "preact";

export interface Route {
  path: string; /* as preact-iso has it: /captures/:capture */
  page: string; /* pages/NAME.tsx, default export */
  nav?: string; /* its word in the head */
  wide?: boolean; /* uses the whole window */
}

export const routes: readonly Route[] = [
  { path: "/", page: "fleet", nav: "Fleet" },
  { path: "/captures", page: "captures", nav: "Captures" },
  { path: "/captures/latest", page: "latest" },
  { path: "/captures/:capture", page: "capture" },
  { path: "/captures/:capture/timeline", page: "timeline", wide: true },
  { path: "/compare", page: "compare" },
  { path: "/processes/:process", page: "process" },
  { path: "/rules", page: "rules", nav: "Rules" },
  { path: "/rules/:name", page: "rule" },
  { path: "/policies", page: "policies", nav: "Policies" },
  { path: "/policies/:name", page: "policy" },
  { path: "/series", page: "series", nav: "Series" },
  { path: "/events", page: "events", nav: "Live" },
  { path: "/loss", page: "loss", nav: "Loss" },
  { path: "/storage", page: "storage", nav: "Storage" },
  { path: "/agents", page: "agents", nav: "Agents" },
  { path: "/audit", page: "audit", nav: "Audit" },
  { path: "/tokens", page: "tokens", nav: "Tokens" },
  { path: "/join-tokens", page: "join-tokens", nav: "Join tokens" },
  { path: "/open", page: "open", nav: "Open a file", wide: true },
  { path: "/settings", page: "settings", nav: "Settings" },
  { path: "/login", page: "login" },
];

const files = import.meta.glob<{ default: ComponentType }>("./pages/*.tsx");

export function pageOf(route: Route): (() => Promise<{ default: ComponentType }>) | undefined {
  return files[`./pages/${route.page}.tsx`];
}
