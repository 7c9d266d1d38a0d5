/**
 * The interface of what brings a project's code. A mirror, a plain folder, the API of a host and a remote without a
 * mirror implement it.
 *
 * @module
 */
import type { Problem } from "../../platform/errors.ts";
import type { Project } from "../../store/records/projects.ts";

/** The branches that a commit is on. */
export interface CommitBranches {
  branches: readonly string[];
  /** True when it is on the default branch, the remote's `HEAD`. */
  isOnDefault: boolean;
}

/** A source of code. Its errors contain no credentials. */
export interface CodeSource {
  /**
   * Fetches everything that arrived before this call.
   *
   * @returns the branches, unless they have to be asked for
   * @throws {ActionError} when it cannot
   */
  fetch(project: Project): Promise<Record<string, string> | undefined>;
  /** Returns the full hash of each branch; empty for code without branches. */
  branches(project: Project): Promise<Record<string, string>>;
  /**
   * Resolves a branch, a tag, a full or abbreviated hash, or `HEAD` to a commit.
   *
   * @throws {ActionError} when there is none
   */
  resolve(project: Project, reference: string): Promise<string>;
  /** Returns false for code that was never fetched. */
  isKept(project: Project): Promise<boolean>;
  /**
   * Reads a file of a commit; returns undefined if there is none.
   *
   * @throws {ActionError} when it is larger than `bytesMax`, or cannot be read
   */
  read(
    project: Project,
    commit: string,
    path: string,
    bytesMax: number,
  ): Promise<Uint8Array | undefined>;
  /**
   * Finds the branches that a commit is on.
   *
   * @param wanted returns true for a branch whose commits matter; others may be left out
   */
  branchesWith(
    project: Project,
    commit: string,
    wanted: (branch: string) => boolean,
  ): Promise<CommitBranches>;
  /** Returns what is missing to reach the code, with pointers into the project. It asks no server. */
  problems(project: Project): Promise<Problem[]>;
  /**
   * Ends what is under way for a project.
   *
   * @returns forgets what is known of it, at once
   */
  forget(projectName: string): Promise<() => void>;
  /** Ends what is under way. */
  close(): Promise<void>;
}
