/**
 * The sentinel of a backup: its name, which was written to the database just before it was made.
 *
 * @module
 */
import { DamagedBackupError } from "../error.ts";

/**
 * Checks what was written just before a backup, as the backup has it.
 *
 * @throws {DamagedBackupError} when it is not the backup's name
 */
export function expectSentinelOf(name: string, found: unknown): void {
  if (found === name) return;
  throw new DamagedBackupError(
    `The backup ${name} is of another moment: it holds what was written before ${
      typeof found === "string" ? found : "none"
    }`,
  );
}
