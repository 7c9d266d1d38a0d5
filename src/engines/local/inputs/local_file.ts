/**
 * Input files of this machine, as `file:` URLs name them.
 *
 * @module
 */
import { sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Bringing, BroughtFile, UrlFile } from "./bringing.ts";
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
  const found = await Deno.lstat(real);
  // Opening a pipe would wait for somebody who writes into it.
  if (!found.isFile) throw new Error("it is no regular file");
  const file = await Deno.open(real, { read: true });
  try {
    // What was opened is what was looked at, whatever was put in its place, or in that of a folder.
    const opened = await file.stat();
    const isSame = opened.dev === found.dev && opened.ino === found.ino;
    if (isSame && await realPathInside(path, folders) === real) return file;
  } catch (error) {
    file.close();
    throw error;
  }
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
