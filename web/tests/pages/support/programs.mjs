// SPDX-License-Identifier: Apache-2.0
// Programs that tests start, and ports for them. Whatever was started is ended by its own id, the last first; where
// the runner itself is killed, the kernel ends them.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { until } from "./until.mjs";

export const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const execute = promisify(execFile);

export class Programs {
  #running = [];
  #log;
  constructor(log) {
    this.#log = log;
  }

  /* Output goes to NAME.log of the folder. */
  start(name, command, args, env = {}) {
    const log = openSync(join(this.#log, `${name}.log`), "a");
    const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", command, ...args], {
      env: { ...process.env, ...env },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    const program = { name, child, over: false };
    child.once("exit", () => (program.over = true));
    child.once("error", (error) => {
      program.over = true;
      process.stderr.write(`${name}: ${error.message}\n`);
    });
    this.#running.push(program);
    return program;
  }

  async end(program) {
    this.#running = this.#running.filter((other) => other !== program);
    if (program.over) return;
    program.child.kill("SIGTERM");
    await until(`the end of ${program.name}`, () => program.over).catch(() => program.child.kill("SIGKILL"));
  }

  async endAll() {
    for (const program of this.#running.slice().reverse()) await this.end(program);
  }

  /* The names of those that have ended by themselves. */
  gone() {
    return this.#running.filter((program) => program.over).map((program) => program.name);
  }
}

/* Runs a program to its end; throws with its words where it fails. */
export async function run(command, args, env = {}) {
  const { stdout } = await execute(command, args, { env: { ...process.env, ...env }, maxBuffer: 64 << 20 });
  return stdout;
}

/* Ports that no other test gets (tests/support/ports.py), until the helper's input ends. */
export async function portsTake(count) {
  const words = `import sys; sys.path.insert(0, sys.argv[1]); from ports import port_take
print(*[port_take() for _ in range(${count})], flush=True); sys.stdin.read()`;
  const helper = spawn("/usr/bin/python3", ["-B", "-c", words, join(ROOT, "tests/support")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let line = "";
  while (!line.includes("\n")) line += String((await once(helper.stdout, "data"))[0]);
  const ports = line.trim().split(" ").map(Number);
  if (ports.length !== count || ports.some(Number.isNaN)) throw new Error(`no ports: ${line}`);
  return { ports, give: () => helper.stdin.end() };
}
