/**
 * Fetching: brings a bare repository's branches and tags up to those of a remote.
 *
 * A fetch drops no object, so that a commit which an execution waits with can be had however the
 * branches have changed meanwhile.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { messageOf } from "../../platform/errors.ts";
import { replaceFile, syncFile, syncFolder, syncFolders } from "../../platform/files/durable.ts";
import { ignoreMissing } from "../../platform/files/missing_file.ts";
import { git, GitError } from "./git.ts";
import { guardSize } from "./size_guard.ts";
import type { Remote } from "./remote.ts";

/** Where the remote's `HEAD` is kept. */
export const REMOTE_HEAD = "refs/hooklaunch/HEAD";
const REFSPECS = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
const ADDRESS_FILE = "hooklaunch-address";
/** How many packs a repository may have before they are combined. */
const PACKS_MAX = 50;

/** How long a fetch goes on, and how much it may take. */
export interface FetchLimits {
  signal: AbortSignal;
  /** MiB that the repository may take on disk. */
  limit_mb: number;
}

/**
 * Makes a repository of a remote, in place of the one that may be there.
 *
 * @throws {TooLargeOnDiskError} when it takes more than it may, and leaves nothing of it
 */
export async function cloneMirror(
  folder: string,
  remote: Remote,
  limits: FetchLimits,
): Promise<void> {
  await Deno.mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  const fresh = await Deno.makeTempDir({ dir: dirname(folder), prefix: "tmp-mirror-" });
  const old = `${fresh}.old`;
  const fetchInto = async (signal: AbortSignal, ...formatOption: string[]) => {
    await git(["init", "--quiet", "--bare", "--template=", ...formatOption, fresh], { signal });
    await replaceFile(join(fresh, ADDRESS_FILE), remote.url, 0o600);
    await fetchRefs(fresh, remote, signal);
    // git leaves these to the operating system.
    for (const name of ["HEAD", "config"]) await syncFile(join(fresh, name));
    await syncFolders(fresh);
  };
  try {
    await guardSize(fresh, limits, async (signal) => {
      await fetchInto(signal).catch(async (error) => {
        if (!/mismatched algorithms.*server sha256/.test(messageOf(error))) throw error;
        await Deno.remove(fresh, { recursive: true });
        await fetchInto(signal, "--object-format=sha256");
      });
    });
    await Deno.rename(folder, old).catch(ignoreMissing);
    await Deno.rename(fresh, folder);
    await syncFolder(dirname(folder));
  } catch (error) {
    await Deno.remove(fresh, { recursive: true }).catch(ignoreMissing);
    throw error;
  }
  await Deno.remove(old, { recursive: true }).catch(ignoreMissing);
}

/**
 * Fetches branches, tags and `HEAD` into a repository; what is gone at the remote goes here too.
 *
 * @throws {TooLargeOnDiskError} when the repository takes more than it may
 */
export async function fetchMirror(
  folder: string,
  remote: Remote,
  limits: FetchLimits,
): Promise<void> {
  await tidyPacks(folder, limits.signal);
  try {
    await guardSize(folder, limits, (signal) => fetchRefs(folder, remote, signal));
    await syncFolders(folder);
  } catch (error) {
    // On a full disk git leaves there what it has taken of it.
    await removeUnfinished(folder).catch(() => {});
    throw error;
  }
}

async function fetchRefs(
  folder: string,
  { url, env }: Remote,
  signal: AbortSignal,
): Promise<void> {
  const repository = `--git-dir=${folder}`;
  const settings = [
    // Always as a pack, never as a file an object: so there is one thing to count and combine.
    ...["-c", "fetch.unpackLimit=1"],
    // A run that is accepted next may need the commit after a power cut, when the remote has lost it.
    ...["-c", "core.fsync=all"],
  ];
  const flags = [
    ...["--quiet", "--prune", "--no-write-fetch-head", "--no-recurse-submodules"],
    // Without it git leaves out, and says nothing of it, what a remote has not all of the history of.
    "--update-shallow",
  ];
  const fetch = (refspecs: readonly string[]) =>
    git([repository, ...settings, "fetch", ...flags, "--", url, ...refspecs], {
      env,
      signal,
      ownSession: true,
      usesConfiguration: true,
    });
  try {
    await fetch([...REFSPECS, `+HEAD:${REMOTE_HEAD}`]);
  } catch (error) {
    // A remote whose HEAD names a branch that does not exist has no HEAD to fetch.
    if (!/remote ref HEAD/.test(messageOf(error))) throw error;
    await fetch(REFSPECS);
    await git([repository, "update-ref", "-d", REMOTE_HEAD], { signal });
  }
}

/** Whether a remote can be reached. */
export async function answers({ url, env }: Remote, signal: AbortSignal): Promise<boolean> {
  return await git(["ls-remote", "--quiet", "--heads", "--", url], {
    env,
    signal,
    ownSession: true,
    usesConfiguration: true,
    stdoutBytesMax: 64 * 1024 * 1024,
  }).then(() => true, () => false);
}

/** Whether there is a repository that was made of the remote at this address. */
export async function isMirrorOf(folder: string, url: string): Promise<boolean> {
  return await Deno.readTextFile(join(folder, ADDRESS_FILE)).then(
    (address) => address === url,
    () => false,
  );
}

/**
 * Removes packs that were never finished and combines small ones. Objects that no branch leads to are
 * combined like the others.
 */
async function tidyPacks(folder: string, signal: AbortSignal): Promise<void> {
  const names = await removeUnfinished(folder);
  if (names.filter((name) => name.endsWith(".pack")).length <= PACKS_MAX) return;
  const args = [
    `--git-dir=${folder}`,
    "-c",
    "core.fsync=all",
    "repack",
    "-d",
    "--quiet",
    "--geometric=2",
  ];
  await git(args, { signal, ownSession: true }).catch((error) => {
    // Of a repository that is damaged, the fetch that follows says so.
    if (!(error instanceof GitError)) throw error;
  });
}

/** Removes packs that were never finished, and answers the names of all that were there. */
async function removeUnfinished(folder: string): Promise<string[]> {
  const packs = join(folder, "objects/pack");
  const names = (await Array.fromAsync(Deno.readDir(packs)).catch(() => [])).map(({ name }) =>
    name
  );
  for (const name of names.filter((name) => /^\.?tmp[_-]/.test(name))) {
    await Deno.remove(join(packs, name)).catch(ignoreMissing);
  }
  return names;
}

/**
 * Removes the locks that a git which was killed has left behind. Nobody else writes to a mirror, so a
 * lock that is there while nothing is fetched is nobody's.
 */
export async function removeLocks(folder: string): Promise<void> {
  const remove = async (path: string, isDeep: boolean): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(path)) {
      const inner = join(path, name);
      if (isDirectory && isDeep) await remove(inner, true);
      else if (!isDirectory && name.endsWith(".lock")) {
        await Deno.remove(inner).catch(ignoreMissing);
      }
    }
  };
  await remove(folder, false).catch(ignoreMissing);
  await remove(join(folder, "refs"), true).catch(ignoreMissing);
}
