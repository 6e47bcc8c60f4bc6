// SPDX-License-Identifier: Apache-2.0
// All keys, made from the table that they are looked up in; and what the pointer does, and what is drawn how.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { KEYS, type Key, keyWords } from "./keys";

const GROUPS = [...new Set(KEYS.map((key) => key.group))];

function Group(props: { group: Key["group"] }): JSX.Element {
  return (
    <>
      <h3>{props.group}</h3>
      <dl class="tl-keys">
        {KEYS.filter((key) => key.group === props.group).map((key) => (
          <div key={key.action}>
            <dt>
              {key.keys.map((keys, i) => (
                <span key={keys}>
                  {i > 0 && " or "}
                  <kbd>{keyWords(keys)}</kbd>
                </span>
              ))}
            </dt>
            <dd>{key.words}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

export function Help(props: { close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => before instanceof HTMLElement && before.focus();
  }, []);
  return (
    <dialog ref={dialog} class="tl-help" aria-labelledby="tl-help-title" onClose={props.close}>
      <h2 id="tl-help-title" tabIndex={-1} autofocus>Keys of the timeline</h2>
      {GROUPS.map((group) => (
        <Group key={group} group={group} />
      ))}
      <h3>Pointer</h3>
      <p>
        Drag pans. Shift and drag, or a drag on the axis, selects a span. The wheel scrolls tracks; with Ctrl it zooms at the pointer, with
        Shift it pans. A click selects, a double click fits. Two fingers zoom.
      </p>
      <h3>What is drawn</h3>
      <p>
        A colour is a name, the same everywhere. A pixel shows the longest region that touches it; the fainter it is, the less of it is busy.
        Hatched with an edge: records are lost. Grey ground: nothing is recorded there. Thin strip above a thread: high is running, two
        thirds is ready without a CPU, low is blocked. Marks: high is an error, two thirds a warning, low all else. ▼ is the failure.
      </p>
      <div class="buttons">
        <button type="button" class="button first" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}
