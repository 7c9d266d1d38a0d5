/**
 * Listing and opening outputs, while what the command has left running may still do anything with them.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { delay } from "@std/async/delay";
import { join } from "node:path";
import { listOutputs, openOutput } from "../../../src/engines/local/outputs.ts";

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

Deno.test("outputs: one that grows while it is read is longer than they may be together", async () => {
  const folder = await Deno.makeTempDir();
  const path = join(folder, "growing");
  const bytesMax = 32 * 1024 * 1024;
  await Deno.writeFile(path, new Uint8Array(bytesMax));
  const listing = { filesMax: 10, bytesMax };
  assertEquals((await listOutputs(folder, listing)).isTooLarge, false);
  let isOver = false;
  const listed = listOutputs(folder, listing);
  const growing = (async () => {
    // Its size has been looked at by then, and not all of it been read.
    await delay(5);
    while (!isOver) await Deno.writeFile(path, new Uint8Array(64 * 1024), { append: true });
  })();
  const { files, isTooLarge, more } = await listed.finally(() => isOver = true);
  assertEquals([files, isTooLarge, more], [[], true, 1]);
  await growing;
  await Deno.remove(folder, { recursive: true });
});

Deno.test("outputs: of what lies in the place of their folder it is said that it is no output", async () => {
  const folder = await Deno.makeTempDir();
  const path = join(folder, "outputs");
  const listed = async () => (await listOutputs(path, { filesMax: 10, bytesMax: 10 })).passedOver;
  assertEquals(await listed(), []);
  await Deno.writeTextFile(path, "x");
  assertEquals(await listed(), ["."]);
  await Deno.remove(path);
  await Deno.symlink(folder, path);
  assertEquals(await listed(), ["."]);
  await Deno.remove(folder, { recursive: true });
});
