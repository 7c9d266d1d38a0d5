/**
 * A platform for the hosted entry, played as Deno's own runtime offers it: the platform says where the server
 * listens (`DENO_SERVE_ADDRESS`), learns the crons and runs them over a socket (`DENO_UNSTABLE_CRON_SOCK`), gives
 * each timeline a database, starts processes when a request or a cron needs one, and stops them.
 *
 * @module
 */
import type { ApiAnswer } from "../data.ts";
import { has } from "../needs.ts";
import { denokv, type DenoKvServer } from "../store/denokv.ts";
import { KV_TOKEN, RemoteKv } from "../store/kv_connect.ts";
import { eventually, V8_FLAGS } from "../surroundings.ts";

const ROOT = new URL("../../", import.meta.url);
/** The crons of the service, each of which it registers by a message of its own. */
const CRONS = 2;
/** The time between SIGINT and SIGKILL. */
export const KILL_MS = 5_000;
/** The time in which a process ends by itself, on a machine that is busy. */
export const STOP_MS = 60_000;
/** The part of the platform's 768 MiB that a process may have. */
export const MEMORY_MIB_MAX = 400;
/** The operators' token. */
export const TOKEN = "an-operators-token-for-tests";

const ENV = {
  DENO_DEPLOY: "true",
  NO_COLOR: "1",
  HOOKLAUNCH_ADMIN_TOKEN: TOKEN,
  HOOKLAUNCH_SECRET_KEY: "00".repeat(32),
};

/** A cron as a process registers it. */
export interface RegisteredCron {
  name: string;
  schedule: string;
}

/** Options of a process. */
export interface ProcessOptions {
  env?: Record<string, string>;
  /** Variables that are not set, though the platform sets them otherwise. */
  unset?: readonly string[];
  kvUrl: string;
  /** The name of another Deno than that of the tests. It registers no crons at the socket. */
  deno?: string;
}

/** A process of the service on the platform. */
export interface HostedProcess extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** The crons that it has registered. */
  readonly crons: RegisteredCron[];
  /** Everything that it has printed. */
  printed(): string;
  /** Sends a request as the platform does: it serves HTTPS, and says so. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Calls the operators' API, and again while nobody leads. */
  api(method: string, path: string, body?: unknown): Promise<Pick<ApiAnswer, "status" | "body">>;
  /** Runs a cron; resolves to whether it succeeded. */
  tick(name: string): Promise<boolean>;
  /** Lets it register no cron any more, as the platform does after the start. */
  rejectNewCrons(reason: string): Promise<void>;
  /** The processor time that it has used, in milliseconds. */
  cpu_ms(): Promise<number>;
  /** Sends SIGINT, and SIGKILL some time later, by default 5 s; resolves to how it has ended. */
  stop(kill_ms?: number): Promise<Deno.CommandStatus>;
  kill(signal: Deno.Signal): void;
  readonly ended: Promise<Deno.CommandStatus>;
}

/** Starts a process. */
export async function startProcess(
  { env, unset = [], kvUrl, deno }: ProcessOptions,
): Promise<HostedProcess> {
  const socket = new CronSocket();
  const all: Record<string, string> = {
    ...ENV,
    DENO_SERVE_ADDRESS: "tcp:127.0.0.1:0",
    DENO_UNSTABLE_CRON_SOCK: socket.address,
    DENO_KV_DEFAULT_PATH: kvUrl,
    [KV_TOKEN.name]: KV_TOKEN.value,
    ...env,
  };
  for (const name of unset) delete all[name];
  const child = new Deno.Command("sh", {
    args: [
      "-c",
      'PATH="$PATH:${XDG_CACHE_HOME:-$HOME/.cache}/hooklaunch/bin"; exec "$0" "$@"',
      deno ?? Deno.execPath(),
      "run",
      "--lock=deno.lock",
      "--frozen",
      "--no-prompt",
      ...V8_FLAGS,
      ...["net", "env", "read", "sys"].map((each) => `--allow-${each}`),
      ...["run", "write", "ffi"].map((each) => `--deny-${each}`),
      "src/deploy.ts",
    ],
    cwd: ROOT,
    env: all,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let printed = "";
  const read = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) printed += text;
  };
  const reading = Promise.all([read(child.stdout), read(child.stderr)]);
  const ended = child.status;
  const kill = (signal: Deno.Signal) => {
    try {
      child.kill(signal);
    } catch {
      // It has ended.
    }
  };
  const dispose = async () => {
    kill("SIGKILL");
    await Promise.all([ended, reading]);
    socket.close();
  };
  let url: string;
  try {
    url = await eventually(() => /Listening on (http:\/\/[\d.:]+)/.exec(printed)?.[1], {
      what: "a process that listens",
    });
    await eventually(() => deno !== undefined || socket.crons.length === CRONS ? true : undefined, {
      what: "the registration of its crons",
    });
  } catch (error) {
    await dispose();
    throw new Error(`The process did not begin:\n${printed}`, { cause: error });
  }
  const send = (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (!headers.has("x-forwarded-proto")) headers.set("x-forwarded-proto", "https");
    return fetch(`${url}${path}`, { redirect: "manual", ...init, headers });
  };
  return {
    url,
    pid: child.pid,
    crons: socket.crons,
    printed: () => printed,
    fetch: send,
    async api(method, path, body) {
      return await eventually(async () => {
        const answer = await send(`/api/v0/${path}`, {
          method,
          headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const text = await answer.text();
        // The leader changes: whoever asks is told to ask again.
        if (answer.status === 503 && answer.headers.has("retry-after")) return undefined;
        return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
      }, { what: `an answer to ${method} ${path}` });
    },
    tick: (name) => socket.invoke(name),
    rejectNewCrons: (reason) => socket.rejectNew(reason),
    async cpu_ms() {
      const stat = await procFile(child.pid, "stat");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return 10 * (Number(fields[11]) + Number(fields[12]));
    },
    async stop(kill_ms = KILL_MS) {
      kill("SIGINT");
      const timer = setTimeout(() => kill("SIGKILL"), kill_ms);
      const status = await ended;
      clearTimeout(timer);
      return status;
    },
    kill,
    ended,
    [Symbol.asyncDispose]: dispose,
  };
}

/** Reads what the kernel tells of a process; empty when it has ended. */
export async function procFile(pid: number, name: string): Promise<string> {
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", 'cat "$0" 2>/dev/null', `/proc/${pid}/${name}`],
  }).output();
  return new TextDecoder().decode(stdout);
}

