/**
 * The API of a running service as the target of a configuration file.
 *
 * @module
 */
import { type ApiClient, ApiError } from "./client.ts";
import { STATUS_CODE } from "@std/http/status";
import { ConflictError } from "../../platform/errors.ts";
import type { Project } from "../../store/records/projects.ts";
import type { Trigger } from "../../triggers/trigger.ts";
import type { ApplyTarget, SavedProject, SavedTrigger } from "../../config/apply.ts";

/** Makes a running service the target of {@linkcode applyConfig}. */
export function apiTarget(api: ApiClient): ApplyTarget {
  return {
    projects: () => api.list<Project>("projects/"),
    putProject: (project) => api.request<SavedProject>("PUT", `projects/${project.name}/`, project),
    triggers: () => api.list<Trigger>("triggers/"),
    createTrigger: (settings) =>
      api.request<SavedTrigger>("POST", "triggers/", settings).catch(throwConflict),
    updateTrigger: (id, settings) =>
      api.request<SavedTrigger>("PUT", `triggers/${id}/`, settings).catch(throwConflict),
  };
}

/** Throws an error again; a conflict as the error that it was in the service. */
function throwConflict(error: unknown): never {
  const isConflict = error instanceof ApiError && error.status === STATUS_CODE.Conflict;
  throw isConflict ? new ConflictError(error.message) : error;
}
