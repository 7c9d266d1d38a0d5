/**
 * Applying the text of a configuration file to the database of a service that is starting.
 *
 * @module
 */
import { listProjects, putProject } from "../store/records/projects.ts";
import type { Store } from "../store/store.ts";
import type { TriggerRegistry } from "../triggers/registry.ts";
import { triggerWarnings } from "../triggers/review.ts";
import type { Trigger } from "../triggers/trigger.ts";
import { type Applied, applyConfig, type ApplyTarget, type SavedTrigger } from "./apply.ts";
import { parseConfig } from "./document.ts";

/** The parts of a service that applying a file needs. */
export interface LocalService {
  store: Store;
  triggers: TriggerRegistry;
  /** Reads an environment variable, for secrets written as `{env:NAME}`. */
  env(name: string): string | undefined;
}

/**
 * Applies the text of a configuration file.
 *
 * @param path the file that the text comes from
 * @param folder the folder that relative paths start at; the folder of `path` when absent
 * @throws {InvalidInputError} with everything that is wrong with it
 */
export function applyText(
  written: string | Uint8Array,
  path: string,
  service: LocalService,
  folder?: string,
): AsyncGenerator<Applied> {
  return applyConfig(parseConfig(written, path, folder), targetOf(service));
}

/** The database as a target of {@linkcode applyConfig}. */
function targetOf({ store, triggers, env }: LocalService): ApplyTarget {
  const saved = (trigger: Trigger): SavedTrigger => ({
    ...trigger,
    warnings: triggerWarnings(trigger, env),
  });
  return {
    projects: () => listProjects(store),
    putProject: (project) => putProject(store, project),
    triggers: () => Array.fromAsync(triggers.all()),
    createTrigger: async (settings) => saved(await triggers.create(settings)),
    updateTrigger: async (id, settings) => saved(await triggers.update(id, () => settings)),
  };
}
