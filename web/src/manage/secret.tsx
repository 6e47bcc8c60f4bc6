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
