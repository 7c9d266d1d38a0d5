/**
 * A folder as a tar archive, made while it is read. The functions of `modern-tar` for files ask for the number of
 * processors, which the service has no permission for.
 *
 * @module
 */
import { createTarPacker, type TarPackController } from "modern-tar";
import { join } from "node:path";
import { ActionError } from "../../platform/errors.ts";
import { listTree, type TreeEntry } from "./tree.ts";

const CHUNK_BYTES = 256 * 1024;

/**
 * Returns the files, folders and links of a folder that nobody changes as a tar archive.
 *
 * @throws {NotUtf8Error} when a name is not UTF-8
 */
export async function tarOf(folder: string): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const entries = await listTree(folder);
  const { readable, controller } = createTarPacker();
  addAll(folder, entries, controller).then(
    () => controller.finalize(),
    // Whoever reads it is told. One who has gone has ended it already.
    (error) => controller.error(error),
  );
  // All of its buffers are made here, or by the packer.
  return readable as ReadableStream<Uint8Array<ArrayBuffer>>;
}

async function addAll(
  folder: string,
  entries: readonly TreeEntry[],
  tar: TarPackController,
): Promise<void> {
  for (const entry of entries) {
    const { kind, path } = entry;
    if (kind === "folder") {
      await tar.add({ name: `${path}/`, type: "directory", size: 0, mode: 0o700 }).close();
    } else if (kind === "link") {
      const header = { name: path, type: "symlink", size: 0, linkname: entry.target } as const;
      await tar.add(header).close();
    } else {
      const { size, mode } = entry;
      const writer = tar.add({ name: path, type: "file", size, mode }).getWriter();
      await copy(join(folder, path), size, writer);
    }
  }
}

async function copy(
  path: string,
  size: number,
  writer: WritableStreamDefaultWriter<Uint8Array>,
): Promise<void> {
  using file = await Deno.open(path);
  for (let left = size; left > 0;) {
    // A new buffer each time: the writer keeps it until it is read.
    const buffer = new Uint8Array(Math.min(left, CHUNK_BYTES));
    const count = await file.read(buffer);
    if (count === null) throw new ActionError(`Cannot read ${path}: it became shorter`);
    await writer.write(buffer.subarray(0, count));
    left -= count;
  }
  await writer.close();
}
