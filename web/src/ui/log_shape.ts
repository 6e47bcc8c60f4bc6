// SPDX-License-Identifier: Apache-2.0
// Log lines by shape: what differs from line to line (numbers, addresses, ids, quoted text) is one mark. Pure.

export function shapeOf(message: string): string {
  return message
    .slice(0, 400)
    .replace(/"[^"]{0,200}"|'[^']{0,200}'/g, "“…”")
    .replace(/\b0x[0-9a-fA-F]+\b/g, "#")
    .replace(/\b[0-9a-fA-F]{8,}\b/g, "#")
    .replace(/\d+(?:[.:,]\d+)*/g, "#");
}

export interface Shape<L> {
  shape: string;
  severity: string;
  lines: L[]; /* as they came */
}

/* The rarest first within a level, graver levels first: what is said all the time is rarely the cause. */
export function byShape<L extends { message: string; severity: string; level: number }>(lines: readonly L[]): Shape<L>[] {
  const shapes = new Map<string, Shape<L> & { level: number }>();
  for (const line of lines) {
    const shape = shapeOf(line.message);
    const key = `${line.level} ${shape}`;
    const found = shapes.get(key);
    if (found === undefined) shapes.set(key, { shape, severity: line.severity, level: line.level, lines: [line] });
    else found.lines.push(line);
  }
  return [...shapes.values()].sort((a, b) => b.level - a.level || a.lines.length - b.lines.length);
}
