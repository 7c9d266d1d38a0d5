/**
 * The reports of backups.
 *
 * @module
 */
import type { Flaw } from "./manifest.ts";

/** A backup that was made. */
export interface BackupReport {
  /** Bytes of the archive. */
  size: number;
  sha256: string;
  /** Number of files in the archive. */
  files: number;
  /** Bytes of these files. */
  bytes: number;
  /** Number of records in the database. */
  records: number;
  has_key: boolean;
  created_at: string;
  flaws: Flaw[];
}
