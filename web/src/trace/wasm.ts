/* SPDX-License-Identifier: Apache-2.0
 *
 * One instance of the reader in WebAssembly (web/wasm/trace_api.h): its memory, calls and answers. Owns
 * nothing of a trace. For the worker alone; what it throws is ReaderError.
 */

/* Statuses of skein/status.h that somebody looks at. */
const NO_MEMORY = -1;
const NOT_FOUND = -8;
const WORDS: Readonly<Record<number, string>> = {
  [NO_MEMORY]: "There is not enough memory for it.",
  [-2]: "It could not be read.",
  [-3]: "The reader was asked for something that cannot be.",
  [-4]: "It is damaged, or no trace.",
  [-5]: "It ends too early.",
  [-6]: "It is of a newer version of the format than this console reads.",
};

export class ReaderError extends Error {
  readonly status: number;
  constructor(status: number, sentence = "") {
    super(sentence !== "" ? sentence : (WORDS[status] ?? `The reader gave status ${status}.`));
    this.status = status;
  }
}

type Calls = Readonly<Record<string, (...parameters: (number | bigint)[]) => number>>;

export class Reader {
  private readonly memory: WebAssembly.Memory;
  private readonly calls: Calls;
  private broken = false;

  private constructor(instance: WebAssembly.Instance) {
    this.memory = instance.exports["memory"] as WebAssembly.Memory;
    this.calls = instance.exports as unknown as Calls;
  }

  static async start(module: WebAssembly.Module): Promise<Reader> {
    const closed = (): number => 8; /* EBADF: it has no files */
    const names = WebAssembly.Module.imports(module).map((entry) => entry.name);
    const imports = Object.fromEntries(names.map((name) => [name, closed]));
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: imports });
    const reader = new Reader(instance);
    reader.call("_initialize");
    return reader;
  }

  /* A trap leaves memory in no known state: nothing is asked of the instance any more. */
  call(name: string, ...parameters: (number | bigint)[]): number {
    const made = this.calls[name];
    if (made === undefined) throw new ReaderError(-15, `The reader has no ${name}.`);
    if (this.broken) throw new ReaderError(-13, "The reader has failed; open the trace anew.");
    try {
      return made(...parameters) ?? 0;
    } catch (error) {
      this.broken = true;
      throw new ReaderError(-13, `The reader has failed (${String(error)}); open the trace anew.`);
    }
  }

  /* A status below 0 throws, with the sentence that is the answer. */
  ask(name: string, ...parameters: (number | bigint)[]): number {
    const status = this.call(name, ...parameters);
    if (status < 0) throw new ReaderError(status, this.text());
    return status;
  }

  /* The same; null where there is none. */
  find(name: string, ...parameters: (number | bigint)[]): number | null {
    const status = this.call(name, ...parameters);
    if (status < 0 && status !== NOT_FOUND) throw new ReaderError(status, this.text());
    return status < 0 ? null : status;
  }

  /* What a function that makes something gave: 0 throws. */
  make(name: string, ...parameters: (number | bigint)[]): number {
    const made = this.call(name, ...parameters);
    if (made === 0) throw new ReaderError(NO_MEMORY, this.text());
    return made;
  }

  /* A copy of the last answer, in a buffer of its own. */
  bytes(): ArrayBuffer {
    const at = this.call("api_answer");
    return this.memory.buffer.slice(at, at + this.call("api_answer_bytes"));
  }

  text(): string {
    return new TextDecoder().decode(this.bytes());
  }

  json(): unknown {
    return JSON.parse(this.text());
  }

  /* Memory that stays until it is freed. */
  put(bytes: Uint8Array): number {
    const at = this.make("api_memory_new", bytes.byteLength);
    new Uint8Array(this.memory.buffer).set(bytes, at);
    return at;
  }

  room(bytes: number): number {
    return this.make("api_memory_new", bytes);
  }

  write(at: number, bytes: Uint8Array): void {
    new Uint8Array(this.memory.buffer).set(bytes, at);
  }

  read(at: number, bytes: number): Uint8Array {
    return new Uint8Array(this.memory.buffer, at, bytes);
  }

  free(at: number): void {
    this.call("api_memory_free", at);
  }

  /* For the length of one call. */
  lend<T>(bytes: Uint8Array, use: (at: number) => T): T {
    const at = this.put(bytes);
    try {
      return use(at);
    } finally {
      if (!this.broken) this.free(at);
    }
  }
}
