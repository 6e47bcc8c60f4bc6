// SPDX-License-Identifier: Apache-2.0
// Stacks: equal ones of a thread dump as one, and folded ones as a tree for a flame graph. Pure functions.

export interface DumpThread {
  process: string;
  thread: string;
  tid: number;
  state: string;
  call: string; /* system call with its arguments; "" */
  waitsFor: string; /* "" */
  holder: number; /* tid; 0: nobody is known */
  stack: string; /* id; "": none */
}

export interface StackGroup {
  process: string;
  stack: string;
  threads: DumpThread[];
}

/* Threads of a process with one stack together; first those that wait for somebody, then those whom they wait for, then
 * the smaller groups: what many do is rarely the cause. */
export function groupStacks(threads: readonly DumpThread[]): StackGroup[] {
  const groups = new Map<string, StackGroup>();
  for (const thread of threads) {
    const key = thread.stack === "" ? `${thread.process} alone ${thread.tid}` : `${thread.process} ${thread.stack}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { process: thread.process, stack: thread.stack, threads: [thread] });
    else group.threads.push(thread);
  }
  const holders = new Set(threads.filter((thread) => thread.holder !== 0).map((thread) => `${thread.process} ${thread.holder}`));
  const rank = (group: StackGroup): number => {
    if (group.threads.some((thread) => thread.waitsFor !== "")) return 0;
    return group.threads.some((thread) => holders.has(`${thread.process} ${thread.tid}`)) ? 1 : 2;
  };
  return [...groups.values()].sort((a, b) => rank(a) - rank(b) || a.threads.length - b.threads.length);
}

export interface FlameFrame {
  name: string;
  value: number; /* with all that lies on it */
  own: number;
  children: FlameFrame[]; /* the most first */
}

/* A tree of lines "frame;frame;… value", outermost first. What is no such line is counted. */
export function flameOf(folded: string): { root: FlameFrame; skipped: number } {
  const root: Building = { name: "all", value: 0, own: 0, children: new Map() };
  let skipped = 0;
  for (const line of folded.split("\n")) {
    if (line === "") continue;
    const space = line.lastIndexOf(" ");
    const value = Number(line.slice(space + 1));
    if (space <= 0 || !Number.isFinite(value) || value < 0) {
      skipped++;
      continue;
    }
    add(root, line.slice(0, space).split(";"), value);
  }
  return { root: built(root), skipped };
}

interface Building {
  name: string;
  value: number;
  own: number;
  children: Map<string, Building>;
}

const DEEPEST = 512;

function add(root: Building, frames: readonly string[], value: number): void {
  let at = root;
  at.value += value;
  for (const name of frames.slice(0, DEEPEST)) {
    let child = at.children.get(name);
    if (child === undefined) at.children.set(name, (child = { name, value: 0, own: 0, children: new Map() }));
    at = child;
    at.value += value;
  }
  at.own += value;
}

function built(of: Building): FlameFrame {
  const children = [...of.children.values()].map(built).sort((a, b) => b.value - a.value);
  return { name: of.name, value: of.value, own: of.own, children };
}

/* Functions by their own value, each once. */
export function ownByName(root: FlameFrame): { name: string; own: number }[] {
  const sums = new Map<string, number>();
  const walk = (frame: FlameFrame): void => {
    if (frame.own > 0) sums.set(frame.name, (sums.get(frame.name) ?? 0) + frame.own);
    frame.children.forEach(walk);
  };
  walk(root);
  return [...sums].map(([name, own]) => ({ name, own })).sort((a, b) => b.own - a.own);
}
