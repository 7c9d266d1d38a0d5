/**
 * Checks of actions when a trigger is saved: a step, a pipeline, an input or a parameter that the
 * project does not have is told then, and not by the first failed run.
 *
 * @module
 */
import { ActionError, InvalidInputError, type Problem } from "../platform/errors.ts";
import type { Projects, ResolvedCommit } from "../projects/mod.ts";
import { missingOf } from "../projects/missing_secrets.ts";
import type { Execution } from "../store/records/executions.ts";
import type { Project } from "../store/records/projects.ts";
import type { Store } from "../store/store.ts";

/** The project and the parts of the service that a check uses. */
export interface CheckContext {
  project: Project;
  projects: Pick<Projects, "resolve" | "resolveKept">;
  /** Absent where there is no service: what its records say is not checked. */
  store?: Store;
  /** Aborts when the check has taken too long. */
  signal: AbortSignal;
}

/**
 * Checks settings against the project's code at a commit; returns no problems if it was never
 * fetched.
 */
export async function checkAtCommit(
  commit: string,
  { project, projects, signal }: CheckContext,
  check: (at: ResolvedCommit) => Promise<Problem[]> | Problem[],
): Promise<Problem[]> {
  let at: ResolvedCommit | undefined;
  try {
    at = await projects.resolveKept(project, commit, signal);
  } catch (error) {
    return problemOf("/commit", error);
  }
  return at === undefined ? [] : await check(at);
}

/** Returns the secrets of launches that their project does not have, in words. Without a service, a project may have any. */
export function missingSecretsOf(
  launches: readonly Pick<Execution, "secrets">[],
  { project, store }: Pick<CheckContext, "project" | "store">,
): string[] {
  if (store === undefined && project.secrets === undefined) return [];
  return [...new Set(launches.flatMap((launch) => missingOf(launch, project)))];
}

/**
 * Converts an error about the project or the settings to the problem of a field.
 *
 * @throws every other error
 */
export function problemOf(pointer: string, error: unknown): Problem[] {
  const isTold = error instanceof ActionError || error instanceof InvalidInputError;
  if (isTold) return [{ pointer, detail: error.message }];
  throw error;
}
