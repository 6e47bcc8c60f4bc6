// SPDX-License-Identifier: Apache-2.0
// The field for a selector, as the API and the command line have it; it is asked with when it is sent off.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { FilterForm, TextField } from "./form";

export function SelectorFilter(props: { value: string; set: (selector: string) => void }): JSX.Element {
  const [text, setText] = useState(props.value);
  useEffect(() => setText(props.value), [props.value]);
  return (
    <FilterForm choose={() => props.set(text.trim())}>
      <TextField label="Selector" value={text} set={setText} kind="search" placeholder="service=checkout" />
      <button type="submit" class="button">
        Filter
      </button>
      {props.value !== "" && (
        <button type="button" class="button" onClick={() => props.set("")}>
          All
        </button>
      )}
    </FilterForm>
  );
}
