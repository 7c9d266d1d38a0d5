/**
 * Makes the results of an execution durable before its record says that it has ended: its log, its metadata,
 * its outputs, and the folders that they are in. File by file, because syncing the whole file system would
 * wait for the data of other executions.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { isShortage, messageOf } from "../../platform/errors.ts";
import { SyncError, syncFolder } from "../../platform/files/durable.ts";
import { ignoreMissing } from "../../platform/files/missing_file.ts";
import { openRegularFile } from "../../platform/files/regular_file.ts";
import type { OutputFile } from "../../store/records/executions.ts";
import type { WorkFolder } from "./work_folder.ts";

/** Files of one execution that are written at the same time. A disk writes several together. */
const AT_ONCE = 16;

/**
 * Writes the results of an execution to disk.
 *
 * @param syncRoot writes the names in the folder of all executions to disk
 * @throws {SyncError} when the disk does not take them
 */
export async function syncResults(
  folder: WorkFolder,
  outputs: readonly OutputFile[],
  syncRoot: () => Promise<void>,
): Promise<void> {
  const files = folder.exists()
    ? [
      folder.record("log"),
      folder.record("metadata.jsonl"),
      ...outputs.map(({ path }) => join(folder.outputs, path)),
    ]
    : [folder.preparationLog];
  const root = dirname(folder.path);
  const folders = new Set(files.flatMap((file) => foldersAbove(file, root)));
  try {
    await inBatches(files, syncRegularFile);
    // A process that the command left running may have removed a folder.
    await inBatches([...folders], (path) => syncFolder(path).catch(ignoreMissing));
    await syncRoot();
  } catch (error) {
    if (isShortage(error)) throw error;
    throw new SyncError(`Cannot write the results to disk: ${messageOf(error)}`, { cause: error });
  }
}

/** Returns the folders above a file, up to but without the one of all executions. */
function foldersAbove(file: string, root: string): string[] {
  const folders: string[] = [];
  for (let folder = dirname(file); folder.length > root.length; folder = dirname(folder)) {
    folders.push(folder);
  }
  return folders;
}

async function syncRegularFile(path: string): Promise<void> {
  using file = await openRegularFile(path);
  await file?.sync();
}

async function inBatches(
  paths: readonly string[],
  work: (path: string) => Promise<void>,
): Promise<void> {
  for (let start = 0; start < paths.length; start += AT_ONCE) {
    await Promise.all(paths.slice(start, start + AT_ONCE).map(work));
  }
}
