/**
 * Files of jobs that this machine prepared while it led, and that ended under another leader.
 *
 * @module
 */
import { join, resolve } from "node:path";
import { ignoreMissing } from "../../platform/files/missing_file.ts";
import { removeTree } from "../../platform/files/remove_tree.ts";
import { isId } from "../../platform/ids.ts";
import { getJob } from "../../store/records/jobs.ts";
import type { Store } from "../../store/store.ts";

/** Returns the folder of the files of jobs. */
export function stagesFolder(dataFolder: string): string {
  return resolve(join(dataFolder, "jobs"));
}

/** Removes the files of jobs that have ended, and of which their leader has removed its own. */
export async function removeLeftStages(
  { store, dataFolder }: { store: Store; dataFolder: string },
): Promise<void> {
  const folder = stagesFolder(dataFolder);
  const names = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name)
    .catch(ignoreMissing) ?? [];
  for (const id of names.filter(isId)) {
    if ((await getJob(store, id) ?? { is_archived: true }).is_archived) {
      await removeTree(join(folder, id));
    }
  }
}
