/**
 * Projects without code: their configuration is all that they have, and their steps find the rest in their images.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { ActionError } from "../../platform/errors.ts";
import type { Project } from "../../store/records/projects.ts";
import type { CodeSource } from "./source.ts";

/** Returns the commit of a project without code: `=` and a hash of its configuration. */
export function commitOfConfig({ config = "" }: Pick<Project, "config">): string {
  return `=${createHash("sha256").update(config).digest("hex")}`;
}

/** Returns true for the commit of a project without code. */
export function isCommitOfConfig(commit: string): boolean {
  return commit.startsWith("=");
}

/** The source of projects without code. */
export const NO_SOURCE: CodeSource = {
  fetch: () => Promise.resolve({}),
  branches: () => Promise.resolve({}),
  resolve(project, reference) {
    const commit = commitOfConfig(project);
    if (reference === "HEAD" || reference === commit) return Promise.resolve(commit);
    throw new ActionError(
      `Cannot find the commit ${JSON.stringify(reference)} of project "${project.name}": ` +
        'it has no repository, expected "HEAD" or none',
    );
  },
  isKept: () => Promise.resolve(true),
  read: () => Promise.resolve(undefined),
  branchesWith: () => Promise.resolve({ branches: [], isOnDefault: false }),
  problems: () => Promise.resolve([]),
  forget: () => Promise.resolve(() => {}),
  close: () => Promise.resolve(),
};
