// SPDX-License-Identifier: Apache-2.0
// A capture as a row or a chip, the same on every page that lists captures.
import type { JSX } from "preact";
import { Chip, Text } from "./parts";
import { type Capture, captureSentence, selectorWords, statusMood, statusWords } from "./capture_words";

export function StatusChip(props: { capture: Capture }): JSX.Element {
  const mood = statusMood(props.capture.status);
  const mark = mood === "ok" ? "✓ " : mood === "warn" ? "⚠ " : "";
  return (
    <Chip {...(mood === undefined ? {} : { kind: mood })} title={props.capture.verdict?.text ?? ""}>
      {mark}
      {statusWords(props.capture)}
    </Chip>
  );
}

export function CaptureLink(props: { capture: Capture }): JSX.Element {
  return (
    <a href={`/captures/${encodeURIComponent(props.capture.capture)}`}>
      <Text text={captureSentence(props.capture)} most={300} />
    </a>
  );
}

/* Whose it is: its selector, where a reader may know it. */
export function Whose(props: { capture: Capture }): JSX.Element {
  return <Text text={selectorWords(props.capture.selector)} most={120} />;
}
