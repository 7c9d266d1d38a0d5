/**
 * The code of projects where there is no disk.
 *
 * @module
 */
import { ActionError, type Problem } from "../../platform/errors.ts";
import type { Project } from "../../store/records/projects.ts";
import type { ProjectCode } from "../project_code.ts";
import type { CommitBranches, FetchResult, ProjectsOptions, ResolvedCommit } from "../projects.ts";

/** The code of all projects. */
export class HostedProjects implements ProjectCode {
  constructor(readonly options: ProjectsOptions) {}

  resolve({ name }: Project): Promise<ResolvedCommit> {
    return Promise.reject(new ActionError(`Cannot read the code of project "${name}" here`));
  }

  resolveKept(): Promise<ResolvedCommit | undefined> {
    return Promise.resolve(undefined);
  }

  check(): Promise<Problem[]> {
    return Promise.resolve([]);
  }

  fetch({ name }: Project): Promise<FetchResult> {
    return Promise.reject(new ActionError(`Cannot fetch the code of project "${name}" here`));
  }

  checkout(projectName: string): Promise<void> {
    return Promise.reject(new ActionError(`Cannot check out project "${projectName}" here`));
  }

  pruneTrees(): Promise<number> {
    return Promise.resolve(0);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  kept(): Promise<string[]> {
    return Promise.resolve([]);
  }

  forget(): Promise<() => Promise<void>> {
    return Promise.resolve(() => Promise.resolve());
  }

  branchesWith({ name }: Project): Promise<CommitBranches> {
    return Promise.reject(new ActionError(`Cannot find the branches of project "${name}" here`));
  }

  isKept(): Promise<boolean> {
    return Promise.resolve(false);
  }
}
