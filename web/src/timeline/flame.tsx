// SPDX-License-Identifier: Apache-2.0
// A flame graph of a span: what ran by CPU samples, or where threads waited by the stacks of waits. Boxes are buttons
// that go into a part; the same is a table for who does not see boxes.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { FlameNode, FlameOf } from "../trace/trace";
import { Table } from "../ui/parts";
import { shown } from "../ui/text";
import { count, duration, share } from "../ui/units";
import { hueOf, hueText } from "./colours";
import { flameBoxes, flameRows } from "./flame_parts";

const ROW_PX = 19;
const ROWS_MOST = 200;

function FlameTable(props: { root: FlameNode }): JSX.Element {
  const rows = useMemo(() => flameRows(props.root), [props.root]);
  const total = Math.max(props.root.totalNs, 1);
  return (
    <>
      <Table
        caption="Functions by their own time"
        head={
          <>
            <th scope="col">Function</th>
            <th scope="col" class="number">
              Own time
            </th>
            <th scope="col" class="number">
              Share
            </th>
            <th scope="col" class="number">
              With what it called
            </th>
          </>
        }
      >
        {rows.slice(0, ROWS_MOST).map((row) => (
          <tr key={row.name}>
            <td class="mono wrap-anywhere">{shown(row.name, 300)}</td>
            <td class="number">{duration(row.selfNs)}</td>
            <td class="number">{share(row.selfNs / total)}</td>
            <td class="number">{duration(row.totalNs)}</td>
          </tr>
        ))}
      </Table>
      {rows.length > ROWS_MOST && <p class="tl-quiet">{count(rows.length - ROWS_MOST)} more functions are not shown.</p>}
    </>
  );
}

function Boxes(props: { root: FlameNode; of: FlameOf }): JSX.Element {
  const [zoom, setZoom] = useState<readonly FlameNode[]>([]);
  const top = zoom[zoom.length - 1] ?? props.root;
  const { boxes, leftOut } = useMemo(() => flameBoxes(top), [top]);
  const depth = boxes.reduce((most, box) => Math.max(most, box.depth + 1), 1);
  const words = (node: FlameNode): string =>
    `${shown(node.name, 200)}: ${duration(node.totalNs)}, ${share(node.totalNs / Math.max(props.root.totalNs, 1))}, ${count(Math.round(node.count))} ${props.of === "samples" ? "samples" : "waits"}`;
  return (
    <>
      {zoom.length > 0 && (
        <div class="buttons">
          <button type="button" class="button" onClick={() => setZoom([])}>
            All of it
          </button>
          <span class="wrap-anywhere">inside of {words(top)}</span>
        </div>
      )}
      <div class="tl-flame" style={{ height: `${depth * ROW_PX}px` }}>
        {boxes.map((box) => (
          <button
            key={box.path.map((node) => node.name).join("\u0000")}
            type="button"
            class="tl-flame-box"
            title={words(box.node)}
            aria-label={words(box.node)}
            style={{ left: `${box.from * 100}%`, width: `${box.width * 100}%`, top: `${box.depth * ROW_PX}px`, background: hueText(hueOf(box.node.name)) }}
            onClick={() => setZoom([...zoom, ...box.path])}
          >
            {shown(box.node.name, 120)}
          </button>
        ))}
      </div>
      {leftOut > 0 && <p class="tl-quiet">{count(leftOut)} parts are too narrow to be drawn; the table has them.</p>}
    </>
  );
}

export function Flame(props: { root: FlameNode; of: FlameOf }): JSX.Element {
  const [asTable, setAsTable] = useState(false);
  if (props.root.children.length === 0) return <p>There is none in this span.</p>;
  return (
    <>
      <div class="buttons">
        <button type="button" class="button" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          As a table
        </button>
      </div>
      {asTable ? <FlameTable root={props.root} /> : <Boxes root={props.root} of={props.of} />}
    </>
  );
}
