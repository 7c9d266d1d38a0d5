/**
 * Removing folders whose contents somebody else has written.
 *
 * @module
 */
import { join } from "node:path";
import { shell } from "../run_script.ts";
import { ignoreMissing } from "./missing_file.ts";

/**
 * The depth to which Deno removes folders: each level takes a part of the stack and an open file.
 */
const LEVELS_MAX = 64;
/** Bytes that a long file loses at once. */
const CUT_BYTES = 16 * 1024 * 1024;

/**
 * Removes a folder if it exists. Parts of it may be unwritable, and it may be so deep that Deno
 * would overflow its stack, which ends the process.
 */
export async function removeTree(path: string): Promise<void> {
  try {
    if (await isDeep(path)) return await removeByShell(path);
    await Deno.remove(path, { recursive: true });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    await removeByShell(path);
  }
}

/**
 * Removes a file that nobody else uses, if it exists. A long one loses its bytes part by part: a file system gives
 * back those of a whole file in one piece, and what others store waits for that.
 */
export async function removeInParts(path: string): Promise<void> {
  try {
    using file = await Deno.open(path, { write: true });
    const { size } = await file.stat();
    for (let left = size - CUT_BYTES; left > 0; left -= CUT_BYTES) {
      await file.truncate(left);
      await file.sync();
    }
    await Deno.remove(path);
  } catch (error) {
    ignoreMissing(error);
  }
}

async function isDeep(path: string, levels = LEVELS_MAX): Promise<boolean> {
  if (levels === 0) return true;
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    if (isDirectory && await isDeep(join(path, name), levels - 1)) return true;
  }
  return false;
}

/** Makes everything writable first. */
async function removeByShell(path: string): Promise<void> {
  // The programs may print a line for each file.
  await shell('exec 2>/dev/null; chmod -R u+rwX -- "$1"; rm -rf -- "$1"', [path]);
}
