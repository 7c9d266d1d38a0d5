/**
 * Archives with the same bytes whenever they are made: entries in the order of their names, one time for all.
 *
 * @module
 */
import { createTarPacker } from "modern-tar";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Release } from "./release.ts";

/** Reads the files below a folder, with their paths in it. */
export async function filesBelow(folder: string, path = ""): Promise<string[]> {
  const paths: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(folder, path))) {
    const inner = join(path, name);
    if (isDirectory) paths.push(...await filesBelow(folder, inner));
    else paths.push(inner);
  }
  return paths.sort();
}

/**
 * Writes a folder as a `.tar.gz` of a release.
 *
 * @param root the folder that the entries are in
 */
export async function writeArchive(
  { output, time: mtime, level }: Release,
  name: string,
  { folder, root }: { folder: string; root: string },
): Promise<void> {
  const { readable, controller } = createTarPacker();
  const add = async (): Promise<void> => {
    for (const each of await filesBelow(folder)) {
      const bytes = await Deno.readFile(join(folder, each));
      const isProgram = ((await Deno.stat(join(folder, each))).mode ?? 0) & 0o100;
      const mode = isProgram ? 0o755 : 0o644;
      const writer = controller.add({
        ...{ name: `${root}/${each}`, type: "file", size: bytes.length, mode, mtime },
        ...{ uid: 0, gid: 0, uname: "root", gname: "root" },
      }).getWriter();
      await writer.write(bytes);
      await writer.close();
    }
  };
  add().then(() => controller.finalize(), (error) => controller.error(error));
  await pipeline(
    Readable.fromWeb(readable),
    createGzip({ level }),
    createWriteStream(join(output, name)),
  );
}
