/**
 * The files of a commit of a bare repository, in a folder.
 *
 * @module
 */
import { dirname } from "node:path";
import { ActionError } from "../../platform/errors.ts";
import { removeTree } from "../../platform/files/remove_tree.ts";
import { GitError, type GitOptions } from "./git.ts";
import type { TreeLimits } from "./tree.ts";

/** The length of a long line of `git ls-tree`. */
const LISTED_BYTES = 640;
/** The size of a file, behind its mode, type and id. A folder and a submodule have "-" there. */
const SIZE = /^\d+ \w+ \w+ +(\d+)\t/;
/** The exit code of `git update-index --refresh` where a file differs from the index. */
const NEEDS_UPDATE = 1;

/** Runs git in a repository. */
export type RunGit = (
  args: readonly string[],
  options: GitOptions & RunOptions,
) => Promise<Uint8Array>;

interface RunOptions {
  /** Called before each try. */
  prepare?: () => Promise<void>;
  /** True for a command that may fail in a repository that is not damaged. */
  once?: boolean;
}

/** A commit, and the folder that gets its files. */
interface CommitTree {
  commit: string;
  folder: string;
}

/**
 * Writes the files of a commit into a folder, in place of its contents.
 *
 * @throws {ActionError} when the commit is too large
 */
export async function extractCommit(
  run: RunGit,
  { commit, folder, ...limited }: CommitTree & { projectName: string; limits: TreeLimits },
): Promise<void> {
  const env = { GIT_INDEX_FILE: `${folder}.index` };
  await checkSize(run, commit, limited);
  const args = ["--work-tree", folder, "read-tree", "--reset", "-u", commit];
  try {
    const prepare = async () => {
      await removeTree(folder);
      await Deno.mkdir(folder, { mode: 0o700 });
    };
    await run(args, { env, cwd: folder, prepare });
  } finally {
    await Deno.remove(`${folder}.index`).catch(() => {});
  }
}

/** Returns false if a folder that {@linkcode extractCommit} wrote has lost or changed files. */
export async function isWholeCommit(
  run: RunGit,
  { commit, folder }: CommitTree,
): Promise<boolean> {
  const index = await Deno.makeTempFile({ dir: dirname(folder), prefix: "tmp-index-" });
  const env = { GIT_INDEX_FILE: index };
  try {
    // git takes an empty file for an index, and writes a new one in its place.
    await run(["read-tree", commit], { env });
    const refresh = ["--work-tree", folder, "update-index", "--refresh"];
    await run(refresh, { env, cwd: folder, once: true });
    return true;
  } catch (error) {
    if (error instanceof GitError && error.exitCode === NEEDS_UPDATE) return false;
    throw error;
  } finally {
    await Deno.remove(index).catch(() => {});
  }
}

/**
 * Refuses a commit that is too large: a few objects, each in many folders, can make more files than a
 * disk holds.
 */
async function checkSize(
  run: RunGit,
  commit: string,
  { projectName, limits: { filesMax, bytesMax } }: { projectName: string; limits: TreeLimits },
): Promise<void> {
  const refuse = (most: string): never => {
    throw new ActionError(
      `Cannot check out commit ${commit} of project "${projectName}": it holds more than ${most}`,
    );
  };
  const stdoutBytesMax = filesMax * LISTED_BYTES;
  const args = ["ls-tree", "-r", "-t", "-l", commit];
  const stdout = await run(args, { stdoutBytesMax }).catch((error) => {
    const isTooLong = error instanceof GitError && error.wasEnded;
    throw isTooLong ? refuse(`${filesMax} files, or too long paths`) : error;
  });
  const listed = new TextDecoder().decode(stdout).trimEnd().split("\n");
  if (listed.length > filesMax) refuse(`${filesMax} files`);
  const bytes = listed.reduce((sum, line) => sum + (Number(SIZE.exec(line)?.[1]) || 0), 0);
  if (bytes > bytesMax) refuse(`${bytesMax} bytes`);
}
