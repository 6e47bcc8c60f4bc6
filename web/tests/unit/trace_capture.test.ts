/* SPDX-License-Identifier: Apache-2.0
 * The engine over a capture: what it asks of the collector's API, in which order, and what it says when that refuses.
 * The collector is a function here; bytes are a real trace, which it gives for each process. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Engine, type ModuleName } from "../../src/trace/engine";
import type { Update } from "../../src/trace/messages";
import type { Lane, TraceProcess, TraceState } from "../../src/trace/trace";
import { Reader } from "../../src/trace/wasm";

function inTree(path: string): Uint8Array<ArrayBuffer> {
  for (const top of ["", "../"]) {
    try {
      return new Uint8Array(readFileSync(top + path));
    } catch {
      /* the other one */
    }
  }
  throw new Error(`${path} is not there; tools/web.sh makes the WebAssembly`);
}

const load = (name: ModuleName): Promise<WebAssembly.Module> =>
  WebAssembly.compile(inTree(`build/web/wasm/${name}.wasm`));
const bytes = inTree("tests/golden/partition-v1-3.skein");
const FIRST = "0102030405060708090a0b0c0d0e0f10"; /* of the golden file */
const OTHER = "ff".repeat(16);

function target(process: string, events: number): Record<string, unknown> {
  const partitions = [
    {
      partition: "1", from: "2026-11-21T09:40:00.000Z", to: "2026-11-21T09:40:00.100Z", events, lost: 3,
      bytes: bytes.length, clock_offset_ns: -70, url: "",
    },
  ];
  return { process, pid: 4711, host: "host-a", service: "checkout", events, bytes: bytes.length, clock_error_ns: 1500, url: "", partitions };
}

/* Answers by what a path ends with; remembers what was asked. */
function collector(traceAnswer: (query: URLSearchParams) => Response): { asked: string[]; fetch: typeof fetch } {
  const asked: string[] = [];
  const answer = (path: string): Response => {
    const url = new URL(path, "http://127.0.0.1");
    asked.push(url.pathname + url.search);
    if (url.pathname.endsWith("/manifest")) return Response.json({ targets: [target(OTHER, 10), target(FIRST, 800_000)] });
    if (url.pathname.endsWith("/trace")) return traceAnswer(url.searchParams);
    return Response.json({
      at: "2026-11-21T09:40:00.050Z",
      window: { from: "2026-11-21T09:39:59.999Z", to: "2026-11-21T09:40:00.100Z" },
    });
  };
  return { asked, fetch: (path) => Promise.resolve(answer(String(path))) };
}

interface Seen {
  engine: Engine;
  asked: string[];
  states: TraceState[];
  processes: TraceProcess[][];
  lanes: Lane[];
  until: (holds: () => boolean) => Promise<void>;
}

async function opened(traceAnswer: (query: URLSearchParams) => Response, rowsBound?: number, there = (): boolean => true): Promise<Seen> {
  const { asked, fetch } = collector(traceAnswer);
  globalThis.fetch = (path) => (there() ? fetch(path) : Promise.reject(new TypeError("no network")));
  const waiting: { holds: () => boolean; go: () => void }[] = [];
  const seen: Seen = {
    engine: null as unknown as Engine, asked, states: [], processes: [], lanes: [],
    until: (holds) => new Promise((go) => (holds() ? go() : waiting.push({ holds, go }))),
  };
  seen.engine = new Engine(
    load,
    (update: Update) => {
      if (update.state !== undefined) seen.states.push(update.state);
      if (update.processes !== undefined) seen.processes.push(update.processes);
      if (update.lanes !== undefined) seen.lanes = update.lanes;
      for (const one of waiting) if (one.holds()) one.go();
    },
    rowsBound,
  );
  await seen.engine.open({ capture: "c1" });
  return seen;
}

const whole = (): Response => new Response(bytes);
const loadedOf = (seen: Seen, index: number): string => seen.processes.at(-1)?.[index]?.loaded ?? "";
const idle = (seen: Seen): boolean => seen.states.at(-1)?.phase === "idle";

interface Described {
  required: string[];
  properties: Record<string, unknown>;
}

/* What the tests below take for a manifest is one: a member that stands elsewhere in a real one proves nothing. */
test("the manifest of these tests is as the API describes it", () => {
  const document = JSON.parse(new TextDecoder().decode(inTree("server/api/openapi.json"))) as {
    components: { schemas: { Manifest: { properties: { targets: { items: Described } } }; ManifestPartition: Described } };
  };
  const { Manifest, ManifestPartition } = document.components.schemas;
  const made = target(FIRST, 10);
  const fits = (one: object, of: Described): void => {
    for (const key of Object.keys(one)) assert.ok(key in of.properties, `${key} is described`);
    for (const key of of.required) assert.ok(key in one, `${key} is there`);
  };
  fits(made, Manifest.properties.targets.items);
  for (const partition of made["partitions"] as object[]) fits(partition, ManifestPartition);
});

