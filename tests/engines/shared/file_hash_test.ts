/** Hashes of files that a process computes. */
import { assertEquals, assertRejects } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { join } from "node:path";
import { hashFile } from "../../../src/engines/shared/file_hash.ts";
import { shell } from "../../../src/platform/run_script.ts";
import { eventually, PATIENCE_MS, temporaryFolder } from "../../surroundings.ts";

/** Would be read for many minutes, and takes no room. */
const HOLE_BYTES = 1024 ** 4;

/** Prints the names of the programs that have the file $1 open. */
const READERS = `find /proc/[0-9]*/fd -lname "$1" 2>/dev/null |
  while read -r fd; do cat "\${fd%/fd/*}/comm" 2>/dev/null; done`;

async function readersOf(path: string): Promise<string[]> {
  const { stdout } = await shell(READERS, [path]);
  return new TextDecoder().decode(stdout).split("\n").filter((name) => name !== "");
}

Deno.test({
  name: "a hash that is not needed any more ends at once, with what computes it",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using folder = await temporaryFolder();
    const path = join(await Deno.realPath(folder.path), "hole");
    await Deno.writeFile(path, new Uint8Array(1));
    await Deno.truncate(path, HOLE_BYTES);
    const closing = new AbortController();
    const hashing = hashFile(path, { signal: closing.signal });
    await eventually(async () => (await readersOf(path)).includes("sha256sum") || undefined, {
      what: "the process that computes it",
    });
    closing.abort();
    await assertRejects(() => deadline(hashing, PATIENCE_MS), DOMException, "aborted");
    await eventually(async () => (await readersOf(path)).length === 0 || undefined, {
      what: "the end of what reads it",
    });
    assertEquals((await Deno.stat(path)).size, HOLE_BYTES);
  },
});

Deno.test("a long file has the hash that a short one has, however it is computed", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "a name with 'quotes' and \\");
  for (const size of [1024, 2 * 1024 ** 2]) {
    const bytes = crypto.getRandomValues(new Uint8Array(1024));
    const whole = new Uint8Array(size);
    whole.set(bytes);
    await Deno.writeFile(path, whole);
    const digest = await crypto.subtle.digest("SHA-256", whole);
    assertEquals(await hashFile(path), { size, sha256: new Uint8Array(digest).toHex() });
  }
});
