/**
 * Fetching: brings a bare repository's branches and tags up to those of a remote.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { messageOf } from "../errors.ts";
import { git } from "./git.ts";
import type { Remote } from "./remote.ts";

/** Where the remote's `HEAD` is kept. */
export const REMOTE_HEAD = "refs/hooklaunch/HEAD";
const REFSPECS = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
const ADDRESS_FILE = "hooklaunch-address";

/** Makes a repository of a remote, in place of the one that may be there. */
export async function cloneMirror(
  folder: string,
  remote: Remote,
  signal: AbortSignal,
): Promise<void> {
  await Deno.mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  const fresh = await Deno.makeTempDir({ dir: dirname(folder), prefix: "tmp-mirror-" });
  const old = `${fresh}.old`;
  try {
    await git(["init", "--quiet", "--bare", "--template=", fresh], { signal });
    await Deno.writeTextFile(join(fresh, ADDRESS_FILE), remote.url);
    await fetchMirror(fresh, remote, signal);
    await Deno.rename(folder, old).catch(ignoreMissing);
    await Deno.rename(fresh, folder);
  } catch (error) {
    await Deno.remove(fresh, { recursive: true }).catch(ignoreMissing);
    throw error;
  }
  await Deno.remove(old, { recursive: true }).catch(ignoreMissing);
}

/** Fetches branches, tags and `HEAD` into a repository; what is gone at the remote goes here too. */
export async function fetchMirror(
  folder: string,
  { url, env }: Remote,
  signal: AbortSignal,
): Promise<void> {
  const repository = `--git-dir=${folder}`;
  const flags = ["--quiet", "--prune", "--no-write-fetch-head", "--no-recurse-submodules"];
  const fetch = (refspecs: readonly string[]) =>
    git([repository, "fetch", ...flags, "--", url, ...refspecs], { env, signal, isRemote: true });
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
    isRemote: true,
    stdoutBytesMax: 64 * 1024 * 1024,
  }).then(() => true, () => false);
}

/** Whether there is a repository that was made of this remote. */
export async function isMirrorOf(folder: string, { url }: Remote): Promise<boolean> {
  return await Deno.readTextFile(join(folder, ADDRESS_FILE)).then(
    (address) => address === url,
    () => false,
  );
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
