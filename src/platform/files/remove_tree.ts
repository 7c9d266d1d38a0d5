/**
 * Removing folders that others have filled.
 *
 * @module
 */
import { join } from "node:path";
import { shell } from "../processes/shell.ts";

/** How many levels of folders Deno removes: each takes some of a stack and an open file. */
const LEVELS_MAX = 64;

/**
 * Removes what may not be there, also when somebody has made parts of it unwritable, or so deep that to
 * remove it here would overflow a stack, and end the service, or take more files than it may open.
 */
export async function removeTree(path: string): Promise<void> {
  try {
    if (await isDeep(path)) return await removeByForce(path);
    await Deno.remove(path, { recursive: true });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    await removeByForce(path);
  }
}

async function isDeep(path: string, levels = LEVELS_MAX): Promise<boolean> {
  if (levels === 0) return true;
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    if (isDirectory && await isDeep(join(path, name), levels - 1)) return true;
  }
  return false;
}

/** Makes writable first what is not. */
async function removeByForce(path: string): Promise<void> {
  // What they say may be a line for each file.
  await shell('exec 2>/dev/null; chmod -R u+rwX -- "$1"; rm -rf -- "$1"', [path]);
}
