/**
 * The cache of project configuration files. To read one can take a second, so it is read once for all commits
 * that have it, and so is one that is wrong.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { InvalidInputError } from "../platform/errors.ts";
import { keepNewest } from "../platform/lru.ts";
import type { ProjectConfig } from "./format/config_file.ts";

/** How many commits, and how many bytes of files, are remembered. */
const COMMITS_MAX = 4_096;
const BYTES_MAX = 8 * 1024 * 1024;

/** A file that was read, or is wrong. */
interface Kept {
  bytes: number;
  config: Promise<ProjectConfig>;
}

/** The place of a project configuration file. */
export interface ConfigPlace {
  project: string;
  commit: string;
  path: string;
}

/** Project configuration files, by where they are and by what they hold. */
export class ConfigCache {
  /** Files by the hashes of their bytes and paths, the one used last at the end. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  /** The hashes of the files of commits, by project, commit and path. */
  readonly #hashes = new Map<string, string>();
  readonly #loading = new Map<string, Promise<ProjectConfig>>();

  /**
   * Returns the project configuration file at a place.
   *
   * @param load reads the bytes of the file
   * @throws what `load` throws, which is not remembered
   * @throws {InvalidInputError} when the file is not what it must be
   */
  async get(place: ConfigPlace, load: () => Promise<Uint8Array>): Promise<ProjectConfig> {
    const key = keyOf(place);
    const hash = this.#hashes.get(key);
    const kept = hash === undefined ? undefined : this.#find(hash);
    if (kept) return await kept.config;
    const loading = this.#loading.get(key) ?? this.#load(key, place.path, load);
    this.#loading.set(key, loading);
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
    path: string,
    load: () => Promise<Uint8Array>,
  ): Promise<ProjectConfig> {
    const bytes = await load();
    // Errors name the path.
    const hash = createHash("sha256").update(`${path}\0`).update(bytes).digest("hex");
    const { config } = this.#find(hash) ?? this.#keep(hash, bytes, path);
    this.#hashes.set(key, hash);
    keepNewest(this.#hashes, COMMITS_MAX);
    return await config;
  }

  #find(hash: string): Kept | undefined {
    const kept = this.#kept.get(hash);
    if (kept === undefined) return undefined;
    this.#kept.delete(hash);
    this.#kept.set(hash, kept);
    return kept;
  }

  #keep(hash: string, bytes: Uint8Array, path: string): Kept {
    const kept = { bytes: bytes.length, config: read(bytes, path) };
    this.#kept.set(hash, kept);
    this.#bytes += kept.bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= BYTES_MAX || oldest === hash) break;
      this.#remove(oldest);
    }
    kept.config.catch((error) => {
      if (!(error instanceof InvalidInputError)) this.#remove(hash);
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

async function read(bytes: Uint8Array, path: string): Promise<ProjectConfig> {
  const { readConfigFile } = await import("./format/config_file.ts");
  return readConfigFile(bytes, path);
}
