/**
 * The mirror of one project's repository: a bare repository that holds the branches and tags as they
 * were when they were last fetched. A mirror that is damaged is made anew.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { dirname, join } from "node:path";
import { ActionError, ConflictError, isShortage, messageOf } from "../../platform/errors.ts";
import { replaceFile } from "../../platform/files/durable.ts";
import { CoalescedWork } from "../../platform/waiting/coalesced_work.ts";
import { removeTree } from "../../platform/files/remove_tree.ts";
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
/** Room for what git prints beside an object. */
const HEADER_BYTES_MAX = 1024;
/** More than most lines have that say of what size a file is, and where. */
const LISTED_BYTES = 640;
/** A file's size, behind its mode, type and id; a folder and a submodule have "-" there. */
const SIZE = /^\d+ \w+ \w+ +(\d+)\t/;
/** The exit code of `git update-index --refresh` where a file differs from the index. */
const NEEDS_UPDATE = 1;
/** What git lists a symbolic link as. */
const LINK_MODE = "120000";
/** Beside the mirror: where it is of, for when it is gone or damaged. */
const ORIGIN_FILE = "origin.json";
const KNOWN_HOSTS_FILE = "known_hosts";

const log = getLogger(["hooklaunch", "projects"]);

/** What a mirror is told. */
export interface MirrorOptions {
  /** For messages. */
  projectName: string;
  /** The folder of the bare repository. What else the mirror needs to keep lies beside it. */
  folder: string;
  fetchTimeout_ms: number;
  limits: TreeLimits;
  /** Reads an environment variable, for credentials written as `{env:NAME}`. */
  env(name: string): string | undefined;
}

/** A mirror. What its methods throw names no credentials. */
export class Mirror {
  /** MiB that the mirror may take on disk; infinite until its project says so. */
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
  /** Whether what is in the folder may be used. */
  #isUsable = false;
  /** How often the mirror was made anew. */
  #clones = 0;

  constructor(options: MirrorOptions) {
    this.#options = options;
  }

  /**
   * Fetches. What arrived at the remote before this was called is there when the promise resolves.
   *
   * @throws {ActionError} when git must not be given this address, or it cannot be fetched
   * @throws {ConflictError} when the project's code is removed at this moment
   */
  async fetch(origin: Origin): Promise<Refs> {
    for (;;) {
      await this.#locate(origin);
      const update = await this.#updates.run();
      // Before it began, somebody else may have said that the repository is elsewhere, as it once was.
      if (!isSame(update.origin, origin)) continue;
      if (update.refs.status === "rejected") throw update.refs.reason;
      return update.refs.value;
    }
  }

  /** Returns false if nothing was fetched from a repository yet. */
  async isFetched(origin: Origin): Promise<boolean> {
    await this.#locate(origin);
    return this.#isUsable;
  }

