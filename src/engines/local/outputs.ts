/**
 * The outputs of an execution: what it left in its outputs folder.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import type { OutputFile } from "../../store/executions.ts";

const ENTRIES_MAX = 100_000;

/** What is listed of an execution's outputs. */
export interface Outputs {
  /** By path. */
  files: OutputFile[];
  /** Whether there are more files than are listed. */
  isCut: boolean;
}

/**
 * Lists regular files; links are not followed.
 *
 * @param filesMax how many are listed at most
 */
export async function listOutputs(folder: string, filesMax: number): Promise<Outputs> {
  const { paths, isCut } = await findFiles(folder);
  const files: OutputFile[] = [];
  for (const path of paths.sort()) {
    if (files.length >= filesMax) return { files, isCut: true };
    const file = await describe(folder, path);
    if (file) files.push(file);
  }
  return { files, isCut };
}

/** Opens one of them; undefined when there is no regular file of this path inside the folder. */
export async function openOutput(folder: string, path: string): Promise<Deno.FsFile | undefined> {
  try {
    const root = join(await Deno.realPath(dirname(folder)), basename(folder));
    const real = await Deno.realPath(join(folder, path));
    // Equal only when no part of the path is a link or leads up.
    if (real !== `${root}/${path}`) return undefined;
    if (!(await Deno.lstat(real)).isFile) return undefined;
    return await Deno.open(real, { read: true });
  } catch (error) {
    const isMissing = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.NotADirectory || error instanceof TypeError;
    if (isMissing) return undefined;
    throw error;
  }
}

async function findFiles(folder: string): Promise<{ paths: string[]; isCut: boolean }> {
  const paths: string[] = [];
  // The command may have put a link in the folder's place.
  const folders = isFolder(folder) ? [""] : [];
  let entries = 0;
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    try {
      for await (const { name, isFile, isDirectory } of Deno.readDir(join(folder, at))) {
        if (++entries > ENTRIES_MAX) return { paths, isCut: true };
        const path = at === "" ? name : `${at}/${name}`;
        if (isDirectory) folders.push(path);
        else if (isFile) paths.push(path);
      }
    } catch {
      // A folder that the command removed, or made unreadable: what is in it is not listed.
    }
  }
  return { paths, isCut: false };
}

function isFolder(path: string): boolean {
  try {
    return Deno.lstatSync(path).isDirectory;
  } catch {
    return false;
  }
}

async function describe(folder: string, path: string): Promise<OutputFile | undefined> {
  try {
    using file = await Deno.open(join(folder, path), { read: true });
    const hash = createHash("sha256");
    const buffer = new Uint8Array(256 * 1024);
    let size = 0;
    for (let read = await file.read(buffer); read !== null; read = await file.read(buffer)) {
      hash.update(buffer.subarray(0, read));
      size += read;
    }
    return { path, size, sha256: hash.digest("hex") };
  } catch {
    return undefined;
  }
}
