// SPDX-License-Identifier: Apache-2.0
// With what a failure is compared: chosen here, kept in the address.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ChoiceField, TextField } from "../../ui/form";

const CHOICES = [
  ["auto", "the first that there is"],
  ["earlier", "the same processes before the onset"],
  ["sample", "a healthy sample of the service"],
  ["neighbours", "other processes of the service"],
  ["with", "another capture"],
] as const;

type Choice = (typeof CHOICES)[number][0];

export function Baseline(props: { baseline: string; other: string; set: (values: Readonly<Record<string, string>>) => void }): JSX.Element {
  const [picking, setPicking] = useState(props.other !== "");
  const [id, setId] = useState(props.other);
  const wrong = id !== "" && !/^[0-9a-f]{32}$/.test(id.trim());
  const chosen = picking ? "with" : ((CHOICES.find(([value]) => value === props.baseline)?.[0] ?? "auto") as Choice);
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        if (!wrong) props.set({ with: id.trim(), baseline: "" });
      }}
    >
      <ChoiceField
        label="Compared with"
        value={chosen}
        set={(value: Choice) => {
          setPicking(value === "with");
          if (value !== "with") props.set({ baseline: value === "auto" ? "" : value, with: "" });
        }}
        choices={CHOICES}
      />
      {picking && (
        <>
          <TextField label="Its id" value={id} set={setId} {...(wrong ? { wrong: "an id has 32 hex digits" } : {})} />
          <button type="submit" class="button">
            Compare
          </button>
        </>
      )}
    </form>
  );
}
