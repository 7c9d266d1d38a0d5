/**
 * Starting and stopping what is measured.
 *
 * @module
 */
import { CONFIG_FLAGS, freePort } from "../surroundings.ts";
import config from "../../deno.json" with { type: "json" };
import type { Bench, Stock } from "./bench.ts";
import { pause } from "./measuring.ts";
import { OPERATORS_TOKEN, SECRET, triggerId } from "./requests.ts";

/** What is measured, or held against it: a form of the service, or a floor of answering. */
export type ServerMode = "service" | "without_storing" | "real_engine" | "refusing" | "reading";

const SCRIPTS: Readonly<Record<ServerMode, string>> = {
  service: "server.ts",
  without_storing: "server.ts",
  real_engine: "server.ts",
  refusing: "floor_http.ts",
  reading: "floor_http.ts",
};

/** A server that runs. At the end of its scope it is stopped. */
export interface Server extends AsyncDisposable {
  readonly port: number;
  /** What it has printed. */
  printed(): string;
  /** Writes a line to its standard input. */
  tell(line: string): Promise<void>;
  /** Stops it, and waits for its end. */
  stop(): Promise<void>;
}

const ROOT = new URL("../../", import.meta.url).pathname;
const STOP_WITHIN_MS = 20_000;
const START_WITHIN_MS = 60_000;
const POLL_MS = 2;

/** Starts a server on a data folder. */
export function startServer(bench: Bench, mode: ServerMode, data: string): Promise<Server> {
  return startScript(bench, SCRIPTS[mode], [mode, data]);
}

/** Starts the service on a data folder, with an address at which jobs reach it. */
export function startServerForJobs(bench: Bench, data: string): Promise<Server> {
  return startScript(bench, SCRIPTS.real_engine, ["real_engine", data, String(freePort())]);
}

/** Starts a server on a data folder of its own. */
export async function serverOn(bench: Bench, mode: ServerMode, stock: Stock): Promise<Server> {
  const data = await bench.data(stock);
  const server = await startServer(bench, mode, data.path);
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await data[Symbol.asyncDispose]();
    },
  };
}

/** Measures something on a server of its own, which has a data folder of its own. */
export async function measuredOn<T>(
  [bench, mode, stock]: Parameters<typeof serverOn>,
  measure: (server: Server) => Promise<T>,
): Promise<T> {
  await using server = await serverOn(bench, mode, stock);
  return await measure(server);
}

/** The command `serve`, as a process. */
export interface ServeProcess extends Server {
  readonly pid: number;
  readonly ended: Promise<unknown>;
}

/** A checkout to start the service from, other than this one. */
export interface Checkout {
  root: string;
  config: TaskConfig;
}

/** The part of a checkout's `deno.json` that starts the service. */
export interface TaskConfig {
  tasks: { start: { command: string } };
}

/** Starts the command `serve` on a data folder, as `deno task start` does. It may not listen yet. */
export function spawnServe(
  bench: Bench,
  data: string,
  { root, config: { tasks } }: Checkout = { root: ROOT, config },
  more: readonly string[] = [],
): ServeProcess {
  const port = freePort();
  const start = startCommand({ tasks });
  const isVariable = (word: string) => /^[A-Z_]+=/.test(word);
  const [command = "deno", ...args] = start.filter((word) => !isVariable(word));
  const variables = start.filter(isVariable).map((word) => word.split("=", 2));
  // The hourly cleanup, should it come just now, is to find nothing.
  const kept = ["--retention-days", "3650"];
  const flags = ["--dev", "--port", String(port), "--data", data, "--log-level", "error", ...kept];
  const child = bench.spawn(command === "deno" ? Deno.execPath() : command, {
    args: [...args, ...flags, ...more],
    cwd: root,
    env: { ...Object.fromEntries(variables), HOOKLAUNCH_ADMIN_TOKEN: OPERATORS_TOKEN },
    stdin: "null",
    stdout: "null",
  });
  return {
    ...serverOf(child, port, () => child.kill("SIGTERM")),
    pid: child.pid,
    ended: child.status,
  };
}

/** Returns the command of the task `start`, without the check of the version before it. */
function startCommand({ tasks }: TaskConfig): string[] {
  return tasks.start.command.split(" && ").at(-1)?.split(" ") ?? [];
}

