// SPDX-License-Identifier: Apache-2.0
// Processes added up by service. Pure functions.
import type { Schemas } from "../../api/client";
import { numeric } from "../../ui/units";

export type Process = Schemas["Process"];

export interface Service {
  name: string;
  processes: Process[];
  live: number;
  offline: number; /* their agent does not answer */
  unrecorded: number; /* no ring */
  hosts: number;
  reachLeastMs: number; /* of those that have a ring; NaN: none has */
  reachMostMs: number;
  bytesPerS: number;
  lost: number;
}

export function servicesOf(processes: readonly Process[]): Service[] {
  const byName = new Map<string, Process[]>();
  for (const process of processes) {
    const group = byName.get(process.service);
    if (group === undefined) byName.set(process.service, [process]);
    else group.push(process);
  }
  return [...byName].map(([name, group]) => service(name, group)).sort(order);
}

/* By name, as nothing moves under the reader while figures change. */
function order(a: Service, b: Service): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function service(name: string, processes: Process[]): Service {
  const recorded = processes.filter((process) => process.not_recorded === undefined && process.status === "live");
  const reaches = recorded.map((process) => numeric(process.reach_ms));
  return {
    name,
    processes,
    live: processes.filter((process) => process.status === "live").length,
    offline: processes.filter((process) => process.status === "offline").length,
    unrecorded: processes.filter((process) => process.not_recorded !== undefined).length,
    hosts: new Set(processes.map((process) => process.host)).size,
    reachLeastMs: reaches.length === 0 ? NaN : reaches.reduce((a, b) => Math.min(a, b)),
    reachMostMs: reaches.length === 0 ? NaN : reaches.reduce((a, b) => Math.max(a, b)),
    bytesPerS: recorded.reduce((sum, process) => sum + numeric(process.bytes_per_s), 0),
    lost: processes.reduce((sum, process) => sum + numeric(process.events_lost), 0),
  };
}
