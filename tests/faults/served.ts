/**
 * The service as a process of its own, to be killed, filled and flooded.
 *
 * @module
 */
import { FLAGS, HOOKLAUNCH } from "../commands/process.ts";
import { eventually } from "../surroundings.ts";

/** The operator's token of these services. */
export const TOKEN = "an-operators-token-for-tests";

/** An operator's request, as a proxy that serves HTTPS passes it on. */
export const OPERATOR = { authorization: `Bearer ${TOKEN}`, "x-forwarded-proto": "https" };

const CHECKOUT = new URL("../..", import.meta.url).pathname;
const PRINTED_MAX = 256 * 1024;

/** A service that runs. */
export interface Served extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Whether its process has ended. */
  readonly hasEnded: boolean;
  /** The last of what it printed. */
  printed(): string;
  /** What it takes of memory now, in bytes. */
  rss_bytes(): Promise<number>;
  signal(signal: Deno.Signal): void;
  /** Waits for its end. */
  end(): Promise<Deno.CommandStatus>;
  /** Reads the JSON of an answer to an operator. */
  // The tests look into it by the API's contract.
  // deno-lint-ignore no-explicit-any
  api(path: string): Promise<any>;
  /** Everything of a list that comes in pages. */
  // deno-lint-ignore no-explicit-any
  all(path: string): Promise<any[]>;
}

/** What a service may be told. */
export interface ServeOptions {
  /** The data folder. */
  data?: string;
  flags?: readonly string[];
  /** A module that is run before the service's own, and what it is told. */
  preload?: { url: string; env: Record<string, string> };
  /** The checkout whose service it is; by default, this one. */
  checkout?: string | undefined;
  /** Further variables of its environment. */
  env?: Readonly<Record<string, string>>;
  /** The beginning of its command, such as that which enters a network namespace. */
  within?: readonly string[];
  /** The id of the machine's start that the service sees, as after a power cut. Needs root. */
  bootId?: string;
  /** Is given the process before it has started to listen. */
  onSpawn?(child: Deno.ChildProcess): void;
}

/**
 * Starts a service on the configuration of a folder.
 *
 * @throws {Error} when it ends before it listens
 */
export async function serve(
  folder: string,
  {
    data = `${folder}/data`,
    flags = [],
    preload,
    checkout,
    within = [],
    bootId,
    env = {},
    onSpawn,
  }: ServeOptions = {},
): Promise<Served> {
  // In a namespace of its own it is reached as if by a proxy that serves HTTPS.
  const dev = within.length === 0 ? ["--dev"] : [];
  const serveArguments = ["serve", "--port", "0", ...dev, "--data", data, "--log-format", "text"];
  const config = ["--config", `${folder}/hooklaunch.yaml`];
  const before = preload === undefined ? [] : ["--preload", preload.url];
  // What runs before the service shares its modules.
  const product = preload === undefined && checkout === undefined
    ? HOOKLAUNCH
    : ["run", "--quiet", ...FLAGS, ...before, `${checkout ?? CHECKOUT}/src/main.ts`];
  const deno = [...product, ...serveArguments, ...config, ...flags];
  const [command = "", ...args] = bootId === undefined
    ? [...within, Deno.execPath(), ...deno]
    : [...await startedAs(folder, bootId), Deno.execPath(), ...deno];
  const child = new Deno.Command(command, {
    args,
    env: { NO_COLOR: "1", HOOKLAUNCH_ADMIN_TOKEN: TOKEN, ...preload?.env, ...env },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  onSpawn?.(child);
  let printed = "";
  const reading = (async () => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
      printed = (printed + text).slice(-PRINTED_MAX);
    }
  })();
  let hasEnded = false;
  const status = child.status.finally(() => hasEnded = true);
  const end = async () => {
    await reading;
    return await status;
  };
  const url = await eventually(() => {
    if (hasEnded) throw new Error(`The service did not start:\n${printed}`);
    return /reached as (http:\/\/[\d.]+:\d+)/.exec(printed)?.[1];
  }, { what: "the start of the service" }).catch(async (error) => {
    if (!hasEnded) child.kill("SIGKILL");
    await end();
    throw error;
  });
  return {
    url,
    port: Number(new URL(url).port),
    pid: child.pid,
    get hasEnded() {
      return hasEnded;
    },
    printed: () => printed,
    async rss_bytes() {
      const status = await shell(`cat /proc/${child.pid}/status`);
      return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? NaN) * 1024;
    },
    signal(signal) {
      if (!hasEnded) child.kill(signal);
    },
    end,
    ...operatorOf(url),
    async [Symbol.asyncDispose]() {
      if (!hasEnded) child.kill("SIGKILL");
      await end();
    },
  };
}

/** The beginning of a command that sees another id of the machine's start. */
async function startedAs(folder: string, bootId: string): Promise<string[]> {
  const file = `${folder}/boot_id`;
  await Deno.writeTextFile(file, `${bootId}\n`);
  const script = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"';
  return ["sh", "-c", `exec unshare -m sh -c '${script}' "$0" "$@"`, file];
}

/** What an operator asks of a service. */
export function operatorOf(url: string): Pick<Served, "api" | "all"> {
  const api = async (path: string) => {
    const address = path.startsWith("http") ? path : `${url}/api/v0/${path}`;
    return await (await fetch(address, { headers: OPERATOR })).json();
  };
  const all = async (path: string) => {
    const found = [];
    for (let next: string | null = path; next !== null;) {
      const page: { results: unknown[]; next: string | null } = await api(next);
      found.push(...page.results);
      next = page.next;
    }
    return found;
  };
  return { api, all };
}

/** Runs a line of shell, and answers what it printed. */
export async function shell(line: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("sh", { args: ["-c", line] }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`Cannot run "${line}": ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

/**
 * Takes away what is mounted at a path. A database that was just closed, or a command that is just
 * ending, may hold it for a moment.
 */
export async function unmount(path: string): Promise<void> {
  await shell(`for i in $(seq 100); do umount '${path}' && exit; sleep 0.1; done; exit 1`);
}
