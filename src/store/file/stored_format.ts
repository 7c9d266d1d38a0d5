/**
 * The format of the data in a folder, read without changing it.
 *
 * @module
 */
import { join } from "node:path";
import { ConflictError } from "../../platform/errors.ts";
import { keys } from "../keys.ts";
import { readValue } from "../read/scan.ts";
import { DATABASE_FILE } from "./database_file.ts";

/**
 * Reads the format of the data in a folder, also while a service uses it.
 *
 * @throws {ConflictError} when no database is there, or it tells no format
 */
export async function storedFormat(folder: string): Promise<number> {
  const path = join(folder, DATABASE_FILE);
  const { isFile, size } = await Deno.stat(path).catch(() => ({ isFile: false, size: 0 }));
  // Deno KV would make one.
  if (!isFile || size === 0) throw wrong(folder, "no database is there");
  using kv = await Deno.openKv(path);
  const format = await readValue(kv, keys.format());
  if (typeof format !== "number") throw wrong(folder, "its database tells no format");
  return format;
}

function wrong(folder: string, detail: string): ConflictError {
  return new ConflictError(`Cannot read the format of the data in ${folder}: ${detail}`);
}
