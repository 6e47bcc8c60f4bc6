// SPDX-License-Identifier: Apache-2.0
// A capture as a row or a chip, the same on every page that lists captures.
import type { JSX } from "preact";
import { useMade } from "../api/ask";
import { type Schemas, get, part } from "../api/client";
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

/* Listings do not say whose a capture is that an agent began for one process: that is asked for, once for a process. */
const known = new Map<string, Promise<string>>();
const KNOWN_MOST = 500;

function serviceOf(process: string): Promise<string> {
  let service = known.get(process);
  if (service === undefined) {
    service = get<Schemas["Process"]>(`/processes/${part(process)}`).then(
      (found) => `${found.service}[${found.pid}] on ${found.host}`,
      () => "a process that is not known any more",
    );
    if (known.size >= KNOWN_MOST) known.clear();
    known.set(process, service);
  }
  return service;
}

/* Whose it is: the process that it is of, else its selector, where a reader may know it. */
export function Whose(props: { capture: Capture }): JSX.Element {
  const { trigger, selector } = props.capture;
  const process = selector !== undefined && /^process=[0-9a-f]{32}$/.test(selector) ? selector.slice(8) : trigger?.process;
  const service = useMade(process === undefined ? undefined : `whose ${process}`, () => serviceOf(process ?? ""));
  if (process === undefined) return <Text text={selectorWords(selector)} most={120} />;
  return (
    <a href={`/processes/${part(process)}`}>
      <Text text={service.data ?? "…"} most={120} />
    </a>
  );
}
