/**
 * An earlier version of the service, from the history of the checkout.
 *
 * @module
 */
import { shell } from "./served.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
/** A commit whose data has the format of today's. The one of the last release takes its place. */
const COMMIT = "1b92e77d";

/** True where the history has it: a shallow clone has none. */
export const hasEarlier = new Deno.Command("git", {
  args: ["-C", ROOT, "cat-file", "-e", `${COMMIT}^{commit}`],
  stdout: "null",
  stderr: "null",
}).outputSync().success;

/** Writes what it needs into a folder. Returns the folder. */
export async function checkOutEarlier(folder: string): Promise<string> {
  await shell(
    `mkdir '${folder}' && git -C '${ROOT}' archive ${COMMIT} src deno.json deno.lock | tar -x -C '${folder}'`,
  );
  return folder;
}