/** Returns the most memory that a process has had, in MiB. */
export async function memoryMib(pid: number): Promise<number> {
  const [, kib = "0"] = /^VmHWM:\s+(\d+) kB/m.exec(await procFile(pid, "status")) ?? [];
  return Math.round(Number(kib) / 1024);
}

/** The platform's side of the socket for crons: it takes their registration, and runs them. */
class CronSocket {
  readonly crons: RegisteredCron[] = [];
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  /** What waits for results, by the name of the cron. */
  readonly #results = new Map<string, ((success: boolean) => void)[]>();
  #isOver = false;
  #connection: Deno.TcpConn | undefined;

  constructor() {
    void this.#serve();
  }

  /** The address of the socket, as the variable names it. */
  get address(): string {
    return `tcp:127.0.0.1:${this.#listener.addr.port}`;
  }

  /** Runs a cron; resolves to whether it succeeded, which it did not when the process ended before. */
  async invoke(name: string): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    // Deno runs no cron while the same one runs: the result is that of all who asked meanwhile.
    this.#results.set(name, [...this.#results.get(name) ?? [], resolve]);
    try {
      await this.#send({ kind: "invoke", name });
    } catch {
      // The process has ended.
      this.#end(name, false);
    }
    // Before it was registered as waiting, everybody was told of the end.
    if (this.#isOver) this.#end(name, false);
    return await promise;
  }

  /** Lets the process register no cron any more. */
  async rejectNew(reason: string): Promise<void> {
    await this.#send({ kind: "reject-new-crons", reason });
  }

  close(): void {
    this.#listener.close();
    try {
      this.#connection?.close();
    } catch {
      // The process has ended.
    }
  }

  async #send(message: object): Promise<void> {
    await this.#connection?.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`));
  }

  async #serve(): Promise<void> {
    try {
      const connection = this.#connection = await this.#listener.accept();
      let text = "";
      for await (const part of connection.readable.pipeThrough(new TextDecoderStream())) {
        text += part;
        const lines = text.split("\n");
        text = lines.pop() ?? "";
        for (const line of lines) if (line !== "") this.#take(JSON.parse(line));
      }
    } catch {
      // The process has ended, or the listener was closed.
    }
    this.#isOver = true;
    for (const name of this.#results.keys()) this.#end(name, false);
  }

  #end(name: string, success: boolean): void {
    const all = this.#results.get(name) ?? [];
    this.#results.delete(name);
    for (const resolve of all) resolve(success);
  }

  #take(
    message: { kind: string; name?: string; crons?: RegisteredCron[]; success?: boolean },
  ): void {
    if (message.kind === "register") {
      this.crons.push(...message.crons ?? []);
    } else if (message.kind === "result") this.#end(message.name ?? "", message.success === true);
  }
}

/** Options of {@linkcode Timeline}. */
interface TimelineOptions {
  /** True for a database of the tests' own, which counts. Default: denokv where that is installed. */
  isCounted?: boolean;
}

/** A timeline of the platform: a database, and the processes on it. */
export class Timeline implements AsyncDisposable {
  readonly #kv = new RemoteKv();
  readonly #way = this.#kv.way();
  /** Numbers of what the processes have asked a database for that counts. */
  readonly counts = this.#way.counts;
  readonly #env: Record<string, string>;
  readonly #isCounted: boolean;
  readonly #folder = Deno.makeTempDirSync();
  #server: Promise<DenoKvServer> | undefined;
  readonly processes: HostedProcess[] = [];

  constructor(
    env: Record<string, string> = {},
    { isCounted = !has("denokv") }: TimelineOptions = {},
  ) {
    this.#env = env;
    this.#isCounted = isCounted;
  }

  /** Starts another process. */
  async start(
    { env = {}, ...options }: Partial<Omit<ProcessOptions, "kvUrl">> = {},
  ): Promise<HostedProcess> {
    const started = await startProcess({
      env: { ...this.#env, ...env },
      ...options,
      kvUrl: await this.#kvUrl(),
    });
    this.processes.push(started);
    return started;
  }

  /** Opens the database as a process does. */
  async openKv(): Promise<Deno.Kv> {
    Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
    return await Deno.openKv(await this.#kvUrl());
  }

  async #kvUrl(): Promise<string> {
    if (this.#isCounted) return this.#way.url;
    return (await (this.#server ??= denokv(this.#folder))).url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.processes.map((each) => each[Symbol.asyncDispose]()));
    await this.#kv[Symbol.asyncDispose]();
    await (await this.#server)?.[Symbol.asyncDispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }
}
