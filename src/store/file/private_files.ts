/**
 * Permissions in the data folder: its owner alone may read it.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../platform/errors.ts";

/** The bits of a file's mode for users other than the owner. */
const OTHERS = 0o077;
/** The part of a mode that can be set. */
const PERMISSIONS = 0o7777;

const log = getLogger(["hooklaunch", "store"]);

/**
 * Takes a file from everybody but its owner, if it is there. Where that is not possible, as when it
 * belongs to another user, it warns: who set that up may have meant it.
 */
export async function makePrivate(path: string): Promise<void> {
  try {
    const { mode } = await Deno.stat(path);
    if (mode === null || (mode & OTHERS) === 0) return;
    await Deno.chmod(path, mode & PERMISSIONS & ~OTHERS);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    log.warn("Others may read {path}, and this cannot be changed: {error}", {
      path,
      error: messageOf(error),
    });
  }
}
