/**
 * Writes a tar archive of a tree into a folder.
 *
 * @module
 */
import { createTarDecoder } from "modern-tar";
import { join } from "node:path";
import { InvalidInputError } from "../../platform/errors.ts";
import { partWriter } from "../../platform/files/durable.ts";

/**
 * Writes the folders, files and links of an archive into an empty folder, and the files to disk. Nothing is
 * written outside of it: a path leads down, and links come last.
 *
 * @throws {InvalidInputError} when an entry leads elsewhere, or is of another kind
 */
export async function extractTree(
  archive: ReadableStream<Uint8Array<ArrayBuffer>>,
  folder: string,
): Promise<void> {
  const links: [path: string, target: string][] = [];
  for await (const { header, body } of archive.pipeThrough(createTarDecoder({ strict: true }))) {
    const { name, type = "file", mode = 0o600, linkname = "" } = header;
    const target = join(folder, checkedPath(name.replace(/\/$/, "")));
    if (type === "file") {
      using file = await Deno.open(target, { write: true, createNew: true, mode: 0o600 });
      const write = partWriter(file);
      for await (const chunk of body) await write(chunk);
      await Deno.chmod(target, mode & 0o777);
      await file.sync();
      continue;
    }
    await body.cancel();
    if (type === "directory") await Deno.mkdir(target, { mode: 0o700 });
    else if (type === "symlink") links.push([target, linkname]);
    else {throw new InvalidInputError(
        "the archive",
        `Expected a file, folder or link, found ${type}`,
      );}
  }
  for (const [path, target] of links) await Deno.symlink(target, path);
}

function checkedPath(path: string): string {
  if (path.split("/").every((part) => part !== "" && part !== "." && part !== "..")) return path;
  throw new InvalidInputError(
    "the archive",
    `Expected a path into the folder, found ${JSON.stringify(path)}`,
  );
}
