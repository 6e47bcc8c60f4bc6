// SPDX-License-Identifier: Apache-2.0
// Editing a rule or policy from begin to end: what is tried, saved, refused; and what is done where somebody else has
// changed it meanwhile.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { asRefused } from "../api/ask";
import type { Refused } from "../api/client";
import { TextField } from "../ui/form";
import { Failure, Note, Table, toast } from "../ui/parts";
import { shown } from "../ui/text";
import { type Json, type JsonObject, differences, fieldFor, withMember } from "./document";
import { type Draft, type FormProps, SideBySide, draftOf, fieldWords } from "./editor";
import type { FieldSpec } from "./fields";
import { MatchesOf } from "./matches";
import { type Kind, type Versioned, isConflict, versionedGet, versionedPut, withoutState } from "./versioned";

/* How things of a kind are edited. */
export interface Managed {
  kind: Kind;
  start: JsonObject; /* of a new one */
  fieldsOf: (value: JsonObject) => readonly FieldSpec[]; /* all that the form has */
  form: (props: FormProps) => ComponentChildren;
  tried: (value: JsonObject, name: string | undefined) => ComponentChildren; /* what shows what it would do */
}

interface EditingProps {
  of: Managed;
  start: JsonObject;
  name: string | undefined; /* undefined: a new one, whose name is in the form */
  etag: string | undefined;
  done: (name: string) => void; /* saved */
  close: () => void;
}

type Theirs = Versioned<JsonObject> | "gone" | undefined;

function value(of: Json | undefined): string {
  return of === undefined ? "– (not there)" : shown(typeof of === "string" ? of : JSON.stringify(of), 400);
}

/* Somebody has changed it meanwhile: what differs, and whose is kept. */
function Conflict(props: {
  noun: string;
  theirs: Exclude<Theirs, undefined>;
  mine: JsonObject;
  keepMine: () => void;
  takeTheirs: () => void;
}): JSX.Element {
  const { theirs, mine } = props;
  const differ = theirs === "gone" ? [] : differences(withoutState(theirs.value), mine);
  return (
    <section class="note warn" role="alert" aria-label="Changed meanwhile">
      <p>
        <strong>{theirs === "gone" ? `Somebody has deleted this ${props.noun} meanwhile.` : `Somebody has changed this ${props.noun} meanwhile.`}</strong>{" "}
        Nothing was saved. {theirs !== "gone" && (differ.length === 0 ? "What is there now is what you have." : "This differs:")}
      </p>
      {differ.length > 0 && (
        <Table caption="What differs" head={<><th>Member</th><th>There now</th><th>Yours</th></>}>
          {differ.map((row) => (
            <tr key={row.path}>
              <td><code>{shown(row.path, 200)}</code></td>
              <td class="wrap-anywhere">{value(row.theirs)}</td>
              <td class="wrap-anywhere">{value(row.mine)}</td>
            </tr>
          ))}
        </Table>
      )}
      <div class="buttons">
        <button type="button" class="button" onClick={props.keepMine}>
          {theirs === "gone" ? "Make it anew with mine" : "Replace it with mine"}
        </button>
        <button type="button" class="button" onClick={props.takeTheirs}>
          {theirs === "gone" ? "Leave it deleted" : "Take what is there, and go on editing"}
        </button>
      </div>
    </section>
  );
}

