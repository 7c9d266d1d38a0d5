/** A tree from an archive: nothing is written outside of its folder. */
import { assertEquals, assertRejects } from "@std/assert";
import { createTarPacker } from "modern-tar";
import { join } from "node:path";
import { InvalidInputError } from "../../../src/platform/errors.ts";
import { extractTree } from "../../../src/projects/code/extract_tree.ts";
import { temporaryFolder } from "../../surroundings.ts";

/** Returns an archive of files with the text `text`, and of links. */
function archiveOf(entries: readonly { name: string; linkname?: string }[]) {
  const { readable, controller } = createTarPacker();
  const add = async () => {
    for (const { name, linkname } of entries) {
      const header = linkname === undefined
        ? { name, type: "file", size: 4 } as const
        : { name, type: "symlink", size: 0, linkname } as const;
      const writer = controller.add(header).getWriter();
      if (linkname === undefined) await writer.write(new TextEncoder().encode("text"));
      await writer.close();
    }
    controller.finalize();
  };
  add().catch((error) => controller.error(error));
  return readable.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array<ArrayBuffer>>({
      transform: (chunk, out) => out.enqueue(new Uint8Array(chunk)),
    }),
  );
}

Deno.test("an archive writes nothing outside of its folder", async () => {
  await using temporary = await temporaryFolder();
  const folder = join(temporary.path, "tree");
  const outside = join(temporary.path, "outside");
  for (const name of ["../outside/file", "a/../../outside/file", "/file", "./file"]) {
    await Deno.mkdir(folder);
    await Deno.mkdir(outside);
    await assertRejects(() => extractTree(archiveOf([{ name }]), folder), InvalidInputError, name);
    assertEquals((await Array.fromAsync(Deno.readDir(outside))).length, 0, name);
    await Deno.remove(folder, { recursive: true });
    await Deno.remove(outside);
  }
  await Deno.mkdir(folder);
  await Deno.mkdir(outside);
  // A link is made last: no file is written through it.
  const through = [{ name: "link", linkname: outside }, { name: "link/file" }];
  await assertRejects(() => extractTree(archiveOf(through), folder));
  assertEquals((await Array.fromAsync(Deno.readDir(outside))).length, 0);
});
