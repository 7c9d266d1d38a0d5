/**
 * Checks of actions when a trigger is saved: what a project does not have of what the settings name
 * is said then, and not by the first run that fails.
 *
 * @module
 */
import { ActionError, InvalidInputError, type Problem } from "../platform/errors.ts";
import type { Projects, ResolvedCommit } from "../projects/mod.ts";
import type { Project } from "../store/records/projects.ts";
import type { Store } from "../store/store.ts";

/** What a check works with. */
export interface CheckContext {
  project: Project;
  projects: Pick<Projects, "resolve" | "resolveKept">;
  store: Store;
  /** Aborted when the check has taken too long. */
  signal: AbortSignal;
}

/**
 * Checks settings against the project's code at a commit; finds nothing if that was never fetched.
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

/**
 * Returns an error as the problem of a field.
 *
 * @throws errors that do not tell of what somebody wrote
 */
export function problemOf(pointer: string, error: unknown): Problem[] {
  const isTold = error instanceof ActionError || error instanceof InvalidInputError;
  if (isTold) return [{ pointer, detail: error.message }];
  throw error;
}
