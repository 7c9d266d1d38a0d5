/**
 * Opening files in folders in which others may put anything.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { openGrowingFile, openRegularFile } from "../../../src/platform/files/regular_file.ts";

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

Deno.test("a file that grows is read on, and nothing else is opened or waited for", async () => {
  const folder = await Deno.makeTempDir();
  const at = (name: string) => join(folder, name);
  await Deno.writeTextFile(at("file"), "one ");
  await Deno.symlink("file", at("link"));
  await Deno.writeTextFile(at("closed"), "", { mode: 0o000 });
  await new Deno.Command("sh", { args: ["-c", 'mkfifo "$1"', "sh", at("pipe")] }).output();
  for (const name of ["link", "pipe", ".", "missing", "file/in it"]) {
    assertEquals(openGrowingFile(at(name)), undefined, name);
  }
  // Root may read it all the same.
  openGrowingFile(at("closed"))?.close();
  using file = openGrowingFile(at("file"));
  const read = () => {
    const buffer = new Uint8Array(10);
    const bytes = file?.readSync(buffer) ?? null;
    return bytes === null ? null : new TextDecoder().decode(buffer.subarray(0, bytes));
  };
  assertEquals([read(), read()], ["one ", null]);
  await Deno.writeTextFile(at("file"), "two", { append: true });
  assertEquals([read(), read()], ["two", null]);
  file?.seekSync(2, Deno.SeekMode.Start);
  assertEquals(read(), "e two");
  await Deno.remove(folder, { recursive: true });
});
