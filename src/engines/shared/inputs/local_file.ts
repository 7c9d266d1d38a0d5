/**
 * Input files of this machine: `file:` URLs.
 *
 * @module
 */
import { sep } from "node:path";
import { fileURLToPath } from "node:url";
import { openRegularFile } from "../../../platform/files/regular_file.ts";
import type { StagedFile } from "../config_files.ts";
import { StagingError } from "./errors.ts";
import type { StagingContext, UrlFile } from "./source.ts";

/** Few large reads: each returns to the service's event loop. */
const BUFFER_BYTES = 1024 * 1024;
const SETTING = "the setting inputs.folders of the project's engine";

/**
 * Copies a file from one of the folders in {@linkcode SETTING}.
 *
 * @throws {StagingError} when it is in none of them, or is no regular file
 */
export async function stageLocalFile(
  { name: wanted }: UrlFile,
  url: URL,
  { settings: { folders = [] }, budget, folder, keeper }: StagingContext,
): Promise<StagedFile> {
  const path = pathOf(url);
  if (folders.length === 0) {
    throw new StagingError(
      `${SETTING} is empty: it must name each folder that file: URLs may lead into`,
    );
  }
  using file = await openInside(path, folders);
  if (file === undefined) {
    throw new StagingError(`it is in none of the folders that ${SETTING} names`);
  }
  const { size } = await file.stat();
  budget.check(size);
  const place = folder.place(wanted);
  const { signal } = budget;
  // The file may grow meanwhile.
  const onBytes = (total: number) => budget.check(total);
  const copied = await keeper.write(place.path, chunksOf(file), { signal, onBytes });
  budget.take(copied.size);
  return { name: place.name, ...copied, uri: url.href };
}

function pathOf(url: URL): string {
  try {
    return fileURLToPath(url);
  } catch {
    throw new StagingError("expected file:/// and the path of a file of this machine");
  }
}

/**
 * Opens a regular file; undefined when it is outside of the folders.
 *
 * @throws {StagingError} when there is none
 */
async function openInside(path: string, folders: string[]): Promise<Deno.FsFile | undefined> {
  const real = await realPathInside(path, folders);
  if (real === undefined) return undefined;
  const file = await openRegularFile(real);
  if (file === undefined) throw new StagingError("it is not a regular file");
  // A folder in the path may have been replaced by a link. A second look detects it.
  if (await realPathInside(path, folders).catch(() => undefined) === real) return file;
  file.close();
  throw new StagingError("it was replaced while it was opened");
}

/** Resolves a path; undefined when it is outside of the folders. Paths outside are not looked at. */
async function realPathInside(path: string, folders: string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const realFolder = await Deno.realPath(folder).catch(() => undefined);
    if (realFolder === undefined) continue;
    if (!isInside(path, folder) && !isInside(path, realFolder)) continue;
    const real = await realPathOf(path);
    if (isInside(real, realFolder)) return real;
  }
  return undefined;
}

async function realPathOf(path: string): Promise<string> {
  try {
    return await Deno.realPath(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      throw new StagingError("there is no such file");
    }
    throw error;
  }
}

function isInside(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Yields the rest of a file. Each chunk is valid until the next one. */
async function* chunksOf(file: Deno.FsFile): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(BUFFER_BYTES);
  for (;;) {
    const count = await file.read(buffer);
    if (count === null) return;
    yield buffer.subarray(0, count);
  }
}
