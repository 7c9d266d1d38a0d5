/**
 * An earlier version of the service, from the history of the checkout.
 *
 * @module
 */
import { shell } from "./served.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
/** A commit whose data has the format of today's. The one of the last release takes its place. */
const COMMIT = "c41e233a";

/** True where the history has it: a shallow clone has none. */
export const hasEarlier = new Deno.Command("git", {
  args: ["-C", ROOT, "cat-file", "-e", `${COMMIT}^{commit}`],
  stdout: "null",
  stderr: "null",
}).outputSync().success;

/**
 * Writes what it needs into a folder, and returns that. The folder stays for the next run, as Deno keeps compiled code
 * for a place.
 */
export async function checkOutEarlier(): Promise<string> {
  const folder = `${ROOT}dist/earlier-${COMMIT}`;
  await shell(
    `[ -e '${folder}' ] || { mkdir -p '${ROOT}dist' && made=$(mktemp -d -p '${ROOT}dist') &&
    git -C '${ROOT}' archive ${COMMIT} src deno.json deno.lock | tar -x -C "$made" &&
    { mv -T "$made" '${folder}' || rm -r "$made"; }; }`,
  );
  return folder;
}
