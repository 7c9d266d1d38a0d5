/**
 * Finding the backup that a restore is asked for: a file, or the newest or a named one of a folder or an S3 bucket.
 *
 * @module
 */
import { basename, dirname } from "node:path";
import type { Env } from "../artifacts/s3/location.ts";
import { InvalidInputError, messageOf } from "../platform/errors.ts";
import { timeOfName } from "./scheduled/names.ts";
import { type BackupPlace, openPlace, placeSettings } from "./scheduled/place.ts";

/** A backup that was found. */
interface FoundBackup {
  /** Its path, or its name in a place. */
  name: string;
  source: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** The place that it was chosen from; undefined for a file. */
  place?: ChosenFrom;
}

/** A place from which a backup was chosen. */
export interface ChosenFrom {
  name: string;
  /** The time of the backup, RFC 3339. */
  made_at: string;
  isNewest: boolean;
  /** The number of backups there. */
  count: number;
  /** The name of the one before it; undefined when it is the first. */
  before: string | undefined;
}

/**
 * Finds a backup.
 *
 * @param named a file, a folder of scheduled backups, or `s3://bucket/prefix` with or without the name of one
 * @throws {InvalidInputError} when there is none
 */
export async function findBackup(named: string, env: Env): Promise<FoundBackup> {
  if (named.startsWith("s3:")) return await inBucket(named, env);
  if (timeOfName(basename(named)) !== undefined) {
    return await inPlace(openPlace({ folder: dirname(named) }), basename(named));
  }
  const info = await Deno.stat(named).catch((error) => {
    throw cannotRead(named, error);
  });
  if (info.isDirectory) return await inPlace(openPlace({ folder: named }), undefined);
  const file = await Deno.open(named, { read: true }).catch((error) => {
    throw cannotRead(named, error);
  });
  return { name: named, source: file.readable };
}

async function inBucket(named: string, env: Env): Promise<FoundBackup> {
  const [, place = "", name = "", query = ""] = /^([^?]*?)\/+([^/?]*)(\?.*)?$/.exec(named) ?? [];
  const isOne = timeOfName(name) !== undefined;
  const to = isOne ? place + query : named;
  return await inPlace(openPlace(placeSettings(to, env)), isOne ? name : undefined);
}

async function inPlace(place: BackupPlace, wanted: string | undefined): Promise<FoundBackup> {
  const names = await place.list();
  const name = wanted ?? names.at(-1);
  if (name === undefined) {
    throw new InvalidInputError(
      "the backup",
      `Expected backups with names such as hooklaunch-20260131T140000Z.tar.gz, found none in ${place.name}`,
    );
  }
  const at = names.indexOf(name);
  const opened = at === -1 ? undefined : await place.store.open(name);
  if (opened === undefined) {
    throw new InvalidInputError(
      "the backup",
      `Expected one of the ${names.length} backups in ${place.name}, found no ${name} there` +
        (names.length === 0 ? "" : `; the newest is ${names.at(-1)}`),
    );
  }
  return {
    name,
    source: opened.stream,
    place: {
      name: place.name,
      made_at: new Date(timeOfName(name) ?? 0).toISOString(),
      isNewest: at === names.length - 1,
      count: names.length,
      before: names[at - 1],
    },
  };
}

function cannotRead(path: string, error: unknown): InvalidInputError {
  return new InvalidInputError("the backup", `Cannot read ${path}: ${messageOf(error)}`);
}
