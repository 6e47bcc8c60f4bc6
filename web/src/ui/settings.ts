// SPDX-License-Identifier: Apache-2.0
// What a reader has chosen for this browser: kept in localStorage, told to all tabs, and nowhere else.
import { effect, signal, type Signal } from "@preact/signals";

const CHOICES = {
  theme: ["system", "light", "dark"],
  zone: ["local", "utc"],
  hours: ["24", "12"],
  motion: ["system", "less"],
} as const;

type Name = keyof typeof CHOICES;
type Value<N extends Name> = (typeof CHOICES)[N][number];

function stored<N extends Name>(name: N): Value<N> {
  let text: string | null = null;
  try {
    text = localStorage.getItem(`skein.${name}`);
  } catch {
    /* storage is refused: choices last as long as the tab */
  }
  const choices: readonly string[] = CHOICES[name];
  return (text !== null && choices.includes(text) ? text : choices[0]) as Value<N>;
}

export const settings: { [N in Name]: Signal<Value<N>> } = {
  theme: signal(stored("theme")),
  zone: signal(stored("zone")),
  hours: signal(stored("hours")),
  motion: signal(stored("motion")),
};

export function choose<N extends Name>(name: N, value: Value<N>): void {
  (settings[name] as Signal<Value<N>>).value = value;
  try {
    localStorage.setItem(`skein.${name}`, value);
  } catch {
    /* as above */
  }
}

/* Begins to follow the choices of other tabs and of the system. Called once. */
export function settingsFollow(): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = signal(system.matches);
  system.addEventListener("change", () => (dark.value = system.matches));
  addEventListener("storage", (event) => {
    const name = event.key?.replace(/^skein\./, "") as Name | undefined;
    if (name !== undefined && name in settings) choose(name, stored(name) as never);
  });
  effect(() => {
    const theme = settings.theme.value === "system" ? (dark.value ? "dark" : "light") : settings.theme.value;
    document.documentElement.dataset["theme"] = theme;
    document.documentElement.dataset["motion"] = settings.motion.value;
  });
}
