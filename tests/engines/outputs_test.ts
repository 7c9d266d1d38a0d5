/**
 * Opening outputs, while the command may still do anything with them.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { openOutput } from "../../src/engines/local/outputs.ts";

const OPENED = 500;

Deno.test("outputs: what a link leads to is not opened, even when it replaces a file just then", async () => {
  const folder = await Deno.makeTempDir();
  const at = (...parts: string[]) => join(folder, ...parts);
  await Deno.mkdir(at("outputs"));
  await Deno.writeTextFile(at("plain"), "plain");
  await Deno.writeTextFile(at("secret"), "a secret");
  let isOver = false;
  const replacing = (async () => {
    while (!isOver) {
      await Deno.link(at("plain"), at("new"));
      await Deno.rename(at("new"), at("outputs", "model"));
      await Deno.symlink("../secret", at("new"));
      await Deno.rename(at("new"), at("outputs", "model"));
    }
  })();
  const sizes = new Set<number>();
  for (let opened = 0; opened < OPENED;) {
    using file = await openOutput(at("outputs"), "model");
    if (file === undefined) continue;
    sizes.add((await file.stat()).size);
    opened++;
  }
  isOver = true;
  await replacing;
  assertEquals([...sizes], ["plain".length]);
  await Deno.remove(folder, { recursive: true });
});
