/**
 * An engine, with a database and a data folder of its own, as a service has them: it can be stopped and
 * started again. Knows nothing of what kind of engine it is.
 *
 * @module
 */
import { join } from "node:path";
import { backUp } from "../../src/backup/backup.ts";
import { restore, type RestoreReport } from "../../src/backup/restore.ts";
import { Retries } from "../../src/engines/retries.ts";
import type { Engine, SecretsOfSteps } from "../../src/engines/engine.ts";
import { StepSecrets } from "../../src/project_secrets/step_secrets.ts";
import { derivedId, newId } from "../../src/platform/ids.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { firstAttempt } from "../../src/store/records/attempts.ts";
import type { Retry } from "../../src/store/records/execution_record.ts";
import {
  type Execution,
  getExecution,
  hasEnded,
  saveExecution,
} from "../../src/store/records/executions.ts";
import { openStore } from "../../src/store/open_store.ts";
import type { Store } from "../../src/store/store.ts";
import { executionOf } from "../store/execution.ts";
import { secretBox } from "../../src/triggers/secrets.ts";
import { eventually, PATIENCE_MS } from "../surroundings.ts";

/** The options of backups and restores. */
const BACKUP = { withoutKey: false, signal: new AbortController().signal, onProgress() {} };

/** The key of secrets, and an empty environment. */
export const SECRET_PARTS = { box: secretBox([new Uint8Array(32)]), env: () => undefined };

/** Waits until something holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const look = async () => await holds() || undefined;
  await eventually(look, { what: String(holds) });
}

/** What an engine is made with. */
export interface EngineParts {
  store: Store;
  /** The service's data folder. */
  dataFolder: string;
  secrets?: SecretsOfSteps;
  onChange(execution: Execution): void;
}

/** A service's engine and database. */
export abstract class EngineService<E extends Engine> implements AsyncDisposable {
  readonly folder: string;
  /** Each state of each record that was stored. */
  readonly states: string[] = [];
  #store: Store | undefined;
  #engine: E | undefined;
  #retries: Retries | undefined;

  /** @param folder a folder of its own */
  constructor(folder: string) {
    this.folder = folder;
  }

  /** Makes the engine. */
  protected abstract makeEngine(parts: EngineParts): E;

  /** What executions are made with unless a test says otherwise. */
  protected get fields(): Partial<Execution> {
    return {};
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error("The store is closed");
    return this.#store;
  }

  get engine(): E {
    if (this.#engine === undefined) throw new Error("The engine is closed");
    return this.#engine;
  }

  get #data(): string {
    return join(this.folder, "data");
  }

  get #backup(): string {
    return join(this.folder, "backup");
  }

  /** Opens database and engine, without starting the latter. */
  async open(): Promise<void> {
    const dataFolder = this.#data;
    this.#store = await openStore(dataFolder);
    const secrets = new StepSecrets({
      ...SECRET_PARTS,
      store: this.#store,
      projects: { branchesWith: () => Promise.resolve({ branches: [], isOnDefault: false }) },
    });
    this.#engine = this.makeEngine({
      secrets,
      store: this.#store,
      dataFolder,
      onChange: (execution) => {
        this.#retries?.changed(execution);
        this.states.push(`${execution.id} ${execution.status}`);
      },
    });
    this.#retries = new Retries({
      store: this.#store,
      clock: systemClock,
      submit: (attempt) => this.engine.submit(attempt),
      onChange: ({ id, status }) => this.states.push(`${id} ${status}`),
    });
  }

  /** Leaves everything as it is, as a service that ends at once does. */
  async close(deadline_ms = 0): Promise<void> {
    await this.#retries?.close();
    await this.#engine?.close(deadline_ms);
    await this.#store?.close();
    this.#retries = this.#engine = this.#store = undefined;
  }

  /** Opens both, and starts the engine. */
  async begin(): Promise<void> {
    await this.open();
    await this.engine.start();
    await this.#retries?.start();
  }

  /** Ends the service and starts it again. */
  async restart(): Promise<void> {
    await this.close();
    await this.begin();
  }

  /** Backs the data folder up, while the service works with it. */
  async backUp(): Promise<void> {
    await backUp({ data: this.#data, target: this.#backup, force: true, ...BACKUP });
  }

  /** Loses the data folder, and starts the service with what the backup has. */
  async goOnFromBackup(): Promise<RestoreReport> {
    await this.close();
    await Deno.remove(this.#data, { recursive: true });
    const source = (await Deno.open(this.#backup)).readable;
    const report = await restore({ data: this.#data, source, force: false, ...BACKUP });
    await this.begin();
    return report;
  }

  /** An execution of a command, that is not stored yet. */
  execution(command: string, fields: Partial<Execution> = {}): Execution {
    const run_id = newId(Date.now());
    return executionOf({
      id: derivedId(run_id, 0, "execution"),
      run_id,
      created_at: new Date().toISOString(),
      command,
      ...this.fields,
      ...fields,
    });
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

  /** Stores an execution that is tried again, and hands its first attempt over. Answers its id. */
  async submitWithRetry(command: string, retry: Retry): Promise<string> {
    const execution = this.execution(command, { retry });
    const attempt = firstAttempt(execution);
    await this.store.committer.commit(saveExecution(attempt));
    this.engine.submit(attempt);
    return execution.id;
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

  async [Symbol.asyncDispose](): Promise<void> {
    // What was let go and runs on is a child of this process all the same.
    await this.close(PATIENCE_MS);
    await Deno.remove(this.folder, { recursive: true });
  }
}
