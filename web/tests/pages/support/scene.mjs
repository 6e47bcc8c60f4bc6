// SPDX-License-Identifier: Apache-2.0
// A small fleet in a folder of its own: collector, agent, a Redis of Debian under the tracer with traffic, a shop that
// asks that Redis (console_subject.c), and a program whose texts are hostile. Redis stalls, its health check fails, and
// the rule's capture is there. One scene serves all tests, which change it only as each says.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { Programs, ROOT, portsTake, run } from "./programs.mjs";
import { until } from "./until.mjs";

const BUILD = resolve(ROOT, process.env.SKEIN_BUILD ?? "build/release");
export const PROGRAMS = {
  skeind: join(BUILD, "server/skeind"),
  agent: join(BUILD, "agent/skein-agent"),
  skein: join(BUILD, "cli/skein"),
  subject: join(BUILD, "tests/console_subject"),
  trace: join(BUILD, "tests/make_console_trace"),
};

export const STALL_MS = 1200;

/* What a rule, a policy and its limits are in the scene. */
const ping = (port) => ({
  name: "redis-ping",
  description: "Redis answers a ping within 300 ms",
  selector: "service=redis",
  when: {
    health: {
      every_ms: 250,
      timeout_ms: 300,
      failures: 1,
      exec: { command: ["redis-cli", "-p", String(port), "ping"], expect: "PONG" },
    },
  },
  capture: { pre_ms: 4000, post_ms: 1500, include: "service in (redis,shop)" },
  limits: { cooldown_ms: 60000 },
});
const quiet = {
  name: "shop-crash",
  description: "The shop has died",
  selector: "service=shop",
  when: { crash: {} },
};
const everything = { name: "everything", selector: "", record_ms: 100, every_ms: 600000, retain: { ttl_ms: 86400000 } };

export class Scene {
  #ports;
  #programs;
  #collector;
  #redisPort;
  constructor(folder, short, ports) {
    this.folder = folder;
    this.short = short; /* of sockets, whose paths may be 107 bytes long */
    this.#ports = ports;
    const [data, control, http, redis] = ports.ports;
    this.listen = { data: `tcp://127.0.0.1:${data}`, control: `tcp://127.0.0.1:${control}`, http: `127.0.0.1:${http}` };
    this.url = `http://127.0.0.1:${http}`;
    this.#redisPort = redis;
    this.#programs = new Programs(folder);
    this.config = join(folder, "collector.json");
    this.env = { SKEIN_COLLECTOR: this.url, SKEIN_SOCKET: join(short, "agent.sock"), SKEIN_TOKEN: "" };
  }

  /* The API, as who has `token`; the body, or an error that has status and body. */
  async api(method, path, body, token) {
    const answer = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...(token ?? this.token ? { Authorization: `Bearer ${token ?? this.token}` } : {}),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw Object.assign(new Error(`${method} ${path}: ${answer.status} ${text}`), { status: answer.status });
    return text === "" ? undefined : JSON.parse(text);
  }

  async collectorStart() {
    this.#collector = this.#programs.start("skeind", PROGRAMS.skeind, ["--config", this.config]);
    await until("the collector's start", async () => (await fetch(`${this.url}/readyz`)).ok);
  }
  /* skeind carries the console that it was built with: another one than build/web/dist has would be tested. */
  async isThisConsole() {
    const served = await (await fetch(`${this.url}/`, { headers: { Accept: "text/html" } })).text();
    const built = await readFile(join(ROOT, "build/web/dist/index.html"), "utf8");
    if (served !== built) throw new Error("skeind carries another console than build/web/dist: build it (make build)");
  }

  async collectorStop() {
    await this.#programs.end(this.#collector);
  }

  /* A token by the program of the collector's host, which needs none. */
  async tokenCreate(name, scope, ...more) {
    const out = await run(PROGRAMS.skeind, ["token", "create", "--config", this.config, "--name", name, "--scope", scope, ...more]);
    const secret = /skn_\S+/.exec(out)?.[0];
    if (secret === undefined) throw new Error(`no token in: ${out}`);
    return secret;
  }
  async tokenRevoke(name) {
    await run(PROGRAMS.skeind, ["token", "revoke", "--config", this.config, "--name", name]);
  }

