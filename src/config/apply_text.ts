/**
 * Applying the text of a configuration file to the database of a service that is starting.
 *
 * @module
 */
import { listProjects, putProject } from "../store/records/projects.ts";
import type { TriggerRegistry } from "../triggers/registry.ts";
import { triggerWarnings } from "../triggers/review.ts";
import {
  savedProjectWarnings,
  savedTriggerWarnings,
  type WarningParts,
} from "../triggers/save_warnings.ts";
import type { Trigger } from "../triggers/trigger.ts";
import { type Applied, applyConfig, type ApplyTarget, type SavedTrigger } from "./apply.ts";
import { parseConfig } from "./document.ts";

/** The parts of a service that applying a file needs. */
export interface LocalService extends WarningParts {
  triggers: TriggerRegistry;
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
function targetOf(service: LocalService): ApplyTarget {
  const { store, triggers } = service;
  const saved = async (trigger: Trigger): Promise<SavedTrigger> => ({
    ...trigger,
    warnings: await savedTriggerWarnings(trigger, service),
  });
  return {
    projects: () => listProjects(store),
    async putProject(project) {
      const stored = await putProject(store, project);
      return { ...stored, warnings: await savedProjectWarnings(stored, service) };
    },
    triggers: () => Array.fromAsync(triggers.all()),
    createTrigger: async (settings) => saved(await triggers.create(settings)),
    async updateTrigger(id, settings) {
      const before = await triggers.get(id);
      const after = await triggers.update(id, () => settings);
      if (after.revision !== before?.revision) return await saved(after);
      // A look into its project at each start would take the longer the more triggers there are.
      return { ...after, warnings: triggerWarnings(after, service.env) };
    },
  };
}
