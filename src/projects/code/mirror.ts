/**
 * The mirror of a project's repository: a bare repository with the branches and tags of the last
 * fetch. A damaged mirror is made again.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { dirname, join } from "node:path";
import { ActionError, ConflictError, isShortage, messageOf } from "../../platform/errors.ts";
import { replaceFile } from "../../platform/files/durable.ts";
import { CoalescedWork } from "../../platform/waiting/coalesced_work.ts";
import { extractCommit, isWholeCommit, type RunGit } from "./commit_tree.ts";
import {
  answers,
  cloneMirror,
  fetchMirror,
  isMirrorOf,
  REMOTE_HEAD,
  removeLocks,
} from "./fetch.ts";
import { git, GitError, type GitOptions } from "./git.ts";
import { parseRefs, readObject, type Refs, REFS_FORMAT } from "./refs.ts";
import { TooLargeOnDiskError } from "./size_guard.ts";
import type { TreeLimits } from "./tree.ts";
import { redactUrls } from "../../platform/network/urls.ts";
import { openRemote, type Origin, type Remote, urlOf } from "./remote.ts";

const REFS_BYTES_MAX = 64 * 1024 * 1024;
/** The longest output of git in front of an object. */
const HEADER_BYTES_MAX = 1024;
/** The mode of a symbolic link. */
const LINK_MODE = "120000";
/** The file beside the mirror with its origin, for a mirror that is gone or damaged. */
const ORIGIN_FILE = "origin.json";
const KNOWN_HOSTS_FILE = "known_hosts";

const log = getLogger(["hooklaunch", "projects"]);

/** Options of {@linkcode Mirror}. */
export interface MirrorOptions {
  /** For messages. */
  projectName: string;
  /** The folder of the bare repository. The mirror's other files are beside it. */
  folder: string;
  fetchTimeout_ms: number;
  limits: TreeLimits;
  /** Reads an environment variable, for credentials written as `{env:NAME}`. */
  env(name: string): string | undefined;
}

/** A mirror. Its errors contain no credentials. */
export class Mirror {
  /** MiB that the mirror may take on disk. */
  limit_mb = Infinity;
  readonly #options: MirrorOptions;
  readonly #updates = new CoalescedWork(async () => {
    const origin = this.#origin ?? { repository: "" };
    const [refs] = await Promise.allSettled([this.#update(origin)]);
    return { origin, refs };
  });
  readonly #closing = new AbortController();
  #origin: Origin | undefined;
  #refs: Promise<Refs> | undefined;
  /** The folder has a mirror of the origin. */
  #isUsable = false;
  /** The number of clones that this process has made. */
  #clones = 0;
  /** A clone takes its place: the folder may have that of another origin. */
  #isReplaced = false;

  constructor(options: MirrorOptions) {
    this.#options = options;
  }

  /**
   * Fetches everything that arrived at the remote before this call.
   *
   * @throws {ActionError} when the address is not allowed, or cannot be fetched
   * @throws {ConflictError} when the project's code is being removed
   */
  async fetch(origin: Origin): Promise<Refs> {
    for (;;) {
      await this.#locate(origin);
      const update = await this.#updates.run();
      // Another caller may have set another origin before the update began.
      if (!isSame(update.origin, origin)) continue;
      if (update.refs.status === "rejected") throw update.refs.reason;
      return update.refs.value;
    }
  }

  /** Returns false if nothing was fetched from a repository yet. */
  isFetched(origin: Origin): Promise<boolean> {
    return this.#locate(origin);
  }