/** Starts adnanh/webhook with so many hooks, which want the same signature as the triggers. */
export async function startWebhook(
  bench: Bench,
  hooks: number,
): Promise<Server & { pid: number }> {
  const file = await Deno.makeTempFile({ dir: bench.folder, suffix: ".json" });
  const parameter = { source: "header", name: "X-Signature" };
  const match = { type: "payload-hmac-sha256", secret: SECRET, parameter };
  const hook = {
    "execute-command": "/bin/true",
    "trigger-rule": { match },
    "trigger-rule-mismatch-http-response-code": 400,
  };
  const all = Array.from({ length: hooks }, (_, index) => ({ id: triggerId(index), ...hook }));
  await Deno.writeTextFile(file, JSON.stringify(all));
  const port = freePort();
  const address = ["-ip", "127.0.0.1", "-port", String(port), "-urlprefix", "api/v0/launch"];
  const child = bench.spawn("webhook", {
    args: ["-hooks", file, ...address],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  });
  await listening(port);
  return { ...serverOf(child, port, () => child.kill("SIGTERM")), pid: child.pid };
}

/** What a service's metrics say: the sum over all labels, or over those that contain a text. */
export async function metric(port: number, name: string, label = ""): Promise<number> {
  const [found = NaN] = await metrics(port, [[name, label]]);
  return found;
}

/** Several metrics of one moment. */
export async function metrics(
  port: number,
  wanted: readonly (readonly [name: string, label: string])[],
): Promise<number[]> {
  const headers = { authorization: `Bearer ${OPERATORS_TOKEN}` };
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers });
  const lines = (await answer.text()).split("\n");
  return wanted.map(([name, label]) =>
    lines.filter((line) => /[ {]/.test(line[name.length] ?? ""))
      .filter((line) => line.startsWith(name) && line.includes(label))
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0)
  );
}

/** Waits until a service has nothing more to do; false when that takes too long. */
export async function settled(port: number, within_ms: number): Promise<boolean> {
  const end_ms = performance.now() + within_ms;
  const names = ["hooklaunch_backlog", "hooklaunch_executions_running"];
  const wanted = [...names, "hooklaunch_executions_waiting"].map((name) => [name, ""] as const);
  while (performance.now() < end_ms) {
    if ((await metrics(port, wanted)).every((count) => count === 0)) return true;
    await pause(100);
  }
  return false;
}

async function startScript(bench: Bench, name: string, args: string[]): Promise<Server> {
  const child = bench.spawn(Deno.execPath(), {
    args: [
      "run",
      ...CONFIG_FLAGS,
      "--allow-all",
      new URL(name, import.meta.url).href,
      ...args,
    ],
    stdin: "piped",
    stdout: "piped",
  });
  let printed = "";
  const { promise: ready, resolve, reject } = Promise.withResolvers<number>();
  const read = async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      printed += text;
      const port = /^ready (\d+)\n/.exec(printed)?.[1];
      if (port !== undefined) resolve(Number(port));
    }
    reject(new Error(`${name} ${args[0]} ended before it was ready`));
  };
  const reading = read();
  const port = await ready;
  const writer = child.stdin.getWriter();
  const server = serverOf(child, port, () => writer.close());
  return {
    ...server,
    printed: () => printed,
    tell: (line) => writer.write(new TextEncoder().encode(`${line}\n`)),
    async [Symbol.asyncDispose]() {
      await server.stop();
      await reading;
    },
  };
}

function serverOf(
  child: Deno.ChildProcess,
  port: number,
  askToStop: () => void | Promise<void>,
): Server {
  let stopping: Promise<void> | undefined;
  const stopOnce = async () => {
    await askToStop();
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_MS);
    await child.status;
    clearTimeout(timer);
  };
  const stop = () => stopping ??= stopOnce();
  return {
    port,
    printed: () => "",
    tell: () => Promise.reject(new Error("It does not read its standard input")),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function listening(port: number): Promise<void> {
  const end_ms = performance.now() + START_WITHIN_MS;
  for (;;) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (error) {
      if (performance.now() > end_ms) throw error;
    }
    await pause(POLL_MS);
  }
}
