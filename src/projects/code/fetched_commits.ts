/**
 * Commits that were fetched one by one, for engines on this machine: the code of projects without a mirror.
 *
 * @module
 */
import { ActionError, isShortage, messageOf } from "../../platform/errors.ts";
import { exists } from "../../platform/files/missing_file.ts";
import { redactUrls } from "../../platform/network/urls.ts";
import type { Network } from "../../platform/network/connection.ts";
import type { InTurn } from "../../platform/waiting/in_turn.ts";
import type { Project } from "../../store/records/projects.ts";
import { extractCommit, isWholeCommit, type RunGit } from "./commit_tree.ts";
import { answers, fetchCommit } from "./fetch.ts";
import { git, GitError } from "./git.ts";
import { openRemote, originOf, type Remote } from "./remote.ts";
import { removeFolder } from "./remove_folder.ts";
import { diskLimit_mb, TooLargeOnDiskError } from "./size_guard.ts";
import type { TreeLimits } from "./tree.ts";
import type { TreeSource } from "./tree_cache.ts";

/** The words of git for a commit that the remote does not have, or does not give out. */
const NOT_THERE = /not our ref|unadvertised object|couldn't find remote ref/;

/** Options of {@linkcode fetchedCommit}. */
interface FetchedCommitOptions {
  /** The folder of the bare repository with the commits. */
  folder: string;
  /** Fetches into the repository are made one after the other: git locks it. */
  turns: InTurn;
  env(name: string): string | undefined;
  network: Network;
  limits: TreeLimits;
  fetchTimeout_ms: number;
  /** Aborted when the service stops. */
  signal: AbortSignal;
}

/** Returns what fetches a commit of a project, and makes its tree. */
export function fetchedCommit(
  project: Project,
  commit: string,
  options: FetchedCommitOptions,
): TreeSource {
  const { folder: repository, turns, limits } = options;
  const { name: projectName } = project;
  const run: RunGit = async (args, { prepare, once: _once, ...gitOptions }) => {
    await prepare?.();
    return await git([`--git-dir=${repository}`, ...args], gitOptions);
  };
  return {
    make: (folder) =>
      turns.run(repository, async () => {
        const work = async () => {
          await fetch(project, commit, options);
          await extractCommit(run, { commit, folder, projectName, limits });
        };
        await work().catch(async (error) => {
          if (!(error instanceof GitError) || error.wasEnded) throw error;
          // A fetch does not find all damage.
          await removeFolder(repository);
          await work();
        });
      }),
    async isWhole(folder) {
      return await isWholeCommit(run, { commit, folder }).catch((error) => {
        // Without the commit nothing can be compared: it is fetched again.
        if (error instanceof GitError) return false;
        throw error;
      });
    },
  };
}

async function fetch(
  project: Project,
  commit: string,
  { folder, env, network, fetchTimeout_ms, signal }: FetchedCommitOptions,
): Promise<void> {
  const late = AbortSignal.timeout(fetchTimeout_ms);
  let remote: Remote | undefined;
  try {
    remote = await openRemote(originOf(project), { env, knownHostsFile: "" });
    await fetchAnew(folder, commit, remote, {
      signal: AbortSignal.any([late, signal]),
      limit_mb: diskLimit_mb(project.engine),
      network,
    });
  } catch (error) {
    const redact = remote?.redact ?? redactUrls;
    const detail = late.aborted
      ? `given up after ${fetchTimeout_ms / 1_000} s`
      : error instanceof Deno.errors.NotFound
      ? "this machine has no git: install it, or choose an engine whose jobs fetch their code"
      : redact(messageOf(error));
    throw new ActionError(
      `Cannot fetch commit ${commit} of project "${project.name}": ${detail}`,
      isShortage(error) ? { cause: error } : {},
    );
  }
}

/** Fetches a commit. Where earlier commits, or a git that was killed, are in the way, the repository is made again. */
async function fetchAnew(...fetched: Parameters<typeof fetchCommit>): Promise<void> {
  const [folder, , remote, { signal }] = fetched;
  const wasThere = await exists(folder);
  try {
    await fetchCommit(...fetched);
  } catch (error) {
    const mayBeDamage = error instanceof GitError && !error.wasEnded &&
      !NOT_THERE.test(error.message);
    const isInTheWay = error instanceof TooLargeOnDiskError ||
      (mayBeDamage && await answers(remote, signal));
    if (!wasThere || !isInTheWay) throw error;
    await removeFolder(folder);
    await fetchCommit(...fetched);
  }
}