function useSaving(props: EditingProps, draft: Draft, setDraft: (draft: Draft) => void) {
  const [refused, setRefused] = useState<Refused>();
  const [theirs, setTheirs] = useState<Theirs>();
  const [etag, setEtag] = useState(props.etag);
  const [busy, setBusy] = useState(false);
  const { kind } = props.of;
  const nameOf = (): string => props.name ?? (typeof draft.value["name"] === "string" ? draft.value["name"] : "");

  const conflict = async (name: string): Promise<void> => {
    try {
      setTheirs(await versionedGet<JsonObject>(kind, name));
    } catch (error) {
      if (asRefused(error).status !== 404) throw error;
      setTheirs("gone");
    }
  };
  const put = async (version: string | "none" | undefined): Promise<void> => {
    const name = nameOf();
    setBusy(true);
    setRefused(undefined);
    setTheirs(undefined);
    try {
      await versionedPut(kind, name, withoutState(draft.value), version);
      toast(`The ${kind.noun} ${name} is saved.`);
      props.done(name);
    } catch (error) {
      try {
        if (isConflict(error)) await conflict(name);
        else throw error;
      } catch (other) {
        setRefused(asRefused(other));
      }
    } finally {
      setBusy(false);
    }
  };
  const save = () => {
    if (nameOf() === "") return setRefused(missingName());
    return void put(props.name === undefined ? "none" : etag);
  };
  const keepMine = () => void put(theirs === "gone" ? "none" : theirs?.etag);
  const takeTheirs = () => {
    if (theirs === "gone") return props.close();
    if (theirs === undefined) return;
    setEtag(theirs.etag);
    setDraft(draftOf(withoutState(theirs.value)));
    setTheirs(undefined);
  };
  return { refused, theirs, busy, save, keepMine, takeTheirs };
}

function missingName(): Refused {
  const error = asRefused(new Error("a name is needed: 1 to 63 of a-z 0-9 . _ -, which begins with a letter or digit"));
  return Object.assign(error, { field: "name" });
}

/* The collector's refusal where no field of the form shows it. */
function Refusal(props: { refused: Refused | undefined; fields: readonly FieldSpec[] }): JSX.Element | null {
  const { refused } = props;
  if (refused === undefined) return null;
  const at = fieldFor(["name", ...props.fields.map((field) => field.path)], refused.field);
  return at === undefined ? (
    <Failure error={refused} what="Not saved" />
  ) : (
    <Note kind="bad">
      <p role="alert">Not saved: the field {shown(at)} is wrong.</p>
    </Note>
  );
}

/* What was refused may stand far above the button: it is brought into view, and a field gets the focus. */
function useShown(what: readonly unknown[]) {
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    const field = section.current?.querySelector<HTMLElement>('[aria-invalid="true"]') ?? null;
    const wrong = field ?? section.current?.querySelector<HTMLElement>('[role="alert"]') ?? null;
    wrong?.scrollIntoView({ block: "center" });
    field?.focus({ preventScroll: true });
  }, [...what]);
  return section;
}

export function Editing(props: EditingProps): JSX.Element {
  const [draft, setDraft] = useState(() => draftOf(withoutState(props.start)));
  const saving = useSaving(props, draft, setDraft);
  const { kind } = props.of;
  const fields = props.of.fieldsOf(draft.value);
  const section = useShown([saving.refused, saving.theirs]);
  const form: FormProps = { draft, set: setDraft, refused: saving.refused };
  const name = draft.value["name"];
  const selector = draft.value["selector"];
  return (
    <section ref={section} aria-label={props.name === undefined ? `A new ${kind.noun}` : `Edit ${shown(props.name)}`}>
      <Refusal refused={saving.refused} fields={fields} />
      {saving.theirs !== undefined && (
        <Conflict noun={kind.noun} theirs={saving.theirs} mine={draft.value} keepMine={saving.keepMine} takeTheirs={saving.takeTheirs} />
      )}
      <SideBySide {...form} noun={kind.noun}>
        {props.name === undefined && (
          <TextField
            label="Name"
            hint="a-z 0-9 . _ -, begins with a letter or digit; it stays"
            value={typeof name === "string" ? name : ""}
            set={(text) => setDraft(draftOf(withMember(draft.value, ["name"], text)))}
            wrong={saving.refused?.field === "name" ? fieldWords(saving.refused) : undefined}
          />
        )}
        {props.of.form(form)}
      </SideBySide>
      <div class="buttons">
        <button type="button" class="button first" disabled={saving.busy || draft.error !== undefined} onClick={saving.save}>
          {saving.busy ? "Saving…" : props.name === undefined ? `Create the ${kind.noun}` : "Save"}
        </button>
        <button type="button" class="button" onClick={props.close}>
          Cancel
        </button>
      </div>
      {draft.error === undefined && typeof selector === "string" && <MatchesOf selector={selector} />}
      {draft.error === undefined && props.of.tried(draft.value, props.name)}
    </section>
  );
}
