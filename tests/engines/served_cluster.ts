/**
 * A whole service whose project runs on a real cluster, as a process of its own that can be killed.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async/delay";
import { join } from "node:path";
import { hooklaunch, type Running } from "../commands/process.ts";
import { eventually, freePort } from "../surroundings.ts";

const TOKEN = "an-operators-token-for-tests";
/** Requests of a test, as a proxy of this machine sends them. */
const FORWARDED = { "x-forwarded-proto": "https" };
const ENDED = ["complete", "error", "stopped"];

/** The options of a service. */
export interface Served {
  /** The address of this machine as jobs see it. */
  host: string;
  engine: Record<string, unknown>;
  /** `valohai.yaml`. */
  steps: unknown[];
  /** The actions of triggers, by their names. */
  triggers: Readonly<Record<string, Record<string, unknown>>>;
  /** The environment of the process. */
  env?: Record<string, string>;
}

/** Files of a service, and its process. */
export class ServedCluster implements AsyncDisposable {
  readonly folder: string;
  readonly data: string;
  readonly #port = freePort();
  readonly #host: string;
  readonly #env: Record<string, string>;
  #process: Running | undefined;

  private constructor(
    folder: string,
    { host, env = {} }: Pick<Served, "host" | "env">,
  ) {
    this.folder = folder;
    this.data = join(folder, "data");
    this.#host = host;
    this.#env = env;
  }

  /** Writes its files, and starts it. */
  static async start(folder: string, served: Served): Promise<ServedCluster> {
    const { engine, steps, triggers } = served;
    await Deno.mkdir(join(folder, "p"));
    await Deno.writeTextFile(join(folder, "p", "valohai.yaml"), JSON.stringify(steps));
    const config = {
      projects: [{ name: "p", directory: "./p", engine }],
      triggers: Object.entries(triggers).map(([name, action], index) => ({
        id: idOf(index),
        name,
        project: "p",
        actions: [action],
        response: { type: "text", text: "{run_id}" },
      })),
    };
    await Deno.writeTextFile(join(folder, "hooklaunch.yaml"), JSON.stringify(config));
    const cluster = new ServedCluster(folder, served);
    await cluster.begin();
    return cluster;
  }

  /** Starts the process. */
  async begin(): Promise<void> {
    const flags = ["--data", this.data, "--config", join(this.folder, "hooklaunch.yaml")];
    const agent = ["--agent-url", `http://${this.#host}:${this.#port}`, "--agent-http"];
    const reached = ["--host", "0.0.0.0", "--port", String(this.#port)];
    const proxy = ["--trusted-proxy", "127.0.0.1", "--stop-timeout", "1"];
    this.#process = hooklaunch(["serve", ...flags, ...agent, ...reached, ...proxy], {
      HOOKLAUNCH_ADMIN_TOKEN: TOKEN,
      OTEL_DENO_TRACING: "false",
      ...this.#env,
    });
    await this.#process.expect(/Listening on/, 60_000);
  }

  /** Ends the process. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    this.#process?.child.kill(signal);
    await this.#process?.end();
    this.#process = undefined;
  }

  /** The output of the process. */
  get printed(): string {
    return this.#process?.printed() ?? "";
  }

  /** Launches a trigger by its place, and returns the id of the run. */
  async launch(
    trigger: number,
    body: BodyInit = "{}",
    headers: Record<string, string> = {},
  ): Promise<string> {
    const url = `http://127.0.0.1:${this.#port}/api/v0/launch/${idOf(trigger)}/`;
    const answer = await fetch(url, {
      method: "POST",
      headers: { ...FORWARDED, ...headers },
      body,
    });
    const text = await answer.text();
    assertEquals(answer.status, 200, text);
    return text;
  }

  /** Asks as an operator. */
  // The tests look into it by the API's contract.
  // deno-lint-ignore no-explicit-any
  async api(path: string): Promise<any> {
    const headers = { ...FORWARDED, authorization: `Bearer ${TOKEN}` };
    const answer = await fetch(`http://127.0.0.1:${this.#port}/api/v0/${path}`, { headers });
    return await answer.json();
  }

  /** Returns what a run has made: an execution or a pipeline. */
  created(runId: string): Promise<Record<string, string>> {
    return eventually(
      async () => {
        const [action] = (await this.api(`runs/${runId}`)).actions ?? [];
        return action?.created?.execution_id || action?.created?.pipeline_id
          ? action.created
          : undefined;
      },
      { within_ms: 60_000, what: "what the run has made" },
    );
  }

  /** Waits for the end of an execution or a pipeline. */
  async ended(path: string, within_ms = 180_000) {
    const until_ms = performance.now() + within_ms;
    for (;;) {
      const found = await this.api(path);
      if (ENDED.includes(found.status)) return found;
      assert(performance.now() < until_ms, `It did not end: ${JSON.stringify(found)}`);
      await delay(200);
    }
  }

  /** Returns what an execution printed. */
  async stdoutOf(executionId: string): Promise<string[]> {
    const { results } = await this.api(`executions/${executionId}/log?limit=1000`);
    return results.filter(({ stream }: { stream: string }) => stream === "stdout")
      .map(({ message }: { message: string }) => message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGTERM");
  }
}

function idOf(index: number): string {
  return `01900000-0000-7000-8000-${String(index + 1).padStart(12, "0")}`;
}
