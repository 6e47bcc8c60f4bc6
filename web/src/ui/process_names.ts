// SPDX-License-Identifier: Apache-2.0
// Names of processes by their ids, for listings that have the ids alone: what is wanted at once is asked at once, and
// each process once in a tab.
import { type Schemas, getListing } from "../api/client";

type Named = Pick<Schemas["Process"], "process" | "service" | "pid" | "host">;

const AT_ONCE = 50; /* ids in an address of some 2 KiB */
const KNOWN_MOST = 500;
export const UNKNOWN = "a process that is not known any more";

type Ask = (selector: string, limit: number) => Promise<readonly Named[]>;

const asked: Ask = async (selector, limit) => (await getListing<Named>("/processes", { selector, limit })).items;

export class ProcessNames {
  private readonly known = new Map<string, Promise<string>>();
  private wanted: Promise<Map<string, string>> | undefined;
  private ids: string[] = [];
  private readonly ask: Ask;

  constructor(ask: Ask = asked) {
    this.ask = ask;
  }

  /* "redis[6841] on web-1"; UNKNOWN where the collector knows it no more. A question that failed is asked anew by who
   * wants the name next. */
  of(process: string): Promise<string> {
    const before = this.known.get(process);
    if (before !== undefined) return before;
    if (this.known.size >= KNOWN_MOST) this.known.clear();
    const name = this.batch(process).then((names) => names.get(process) ?? UNKNOWN);
    this.known.set(process, name);
    name.catch(() => this.known.delete(process));
    return name;
  }

  private batch(process: string): Promise<Map<string, string>> {
    if (this.wanted === undefined || this.ids.length >= AT_ONCE) {
      const ids: string[] = [];
      this.ids = ids;
      this.wanted = new Promise((done, refused) => setTimeout(() => this.send(ids).then(done, refused), 0));
    }
    this.ids.push(process);
    return this.wanted;
  }

  private async send(ids: string[]): Promise<Map<string, string>> {
    if (this.ids === ids) this.wanted = undefined; /* who comes later asks anew */
    const items = await this.ask(ids.length === 1 ? `process=${ids[0]}` : `process in (${ids.join(",")})`, ids.length);
    return new Map(items.map((one) => [one.process, `${one.service}[${one.pid}] on ${one.host}`]));
  }
}

export const processNames = new ProcessNames();
