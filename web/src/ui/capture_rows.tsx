// SPDX-License-Identifier: Apache-2.0
// A capture as a row or a chip, the same on every page that lists captures.
import type { JSX } from "preact";
import { useMade } from "../api/ask";
import { part } from "../api/client";
import { Chip, Text } from "./parts";
import { processNames } from "./process_names";
import { type Capture, captureSentence, lacksBegins, selectorWords, statusMood, statusWords } from "./capture_words";

export function StatusChip(props: { capture: Capture }): JSX.Element {
  const mood = lacksBegins(props.capture) ? "ok" : statusMood(props.capture.status);
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

/* Whose it is: the process that it is of, else its selector, where a reader may know it. Listings do not say whose a
 * capture is that an agent began for one process: that is asked for. */
export function Whose(props: { capture: Capture }): JSX.Element {
  const { trigger, selector } = props.capture;
  const process = selector !== undefined && /^process=[0-9a-f]{32}$/.test(selector) ? selector.slice(8) : trigger?.process;
  const service = useMade(process === undefined ? undefined : `whose ${process}`, () => processNames.of(process ?? ""));
  if (process === undefined) return <Text text={selectorWords(selector)} most={120} />;
  return (
    <a href={`/processes/${part(process)}`}>
      <Text text={service.data ?? (service.error === undefined ? "…" : `process ${process.slice(0, 12)}…`)} most={120} />
    </a>
  );
}
