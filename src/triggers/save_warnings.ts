/**
 * Warnings about a trigger or a project that was just saved: what can be known then is not left to a failed run.
 *
 * @module
 */
import { checkActions } from "../actions/mod.ts";
import { prefixed, type Problem } from "../platform/errors.ts";
import type { ProjectCode } from "../projects/project_code.ts";
import { getProject, type Project } from "../store/records/projects.ts";
import type { Store } from "../store/store.ts";
import { triggerWarnings } from "./review.ts";
import type { Trigger } from "./trigger.ts";

/** The time that a look into a project may take. */
const PROJECT_CHECK_MS = 5_000;

/** The parts of a service that the warnings need. */
export interface WarningParts {
  store: Store;
  projects: ProjectCode;
  /** Reads an environment variable, for secrets written as `{env:NAME}`. */
  env(name: string): string | undefined;
}

/**
 * Finds what a trigger names and what is not there: steps, pipelines, inputs and parameters of its project's
 * current commit, and environment variables; and conditions that do not work as expected.
 */
export async function savedTriggerWarnings(
  trigger: Trigger,
  { store, projects, env }: WarningParts,
): Promise<Problem[]> {
  const project = await getProject(store, trigger.project);
  const actions = project === undefined
    ? []
    : await checkActions(trigger.actions, { project, projects, store });
  return [...triggerWarnings(trigger, env), ...prefixed("/actions", actions)];
}

/** Finds what a project names and what is not there: its folder, its configuration file, its variables. */
export function savedProjectWarnings(
  project: Project,
  { projects }: Pick<WarningParts, "projects">,
): Promise<Problem[]> {
  return projects.check(project, AbortSignal.timeout(PROJECT_CHECK_MS));
}
