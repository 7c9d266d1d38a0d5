/**
 * Bringing inputs without an engine: a real database, real files and real HTTP servers.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { systemClock } from "../../../../src/platform/clock.ts";
import { diskCache } from "../../../../src/engines/shared/inputs/disk_cache.ts";
import { DiskInputs } from "../../../../src/engines/shared/inputs/disk_inputs.ts";
import { stageInputs } from "../../../../src/engines/shared/inputs/mod.ts";
import { openOutput } from "../../../../src/engines/local/outputs.ts";
import {
  type InputNetwork,
  RemoteFiles,
} from "../../../../src/engines/shared/inputs/remote_files.ts";
import type { StagedFile } from "../../../../src/engines/shared/config_files.ts";
import type { LocalSettings } from "../../../../src/engines/local/settings.ts";
import { newId } from "../../../../src/platform/ids.ts";
import {
  type Execution,
  type InputFile,
  saveExecution,
} from "../../../../src/store/records/executions.ts";
import { openStore } from "../../../../src/store/open_store.ts";
import type { Store } from "../../../../src/store/store.ts";
import { executionOf } from "../../../store/execution.ts";

/** Inputs settings of a project that may fetch from this machine. */
export const PRIVATE = { private_networks: true } as const;
/** Tries follow each other closely. */
export const EAGER: Partial<InputNetwork> = { backoff_ms: [5, 10] };

/** A SHA-256 in hexadecimal. */
export function sha256(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}

/** What one call of {@linkcode Bench.bring} gave. */
export interface Brought {
  folder: string;
  files: StagedFile[];
  /** The text of each file that there is, by its path below the input's folder. */
  texts: Record<string, string>;
}

/** What brings inputs, with a data folder of its own. */
export class Bench implements AsyncDisposable {
  readonly folder: string;
  readonly store: Store;
  /** What was told to the execution's log. */
  readonly told: string[] = [];
  remote: RemoteFiles;
  #count = 0;

  private constructor(folder: string, store: Store, remote: RemoteFiles) {
    this.folder = folder;
    this.store = store;
    this.remote = remote;
  }

  static async make(
    { network = EAGER, bytesMax }: { network?: Partial<InputNetwork>; bytesMax?: number } = {},
  ): Promise<Bench> {
    const folder = await Deno.makeTempDir();
    const store = await openStore(join(folder, "data"));
    await Deno.mkdir(join(folder, "executions"));
    const bench = new Bench(folder, store, Bench.#remote(folder, network, bytesMax));
    return bench;
  }

  static #remote(folder: string, network: Partial<InputNetwork>, bytesMax?: number): RemoteFiles {
    return new RemoteFiles({
      cache: diskCache(join(folder, "cache")),
      clock: systemClock,
      network,
      ...(bytesMax === undefined ? {} : { bytesMax }),
    });
  }

  /** Forgets what is in memory, as a restart of the service does. */
  restart(): void {
    this.remote = Bench.#remote(this.folder, EAGER);
  }

  /** The files of the cache. */
  cached(): string[] {
    return [...Deno.readDirSync(join(this.folder, "cache", "files"))].map(({ name }) => name)
      .sort();
  }

  /** The path of something in the cache. */
  cachePath(...parts: string[]): string {
    return join(this.folder, "cache", ...parts);
  }

  /** Stores an ended execution with outputs of these texts. */
  async ended(
    texts: Record<string, string>,
    fields: Partial<Execution> = {},
  ): Promise<Execution> {
    const outputs = Object.entries(texts).map(([path, text]) => ({
      path,
      size: new TextEncoder().encode(text).length,
      sha256: sha256(text),
    }));
    const execution = executionOf({
      id: newId(Date.now()),
      status: "complete",
      outputs,
      ...fields,
    });
    for (const [path, text] of Object.entries(texts)) {
      const full = this.outputPath(execution.id, path);
      await Deno.mkdir(dirname(full), { recursive: true });
      await Deno.writeTextFile(full, text);
    }
    await this.store.committer.commit(saveExecution(execution));
    return execution;
  }

