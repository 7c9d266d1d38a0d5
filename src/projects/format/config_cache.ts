/**
 * The cache of project configuration files. To read one can take a second, so it is read once for
 * all commits that have it, and so is one that is wrong.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { InvalidInputError, isShortage } from "../../platform/errors.ts";
import { evictOldest } from "../../platform/evict_oldest.ts";
import type { ProjectConfig } from "./config_file.ts";

/** The number of commits, and of bytes of files, that are kept. */
const COMMITS_MAX = 4_096;
const BYTES_MAX = 4 * 1024 * 1024;
/**
 * The time for which a file is not read again that could not be read, for another reason than its
 * contents.
 */
const FAILURE_MS = 60_000;

/** A file that was read, or is not valid. */
interface Kept {
  bytes: number;
  config: Promise<ProjectConfig>;
}

/** The place of a project configuration file. */
interface ConfigPlace {
  project: string;
  commit: string;
  path: string;
}

/**
 * Reads the bytes of a file; rejects with an {@linkcode InvalidInputError} if they are not valid.
 */
type ReadFile = (bytes: Uint8Array, place: ConfigPlace) => Promise<ProjectConfig>;

/** A cache of project configuration files by their places and contents. */
export class ConfigCache {
  readonly #read: ReadFile;
  /** Files by the hashes of their bytes and paths, the one used last at the end. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  /** The hashes of the files of commits, by project, commit and path. */
  readonly #hashes = new Map<string, string>();
  readonly #loading = new Map<string, Promise<ProjectConfig>>();

  constructor(read: ReadFile) {
    this.#read = read;
  }

  /**
   * Returns the project configuration file at a place.
   *
   * @param load reads the bytes of the file
   * @throws what `load` throws, which is not remembered
   * @throws {InvalidInputError} when the file is not valid
   */
  async get(place: ConfigPlace, load: () => Promise<Uint8Array>): Promise<ProjectConfig> {
    const key = keyOf(place);
    const hash = this.#hashes.get(key);
    const kept = hash === undefined ? undefined : this.#find(hash);
    if (kept) return await kept.config;
    const loading = this.#loading.getOrInsertComputed(key, () => this.#load(key, place, load));
    try {
      return await loading;
    } finally {
      if (this.#loading.get(key) === loading) this.#loading.delete(key);
    }
  }

  /** Forgets the commits of a project. */
  forget(project: string): void {
    for (const places of [this.#hashes, this.#loading]) {
      for (const key of places.keys()) {
        if (key.startsWith(`${project}/`)) places.delete(key);
      }
    }
  }

  async #load(
    key: string,
    place: ConfigPlace,
    load: () => Promise<Uint8Array>,
  ): Promise<ProjectConfig> {
    const bytes = await load();
    // Errors name the path.
    const hash = createHash("sha256").update(`${place.path}\0`).update(bytes).digest("hex");
    const { config } = this.#find(hash) ?? this.#keep(hash, bytes, place);
    this.#hashes.set(key, hash);
    evictOldest(this.#hashes, COMMITS_MAX);
    return await config;
  }

  #find(hash: string): Kept | undefined {
    const kept = this.#kept.get(hash);
    if (kept === undefined) return undefined;
    this.#kept.delete(hash);
    this.#kept.set(hash, kept);
    return kept;
  }

  #keep(hash: string, bytes: Uint8Array, place: ConfigPlace): Kept {
    const kept = { bytes: bytes.length, config: this.#read(bytes, place) };
    this.#kept.set(hash, kept);
    this.#bytes += kept.bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= BYTES_MAX || oldest === hash) break;
      this.#remove(oldest);
    }
    kept.config.catch((error) => {
      if (error instanceof InvalidInputError) return;
      const remove = () => {
        if (this.#kept.get(hash) === kept) this.#remove(hash);
      };
      if (isShortage(error)) remove();
      else Deno.unrefTimer(setTimeout(remove, FAILURE_MS));
    });
    return kept;
  }

  #remove(hash: string): void {
    this.#bytes -= this.#kept.get(hash)?.bytes ?? 0;
    this.#kept.delete(hash);
  }
}

function keyOf({ project, commit, path }: ConfigPlace): string {
  return `${project}/${commit}/${path}`;
}
