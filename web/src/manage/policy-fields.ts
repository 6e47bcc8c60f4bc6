// SPDX-License-Identifier: Apache-2.0
// The form of a sampling policy: its members as docs/api.md has them. Pure.
import type { JsonObject } from "./document";
import { EVIDENCE_HINT, RETAIN_FIELDS, type Section } from "./rule-fields";

export const POLICY_START: JsonObject = {
  name: "",
  description: "",
  selector: "",
  enabled: true,
  record_ms: "1s",
  every_ms: "1000s",
};

export const POLICY_SECTIONS: readonly Section[] = [
  {
    title: "How much is sampled",
    fields: [
      { path: "record_ms", label: "Records", kind: "duration", otherwise: "1 s" },
      { path: "every_ms", label: "of every", kind: "duration", hint: "a multiple, 2 to 10,000 times as long", otherwise: "1000 s" },
      { path: "groups", label: "Event groups that are shown", kind: "list", hint: "of app, net, io, lock, thread, sleep, log, 16 to 63; separated by commas", otherwise: "all" },
      { path: "evidence", label: "Evidence", kind: "list", hint: EVIDENCE_HINT, otherwise: "none" },
      { path: "samples_hz", label: "CPU samples a second, at least", kind: "count", otherwise: "as the agents' configuration says" },
    ],
  },
  {
    title: "Limits",
    fields: [
      { path: "limits.bytes_per_day", label: "Bytes a day", kind: "size", otherwise: "no bound" },
      { path: "limits.agent_cpu_percent", label: "CPU of an agent, percent of one core", kind: "count", otherwise: "no bound" },
    ],
  },
  { title: "How long it is kept", fields: RETAIN_FIELDS },
];
