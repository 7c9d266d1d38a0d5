/**
 * The outputs of an execution: the files in its outputs folder.
 *
 * @module
 */
import { basename, dirname, join } from "node:path";
import { openRegularFile } from "../../platform/files/regular_file.ts";
import { isShortage } from "../../platform/errors.ts";
import type { OutputFile } from "../../store/records/executions.ts";
import { hashFile, type HashOptions } from "../shared/file_hash.ts";
import type { ListedOutputs } from "../shared/results.ts";

const ENTRIES_MAX = 100_000;

/** The content of an outputs folder. */
interface Outputs extends ListedOutputs {
  /** The paths of links, pipes, and of files and folders that cannot be read or have no name in UTF-8. */
  passedOver: string[];
}

/** Limits of listing outputs. */
interface ListOptions {
  /** The most files. */
  filesMax: number;
  /** The most bytes together. A file with holes may be longer than any disk, so reading it takes for ever. */
  bytesMax: number;
  /** Aborted when the list is not needed any more. */
  signal?: AbortSignal;
}

/** Lists the regular files of a folder, without following links. */
export async function listOutputs(
  folder: string,
  { filesMax, bytesMax, signal }: ListOptions,
): Promise<Outputs> {
  const { paths, passedOver, isCut } = await findFiles(folder);
  const files: OutputFile[] = [];
  let more = paths.length + (isCut ? 1 : 0);
  let bytes = 0;
  for (const path of paths.sort()) {
    if (files.length >= filesMax) break;
    const left = bytesMax - bytes;
    const size = await sizeOf(folder, path);
    // A process that the command left running may still write to it.
    const file = size > left
      ? undefined
      : await describe(join(folder, path), path, { bytesMax: left, signal });
    bytes += file?.size ?? size;
    if (bytes > bytesMax) break;
    more--;
    if (file) files.push(file);
    else passedOver.push(path);
  }
  return { files, more, isTooLarge: bytes > bytesMax, passedOver: passedOver.sort() };
}

/** Opens an output; undefined when there is no regular file of this path in the folder. */
export async function openOutput(folder: string, path: string): Promise<Deno.FsFile | undefined> {
  try {
    const root = join(await Deno.realPath(dirname(folder)), basename(folder));
    const real = await Deno.realPath(join(folder, path));
    // They are equal only if no part of the path is a link or leads up.
    if (real !== `${root}/${path}`) return undefined;
    const file = await openRegularFile(real);
    // A folder in the path may have been replaced by a link. A second look detects it.
    if (await Deno.realPath(real).catch(() => undefined) === real) return file;
    file?.close();
    return undefined;
  } catch (error) {
    const isMissing = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.NotADirectory || error instanceof TypeError;
    if (isMissing) return undefined;
    throw error;
  }
}

async function findFiles(
  folder: string,
): Promise<{ paths: string[]; passedOver: string[]; isCut: boolean }> {
  const paths: string[] = [];
  // The command may have replaced the folder by a link or a file.
  const isFolder = folderAt(folder);
  const passedOver: string[] = isFolder === false ? ["."] : [];
  const folders = isFolder ? [""] : [];
  let entries = 0;
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    try {
      for await (const { name, isFile, isDirectory } of Deno.readDir(join(folder, at))) {
        if (++entries > ENTRIES_MAX) return { paths, passedOver, isCut: true };
        const path = at === "" ? name : `${at}/${name}`;
        if (isDirectory) folders.push(path);
        else if (isFile) paths.push(path);
        else passedOver.push(path);
      }
    } catch (error) {
      if (isShortage(error)) throw error;
      // The folder is unreadable, has no name in UTF-8, or was just removed.
      passedOver.push(at === "" ? "." : at);
    }
  }
  return { paths, passedOver, isCut: false };
}

/** Tells if a folder is at the path; undefined when nothing is. */
function folderAt(path: string): boolean | undefined {
  try {
    return Deno.lstatSync(path).isDirectory;
  } catch {
    return undefined;
  }
}

async function sizeOf(folder: string, path: string): Promise<number> {
  return await Deno.lstat(join(folder, path)).then(({ size }) => size, () => 0);
}

/** Describes an output; undefined when it cannot be read. */
async function describe(
  file: string,
  path: string,
  options: HashOptions,
): Promise<OutputFile | undefined> {
  try {
    return { path, ...await hashFile(file, options) };
  } catch (error) {
    if (isShortage(error) || options.signal?.aborted) throw error;
    return undefined;
  }
}
