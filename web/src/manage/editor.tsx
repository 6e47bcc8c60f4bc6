// SPDX-License-Identifier: Apache-2.0
// A rule or policy as a form and as JSON, side by side and kept in step: the text is what is edited, the form reads it
// and writes single members of it.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { Refused } from "../api/client";
import { ChoiceField, TextField } from "../ui/form";
import { shown } from "../ui/text";
import { type Json, type JsonObject, documentText, fieldFor, memberAt, parseDocument, splitPath, withMember } from "./document";
import { type FieldSpec, fieldText, fieldValue } from "./fields";
import type { Section } from "./rule-fields";

export interface Draft {
  text: string;
  value: JsonObject; /* the last that could be read */
  error: { words: string; line: number } | undefined; /* why the text cannot be read now */
}

export function draftOf(value: JsonObject): Draft {
  return { text: documentText(value), value, error: undefined };
}

export function draftOfText(text: string, before: JsonObject): Draft {
  const parsed = parseDocument(text);
  return parsed.value === undefined ? { text, value: before, error: parsed.error } : { text, value: parsed.value, error: undefined };
}

interface MemberProps {
  spec: FieldSpec;
  value: Json | undefined;
  set: (value: Json | undefined) => void;
  wrong: string | undefined;
}

const FLAGS: readonly (readonly [string, string])[] = [
  ["true", "yes"],
  ["false", "no"],
];

/* What is written is kept as it is written, as long as it means what the member is. */
function Member(props: MemberProps): JSX.Element {
  const { spec, value } = props;
  const [written, setWritten] = useState<string>();
  const same = written !== undefined && JSON.stringify(fieldValue(spec, written)) === JSON.stringify(value);
  const text = same ? written : fieldText(spec, value);
  const set = (next: string) => {
    setWritten(next);
    props.set(fieldValue(spec, next));
  };
  const otherwise = spec.otherwise === undefined ? undefined : `left empty: ${spec.otherwise}`;
  const hint = [spec.hint, otherwise].filter((words) => words !== undefined).join("; ");
  const common = { label: spec.label, ...(hint === "" ? {} : { hint }), wrong: props.wrong };
  if (spec.kind === "flag") {
    const choices = [["", `usual: ${spec.otherwise ?? "no"}`] as const, ...FLAGS];
    return <ChoiceField label={spec.label} wrong={props.wrong} value={text} set={set} choices={choices} />;
  }
  if (spec.kind === "choice") return <ChoiceField {...common} value={text} set={set} choices={withUnknown(spec, text)} />;
  return <TextField {...common} value={text} set={set} {...(spec.lines === undefined ? {} : { lines: spec.lines })} />;
}

/* A newer collector's word stays choosable. */
function withUnknown(spec: FieldSpec, text: string): readonly (readonly [string, string])[] {
  const choices = spec.choices ?? [];
  return choices.some(([value]) => value === text) ? choices : [...choices, [text, text === "" ? "nothing" : shown(text, 60)]];
}

/* The collector's words without the field's name before them: it stands at the field. */
export function fieldWords(refused: Refused | undefined): string | undefined {
  const before = `${refused?.field ?? ""}: `;
  return refused?.message.startsWith(before) ? refused.message.slice(before.length) : refused?.message;
}

export interface FormProps {
  draft: Draft;
  set: (draft: Draft) => void;
  refused: Refused | undefined; /* by the collector; at the field that it names */
}

export function FormFields(props: FormProps & { fields: readonly FieldSpec[]; all: readonly FieldSpec[] }): JSX.Element {
  const at = fieldFor(props.all.map((field) => field.path), props.refused?.field);
  return (
    <>
      {props.fields.map((spec) => {
        const path = splitPath(spec.path);
        return (
          <Member
            key={spec.path}
            spec={spec}
            value={memberAt(props.draft.value, path)}
            set={(value) => props.set(draftOf(withMember(props.draft.value, path, value)))}
            wrong={at === spec.path ? fieldWords(props.refused) : undefined}
          />
        );
      })}
    </>
  );
}

export function FormSections(props: FormProps & { sections: readonly Section[]; all: readonly FieldSpec[] }): JSX.Element {
  const at = fieldFor(props.all.map((field) => field.path), props.refused?.field);
  return (
    <>
      {props.sections.map((section) => {
        const used = section.fields.some((field) => field.path === at || memberAt(props.draft.value, splitPath(field.path)) !== undefined);
        return (
          <details key={section.title} class="section" open={section.more !== true || used}>
            <summary>{section.title}</summary>
            <FormFields {...props} fields={section.fields} />
          </details>
        );
      })}
    </>
  );
}

/* The two sides. The form rests while the text cannot be read. */
export function SideBySide(props: FormProps & { noun: string; children: ComponentChildren }): JSX.Element {
  const { draft } = props;
  const wrong = draft.error === undefined ? undefined : `${draft.error.line > 0 ? `line ${draft.error.line}: ` : ""}${draft.error.words}`;
  return (
    <div class="side-by-side">
      <fieldset disabled={draft.error !== undefined}>
        <legend>Form</legend>
        {draft.error !== undefined && <p class="note warn">The JSON cannot be read; the form waits until it can.</p>}
        {props.children}
      </fieldset>
      <div class="json-side">
        <TextField
          label={`The ${props.noun} as JSON`}
          hint="the same; members that the form does not know are kept"
          value={draft.text}
          set={(text) => props.set(draftOfText(text, draft.value))}
          wrong={wrong}
          lines={28}
        />
      </div>
    </div>
  );
}
