/**
 * Applying a configuration file to a database that this process has open.
 *
 * @module
 */
import { listProjects, putProject } from "../store/projects.ts";
import type { Store } from "../store/store.ts";
import type { TriggerRegistry } from "../trigger/registry.ts";
import { triggerWarnings } from "../trigger/review.ts";
import type { Trigger } from "../trigger/trigger.ts";
import type { ApplyTarget, ShownTrigger } from "./apply.ts";

/** The parts of a service that a file is applied to. */
export interface LocalService {
  store: Store;
  triggers: TriggerRegistry;
  /** Reads an environment variable, for secrets written as `{env:NAME}`. */
  env(name: string): string | undefined;
}

/** The database as a target of {@linkcode applyConfig}. */
export function localTarget({ store, triggers, env }: LocalService): ApplyTarget {
  const show = (trigger: Trigger): ShownTrigger => ({
    ...trigger,
    warnings: triggerWarnings(trigger, (name) => env(name)),
  });
  return {
    projects: () => listProjects(store),
    putProject: (project) => putProject(store, project),
    triggers: () => Array.fromAsync(triggers.all()),
    createTrigger: async (settings) => show(await triggers.create(settings)),
    updateTrigger: async (id, settings) => show(await triggers.update(id, () => settings)),
  };
}