  async begin() {
    for (const part of ["collector", "agent", "redis"]) await mkdir(join(this.folder, part), { recursive: true });
    await writeFile(this.config, JSON.stringify({
      listen: this.listen,
      data_dir: join(this.folder, "collector"),
      agents: { heartbeat_ms: 300, lease_ms: 5000 },
      store: { min_free_bytes: 0 },
    }));
    const agent = join(this.folder, "agent.json");
    await writeFile(agent, JSON.stringify({
      collector: { data: this.listen.data, control: this.listen.control },
      socket: this.env.SKEIN_SOCKET,
      state_dir: join(this.folder, "agent"),
      heartbeat_ms: 300,
      checks: { exec_allow: ["redis-cli -p * ping"] },
    }));
    await this.collectorStart();
    await this.isThisConsole();
    this.#programs.start("skein-agent", PROGRAMS.agent, ["--config", agent]);
    await until("the agent's hello", async () => (await this.api("GET", "/agents")).items[0]?.status === "online");
    await this.#services();
    await this.#stall();
  }

  async #services() {
    const port = String(this.#redisPort);
    this.#programs.start("redis-server", PROGRAMS.skein, ["run", "--service", "redis", "--", "redis-server", "--port", port,
      "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--enable-debug-command", "local", "--dir",
      join(this.folder, "redis")], this.env); // prettier-ignore
    await until("Redis's first answer", async () => (await run("redis-cli", ["-p", port, "ping"])) === "PONG\n");
    /* By its name, as titles show what was typed. */
    const env = { ...this.env, PATH: `${dirname(PROGRAMS.subject)}:${process.env.PATH}` };
    for (const kind of ["shop", "hostile"]) this.#programs.start(kind, "console_subject", [kind, port], env);
    for (const rule of [ping(port), quiet]) await this.api("PUT", `/rules/${rule.name}`, rule);
    await this.api("PUT", "/policies/everything", everything);
    const live = async () => (await this.api("GET", "/processes?fresh=true")).items.filter((p) => p.status === "live");
    await until("three live services that reach 3.5 s back", async () => {
      const reach = await live();
      if (reach.length >= 3 && reach.every((process) => process.reach_ms >= 3500)) return true;
      throw new Error(reach.map((process) => `${process.service} ${process.reach_ms} ms`).join(", "));
    });
    await until("a passing check", async () => JSON.stringify(await this.api("GET", "/rules/redis-ping")).includes('"passing"'));
  }

  async #stall() {
    const stalled = run("redis-cli", ["-p", String(this.#redisPort), "debug", "sleep", String(STALL_MS / 1000)]);
    const fired = await until("the capture of the stall", async () =>
      (await this.api("GET", "/captures")).items.find((capture) => capture.trigger?.rule === "redis-ping"));
    await stalled;
    this.capture = await until("the end of the capture", async () => {
      const capture = await this.api("GET", `/captures/${fired.capture}`);
      return capture.status !== "running" && capture;
    });
  }

  /* One more capture, which has ended when this returns. */
  async captureTake(body) {
    const { capture } = await this.api("POST", "/captures", body);
    return until("the end of a capture", async () => {
      const now = await this.api("GET", `/captures/${capture}`);
      return now.status !== "running" && now;
    });
  }

  /* Names of programs that should run and do not. */
  gone() {
    return this.#programs.gone();
  }

  async end() {
    await this.#programs.endAll();
    this.#ports.give();
    await rm(this.short, { recursive: true, force: true });
  }
}

/* A collector of its own that has never heard of anybody. */
export async function emptyBegin(folder) {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const ports = await portsTake(3);
  const [data, control, http] = ports.ports;
  const programs = new Programs(folder);
  const config = join(folder, "collector.json");
  await writeFile(config, JSON.stringify({
    listen: { data: `tcp://127.0.0.1:${data}`, control: `tcp://127.0.0.1:${control}`, http: `127.0.0.1:${http}` },
    data_dir: join(folder, "collector"),
    store: { min_free_bytes: 0 },
  }));
  await mkdir(join(folder, "collector"), { recursive: true });
  const url = `http://127.0.0.1:${http}`;
  programs.start("skeind-empty", PROGRAMS.skeind, ["--config", config]);
  await until("the start of an empty collector", async () => (await fetch(`${url}/readyz`)).ok);
  return {
    url,
    ports: { data: String(data), control: String(control) },
    end: async () => {
      await programs.endAll();
      ports.give();
    },
  };
}

/* folder: of logs and state; emptied first. */
export async function sceneBegin(folder) {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const scene = new Scene(folder, await mkdtemp(join(tmpdir(), "skein-page-")), await portsTake(4));
  try {
    await scene.begin();
  } catch (error) {
    const gone = scene.gone().join(", ") || "none";
    await scene.end();
    throw new Error(`${error.message}; programs that have ended: ${gone}; logs: ${folder}`);
  }
  return scene;
}
