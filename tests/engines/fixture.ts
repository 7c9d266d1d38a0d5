/**
 * A local engine on a data folder of its own, for tests: real processes, a real database.
 *
 * @module
 */
import { join } from "node:path";
import { systemClock } from "../../src/clock.ts";
import { LocalEngine, type LocalEngineOptions } from "../../src/engines/local/mod.ts";
import { derivedId, newId } from "../../src/ids.ts";
import {
  type Execution,
  getExecution,
  hasEnded,
  saveExecution,
} from "../../src/store/executions.ts";
import { openStore, type Store } from "../../src/store/store.ts";

const POLL_MS = 5;
const PATIENCE_MS = 15_000;

/** Settings with which tests do not wait for long. */
export const QUICK = { poll_ms: 20, grace_ms: 400 };

/** Waits until something holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end_ms = performance.now() + PATIENCE_MS;
  while (!await holds()) {
    if (performance.now() > end_ms) throw new Error(`Not so within ${PATIENCE_MS} ms: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** The text of a file; empty while there is none. */
export function textOf(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

/** Whether a process lives. */
export async function lives(pid: number): Promise<boolean> {
  const args = ["-c", `kill -0 ${pid} && ! grep -q ') Z ' /proc/${pid}/stat`];
  return (await new Deno.Command("sh", { args, stderr: "null" }).output()).success;
}

/** A service's engine and database, which can be stopped and started again. */
export class EngineFixture implements AsyncDisposable {
  readonly folder: string;
  readonly #options: Partial<LocalEngineOptions>;
  #store: Store | undefined;
  #engine: LocalEngine | undefined;
  /** Each state of each record that was stored. */
  readonly states: string[] = [];

  private constructor(folder: string, options: Partial<LocalEngineOptions>) {
    this.folder = folder;
    this.#options = options;
  }

  /** Makes a data folder, and starts. */
  static async make(
    options: Partial<LocalEngineOptions> = {},
    folder?: string,
  ): Promise<EngineFixture> {
    const fixture = new EngineFixture(folder ?? await Deno.makeTempDir(), options);
    await fixture.open();
    await fixture.engine.start();
    return fixture;
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error("The store is closed");
    return this.#store;
  }

  get engine(): LocalEngine {
    if (this.#engine === undefined) throw new Error("The engine is closed");
    return this.#engine;
  }

  /** Opens database and engine, without starting the latter. */
  async open(options: Partial<LocalEngineOptions> = {}): Promise<void> {
    this.#store = await openStore(join(this.folder, "data"));
    this.#engine = new LocalEngine({
      store: this.#store,
      projects: { checkout: (_project, _commit, destination) => Deno.mkdir(destination) },
      clock: systemClock,
      dataFolder: join(this.folder, "data"),
      settings: QUICK,
      onChange: ({ id, status }) => this.states.push(`${id} ${status}`),
      ...this.#options,
      ...options,
    });
  }

  /** Leaves everything as it is, as a service that ends at once does. */
  async close(): Promise<void> {
    await this.#engine?.close(0);
    await this.#store?.close();
    this.#engine = this.#store = undefined;
  }

  /** Ends the service and starts it again. */
  async restart(options: Partial<LocalEngineOptions> = {}): Promise<void> {
    await this.close();
    await this.open(options);
    await this.engine.start();
  }

  /** An execution of a command, that is not stored yet. */
  execution(command: string, fields: Partial<Execution> = {}): Execution {
    const run_id = newId(Date.now());
    return {
      id: derivedId(run_id, 0, "execution"),
      run_id,
      trigger_id: newId(Date.now()),
      project: "digits",
      engine: { type: "local" },
      commit: "0".repeat(40),
      step: "train",
      title: "train",
      image: "busybox",
      command,
      inputs: {},
      parameters: {},
      environment_variables: {},
      status: "queued",
      created_at: new Date().toISOString(),
      metadata: {},
      outputs: [],
      ...fields,
    };
  }

  /** Stores an execution and hands it over. Answers its id. */
  async submit(command: string, fields: Partial<Execution> = {}): Promise<string> {
    const execution = this.execution(command, fields);
    await this.store.committer.commit(saveExecution(execution));
    this.engine.submit(execution);
    return execution.id;
  }

  /** The stored record. */
  async record(id: string): Promise<Execution> {
    const execution = await getExecution(this.store, id);
    if (execution === undefined) throw new Error(`There is no execution ${id}`);
    return execution;
  }

  /** Waits for the end of an execution. */
  async ended(id: string): Promise<Execution> {
    await until(async () => hasEnded((await this.record(id)).status));
    return await this.record(id);
  }

  /** Runs a command to its end. */
  async run(command: string, fields: Partial<Execution> = {}): Promise<Execution> {
    return await this.ended(await this.submit(command, fields));
  }

  /** What an execution has printed, or Hooklaunch has to say of it. */
  async printed(id: string, stream: string): Promise<string[]> {
    const { lines } = await this.engine.log(id);
    return lines.filter((line) => line.stream === stream).map(({ message }) => message);
  }

  /** A path in an execution's work folder. */
  path(id: string, ...parts: string[]): string {
    return join(this.folder, "data", "executions", id, ...parts);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // What was let go and runs on is a child of this process all the same.
    await this.#engine?.close(PATIENCE_MS);
    await this.close();
    await Deno.remove(this.folder, { recursive: true });
  }
}
