/**
 * The code of a project that is a git repository.
 *
 * @module
 */
import { ActionError } from "../../platform/errors.ts";
import { GitError } from "./git.ts";
import { REMOTE_HEAD } from "./fetch.ts";
import { Mirror, type MirrorOptions } from "./mirror.ts";
import { firstQuoted } from "../../platform/text/display.ts";
import type { CommitBranches } from "./source.ts";
import { isReference, type Refs } from "./refs.ts";
import type { Origin } from "./remote.ts";

const NAMES_SHOWN = 20;
/** By SHA-1, or by SHA-256. */
const WHOLE_HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i;

export class Repository {
  readonly #projectName: string;
  readonly #mirror: Mirror;
  /** The branches and tags for which `#hashes` is right. */
  #refs: Refs | undefined;
  /** Full hashes by reference. */
  readonly #hashes = new Map<string, string>();

  constructor(options: MirrorOptions) {
    this.#projectName = options.projectName;
    this.#mirror = new Mirror(options);
  }

  /** Fetches everything that arrived at the remote before this call, and returns the hashes of the branches. */
  async fetch(origin: Origin): Promise<Record<string, string>> {
    const { branches } = await this.#mirror.fetch(origin);
    return Object.fromEntries(branches);
  }

  /** Returns the hashes of the branches of the last fetch. */
  async branches(origin: Origin): Promise<Record<string, string>> {
    const { branches } = await this.#mirror.refs(origin);
    return Object.fromEntries(branches);
  }

  /** Sets how many MiB the mirror may take on disk. */
  limit(limit_mb: number): void {
    this.#mirror.limit_mb = limit_mb;
  }

  /** Returns false if nothing was fetched from the repository yet. */
  isFetched(origin: Origin): Promise<boolean> {
    return this.#mirror.isFetched(origin);
  }

  /** Ends a fetch that is under way. */
  close(): Promise<void> {
    return this.#mirror.close();
  }

  /**
   * Resolves a branch, a tag or an abbreviated hash of the last fetch to a full hash. A full hash
   * goes before a branch of its name, and a branch before a tag; `HEAD` is the remote's.
   *
   * @throws {ActionError} that lists the branches, if there is nothing of this name
   */
  async resolve(origin: Origin, reference: string): Promise<string> {
    const refs = await this.#mirror.refs(origin);
    if (refs !== this.#refs) {
      this.#refs = refs;
      this.#hashes.clear();
    }
    const known = this.#hashes.get(reference);
    if (known !== undefined) return known;
    const hash = isReference(reference) ? await this.#find(refs, reference) : undefined;
    if (hash === undefined) throw this.#unknown(refs, reference);
    // The refs may be newer, or of another repository, by now.
    if (refs === this.#refs) this.#hashes.set(reference, hash);
    return hash;
  }

  /** Finds the branches of the last fetch whose history has a commit. */
  async branchesWith(origin: Origin, commit: string): Promise<CommitBranches> {
    const { head } = await this.#mirror.refs(origin);
    const names = await this.#mirror.refsWith(commit).catch((error) => {
      throw error instanceof GitError ? this.#unreadable(commit, error) : error;
    });
    const branches = names.filter((name) => name !== REMOTE_HEAD)
      .map((name) => name.replace(/^refs\/heads\//, ""));
    const other = ["main", "master"].find((name) => branches.includes(name));
    return {
      branches,
      isOnDefault: head === undefined ? other !== undefined : names.includes(REMOTE_HEAD),
    };
  }

  /**
   * Reads a file of a commit; returns undefined if there is none.
   *
   * @throws {ActionError} when it is a link or larger than `bytesMax`, or the commit is gone
   */
  async read(commit: string, path: string, bytesMax: number): Promise<Uint8Array | undefined> {
    try {
      const file = await this.#mirror.read(commit, path, bytesMax);
      if (file === undefined || file.length <= bytesMax) return file;
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      if (!error.wasEnded) throw this.#unreadable(commit, error);
    }
    throw new ActionError(
      `Cannot read ${path} of commit ${commit}: expected at most ${bytesMax} bytes`,
    );
  }

  /**
   * Writes the files of a commit into a folder.
   *
   * @throws {ActionError} when the commit is gone
   */
  async extract(commit: string, folder: string): Promise<void> {
    try {
      await this.#mirror.extract(commit, folder);
    } catch (error) {
      throw error instanceof GitError ? this.#unreadable(commit, error) : error;
    }
  }

  /** Returns false if a folder that {@linkcode extract} wrote has lost or changed files. */
  async isWhole(commit: string, folder: string): Promise<boolean> {
    try {
      return await this.#mirror.isWhole(commit, folder);
    } catch (error) {
      throw error instanceof GitError ? this.#unreadable(commit, error) : error;
    }
  }

  async #find(refs: Refs, reference: string): Promise<string | undefined> {
    // It goes before a branch or tag of this name, which nobody pushes on purpose.
    if (reference === "HEAD") {
      return refs.head ?? refs.branches.get("main") ?? refs.branches.get("master");
    }
    const known = refs.branches.values().next().value;
    // As in git, nobody can move a hash by pushing a branch of its name.
    if (WHOLE_HASH.test(reference)) return await this.#mirror.commit(reference, known);
    const branch = refs.branches.get(reference.replace(/^refs\/heads\//, ""));
    if (branch !== undefined) return branch;
    const tagName = reference.replace(/^refs\/tags\//, "");
    const tag = refs.tags.get(tagName);
    if (tag !== undefined) return tag;
    const hash = refs.tagsOfOthers.get(tagName) ?? reference;
    return /^[0-9a-f]{4,64}$/i.test(hash) ? await this.#mirror.commit(hash, known) : undefined;
  }

  /** The error for a commit that a new mirror does not have either: the remote has lost it. */
  #unreadable(commit: string, { message }: GitError): ActionError {
    return new ActionError(
      `Cannot read commit ${commit} of the repository of project "${this.#projectName}", ` +
        `even after its mirror was made again: ${message}`,
    );
  }

  #unknown({ branches }: Refs, reference: string): ActionError {
    return new ActionError(
      `Cannot find ${JSON.stringify(reference)} in the repository of project ` +
        `"${this.#projectName}" as last fetched: it is no branch, tag or commit; ` +
        `the branches are ${firstQuoted(branches, NAMES_SHOWN)}`,
    );
  }
}