test("the process with most events comes first, and of it the time around the failure", async () => {
  const seen = await opened(whole);
  await seen.until(() => loadedOf(seen, 1) === "whole" && idle(seen));
  const traces = seen.asked.filter((path) => path.includes("/trace?"));
  assert.equal(traces.length, 2);
  const around = new URLSearchParams(traces[0]?.split("?")[1]);
  assert.equal(around.get("process"), FIRST);
  /* Half of its 800,000 events: half of its 100 ms, around 50 ms. */
  assert.equal(around.get("from"), "2026-11-21T09:40:00.025000000Z");
  assert.equal(around.get("to"), "2026-11-21T09:40:00.075000000Z");
  assert.equal(new URLSearchParams(traces[1]?.split("?")[1]).get("from"), null);
  const loaded = seen.processes.map((processes) => processes[1]?.loaded ?? "");
  assert.deepEqual(loaded.filter((one, i) => one !== loaded[i - 1]), ["nothing", "queued", "around", "whole"]);
  const process = seen.processes.at(-1)?.[1];
  assert.equal(process?.labels, "zone=a,canary=");
  assert.equal(process?.clockErrorNs, 1500);
  assert.equal(process?.lost, 3);
  assert.ok(seen.lanes.every((lane) => lane.process === 1 && lane.from > 0.9e6)); /* the window began 1 ms before */
});

test("beyond the bound of rows the process that was not looked at goes, and comes again when wanted", async () => {
  const seen = await opened(whole, 60);
  await seen.until(() => loadedOf(seen, 1) === "whole" && idle(seen));
  seen.engine.want([0]);
  await seen.until(() => loadedOf(seen, 0) === "whole" && idle(seen));
  assert.equal(loadedOf(seen, 1), "let-go");
  assert.equal(seen.states.at(-1)?.letGo, 1);
  assert.equal(seen.states.at(-1)?.rows, 52);
  const asked = seen.asked.length;
  seen.engine.want([1]);
  await seen.until(() => loadedOf(seen, 1) === "whole" && idle(seen));
  assert.equal(seen.asked.length, asked + 2);
  assert.equal(loadedOf(seen, 0), "let-go");
});

test("what the collector refuses is a problem with its request, and can be tried again", async () => {
  let refuses = true;
  const seen = await opened(() =>
    refuses
      ? Response.json({ detail: "The partition is damaged." }, { status: 500, headers: { "X-Request-Id": "r-7" } })
      : whole(),
  );
  await seen.until(() => loadedOf(seen, 1) === "failed" && idle(seen));
  assert.deepEqual(seen.states.at(-1)?.problem, { text: "The partition is damaged.", requestId: "r-7", status: 500 });
  refuses = false;
  seen.engine.retry();
  await seen.until(() => loadedOf(seen, 1) === "whole" && idle(seen));
  assert.equal(seen.states.at(-1)?.problem, null);
});

test("a damaged answer fails with the reader's sentence", async () => {
  const seen = await opened(() => new Response("no trace"));
  await seen.until(() => loadedOf(seen, 1) === "failed" && idle(seen));
  assert.match(seen.states.at(-1)?.problem?.text ?? "", /F-\d+/);
});

test("loading that is stopped says so, and goes on when it is tried again", async () => {
  const seen = await opened(whole);
  await seen.until(() => seen.states.at(-1)?.phase === "loading");
  seen.engine.stop();
  assert.equal(seen.states.at(-1)?.phase, "stopped");
  seen.engine.retry();
  await seen.until(() => loadedOf(seen, 1) === "whole" && idle(seen));
});

test("a search goes on in what is let go meanwhile, which is freed behind it", async () => {
  const seen = await opened(whole);
  seen.engine.want([0]);
  await seen.until(() => loadedOf(seen, 0) === "whole" && loadedOf(seen, 1) === "whole" && idle(seen));
  const call = Reader.prototype.call;
  const freed = new Set<unknown>();
  let walked = 0;
  Reader.prototype.call = function (name, ...parameters) {
    if (name === "api_trace_free") freed.add(parameters[0]);
    if (name === "api_search_new") assert.ok(!freed.has(parameters[0]), "it walks what is freed");
    walked += name === "api_search_new" ? 1 : 0;
    return call.call(this, name, ...parameters);
  };
  try {
    const answer = seen.engine.answer({ op: "search", text: "dur>=0" }, new AbortController().signal);
    for (const index of [0, 1]) (seen.engine as unknown as { drop: (index: number) => void }).drop(index);
    await answer;
    assert.equal(walked, 2);
    assert.equal(freed.size, 2);
  } finally {
    Reader.prototype.call = call;
  }
});

test("a capture that could not even be opened is opened when it is tried again", async () => {
  let there = false;
  const seen = await opened(whole, undefined, () => there);
  assert.equal(seen.states.at(-1)?.phase, "failed");
  there = true;
  seen.engine.retry();
  await seen.until(() => loadedOf(seen, 1) === "whole" && idle(seen));
  assert.equal(seen.states.at(-1)?.problem, null);
  assert.equal(seen.processes.at(-1)?.length, 2);
});

test("a busy collector is asked again", async () => {
  let busy = 2;
  const seen = await opened(() => (busy-- > 0 ? new Response(null, { status: 503, headers: { "Retry-After": "0" } }) : whole()));
  await seen.until(() => loadedOf(seen, 1) === "whole" && idle(seen));
  assert.equal(seen.states.some((state) => state.problem !== null), false);
});

test("a refusal's status is told: a session that has ended, a capture that is not there any more", async () => {
  for (const status of [401, 404, 410]) {
    const seen = await opened(() => Response.json({ detail: "no" }, { status }));
    await seen.until(() => seen.states.some((state) => state.problem !== null));
    assert.deepEqual(seen.states.find((state) => state.problem !== null)?.problem, { text: "no", status });
  }
});