  /** Ends a running fetch, with everything that it has started. No other begins after it. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#updates.idle();
  }

  /**
   * Returns the branches and tags of the last fetch, or fetches now if there was none.
   *
   * @throws as {@linkcode fetch} does
   */
  async refs(origin: Origin): Promise<Refs> {
    for (;;) {
      if (!await this.#locate(origin)) return await this.fetch(origin);
      let reading: Promise<Refs> | undefined;
      const refs = await this.#healing(() => reading = this.#refs ??= this.#newRefs());
      // Otherwise they may be of another repository, or out of date.
      if (reading === this.#refs && isSame(this.#origin, origin)) return refs;
    }
  }

  /**
   * Reads a file of a commit; returns undefined if there is no such file.
   *
   * @throws {ActionError} when it is a link
   * @throws {GitError} when the file is too large, or there is no such commit
   */
  read(commit: string, path: string, bytesMax: number): Promise<Uint8Array | undefined> {
    return this.#healing(async () => {
      const stdout = await this.#git(["cat-file", "--batch"], {
        stdin: `${commit}:${path}\n`,
        stdoutBytesMax: bytesMax + HEADER_BYTES_MAX,
      });
      const object = readObject(stdout);
      if (object !== undefined && object.kind !== "blob") return undefined;
      // git shows a link as a file, and a damaged object as a missing one. The list of files tells
      // the difference.
      const listed = await this.#git(["--literal-pathspecs", "ls-tree", commit, "--", path]);
      const mode = /^(\d+) blob /.exec(new TextDecoder().decode(listed))?.[1];
      if (mode === LINK_MODE) {
        throw new ActionError(
          `Cannot read ${path} of commit ${commit}: ` +
            `expected a regular file, found a symbolic link (mode ${LINK_MODE})`,
        );
      }
      if (object !== undefined) return object.content;
      if (mode === undefined) return undefined;
      throw new GitError(`git has lost ${path} of commit ${commit}`);
    });
  }

  /**
   * Returns the full hash of a commit; undefined if there is none of this name.
   *
   * @param known the hash of a commit that exists, unless the mirror is damaged
   */
  commit(name: string, known: string | undefined): Promise<string | undefined> {
    return this.#healing(async () => {
      const names = [`${name}^{commit}`, ...known === undefined ? [] : [`${known}^{tree}`]];
      const stdin = names.map((name) => `${name}\n`).join("");
      const stdout = await this.#git(["cat-file", "--batch-check"], { stdin });
      const [found = "", tree = ""] = new TextDecoder().decode(stdout).split("\n");
      const hash = found.match(/^([0-9a-f]{40,64}) commit /)?.[1];
      if (hash !== undefined || known === undefined || / tree \d+$/.test(tree)) return hash;
      throw new GitError(`git has lost commit ${known}`);
    });
  }

  /** Returns the names of the refs whose history has a commit. */
  refsWith(commit: string): Promise<string[]> {
    return this.#healing(async () => {
      const args = ["for-each-ref", "--format=%(refname)", `--contains=${commit}`, "refs/heads"];
      const stdout = await this.#git([...args, REMOTE_HEAD], { stdoutBytesMax: REFS_BYTES_MAX });
      return new TextDecoder().decode(stdout).split("\n").filter((name) => name !== "");
    });
  }

  /**
   * Writes the files of a commit into a folder, in place of its contents.
   *
   * @throws {ActionError} when the commit is too large
   */
  extract(commit: string, folder: string): Promise<void> {
    const { projectName, limits } = this.#options;
    return extractCommit(this.#runHealing, { commit, folder, projectName, limits });
  }

  /** Returns false if a folder that {@linkcode extract} wrote has lost or changed files. */
  isWhole(commit: string, folder: string): Promise<boolean> {
    return isWholeCommit(this.#runHealing, { commit, folder });
  }

  /**
   * Sets the origin, which another caller may change again at any time.
   *
   * @returns true when the folder has a mirror of it
   */
  async #locate(origin: Origin): Promise<boolean> {
    if (isSame(this.#origin, origin)) return this.#isUsable;
    const clones = this.#clones;
    const isMirror = await isMirrorOf(this.#options.folder, urlOf(origin.repository));
    await this.#writeOrigin(origin);
    // Another caller may have set it, and have fetched since.
    if (isSame(this.#origin, origin)) return this.#isUsable;
    this.#isUsable = isMirror && !this.#isReplaced && clones === this.#clones;
    this.#origin = origin;
    this.#refs = undefined;
    return this.#isUsable;
  }

  /** Replaces a mirror that is missing or damaged. */
  async #heal(): Promise<void> {
    const { projectName } = this.#options;
    const origin = this.#origin ?? await readOrigin(this.#pathOf(ORIGIN_FILE));
    if (origin === undefined) {
      throw new ActionError(
        `Cannot read the repository of project "${projectName}": its mirror is missing or damaged; ` +
          "fetch the repository to make it again",
      );
    }
    log.warn("The mirror of project {project} is damaged and is made again", {
      project: projectName,
    });
    await this.#locate(origin);
    this.#isUsable = false;
    this.#refs = undefined;
    await this.fetch(origin);
  }

  /** Reads the mirror. If git fails, it replaces the mirror and tries once more. */
  async #healing<T>(work: () => Promise<T>): Promise<T> {
    const clones = this.#clones;
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof GitError) || error.wasEnded) throw error;
      // Another caller may have replaced it meanwhile.
      if (clones === this.#clones) await this.#heal();
      return await work();
    }
  }

  async #update(origin: Origin): Promise<Refs> {
    const { projectName, fetchTimeout_ms, env } = this.#options;
    // Another origin may be set from here on.
    const isUsable = this.#isUsable;
    const giveUp = new AbortController();
    const timer = setTimeout(() => giveUp.abort(), fetchTimeout_ms);
    const signal = AbortSignal.any([giveUp.signal, this.#closing.signal]);
    let remote: Remote | undefined;
    try {
      remote = await openRemote(origin, { env, knownHostsFile: this.#pathOf(KNOWN_HOSTS_FILE) });
      const refs = isUsable ? await this.#fetch(remote, signal) : await this.#clone(remote, signal);
      // A mirror that was found damaged while it was fetched into is made again by the next update.
      const isWhole = this.#isUsable || !isUsable;
      this.#isUsable = isWhole && this.#origin?.repository === origin.repository;
      this.#refs = this.#isUsable ? Promise.resolve(refs) : undefined;
      return refs;
    } catch (error) {
      const redact = remote?.redact ?? redactUrls;
      const detail = giveUp.signal.aborted
        ? `given up after ${fetchTimeout_ms / 1_000} s`
        : this.#closing.signal.aborted
        ? "ended, as the service stops or the project is removed"
        : redact(messageOf(error));
      throw new ActionError(
        `Cannot fetch the repository of project "${projectName}": ${detail}`,
        // The message of any other error may contain credentials.
        isShortage(error) ? { cause: error } : {},
      );
    } finally {
      clearTimeout(timer);
      this.#isReplaced = false;
    }
  }

  async #fetch(remote: Remote, signal: AbortSignal): Promise<Refs> {
    const { folder } = this.#options;
    const fetch = async () => {
      await fetchMirror(folder, remote, { signal, limit_mb: this.limit_mb });
      return await this.#readRefs();
    };
    try {
      return await fetch();
    } catch (error) {
      if (error instanceof TooLargeOnDiskError || !await answers(remote, signal)) throw error;
    }
    // The remote can be reached: it failed for a moment, or the mirror is damaged.
    await removeLocks(folder);
    return await fetch().catch(() => this.#clone(remote, signal));
  }

  async #clone(remote: Remote, signal: AbortSignal): Promise<Refs> {
    const onReplace = () => {
      this.#isReplaced = true;
      const { url } = remote;
      if (this.#origin !== undefined && urlOf(this.#origin.repository) === url) return;
      this.#isUsable = false;
      this.#refs = undefined;
    };
    const { folder } = this.#options;
    await cloneMirror(folder, remote, { signal, limit_mb: this.limit_mb, onReplace });
    this.#clones++;
    return await this.#readRefs();
  }

  /** Reads the refs, and forgets them if that fails. */
  #newRefs(): Promise<Refs> {
    const reading = this.#readRefs();
    reading.catch(() => {
      if (this.#refs === reading) this.#refs = undefined;
    });
    return reading;
  }

  async #readRefs(): Promise<Refs> {
    const stdout = await this.#git(["for-each-ref", `--format=${REFS_FORMAT}`], {
      stdoutBytesMax: REFS_BYTES_MAX,
      // git leaves out a branch that it cannot read, with this warning.
      failsOn: /broken ref/,
    });
    return parseRefs(new TextDecoder().decode(stdout), REMOTE_HEAD);
  }

  readonly #runHealing: RunGit = (args, { prepare, once = false, ...options }) => {
    const work = async () => {
      await prepare?.();
      return await this.#git(args, options);
    };
    return once ? work() : this.#healing(work);
  };

  #git(args: readonly string[], options: GitOptions = {}): Promise<Uint8Array> {
    return git([`--git-dir=${this.#options.folder}`, ...args], options);
  }

  async #writeOrigin(origin: Origin): Promise<void> {
    const path = this.#pathOf(ORIGIN_FILE);
    try {
      await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await replaceFile(path, JSON.stringify(origin), 0o600);
    } catch (error) {
      // The folder was there a moment ago.
      const { NotFound, AlreadyExists } = Deno.errors;
      if (!(error instanceof NotFound || error instanceof AlreadyExists)) throw error;
      const { projectName } = this.#options;
      throw new ConflictError(
        `Cannot keep the code of project "${projectName}": it is being removed`,
      );
    }
  }

  #pathOf(name: string): string {
    return join(dirname(this.#options.folder), name);
  }
}

/** Returns true if two origins have the same address and key. */
function isSame(one: Origin | undefined, other: Origin): boolean {
  return one?.repository === other.repository && one.deploy_key === other.deploy_key;
}

async function readOrigin(path: string): Promise<Origin | undefined> {
  try {
    const { repository, deploy_key: deployKey } = JSON.parse(await Deno.readTextFile(path));
    if (typeof repository !== "string") return undefined;
    if (deployKey === undefined) return { repository };
    return typeof deployKey === "string" ? { repository, deploy_key: deployKey } : undefined;
  } catch {
    // Without it, the mirror is not made again until the next fetch.
    return undefined;
  }
}
