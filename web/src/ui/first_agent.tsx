// SPDX-License-Identifier: Apache-2.0
// How the first agent is started: on the collector's host, and on others. One lesson for every page that has none.
import type { JSX } from "preact";
import { Command, Empty } from "./parts";

const AGENT = `{"collector": {"control": "tcp://HOST:7461", "data": "tcp://HOST:7460",
               "public_key": ["KEY"], "join_token_file": "/etc/skein/join-token"}}`;

export function NoAgent(): JSX.Element {
  return (
    <Empty title="No agent has connected yet">
      <p>An agent runs on each host and holds the rings of its processes. On the collector's own host these lines start one, and trace a program:</p>
      <Command text={"skein-agent &\nskein run --service NAME -- PROGRAM\nskein ps"} />
      <p>
        On another host it needs the collector's address and key (<code>skeind keygen</code> prints it) and, in a file, the secret of a{" "}
        <a href="/join-tokens">join token</a>: <code>/etc/skein/agent.json</code> has
      </p>
      <Command text={AGENT} />
      <p>and then:</p>
      <Command text="skein-agent --config /etc/skein/agent.json" />
    </Empty>
  );
}
