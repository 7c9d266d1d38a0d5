/**
 * Applying a configuration file to a database that this process has open.
 *
 * @module
 */
import { listProjects, putProject } from "../store/projects.ts";
import type { Store } from "../store/store.ts";
import type { TriggerRegistry } from "../trigger/registry.ts";
import type { Trigger } from "../trigger/trigger.ts";
import type { ApplyTarget } from "./apply.ts";

const PAGE_SIZE = 500;

/** The database as a target of {@linkcode applyConfig}. */
export function localTarget(store: Store, registry: TriggerRegistry): ApplyTarget {
  return {
    projects: () => listProjects(store),
    putProject: (project) => putProject(store, project),
    async triggers() {
      const all: Trigger[] = [];
      let after: string | undefined;
      do {
        const page = await registry.list({ limit: PAGE_SIZE, ...(after ? { after } : {}) });
        all.push(...page.triggers);
        after = page.next;
      } while (after !== undefined);
      return all;
    },
    createTrigger: (settings) => registry.create(settings),
    updateTrigger: (id, settings) => registry.update(id, () => settings),
  };
}
