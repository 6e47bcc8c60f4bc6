// SPDX-License-Identifier: Apache-2.0
// A secret that the collector gives once: shown until the reader says that it is kept elsewhere, and nowhere stored.
import type { ComponentChildren, JSX } from "preact";
import { Copy } from "../ui/parts";
import { shown } from "../ui/text";

export function Secret(props: { title: string; secret: string; children?: ComponentChildren; kept: () => void }): JSX.Element {
  return (
    <section class="secret" aria-label={props.title}>
      <h2>{shown(props.title, 200)}</h2>
      <p role="status">
        <strong>This is shown once.</strong> The collector keeps only a hash of it; copy it now.
      </p>
      <pre>{shown(props.secret, 400)}</pre>
      <Copy text={props.secret} label="the secret" />
      {props.children}
      <div class="buttons">
        <button type="button" class="button first" onClick={props.kept}>
          I have kept it
        </button>
      </div>
    </section>
  );
}

/* "90d" from now on as the API's time; undefined: it is none. */
export function endAfter(text: string, now = Date.now()): string | undefined {
  const match = /^(\d+(?:\.\d+)?)(m|h|d|w)$/.exec(text.trim());
  if (match === null) return undefined;
  const ms = Number(match[1]) * { m: 6e4, h: 3.6e6, d: 8.64e7, w: 6.048e8 }[match[2] as "m" | "h" | "d" | "w"];
  const end = now + ms;
  return ms > 0 && end < 8.64e15 ? new Date(end).toISOString() : undefined;
}
