/**
 * Applying a configuration file to a running service, through its API.
 *
 * @module
 */
import type { ApiClient } from "./api_client.ts";
import type { Project } from "../store/projects.ts";
import type { Trigger } from "../trigger/trigger.ts";
import type { ApplyTarget, SavedTrigger } from "../config/apply.ts";

/** A running service as a target of {@linkcode applyConfig}. */
export function apiTarget(api: ApiClient): ApplyTarget {
  return {
    projects: () => api.list<Project>("projects/"),
    async putProject(project) {
      await api.request("PUT", `projects/${project.name}/`, project);
    },
    triggers: () => api.list<Trigger>("triggers/"),
    createTrigger: (settings) => api.request<SavedTrigger>("POST", "triggers/", settings),
    updateTrigger: (id, settings) => api.request<SavedTrigger>("PUT", `triggers/${id}/`, settings),
  };
}
