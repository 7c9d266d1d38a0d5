/**
 * The outputs of an execution: what it left in its outputs folder.
 *
 * @module
 */
import { basename, dirname, join } from "node:path";
import { openRegularFile } from "../../platform/files/regular_file.ts";
import { isShortage } from "../../platform/errors.ts";
import type { Execution, OutputFile } from "../../store/records/executions.ts";
import { RECORD_BYTES_MAX, recordBytes } from "../../store/record_size.ts";
import { failInstead } from "../shared/ending.ts";
import { hashFile } from "./file_hash.ts";

const ENTRIES_MAX = 100_000;
/** Room that is kept in a record for why the execution failed. */
const REASON_BYTES = 256;
const PATHS_SHOWN_MAX = 10;

/** What an execution has left. */
export interface Outputs {
  /** By path. */
  files: OutputFile[];
  /** How many files there are besides, at least: there were too many to look at. */
  more: number;
  /** Whether that is since they are too long together. */
  isTooLarge: boolean;
  /**
   * The paths of what is no output: links, pipes, and files and folders that cannot be read or have no
   * name in UTF-8.
   */
  passedOver: string[];
}

/**
 * Lists regular files; links are not followed.
 *
 * @param filesMax how many are listed at most
 * @param bytesMax how long they may be together: a file with holes may be longer than any disk, and to
 * read all of it would never end
 */
export async function listOutputs(
  folder: string,
  { filesMax, bytesMax }: { filesMax: number; bytesMax: number },
): Promise<Outputs> {
  const { paths, passedOver, isCut } = await findFiles(folder);
  const files: OutputFile[] = [];
  let more = paths.length + (isCut ? 1 : 0);
  let bytes = 0;
  for (const path of paths.sort()) {
    if (files.length >= filesMax) break;
    const left = bytesMax - bytes;
    const size = await sizeOf(folder, path);
    // What the command has left running may write to it still.
    const file = size > left ? undefined : await describe(folder, path, left);
    bytes += file?.size ?? size;
    if (bytes > bytesMax) break;
    more--;
    if (file) files.push(file);
    else passedOver.push(path);
  }
  return { files, more, isTooLarge: bytes > bytesMax, passedOver: passedOver.sort() };
}

/**
 * Takes outputs into the record of an execution that has ended. It fails where not all are there.
 *
 * @param mb_max how long all of them together may be
 */
export function takeOutputs(
  execution: Execution,
  { files, more, isTooLarge }: Outputs,
  mb_max: number,
): void {
  execution.outputs = fitting(execution, files);
  const { length: listed } = execution.outputs;
  const all = files.length + more;
  if (isTooLarge) failInstead(execution, `The outputs are longer than ${mb_max} MiB together`);
  if (listed < all) {
    const advice = "put some of them together into an archive";
    failInstead(execution, `Too many outputs: ${listed} of ${all} can be listed; ${advice}`);
  }
}

/** As many of the files as an execution's record has room for. */
function fitting(execution: Execution, files: OutputFile[]): OutputFile[] {
  const isTooLarge = (count: number) =>
    recordBytes({ ...execution, outputs: files.slice(0, count) }) >
      RECORD_BYTES_MAX - REASON_BYTES;
  if (!isTooLarge(files.length)) return files;
  let [fit, tooMany] = [0, files.length];
  while (tooMany - fit > 1) {
    const middle = Math.floor((fit + tooMany) / 2);
    if (isTooLarge(middle)) tooMany = middle;
    else fit = middle;
  }
  return files.slice(0, fit);
}

/** Some of so many paths, for a message. */
export function shown(paths: readonly string[]): string {
  const more = paths.length - PATHS_SHOWN_MAX;
  const some = paths.slice(0, PATHS_SHOWN_MAX).map((path) => JSON.stringify(path)).join(", ");
  return more > 0 ? `${some} and ${more} more` : some;
}

/** Opens one of them; undefined when there is no regular file of this path inside the folder. */
export async function openOutput(folder: string, path: string): Promise<Deno.FsFile | undefined> {
  try {
    const root = join(await Deno.realPath(dirname(folder)), basename(folder));
    const real = await Deno.realPath(join(folder, path));
    // Equal only when no part of the path is a link or leads up.
    if (real !== `${root}/${path}`) return undefined;
    const file = await openRegularFile(real);
    // A link in the place of a folder has led elsewhere. It is seen unless it is gone again by now.
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
  // The command may have put a link or a file in the folder's place.
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
      // A folder that is unreadable, has no name in UTF-8 or was just removed: what is in it is not listed.
      passedOver.push(at === "" ? "." : at);
    }
  }
  return { paths, passedOver, isCut: false };
}

/** Whether what lies there is a folder; undefined where nothing does. */
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

async function describe(
  folder: string,
  path: string,
  bytesMax: number,
): Promise<OutputFile | undefined> {
  try {
    return { path, ...await hashFile(join(folder, path), { bytesMax }) };
  } catch (error) {
    if (isShortage(error)) throw error;
    return undefined;
  }
}
