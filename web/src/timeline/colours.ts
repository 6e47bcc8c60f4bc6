// SPDX-License-Identifier: Apache-2.0
// Colours of regions: a name has one of twelve, the same in every trace and tab. They differ in lightness and in blue
// against yellow, which red-green blindness leaves (any two are 20 apart in CIE Lab for deuteranopia and protanopia,
// where 2 is just seen: found by search); dark text is read on all of them, in both themes. Also reads the
// theme's own colours for what is drawn on a canvas. Colours are numbers 0xAABBGGRR, as pixels lie in memory.

const HUES = [
  "#f28214", "#17a1a9", "#1ac99c", "#c9e414", "#8d88d7", "#e37974",
  "#f6d461", "#ac74fa", "#bd8644", "#f0cde1", "#b5e292", "#8fcafa",
] as const;

export const HUE_COUNT = HUES.length;

/* FNV-1a; the same on every machine. */
export function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

export function hueOf(name: string): number {
  return hashOf(name) % HUES.length;
}

export function hueText(hue: number): string {
  return HUES[hue] ?? HUES[0];
}

/* "#rrggbb" as a pixel. */
export function pixelOf(text: string, alpha = 255): number {
  const rgb = Number.parseInt(text.slice(1, 7), 16);
  return ((alpha << 24) | ((rgb & 0xff) << 16) | (rgb & 0xff00) | (rgb >>> 16)) >>> 0;
}

export const HUE_PIXELS: readonly number[] = HUES.map((hue) => pixelOf(hue));
export const ON_HUE = "#0b1017"; /* text on any of them */

/* The theme's colours, read from its variables. */
export interface Palette {
  surface: string;
  surface2: string;
  surface3: string;
  line: string;
  lineStrong: string;
  text: string;
  text2: string;
  accent: string;
  focus: string;
  bad: string;
  warn: string;
  ok: string;
  hatch: string;
}

const VARIABLES: Readonly<Record<keyof Palette, string>> = {
  surface: "--surface",
  surface2: "--surface-2",
  surface3: "--surface-3",
  line: "--line",
  lineStrong: "--line-strong",
  text: "--text",
  text2: "--text-2",
  accent: "--accent",
  focus: "--focus",
  bad: "--bad",
  warn: "--warn",
  ok: "--ok",
  hatch: "--hatch",
};

export function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const read = (name: string): string => style.getPropertyValue(name).trim() || "#888888";
  return Object.fromEntries(Object.entries(VARIABLES).map(([key, name]) => [key, read(name)])) as unknown as Palette;
}
