// SPDX-License-Identifier: Apache-2.0
// Fields with their label, hint and error, and the dialog that asks before something changes.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { asRefused } from "../api/ask";
import type { Refused } from "../api/client";
import { Failure } from "./parts";
import { shown } from "./text";

interface FieldProps {
  label: string;
  hint?: string;
  wrong?: string | undefined; /* why the value was refused */
}

function Around(props: FieldProps & { id: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="field">
      <label for={props.id}>{props.label}</label>
      {props.children}
      {props.hint !== undefined && (
        <span class="hint" id={`${props.id}-hint`}>
          {props.hint}
        </span>
      )}
      {props.wrong !== undefined && (
        <span class="wrong" id={`${props.id}-wrong`}>
          {shown(props.wrong)}
        </span>
      )}
    </div>
  );
}

function told(id: string, props: FieldProps): Record<string, string> {
  const by = [props.hint !== undefined ? `${id}-hint` : "", props.wrong !== undefined ? `${id}-wrong` : ""];
  const names = by.filter((name) => name !== "").join(" ");
  return {
    ...(names === "" ? {} : { "aria-describedby": names }),
    ...(props.wrong === undefined ? {} : { "aria-invalid": "true" }),
  };
}

export function TextField(
  props: FieldProps & {
    value: string;
    set: (value: string) => void;
    kind?: "text" | "password" | "number" | "search";
    lines?: number;
    placeholder?: string;
    required?: boolean;
    disabled?: boolean;
    autocomplete?: string;
  },
): JSX.Element {
  const id = useId();
  const common = {
    id,
    disabled: props.disabled,
    value: props.value,
    placeholder: props.placeholder,
    required: props.required,
    spellcheck: false,
    ...told(id, props),
  };
  return (
    <Around id={id} {...props}>
      {props.lines !== undefined ? (
        <textarea {...common} rows={props.lines} onInput={(event) => props.set(event.currentTarget.value)} />
      ) : (
        <input
          {...common}
          {...({ type: props.kind ?? "text" } as { type: "text" })}
          autocomplete={props.autocomplete ?? "off"}
          onInput={(event) => props.set(event.currentTarget.value)}
        />
      )}
    </Around>
  );
}

export function ChoiceField<V extends string>(
  props: FieldProps & { value: V; set: (value: V) => void; choices: readonly (readonly [V, string])[] },
): JSX.Element {
  const id = useId();
  return (
    <Around id={id} {...props}>
      <select
        id={id}
        value={props.value}
        onChange={(event) => props.set(event.currentTarget.value as V)}
        {...told(id, props)}
      >
        {props.choices.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </Around>
  );
}

export function CheckField(props: { label: string; value: boolean; set: (value: boolean) => void }): JSX.Element {
  const id = useId();
  return (
    <div class="field inline">
      <input id={id} type="checkbox" checked={props.value} onChange={(event) => props.set(event.currentTarget.checked)} />
      <label for={id}>{props.label}</label>
    </div>
  );
}

/* Fields by which a page's rows are chosen; Enter and the first button of `children` that submits choose. */
export function FilterForm(props: { choose: () => void; children: ComponentChildren }): JSX.Element {
  return (
    <form
      class="filters"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        props.choose();
      }}
    >
      {props.children}
    </form>
  );
}

/* Asks once, names the object and says what stays; `act` may throw Refused, which is shown, and the dialog stays. The
 * browser's own dialog keeps the focus inside and gives it back. */
export function Confirm(props: {
  title: string;
  verb: string; /* "Delete" */
  danger?: boolean;
  children?: ComponentChildren;
  act: () => Promise<void>;
  close: () => void;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  const [error, setError] = useState<Refused>();
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => before instanceof HTMLElement && before.focus();
  }, []);
  const act = () => {
    setBusy(true);
    setError(undefined);
    props.act().then(props.close, (refused: unknown) => {
      setBusy(false);
      setError(asRefused(refused));
    });
  };
  return (
    <dialog ref={dialog} aria-labelledby={title} onClose={props.close}>
      <h2 id={title}>{shown(props.title, 300)}</h2>
      {props.children}
      {error !== undefined && <Failure error={error} what={`${props.verb}: refused`} />}
      <div class="buttons">
        <button type="button" class={`button ${props.danger === true ? "danger" : "first"}`} disabled={busy} onClick={act}>
          {busy ? `${props.verb}…` : props.verb}
        </button>
        <button type="button" class="button" onClick={props.close}>
          Cancel
        </button>
      </div>
    </dialog>
  );
}
