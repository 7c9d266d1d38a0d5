/**
 * What an action is: a schema for its settings, and what it does when a run comes to it. A kind of
 * action is one file in this folder and one line in `mod.ts`.
 *
 * @module
 */
import type { z } from "zod";
import type { Clock } from "../platform/clock.ts";
import type { Problem } from "../platform/errors.ts";
import type { Engines } from "../engines/mod.ts";
import type { Pipelines } from "../pipelines/mod.ts";
import type { Projects } from "../projects/mod.ts";
import type { Project } from "../store/records/projects.ts";
import type { CheckContext } from "./check.ts";
import type { Unstored } from "../runs/worker.ts";
import type { ActionSettings, CreatedObject, Run } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";

/** What an action works with. */
export interface ActionContext {
  run: Run;
  /**
   * The action's place in its trigger, from 0. Ids of what it makes derive from the run and this.
   */
  place: number;
  /** Whether the action may have been begun before. */
  repeated: boolean;
  project: Project;
  projects: Pick<Projects, "resolve" | "fetch">;
  engines: Engines;
  pipelines: Pick<Pipelines, "begin">;
  store: Store;
  clock: Clock;
  /** Aborted when the action has taken too long, or the service stops. */
  signal: AbortSignal;
}

/** What an action has made. It is there once its writes are on disk, and begins then. */
export interface Made extends Unstored {
  /** As run info shows it beside the action's name. */
  created: CreatedObject;
}

/** A kind of action. */
export interface ActionKind<Settings extends ActionSettings = ActionSettings> {
  type: Settings["type"];
  /** Checks and completes the settings; unknown fields are errors. */
  schema: z.ZodType<Settings>;
  /**
   * Returns what the project does not have of what the settings name, as far as it is known without
   * fetching anything, with pointers into the settings.
   */
  check?(settings: Settings, context: CheckContext): Promise<Problem[]>;
  /**
   * Does the action. It may be called again for the same run after a crash, and must then find what
   * it made before: whatever it makes has an id that derives from the run and the action's place.
   *
   * @returns what it made, which who called it stores; undefined when it makes no object
   * @throws when it fails; the message goes to the trigger log
   */
  perform(settings: Settings, context: ActionContext): Promise<Made | undefined>;
}
