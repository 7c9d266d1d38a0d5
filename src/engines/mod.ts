/**
 * The engines. An engine is one folder here and one line in {@linkcode Engines}.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import { ActionError } from "../platform/errors.ts";
import type { Execution } from "../store/records/executions.ts";
import { hasProject } from "../store/records/projects.ts";
import type { Store } from "../store/store.ts";
import type { Engine, EngineLoad } from "./engine.ts";
import { LocalEngine } from "./local/mod.ts";

/** The parts of the service that engines use. */
export interface EnginesOptions {
  store: Store;
  /** The code of projects. */
  projects: {
    /** Writes the files of a commit into a new folder. */
    checkout(projectName: string, commit: string, destination: string): Promise<void>;
  };
  clock: Clock;
  /** The service's data folder. */
  dataFolder: string;
  /** Executions that run at once on this machine. Default: one a processor. */
  executionsMax?: number;
  /** Told of each change of an execution's record, after it is stored. */
  onChange?: (execution: Execution) => void;
}

/** All engines of a service. */
export class Engines {
  readonly #engines: ReadonlyMap<string, Engine>;

  constructor(options: EnginesOptions) {
    const projects = { checkout: checkoutOf(options) };
    this.#engines = new Map<string, Engine>([
      ["local", new LocalEngine({ ...options, projects })],
    ]);
  }

  /** The engine of a type, as a project names it. */
  of(type: string): Engine {
    const engine = this.#engines.get(type);
    if (engine === undefined) throw new RangeError(`Cannot find the engine "${type}"`);
    return engine;
  }

  /** Starts all of them. */
  async start(): Promise<void> {
    await Promise.all(this.#all((engine) => engine.start()));
  }

  /** The load of all engines together. */
  get load(): EngineLoad {
    return this.#all(({ load }) => load).reduce((sum, { running, waiting }) => ({
      running: sum.running + running,
      waiting: sum.waiting + waiting,
    }));
  }

  /** Removes everything that is kept of an ended execution but its record, wherever it ran. */
  async forget(executionId: string): Promise<void> {
    await Promise.all(this.#all((engine) => engine.forget(executionId)));
  }

  /** Closes all of them, each with the same deadline. */
  async close(deadline_ms: number): Promise<void> {
    await Promise.all(this.#all((engine) => engine.close(deadline_ms)));
  }

  #all<T>(work: (engine: Engine) => T): T[] {
    return Array.from(this.#engines.values(), work);
  }
}

/** A checkout that says so when it fails for a project that was deleted while its execution waited. */
function checkoutOf(
  { store, projects }: Pick<EnginesOptions, "store" | "projects">,
): EnginesOptions["projects"]["checkout"] {
  return async (projectName, ...args) => {
    try {
      await projects.checkout(projectName, ...args);
    } catch (error) {
      if (await hasProject(store, projectName)) throw error;
      throw new ActionError(`Project "${projectName}" was deleted while this waited`);
    }
  };
}