  /** Ends a fetch that is under way, with all that it has started. There is no other after it. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#updates.idle();
  }

  /**
   * The branches and tags as last fetched; fetched now when they never were.
   *
   * @throws as {@linkcode fetch} does
   */
  async refs(origin: Origin): Promise<Refs> {
    for (;;) {
      await this.#locate(origin);
      if (!this.#isUsable) return await this.fetch(origin);
      let reading: Promise<Refs> | undefined;
      const refs = await this.#healing(() => reading = this.#refs ??= this.#newRefs());
      // Else they may be another repository's, or there are newer ones.
      if (reading === this.#refs && isSame(this.#origin, origin)) return refs;
    }
  }

  /**
   * Reads a file of a commit.
   *
   * @returns undefined when the commit has no such file
   * @throws {ActionError} when it is a link
   * @throws {GitError} when the file is larger than allowed, or there is no such commit
   */
  read(commit: string, path: string, bytesMax: number): Promise<Uint8Array | undefined> {
    return this.#healing(async () => {
      const stdout = await this.#git(["cat-file", "--batch"], {
        stdin: `${commit}:${path}\n`,
        stdoutBytesMax: bytesMax + HEADER_BYTES_MAX,
      });
      const object = readObject(stdout);
      if (object !== undefined && object.kind !== "blob") return undefined;
      // git shows a link as a file, and calls an object missing that is damaged. Only the list of the
      // files knows better.
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
   * The full hash of a commit; undefined when there is none of this name.
   *
   * @param known the hash of a commit that is there, unless the mirror is damaged
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

  /**
   * Writes the files of a commit into a folder, in place of what is there.
   *
   * @throws {ActionError} when the commit holds more than it may
   */
  async extract(commit: string, folder: string): Promise<void> {
    const env = { GIT_INDEX_FILE: `${folder}.index` };
    await this.#checkSize(commit);
    const args = ["--work-tree", folder, "read-tree", "--reset", "-u", commit];
    try {
      await this.#healing(async () => {
        await removeTree(folder);
        await Deno.mkdir(folder, { mode: 0o700 });
        await this.#git(args, { env, cwd: folder });
      });
    } finally {
      await Deno.remove(`${folder}.index`).catch(() => {});
    }
  }

  /** Returns false if a folder that {@linkcode extract} once wrote does not hold the files of a commit any more. */
  async isWhole(commit: string, folder: string): Promise<boolean> {
    const index = await Deno.makeTempFile({ dir: dirname(folder), prefix: "tmp-index-" });
    const env = { GIT_INDEX_FILE: index };
    try {
      // git takes an empty file for an index, and writes a new one in its place.
      await this.#healing(() => this.#git(["read-tree", commit], { env }));
      await this.#git(["--work-tree", folder, "update-index", "--refresh"], { env, cwd: folder });
      return true;
    } catch (error) {
      if (error instanceof GitError && error.exitCode === NEEDS_UPDATE) return false;
      throw error;
    } finally {
      await Deno.remove(index).catch(() => {});
    }
  }

  /** Few objects, each of them in many folders, can stand for more files than any disk has room for. */
  async #checkSize(commit: string): Promise<void> {
    const { projectName, limits: { filesMax, bytesMax } } = this.#options;
    const refuse = (most: string): never => {
      throw new ActionError(
        `Cannot check out commit ${commit} of project "${projectName}": it holds more than ${most}`,
      );
    };
    const stdoutBytesMax = filesMax * LISTED_BYTES;
    const args = ["ls-tree", "-r", "-t", "-l", commit];
    const stdout = await this.#healing(() => this.#git(args, { stdoutBytesMax })).catch((error) => {
      const isTooLong = error instanceof GitError && error.cut;
      throw isTooLong ? refuse(`${filesMax} files, or too long paths`) : error;
    });
    const listed = new TextDecoder().decode(stdout).trimEnd().split("\n");
    if (listed.length > filesMax) refuse(`${filesMax} files`);
    const bytes = listed.reduce((sum, line) => sum + (Number(SIZE.exec(line)?.[1]) || 0), 0);
    if (bytes > bytesMax) refuse(`${bytesMax} bytes`);
  }

  /** Takes note of where the repository is. */
  async #locate(origin: Origin): Promise<void> {
    if (isSame(this.#origin, origin)) return;
    const isUsable = await isMirrorOf(this.#options.folder, urlOf(origin.repository));
    await this.#writeOrigin(origin);
    // Somebody else may have said so meanwhile, and have fetched since.
    if (isSame(this.#origin, origin)) return;
    this.#isUsable = isUsable;
    this.#origin = origin;
    this.#refs = undefined;
  }

  /** Makes a mirror anew that is missing or damaged. */
  async #heal(): Promise<void> {
    const { projectName } = this.#options;
    const origin = this.#origin ?? await readOrigin(this.#pathOf(ORIGIN_FILE));
    if (origin === undefined) {
      throw new ActionError(
        `Cannot read the repository of project "${projectName}": its mirror is missing or damaged; ` +
          "fetching the repository makes it anew",
      );
    }
    log.warn("The mirror of project {project} is damaged and is made anew", {
      project: projectName,
    });
    await this.#locate(origin);
    this.#isUsable = false;
    this.#refs = undefined;
    await this.fetch(origin);
  }

  /** Does what reads the mirror; when git fails on it, makes the mirror anew and tries once more. */
  async #healing<T>(work: () => Promise<T>): Promise<T> {
    const clones = this.#clones;
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof GitError) || error.cut) throw error;
      // Somebody else may have made it anew under these hands.
      if (clones === this.#clones) await this.#heal();
      return await work();
    }
  }

  async #update(origin: Origin): Promise<Refs> {
    const { projectName, fetchTimeout_ms, env } = this.#options;
    const giveUp = new AbortController();
    const timer = setTimeout(() => giveUp.abort(), fetchTimeout_ms);
    const signal = AbortSignal.any([giveUp.signal, this.#closing.signal]);
    let remote: Remote | undefined;
    try {
      remote = await openRemote(origin, { env, knownHostsFile: this.#pathOf(KNOWN_HOSTS_FILE) });
      const refs = this.#isUsable
        ? await this.#fetch(remote, signal)
        : await this.#clone(remote, signal);
      this.#isUsable = this.#origin?.repository === origin.repository;
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
        // Any other may hold credentials.
        isShortage(error) ? { cause: error } : {},
      );
    } finally {
      clearTimeout(timer);
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
    // The remote can be reached: it had a bad moment, or it is the mirror that is at fault.
    await removeLocks(folder);
    return await fetch().catch(() => this.#clone(remote, signal));
  }

  async #clone(remote: Remote, signal: AbortSignal): Promise<Refs> {
    await cloneMirror(this.#options.folder, remote, { signal, limit_mb: this.limit_mb });
    this.#clones++;
    return await this.#readRefs();
  }

  /** Reads them. Where that fails, who asks next has them read again. */
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
      // git leaves out a branch that it cannot read.
      failsOn: /broken ref/,
    });
    return parseRefs(new TextDecoder().decode(stdout), REMOTE_HEAD);
  }

  #git(args: readonly string[], options: GitOptions = {}): Promise<Uint8Array> {
    return git([`--git-dir=${this.#options.folder}`, ...args], options);
  }

  async #writeOrigin(origin: Origin): Promise<void> {
    const path = this.#pathOf(ORIGIN_FILE);
    try {
      await Deno.mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await replaceFile(path, JSON.stringify(origin), 0o600);
    } catch (error) {
      // The folder was there a moment ago. So it says that one is there which is removed meanwhile, too.
      const { NotFound, AlreadyExists } = Deno.errors;
      if (!(error instanceof NotFound || error instanceof AlreadyExists)) throw error;
      const { projectName } = this.#options;
      throw new ConflictError(
        `Cannot keep the code of project "${projectName}": it is being removed`,
      );
    }
  }

  /** The path of a file beside the mirror. */
  #pathOf(name: string): string {
    return join(dirname(this.#options.folder), name);
  }
}

/** Whether two say the same of where a repository is, and how it is had. */
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
    // Without it a mirror is not made anew until somebody says again where it is of.
    return undefined;
  }
}
