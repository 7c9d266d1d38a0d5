/**
 * The place of scheduled backups: a folder, or an S3 bucket. A backup there is whole, or not there: a folder's file
 * gets its name, and a bucket's object is made, after all of its bytes have come.
 *
 * @module
 */
import { FolderStore } from "../../artifacts/folder.ts";
import {
  type Env,
  parseS3Location,
  type S3Credentials,
  s3Credentials,
  type S3Location,
} from "../../artifacts/s3/location.ts";
import { S3Store } from "../../artifacts/s3/mod.ts";
import type { ArtifactStore } from "../../artifacts/store.ts";
import { BackupError } from "../error.ts";
import { NAME_START, timeOfName } from "./names.ts";

/** A place, as it can be sent to another thread. */
export type PlaceSettings =
  | { folder: string }
  | { location: S3Location; credentials: S3Credentials };

/** An open place. */
export interface BackupPlace extends Disposable {
  /** Without credentials. */
  readonly name: string;
  readonly store: ArtifactStore;
  /**
   * Lists the names of the backups that are there, the oldest first.
   *
   * @throws {UnavailableError} when a bucket cannot be used now
   * @throws {BackupError} when there is no such folder
   */
  list(): Promise<string[]>;
}

/**
 * Reads where a place is.
 *
 * @throws {InvalidInputError} when it is not one, or an `AWS_*` variable is missing
 */
export function placeSettings(to: string, env: Env): PlaceSettings {
  if (!to.startsWith("s3:")) return { folder: to };
  return { location: parseS3Location(to, env), credentials: s3Credentials(env) };
}

/** Opens a place. */
export function openPlace(settings: PlaceSettings): BackupPlace {
  return "folder" in settings ? folderPlace(settings.folder) : bucketPlace(new S3Store(settings));
}

function folderPlace(folder: string): BackupPlace {
  const store = new FolderStore(folder, { isShared: true });
  return {
    name: folder,
    store,
    async list() {
      try {
        const entries = await Array.fromAsync(Deno.readDir(folder));
        return backupsAmong(entries.filter(({ isFile }) => isFile).map(({ name }) => name));
      } catch (error) {
        const isMissing = error instanceof Deno.errors.NotFound ||
          error instanceof Deno.errors.NotADirectory;
        if (!isMissing) throw error;
        // In the place of a disk that is not mounted, a new folder would be on another one.
        throw new BackupError(`Cannot use ${folder} for backups: it is no folder that exists`);
      }
    },
    [Symbol.dispose]: () => store[Symbol.dispose](),
  };
}

function bucketPlace(store: S3Store): BackupPlace {
  return {
    name: store.name,
    store,
    list: async () => backupsAmong(await store.list(NAME_START)),
    [Symbol.dispose]: () => store[Symbol.dispose](),
  };
}

function backupsAmong(names: readonly string[]): string[] {
  return names.filter((name) => timeOfName(name) !== undefined).sort();
}
