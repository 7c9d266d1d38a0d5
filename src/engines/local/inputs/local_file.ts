/**
 * Input files of this machine, as `file:` URLs name them.
 *
 * @module
 */
import { sep } from "node:path";
import { fileURLToPath } from "node:url";
import { openRegularFile } from "../../../platform/files/regular_file.ts";
import type { Bringing, BroughtFile, UrlFile } from "./source.ts";
import { checkedCopy } from "./checked_copy.ts";

const SETTING = "the setting inputs.folders of the project's engine";

/**
 * Copies a file that is inside one of the project's folders.
 *
 * @throws when it is not, or is no regular file
 */
export async function bringLocalFile(
  { name: wanted }: UrlFile,
  url: URL,
  { settings: { folders = [] }, allowance, folder }: Bringing,
): Promise<BroughtFile> {
  const path = pathOf(url);
  if (folders.length === 0) {
    throw new Error(`${SETTING} names no folder that files may be taken from`);
  }
  using file = await openInside(path, folders);
  if (file === undefined) {
    throw new Error(`it is in none of the folders that ${SETTING} names`);
  }
  const { size } = await file.stat();
  allowance.check(size);
  const place = folder.place(wanted);
  const { signal } = allowance;
  // It may grow meanwhile.
  const onBytes = (total: number) => allowance.check(total);
  const copied = await checkedCopy(file, place.path, { signal, onBytes });
  allowance.take(copied.size);
  return { name: place.name, ...copied, uri: url.href };
}

function pathOf(url: URL): string {
  try {
    return fileURLToPath(url);
  } catch {
    throw new Error("expected file:/// and the path of a file of this machine");
  }
}

/**
 * Opens a regular file; undefined when it is outside of the folders.
 *
 * @throws when there is none
 */
async function openInside(path: string, folders: string[]): Promise<Deno.FsFile | undefined> {
  const real = await realPathInside(path, folders);
  if (real === undefined) return undefined;
  const file = await openRegularFile(real);
  if (file === undefined) throw new Error("it is no regular file");
  // A link in the place of a folder has led elsewhere. It is seen unless it is gone again by now.
  if (await realPathInside(path, folders).catch(() => undefined) === real) return file;
  file.close();
  throw new Error("it was replaced while it was opened");
}

/** The real path of what is inside one of the folders. Nothing is looked at that a path says is outside. */
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
      throw new Error("there is no such file");
    }
    throw error;
  }
}

function isInside(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
