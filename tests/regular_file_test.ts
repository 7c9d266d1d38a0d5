/**
 * Opening files in folders in which others may put anything.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { openRegularFile } from "../src/regular_file.ts";

Deno.test("a regular file is opened, and nothing else is", async () => {
  const folder = await Deno.makeTempDir();
  const at = (name: string) => join(folder, name);
  await Deno.writeTextFile(at("file"), "text");
  await Deno.symlink("file", at("link"));
  await Deno.symlink("missing", at("link to nothing"));
  await new Deno.Command("sh", { args: ["-c", 'mkfifo "$1"', "sh", at("pipe")] }).output();
  for (const name of ["link", "link to nothing", "pipe", ".", "missing"]) {
    assertEquals(await openRegularFile(at(name)), undefined, name);
  }
  using file = await openRegularFile(at("file"));
  assertEquals((await file?.stat())?.size, 4);
  await Deno.remove(folder, { recursive: true });
});
