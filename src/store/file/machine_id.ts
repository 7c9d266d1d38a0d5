/**
 * The id of a data folder. Records of executions name it, so that instances know which of them runs what. It
 * moves with the folder.
 *
 * @module
 */
import { join } from "node:path";
import { ConflictError } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import { replaceFile } from "../../platform/files/durable.ts";
import { ignoreMissing } from "../../platform/files/missing_file.ts";

/** The file in a data folder that has its id. */
export const MACHINE_ID_FILE = "machine_id";

/** Reads the id of a folder, or makes it. The folder must be locked. */
export async function machineIdOf(folder: string): Promise<string> {
  const path = join(folder, MACHINE_ID_FILE);
  const stored = (await Deno.readTextFile(path).catch(ignoreMissing))?.trim() ?? "";
  if (isId(stored)) return stored;
  if (stored !== "") {
    throw new ConflictError(
      `Cannot read ${path}: expected a UUID. Remove it if nothing runs on this machine`,
    );
  }
  const id = crypto.randomUUID();
  await replaceFile(path, `${id}\n`, 0o600);
  return id;
}
