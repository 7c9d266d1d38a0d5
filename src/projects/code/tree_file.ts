/**
 * Reading a file of a tree.
 *
 * @module
 */
import { ActionError } from "../../platform/errors.ts";

/**
 * Reads a file; undefined when there is none.
 *
 * @throws {ActionError} when it is longer
 */
export async function readTreeFile(
  path: string,
  bytesMax: number,
): Promise<Uint8Array | undefined> {
  try {
    const { size } = await Deno.stat(path);
    if (size > bytesMax) {
      throw new ActionError(
        `Cannot read ${path}: expected at most ${bytesMax} bytes, found ${size}`,
      );
    }
    return await Deno.readFile(path);
  } catch (error) {
    const { NotFound, IsADirectory } = Deno.errors;
    if (error instanceof NotFound || error instanceof IsADirectory) return undefined;
    throw error;
  }
}
