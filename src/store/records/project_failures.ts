/**
 * The failures of projects: of the last fetch, and of the last look at the project configuration file.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../platform/clock.ts";
import { messageOf } from "../../platform/errors.ts";
import { keys } from "../keys.ts";
import { scan } from "../read/scan.ts";
import { type Store, storesAsLeader } from "../store.ts";
import { hasProject } from "./projects.ts";

/** The attempts whose failures are kept: a fetch of the repository, and reading the file at `HEAD`. */
type ProjectAttempt = "fetch" | "file";

/** An attempt that failed, and has not succeeded since. */
interface ProjectFailure {
  project: string;
  what: ProjectAttempt;
  /** The time of the first failure since it last succeeded, RFC 3339. */
  since: string;
  /** The reason of the latest failure. */
  detail: string;
}

const DETAIL_LENGTH_MAX = 1_000;

const log = getLogger(["hooklaunch", "projects"]);

/** Keeps the failures of projects. */
export class ProjectFailures {
  readonly #store: Store;
  readonly #clock: Clock;
  /** The stored failures, by attempt and project. Most attempts succeed, and write nothing. */
  #known: Map<string, ProjectFailure> | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Notes how an attempt ended. Those of machines beside the leader are in the logs of their steps. Returns at once. */
  note(project: string, what: ProjectAttempt, error?: Error): void {
    if (!storesAsLeader(this.#store)) return;
    if (error === undefined && this.#known?.has(nameOf({ project, what })) === false) return;
    this.#work = this.#work.then(() => this.#note(project, what, error)).catch((reason) =>
      log.warn("Cannot store how an attempt at project {project} ended: {error}", {
        project,
        error: messageOf(reason),
      })
    );
  }

  /** Lists the failures, by project. */
  async list(): Promise<ProjectFailure[]> {
    await this.settled();
    const found: ProjectFailure[] = [];
    for await (const { value } of scan(this.#store.kv, ["project_failure"])) {
      if (isFailure(value)) found.push(value);
    }
    return found;
  }

  /** Waits until all that was noted is stored. */
  async settled(): Promise<void> {
    await this.#work;
  }

  async #note(project: string, what: ProjectAttempt, error: Error | undefined): Promise<void> {
    const known = this.#known ??= await this.#read();
    const name = nameOf({ project, what });
    const before = known.get(name);
    const key = keys.projectFailure(project, what);
    if (error === undefined) {
      if (before === undefined) return;
      await this.#store.committer.write([{ key }]);
      known.delete(name);
      return;
    }
    const detail = error.message.slice(0, DETAIL_LENGTH_MAX);
    // An attempt may end after its project was deleted.
    if (before?.detail === detail || !await hasProject(this.#store, project)) return;
    const since = before?.since ?? new Date(this.#clock.now()).toISOString();
    const failure: ProjectFailure = { project, what, since, detail };
    await this.#store.committer.write([{ key, value: failure }]);
    known.set(name, failure);
  }

  async #read(): Promise<Map<string, ProjectFailure>> {
    const known = new Map<string, ProjectFailure>();
    for await (const { value } of scan(this.#store.kv, ["project_failure"])) {
      if (isFailure(value)) known.set(nameOf(value), value);
    }
    return known;
  }
}

function nameOf({ project, what }: Pick<ProjectFailure, "project" | "what">): string {
  return `${what} ${project}`;
}

/** Returns false for a damaged record. */
function isFailure(value: unknown): value is ProjectFailure {
  const { project, what, since, detail } = Object(value);
  return [project, what, since, detail].every((field) => typeof field === "string");
}
