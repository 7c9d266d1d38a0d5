/**
 * The record of scheduled backups: how far they are, and what has failed. And the sentinel, by which a backup shows
 * that it holds what was stored just before it.
 *
 * @module
 */
import { keys } from "../keys.ts";
import { readValue } from "../read/scan.ts";
import type { Store } from "../store.ts";

/** Tries that have failed since the last one that did not. */
export interface BackupFailure {
  /** The time of the first, RFC 3339. */
  since: string;
  /** The number of tries. */
  count: number;
  /** The reason of the latest. */
  detail: string;
  /** The time of the next, RFC 3339. */
  next_at: string;
}

/** The state of scheduled backups. */
export interface BackupState {
  /** The place, as the setting names it. What is known of another one does not count. */
  place: string;
  /** The time since which backups go there, RFC 3339. */
  since: string;
  /** The latest backup that was made. */
  last?: MadeBackup;
  /** The latest backup that was restored and checked, or, where no files are kept, read back and checked. */
  proof?: { name: string; proven_at: string; read_back?: true };
  /** Backups fail. */
  failure?: BackupFailure;
  /** Proofs fail. */
  proof_failure?: BackupFailure & { name: string };
  /** The names of backups that were restored and checked. */
  proven: string[];
  /** The names of backups that cannot be restored. */
  damaged: string[];
}

/** A backup that was made. */
interface MadeBackup {
  name: string;
  /** The moment that it shows, RFC 3339. */
  made_at: string;
  /** Bytes of the archive. */
  size: number;
  sha256: string;
  /** Numbers of the files and the records in it, and the bytes of the files. */
  files: number;
  records: number;
  bytes: number;
}

/** Reads the state of backups to a place; that of none when there is no other. */
export async function getBackupState(
  store: Pick<Store, "kv">,
  place: string,
  now_ms: number,
): Promise<BackupState> {
  const value = await readValue(store.kv, keys.backupState());
  if (isState(value) && value.place === place) return value;
  return { place, since: new Date(now_ms).toISOString(), proven: [], damaged: [] };
}

/** Stores the state. */
export async function putBackupState(store: Store, state: BackupState): Promise<void> {
  await store.committer.write([{ key: keys.backupState(), value: state }]);
}

/** Stores the name of a backup just before it is made. */
export async function putBackupSentinel(store: Store, name: string): Promise<void> {
  await store.committer.write([{ key: keys.backupSentinel(), value: name }]);
}

function isState(value: unknown): value is BackupState {
  return typeof value === "object" && value !== null && "place" in value &&
    ["proven", "damaged"].every((list) => Array.isArray(Object(value)[list]));
}
