/**
 * Warnings about a trigger or a project that was just saved: what can be known then is not left to a failed run.
 *
 * @module
 */
import { checkActions } from "../actions/mod.ts";
import { prefixed, type Problem } from "../platform/errors.ts";
import { pointer } from "../platform/schema/pointer.ts";
import { missingSecrets } from "../projects/missing_secrets.ts";
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
  /** Finds the secrets of a project that steps would not get. */
  projectSecrets: { warnings(project: Project): Problem[] };
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

/**
 * Finds what a project names and what is not there: its folder, its configuration file, its variables, and the secrets
 * of its steps.
 */
export async function savedProjectWarnings(
  project: Project,
  { projects, projectSecrets }: Pick<WarningParts, "projects" | "projectSecrets">,
): Promise<Problem[]> {
  const signal = AbortSignal.timeout(PROJECT_CHECK_MS);
  const problems = await projects.check(project, signal);
  const ofSecrets = projectSecrets.warnings(project);
  if (problems.length > 0) return [...problems, ...ofSecrets];
  const kept = await projects.resolveKept(project, "HEAD", signal).catch(() => undefined);
  return [...ofSecrets, ...kept ? missingSecrets(project, kept.config) : []];
}

/** Returns the warnings about one secret of a project that was just saved. */
export function savedSecretWarnings(
  project: Project,
  index: number,
  { projectSecrets }: Pick<WarningParts, "projectSecrets">,
): Problem[] {
  const at = pointer("secrets", index, "value");
  return projectSecrets.warnings(project).filter(({ pointer }) => pointer === at)
    .map(({ detail }) => ({ pointer: "/value", detail }));
}
