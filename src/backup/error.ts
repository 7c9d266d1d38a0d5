/**
 * The error of backups.
 *
 * @module
 */
import { HooklaunchError } from "../platform/errors.ts";

/** A backup could not be made, or cannot be restored. */
export class BackupError extends HooklaunchError {
  override readonly code = "backup_failed";
}

/** A backup is not what was backed up: a restore of it would lack something. */
export class DamagedBackupError extends BackupError {}
