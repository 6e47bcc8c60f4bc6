// SPDX-License-Identifier: Apache-2.0
// Where CPUs were, or where threads waited: stacks as a flame graph, and the same as a table. Stacks come folded from
// the collector.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useMade } from "../../api/ask";
import { part, request } from "../../api/client";
import type { Capture } from "../../ui/capture_words";
import { ChoiceField } from "../../ui/form";
import { Empty, Failure, Note, Shown, Table, Text } from "../../ui/parts";
import { type FlameFrame, flameOf, ownByName } from "../../ui/stacks";
import { shown } from "../../ui/text";
import { count, duration, share } from "../../ui/units";

type Of = "samples" | "waits";

const LEAST = 0.002; /* of the width: thinner frames are not drawn */
const DEEPEST = 60;

interface Box {
  frame: FlameFrame;
  from: number; /* 0 to 1 */
  width: number;
  depth: number;
}

/* Frames that are wide enough, and how many are not drawn. */
function boxesOf(root: FlameFrame): { boxes: Box[]; left: number; rows: number } {
  const boxes: Box[] = [];
  let left = 0;
  let rows = 0;
  const walk = (frame: FlameFrame, from: number, depth: number): void => {
    const width = frame.value / root.value;
    if (width < LEAST || depth >= DEEPEST) {
      left++;
      return;
    }
    rows = Math.max(rows, depth + 1);
    boxes.push({ frame, from, width, depth });
    let at = from;
    for (const child of frame.children) {
      walk(child, at, depth + 1);
      at += child.value / root.value;
    }
  };
  if (root.value > 0) walk(root, 0, 0);
  return { boxes, left, rows };
}

function hue(name: string): number {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
  return hash % 6;
}

const ROW_PX = 25;

function Graph(props: { root: FlameFrame; value: (n: number) => string }): JSX.Element {
  const [focus, setFocus] = useState<FlameFrame[]>([props.root]);
  const root = focus.at(-1) ?? props.root;
  const { boxes, left, rows } = useMemo(() => boxesOf(root), [root]);
  return (
    <>
      <p>
        {focus.length > 1 && (
          <button type="button" class="button" onClick={() => setFocus(focus.slice(0, -1))}>
            Wider
          </button>
        )}{" "}
        <Text text={root.name} most={120} />: {props.value(root.value)}
        {left > 0 && <span class="quiet"> · {count(left)} frames that are narrower than {share(LEAST)} are not drawn</span>}
      </p>
      <div class="flame" style={{ height: `${rows * ROW_PX}px` }} role="group" aria-label="Flame graph: callers below, callees above them. The table tells the same.">
        {boxes.map((box, i) => (
          <button
            key={i}
            type="button"
            class={`flame-${hue(box.frame.name)}`}
            style={{ left: `${box.from * 100}%`, width: `${box.width * 100}%`, bottom: `${box.depth * ROW_PX}px` }}
            tabIndex={box.width > 0.05 ? 0 : -1}
            title={`${shown(box.frame.name, 300)}: ${props.value(box.frame.value)} (${share(box.width)})`}
            onClick={() => box.frame !== root && setFocus([...focus, box.frame])}
          >
            {box.width > 0.02 ? shown(box.frame.name, 160) : <span class="visually-hidden">{shown(box.frame.name, 160)}</span>}
          </button>
        ))}
      </div>
    </>
  );
}

function OwnTable(props: { root: FlameFrame; value: (n: number) => string }): JSX.Element {
  const all = ownByName(props.root);
  const rows = all.slice(0, 20);
  const head = (
    <>
      <th>Function</th>
      <th class="number">Own</th>
      <th class="number">Share</th>
    </>
  );
  return (
    <details>
      <summary>The same as a table, by own share</summary>
      <Table caption="Functions by their own share" head={head}>
        {rows.map((row) => (
          <tr key={row.name}>
            <td class="what">
              <Text text={row.name} most={200} />
            </td>
            <td class="number">{props.value(row.own)}</td>
            <td class="number">{share(row.own / props.root.value)}</td>
          </tr>
        ))}
      </Table>
      {all.length > rows.length && <p>{count(all.length - rows.length)} further functions are left out.</p>}
    </details>
  );
}

function NoStacks(props: { capture: Capture; of: Of }): JSX.Element {
  const why = (props.capture.targets ?? []).flatMap((target) => target.evidence ?? []).find((kind) => kind.kind === "samples");
  return (
    <Empty title={props.of === "samples" ? "No sample of a CPU is in this capture" : "No wait has a stack in this capture"}>
      <p>
        <Text text={props.of === "samples" ? (why?.reason ?? "") : ""} />
      </p>
    </Empty>
  );
}

export function Flame(props: { capture: Capture }): JSX.Element {
  const { capture } = props;
  const [of, setOf] = useState<Of>("samples");
  const path = `/captures/${part(capture.capture)}/trace`;
  const stacks = useMade(`flame ${capture.capture} ${capture.status} ${of}`, async (signal) => {
    const answer = await request("GET", path, { query: { format: "folded", of }, signal, headers: { Accept: "text/plain" } });
    return flameOf(await answer.text());
  });
  const value = (n: number): string => (of === "samples" ? `${count(n)} samples` : duration(n * 1000));
  return (
    <>
      <ChoiceField
        label="Stacks of"
        value={of}
        set={setOf}
        choices={[
          ["samples", "samples of the CPUs: what ran"],
          ["waits", "waits: where time passed"],
        ]}
      />
      {stacks.error?.status === 404 ? (
        <NoStacks capture={capture} of={of} />
      ) : stacks.error !== undefined && stacks.data === undefined ? (
        <Failure error={stacks.error} again={stacks.again} what="Could not read the stacks" />
      ) : (
        <Shown of={stacks} what="stacks">
          {(data) => (
            <>
              <Graph key={of} root={data.root} value={value} />
              <OwnTable root={data.root} value={value} />
              {data.skipped > 0 && (
                <Note kind="warn">
                  <p>{count(data.skipped)} lines could not be read.</p>
                </Note>
              )}
            </>
          )}
        </Shown>
      )}
    </>
  );
}
