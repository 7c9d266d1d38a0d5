/**
 * The mirror of one project's repository: a bare repository that holds the branches and tags as they
 * were when they were last fetched. A mirror that is damaged is made anew.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { ActionError, messageOf } from "../errors.ts";
import { answers, cloneMirror, fetchMirror, isMirrorOf, REMOTE_HEAD } from "./fetch.ts";
import { git, GitError, type GitOptions } from "./git.ts";
import { OneAtATime } from "./one_at_a_time.ts";
import { parseRefs, readBatch, type Refs } from "./refs.ts";
import { type Remote, remoteOf } from "./remote.ts";

const REFS_BYTES_MAX = 64 * 1024 * 1024;

const log = getLogger(["hooklaunch", "projects"]);

/** What a mirror is told. */
export interface MirrorOptions {
  /** For messages. */
  projectName: string;
  /** The folder of the bare repository. */
  folder: string;
  fetchTimeout_ms: number;
}

/** A mirror. What its methods throw names no credentials. */
export class Mirror {
  readonly #options: MirrorOptions;
  readonly #updates = new OneAtATime(() => this.#update());
  #address: string | undefined;
  #refs: Promise<Refs> | undefined;
  /** Whether what is in the folder may be used. */
  #isUsable = false;

  constructor(options: MirrorOptions) {
    this.#options = options;
  }

  /**
   * Says where the repository is.
   *
   * @throws {ActionError} when git must not be given this address
   */
  async locate(address: string): Promise<void> {
    if (this.#address === address) return;
    const remote = remoteOf(address);
    this.#isUsable = await isMirrorOf(this.#options.folder, remote);
    this.#address = address;
    this.#refs = undefined;
  }

  /** Fetches. What arrived at the remote before this was called is there when the promise resolves. */
  fetch(): Promise<Refs> {
    return this.#updates.run();
  }

  /** The branches and tags as last fetched; fetched now when they never were. */
  async refs(): Promise<Refs> {
    if (!this.#isUsable) return await this.fetch();
    return await this.#healing(() => this.#refs ??= this.#readRefs());
  }

  /**
   * Reads objects by name, such as `<hash>:<path>`.
   *
   * @returns one result a name; undefined for those that do not exist
   * @throws {GitError} when together they are larger than allowed
   */
  read(names: readonly string[], bytesMax: number): Promise<(Uint8Array | undefined)[]> {
    return this.#healing(async () => {
      const stdin = names.map((name) => `${name}\n`).join("");
      const stdout = await this.#git(["cat-file", "--batch"], { stdin, stdoutBytesMax: bytesMax });
      return readBatch(stdout, names.length);
    });
  }

  /** The full hash of a commit; undefined when there is none of this name. */
  commit(name: string): Promise<string | undefined> {
    return this.#healing(async () => {
      const stdout = await this.#git(["cat-file", "--batch-check"], {
        stdin: `${name}^{commit}\n`,
      });
      return new TextDecoder().decode(stdout).match(/^([0-9a-f]{40,64}) commit /)?.[1];
    });
  }

  /** Writes the files of a commit into a folder, in place of what is there. */
  async extract(commit: string, folder: string): Promise<void> {
    const env = { GIT_INDEX_FILE: `${folder}.index` };
    const args = ["--work-tree", folder, "read-tree", "--reset", "-u", commit];
    try {
      await this.#healing(async () => {
        await Deno.remove(folder, { recursive: true });
        await Deno.mkdir(folder, { mode: 0o700 });
        await this.#git(args, { env, cwd: folder });
      });
    } finally {
      await Deno.remove(`${folder}.index`).catch(() => {});
    }
  }

  /** Says that something is missing that must be there, so that the mirror is made anew. */
  async heal(): Promise<void> {
    const { projectName } = this.#options;
    if (this.#address === undefined) {
      throw new ActionError(
        `Cannot read the repository of project "${projectName}": its mirror is missing or damaged; ` +
          "fetching the repository makes it anew",
      );
    }
    log.warn("The mirror of project {project} is damaged and is made anew", {
      project: projectName,
    });
    this.#isUsable = false;
    this.#refs = undefined;
    await this.fetch();
  }

  /** Does what reads the mirror; when git fails on it, makes the mirror anew and tries once more. */
  async #healing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof GitError) || error.cut) throw error;
      await this.heal();
      return await work();
    }
  }

  async #update(): Promise<Refs> {
    const { projectName, fetchTimeout_ms } = this.#options;
    const address = this.#address ?? "";
    const remote = remoteOf(address);
    const giveUp = new AbortController();
    const timer = setTimeout(() => giveUp.abort(), fetchTimeout_ms);
    try {
      const refs = this.#isUsable
        ? await this.#fetch(remote, giveUp.signal)
        : await this.#clone(remote, giveUp.signal);
      this.#isUsable = this.#address === address;
      this.#refs = Promise.resolve(refs);
      return refs;
    } catch (error) {
      const detail = giveUp.signal.aborted
        ? `given up after ${fetchTimeout_ms / 1_000} s`
        : remote.redact(messageOf(error));
      throw new ActionError(`Cannot fetch the repository of project "${projectName}": ${detail}`);
    } finally {
      clearTimeout(timer);
    }
  }

  async #fetch(remote: Remote, signal: AbortSignal): Promise<Refs> {
    try {
      await fetchMirror(this.#options.folder, remote, signal);
      return await this.#readRefs();
    } catch (error) {
      // When the remote can be reached, it is the mirror that is at fault.
      if (!await answers(remote, signal)) throw error;
      return await this.#clone(remote, signal);
    }
  }

  async #clone(remote: Remote, signal: AbortSignal): Promise<Refs> {
    await cloneMirror(this.#options.folder, remote, signal);
    return await this.#readRefs();
  }

  async #readRefs(): Promise<Refs> {
    const format = "--format=%(objectname) %(*objectname) %(refname)";
    const stdout = await this.#git(["for-each-ref", format], { stdoutBytesMax: REFS_BYTES_MAX });
    return parseRefs(new TextDecoder().decode(stdout), REMOTE_HEAD);
  }

  #git(args: readonly string[], options: GitOptions): Promise<Uint8Array> {
    return git([`--git-dir=${this.#options.folder}`, ...args], options);
  }
}
