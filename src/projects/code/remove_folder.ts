/**
 * Removing the folder of a project.
 *
 * @module
 */
import { delay } from "@std/async/delay";

const REMOVE_ATTEMPTS = 10;
const REMOVE_PAUSE_MS = 100;

/** Removes a folder. A fetch may write to it for another moment. */
export async function removeFolder(path: string): Promise<void> {
  for (let attempt = 1;; attempt++) {
    try {
      return await Deno.remove(path, { recursive: true });
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return;
      if (attempt === REMOVE_ATTEMPTS) throw error;
      await delay(REMOVE_PAUSE_MS);
    }
  }
}