  /** Where an output is. */
  outputPath(id: string, path: string): string {
    return join(this.folder, "executions", id, "outputs", path);
  }

  /** Brings the files of one input. */
  async bring(
    files: readonly InputFile[],
    { settings = PRIVATE, signal = new AbortController().signal, project = "files" }: {
      settings?: NonNullable<LocalSettings["inputs"]>;
      signal?: AbortSignal;
      project?: string;
    } = {},
  ): Promise<Brought> {
    const folder = join(this.folder, `inputs-${this.#count++}`);
    await Deno.mkdir(folder);
    const execution = executionOf({
      project,
      engine: { type: "local", runner: "process", inputs: settings },
      inputs: { data: [...files] },
    });
    const staged = await stageInputs(execution, new DiskInputs(folder), {
      store: this.store,
      clock: systemClock,
      openOutput: async (id, path) => {
        const file = await openOutput(join(this.folder, "executions", id, "outputs"), path);
        return file && { size: (await file.stat()).size, stream: file.readable };
      },
      remote: this.remote,
      signal,
      logEvent: (message) => Promise.resolve(void this.told.push(message)),
    });
    const inside = join(folder, "data");
    return { folder: inside, files: [...staged.get("data") ?? []], texts: textsIn(inside) };
  }

  /** Brings one URL. */
  async fetch(url: string, options: Parameters<Bench["bring"]>[1] = {}): Promise<Brought> {
    return await this.bring([{ name: "data.csv", url }], options);
  }

  /** The message with which bringing one URL fails. */
  async failure(url: string, options: Parameters<Bench["bring"]>[1] = {}): Promise<string> {
    return await messageOf(this.fetch(url, options));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remote.close();
    await this.store.close();
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** The message with which a promise is rejected. */
export async function messageOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error("It did not fail");
}

function textsIn(folder: string, below = ""): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const { name, isDirectory } of Deno.readDirSync(join(folder, below))) {
    const path = below === "" ? name : `${below}/${name}`;
    if (isDirectory) Object.assign(texts, textsIn(folder, path));
    else texts[path] = Deno.readTextFileSync(join(folder, path));
  }
  return texts;
}

/** An HTTP server of this machine. */
export class TestServer implements AsyncDisposable {
  /** What it was asked for, as `GET /path?query`. */
  readonly asked: string[] = [];
  /** The headers of each request. */
  readonly headers: Headers[] = [];
  readonly #stop = new AbortController();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(
    answer: (request: Request, url: URL, count: number) => Response | Promise<Response>,
    tls: { cert: string; key: string } | undefined = undefined,
  ) {
    this.#server = Deno.serve({
      port: 0,
      hostname: "127.0.0.1",
      signal: this.#stop.signal,
      onListen: () => {},
      onError: () => new Response("broken", { status: 500 }),
      ...tls,
    }, (request) => {
      const url = new URL(request.url);
      this.asked.push(`${request.method} ${url.pathname}${url.search}`);
      this.headers.push(new Headers(request.headers));
      return answer(request, url, this.asked.length);
    });
  }

  get port(): number {
    return this.#server.addr.port;
  }

  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** The URL of a path. */
  at(path: string): string {
    return `http://${this.host}${path}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#server.finished;
  }
}

/** A server that writes these bytes, one text a connection, whatever it is asked, and hangs up. */
export class RawServer implements AsyncDisposable {
  readonly #listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  readonly #texts: readonly string[];
  readonly #over: Promise<void>;
  count = 0;

  constructor(texts: readonly string[]) {
    this.#texts = texts;
    this.#over = this.#run();
  }

  get url(): string {
    return `http://127.0.0.1:${this.#listener.addr.port}/data.csv`;
  }

  async #run(): Promise<void> {
    for await (const connection of this.#listener) {
      const text = this.#texts[Math.min(this.count++, this.#texts.length - 1)] ?? "";
      await connection.read(new Uint8Array(4_096));
      await connection.write(new TextEncoder().encode(text)).catch(() => {});
      connection.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#over;
  }
}
