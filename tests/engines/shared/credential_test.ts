/** The credentials of engines are read from files that a secret may be in, and from no others. */
import { assertEquals, assertThrows } from "@std/assert";
import { join } from "node:path";
import { readCredential } from "../../../src/engines/shared/credential.ts";
import { ActionError } from "../../../src/platform/errors.ts";
import { temporaryFolder } from "../../data.ts";

Deno.test("the credential of an engine is read from a regular file of at most 64 KiB", async () => {
  await using folder = await temporaryFolder();
  const path = (name: string) => join(folder.path, name);
  await Deno.writeTextFile(path("token"), " a-token\n");
  await Deno.symlink(path("token"), path("link"));
  await Deno.writeTextFile(path("empty"), "\n");
  await Deno.writeFile(path("large"), new Uint8Array(64 * 1024 + 1).fill(65));
  await Deno.mkdir(path("folder"));
  await new Deno.Command("sh", { args: ["-c", `mkfifo "$1"`, "sh", path("pipe")] }).output();
  for (const name of ["token", "link"]) {
    assertEquals(readCredential(`{file:${path(name)}}`), "a-token");
  }
  const cases: [place: string, problem: string][] = [
    [path("empty"), "it is empty"],
    [path("large"), "it has 65537 bytes, and at most 65536 are read"],
    [path("folder"), "it is no regular file"],
    [path("pipe"), "it is no regular file"],
    ["/dev/zero", "it is no regular file"],
    [path("none"), "ENOENT"],
  ];
  for (const [place, problem] of cases) {
    assertThrows(() => readCredential(`{file:${place}}`), ActionError, problem);
  }
});
