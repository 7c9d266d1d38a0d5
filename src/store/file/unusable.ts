/**
 * The error of a data folder that cannot be used.
 *
 * @module
 */
import { ConflictError, InvalidInputError, messageOf } from "../../platform/errors.ts";
import { roomOf } from "./space.ts";

/** Explains a data folder, or a file in it, that cannot be made or opened. */
export function unusable(folder: string): (error: unknown) => Promise<never> {
  return async (error) => {
    if (error instanceof ConflictError) throw error;
    // Deno keeps programs out of /proc and its like, whatever else they are allowed.
    const why = error instanceof Deno.errors.NotCapable
      ? "Deno does not allow to write there"
      : messageOf(error);
    // Without any room SQLite may say no more than that of reading and writing one has failed.
    const room = await roomOf(folder).catch(() => undefined);
    const isFull = room?.bytes === 0 || room?.files === 0;
    throw new InvalidInputError(
      "--data",
      `Expected a folder that is there or can be made, and written to, ` +
        `found "${folder}": ${why}${isFull ? ". Its disk is full" : ""}`,
    );
  };
}
