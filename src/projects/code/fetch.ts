/**
 * Fetching the branches and tags of a remote into a bare repository. A fetch drops no object: a
 * queued execution finds its commit, however the branches have changed.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { messageOf } from "../../platform/errors.ts";
import { replaceFile, syncFile, syncFolder, syncFolders } from "../../platform/files/durable.ts";
import { ignoreMissing } from "../../platform/files/missing_file.ts";
import { type Network, systemNetwork } from "../../platform/network/connection.ts";
import { git, GitError, type GitOptions } from "./git.ts";
import { redirectedAddress } from "./redirects.ts";
import { guardSize } from "./size_guard.ts";
import type { Remote } from "./remote.ts";

/** The ref with the remote's `HEAD`. */
export const REMOTE_HEAD = "refs/hooklaunch/HEAD";
const REFSPECS = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
const ADDRESS_FILE = "hooklaunch-address";
/** The number of packs after which they are combined. */
const PACKS_MAX = 50;
const SHA256_LENGTH = 64;

/** git would follow redirects to any address. */
const NO_REDIRECTS = ["-c", "http.followRedirects=false"];

/** Limits of a fetch. */
interface FetchLimits {
  signal: AbortSignal;
  /** MiB that the repository may take on disk. */
  limit_mb: number;
  /** Default: that of the system. */
  network?: Network;
}

/**
 * Clones a remote, in place of the repository that may be there.
 *
 * @param onReplace called just before the clone takes its place
 * @throws {TooLargeOnDiskError} when the clone is too large; nothing of it stays
 */
export async function cloneMirror(
  folder: string,
  remote: Remote,
  { onReplace, ...limits }: FetchLimits & { onReplace?: () => void },
): Promise<void> {
  await Deno.mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  const fresh = await Deno.makeTempDir({ dir: dirname(folder), prefix: "tmp-mirror-" });
  const old = `${fresh}.old`;
  const fetchInto = async (signal: AbortSignal, ...formatOption: string[]) => {
    await git(["init", "--quiet", "--bare", "--template=", ...formatOption, fresh], { signal });
    await replaceFile(join(fresh, ADDRESS_FILE), remote.url, 0o600);
    await fetchRefs(fresh, remote, { ...limits, signal });
    // git does not sync these.
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
    onReplace?.();
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
 * Fetches branches, tags and `HEAD` into a repository, and removes those that the remote does not
 * have any more.
 *
 * @throws {TooLargeOnDiskError} when the repository is too large
 */
export async function fetchMirror(
  folder: string,
  remote: Remote,
  limits: FetchLimits,
): Promise<void> {
  await tidyPacks(folder, limits.signal);
  try {
    await guardSize(folder, limits, (signal) => fetchRefs(folder, remote, { ...limits, signal }));
    await syncFolders(folder);
  } catch (error) {
    // On a full disk git leaves an unfinished pack.
    await removeUnfinished(folder).catch(() => {});
    throw error;
  }
}

async function fetchRefs(
  folder: string,
  remote: Remote,
  { signal, network }: Pick<FetchLimits, "signal" | "network">,
): Promise<void> {
  const repository = `--git-dir=${folder}`;
  const settings = [
    // Objects always arrive as a pack, which can be counted and combined.
    ...["-c", "fetch.unpackLimit=1"],
    // After a power cut, a run may need a commit that the remote does not have any more.
    ...["-c", "core.fsync=all"],
  ];
  const flags = [
    ...["--quiet", "--prune", "--no-write-fetch-head", "--no-recurse-submodules"],
    // Without it git silently leaves out branches of which a remote has not all of the history.
    "--update-shallow",
  ];
  const fetch = (refspecs: readonly string[]) =>
    askRemote(
      remote,
      (url, own) => [repository, ...settings, ...own, "fetch", ...flags, "--", url, ...refspecs],
      { signal, ...(network && { network }) },
    );
  try {
    await fetch([...REFSPECS, `+HEAD:${REMOTE_HEAD}`]);
  } catch (error) {
    // The remote's HEAD names a branch that does not exist.
    if (!/remote ref HEAD/.test(messageOf(error))) throw error;
    await fetch(REFSPECS);
    await git([repository, "update-ref", "-d", REMOTE_HEAD], { signal });
  }
}

/**
 * Fetches one commit, without those before it, into a repository that may have others.
 *
 * @throws {TooLargeOnDiskError} when the repository is too large
 */
export async function fetchCommit(
  folder: string,
  commit: string,
  remote: Remote,
  limits: FetchLimits,
): Promise<void> {
  const { signal, network } = limits;
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  const format = commit.length === SHA256_LENGTH ? ["--object-format=sha256"] : [];
  await git(["init", "--quiet", "--bare", "--template=", ...format, folder], { signal });
  const flags = [
    ...["--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head"],
    "--no-recurse-submodules",
  ];
  await guardSize(folder, limits, (signal) =>
    askRemote(
      remote,
      (url, own) => [`--git-dir=${folder}`, ...own, "fetch", ...flags, "--", url, commit],
      { signal, ...(network && { network }) },
    ));
}

/** Returns true if a remote can be reached. */
export async function answers(remote: Remote, signal: AbortSignal): Promise<boolean> {
  return await askRemote(
    remote,
    (url, own) => [...own, "ls-remote", "--quiet", "--heads", "--", url],
    { signal, stdoutBytesMax: 64 * 1024 * 1024 },
  ).then(() => true, () => false);
}

/**
 * Runs a command of git that talks to a remote, and once more where the remote redirects to an address that may be
 * followed.
 *
 * @param command makes its arguments from the address and the settings for that
 */
async function askRemote(
  remote: Remote,
  command: (url: string, settings: readonly string[]) => string[],
  { network = systemNetwork, ...options }: GitOptions & {
    signal: AbortSignal;
    network?: Network;
  },
): Promise<void> {
  const run = (url: string, settings: readonly string[]) =>
    git(command(url, [...NO_REDIRECTS, ...settings]), {
      ...options,
      env: remote.env,
      ownSession: true,
      usesConfiguration: true,
    });
  try {
    await run(remote.url, []);
  } catch (error) {
    if (!/returned error: 30\d/.test(messageOf(error))) throw error;
    const reached = await redirectedAddress(remote, { network, signal: options.signal });
    if (reached === undefined) throw error;
    await run(reached.url, reached.settings);
  }
}

/** Returns true if a repository is there, and is a clone of the remote at this address. */
export async function isMirrorOf(folder: string, url: string): Promise<boolean> {
  return await Deno.readTextFile(join(folder, ADDRESS_FILE)).then(
    (address) => address === url,
    () => false,
  );
}

/** Removes unfinished packs and combines small ones, also of objects that no branch leads to. */
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
    // The fetch that follows reports a damaged repository.
    if (!(error instanceof GitError)) throw error;
  });
}

/** Removes unfinished packs, and returns the names of all packs that were there. */
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
 * Removes the locks of a killed git. Nobody else writes to a mirror, so no lock is in use while
 * nothing is fetched.
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
