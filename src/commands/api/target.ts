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
import type { PlanSource } from "../../config/plan.ts";
import type { StoredNotifier } from "../../store/records/notifiers.ts";
import type { ApplyTarget, SavedNotifier, SavedProject, SavedTrigger } from "../../config/apply.ts";

/**
 * Makes a running service the target of {@linkcode applyConfig}.
 *
 * @param file the name of the file, which owns what it holds
 */
export function apiTarget(api: ApiClient, file: string): ApplyTarget {
  const of = `?file=${encodeURIComponent(file)}`;
  return {
    projects: () => api.list<Project>("projects/"),
    putProject: (project) => api.request<SavedProject>("PUT", `projects/${project.name}/`, project),
    triggers: () => api.list<Trigger>("triggers/"),
    createTrigger: (settings) =>
      api.request<SavedTrigger>("POST", `triggers/${of}`, settings).catch(throwConflict),
    updateTrigger: (id, settings) =>
      api.request<SavedTrigger>("PUT", `triggers/${id}/${of}`, settings).catch(throwConflict),
    notifiers: () => api.list<StoredNotifier>("notifiers/"),
    putNotifier: (settings) =>
      api.request<SavedNotifier>("PUT", `notifiers/${settings.name}/`, settings),
  };
}

/** Makes a running service the source of {@linkcode planConfig}. */
export function apiPlanSource(api: ApiClient): PlanSource {
  return {
    projects: () => api.list<Project>("projects/"),
    triggers: () => api.list<Trigger>("triggers/"),
    previewProject: (project) => api.request("PUT", `projects/${project.name}/?dry_run`, project),
    preview: (id, settings) =>
      id === undefined
        ? api.request("POST", "triggers/?dry_run", settings)
        : api.request("PUT", `triggers/${id}/?dry_run`, settings),
    notifiers: () => api.list<StoredNotifier>("notifiers/"),
    previewNotifier: (settings) =>
      api.request("PUT", `notifiers/${settings.name}/?dry_run`, settings),
  };
}

/** Throws an error again; a conflict as the error that it was in the service. */
function throwConflict(error: unknown): never {
  const isConflict = error instanceof ApiError && error.status === STATUS_CODE.Conflict;
  throw isConflict ? new ConflictError(error.message) : error;
}
