// SPDX-License-Identifier: Apache-2.0
// The parts of a flame graph: boxes to draw, and functions by their own time. Pure.
import type { FlameNode } from "../trace/trace";

const LEAST_SHARE = 0.003; /* of the width */

export interface Box {
  node: FlameNode;
  path: readonly FlameNode[];
  from: number; /* share of the width */
  width: number;
  depth: number;
}

/* Boxes that are wide enough; how many were not. */
export function flameBoxes(root: FlameNode): { boxes: Box[]; leftOut: number } {
  const boxes: Box[] = [];
  let leftOut = 0;
  const put = (node: FlameNode, path: readonly FlameNode[], from: number, depth: number): void => {
    let at = from;
    for (const child of node.children) {
      const width = root.totalNs > 0 ? child.totalNs / root.totalNs : 0;
      if (width < LEAST_SHARE) leftOut++;
      else {
        const here = [...path, child];
        boxes.push({ node: child, path: here, from: at, width, depth });
        put(child, here, at, depth + 1);
      }
      at += width;
    }
  };
  put(root, [], 0, 0);
  return { boxes, leftOut };
}

export interface FlameRow {
  name: string;
  selfNs: number;
  totalNs: number; /* of its outermost calls */
  count: number;
}

/* By function: own time, and time with what it called (a function that calls itself counts once). */
export function flameRows(root: FlameNode): FlameRow[] {
  const rows = new Map<string, FlameRow>();
  const add = (node: FlameNode, inside: ReadonlySet<string>): void => {
    for (const child of node.children) {
      const row = rows.get(child.name) ?? { name: child.name, selfNs: 0, totalNs: 0, count: 0 };
      rows.set(child.name, row);
      row.selfNs += child.totalNs - child.children.reduce((sum, one) => sum + one.totalNs, 0);
      if (!inside.has(child.name)) {
        row.totalNs += child.totalNs;
        row.count += child.count;
      }
      add(child, new Set([...inside, child.name]));
    }
  };
  add(root, new Set());
  return [...rows.values()].sort((a, b) => b.selfNs - a.selfNs || b.totalNs - a.totalNs);
}
