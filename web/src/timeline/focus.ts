// SPDX-License-Identifier: Apache-2.0
// What has the focus may go: then the canvas takes it, so that the timeline's keys go on.
import { useLayoutEffect, useRef } from "preact/hooks";

/* For a part that is closed from inside of it. */
export function useFocusBack<E extends HTMLElement>(): { current: E | null } {
  const part = useRef<E>(null);
  useLayoutEffect(
    () => () => {
      const element = part.current;
      if (element === null || !element.contains(document.activeElement)) return;
      element.closest(".tl")?.querySelector<HTMLElement>("[data-timeline-keys]")?.focus({ preventScroll: true });
    },
    [],
  );
  return part;
}
