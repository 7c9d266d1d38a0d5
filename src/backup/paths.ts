/**
 * Paths in an archive: only such as a backup has, so that nothing is written outside of the folder that is
 * being restored, whoever has made the archive.
 *
 * @module
 */
import { dirname, isAbsolute, normalize } from "node:path";

const SNAPSHOT_OF = /^projects\/[^/]+\/trees\/~[^/]+/;
const FOLDERS = /^(executions|projects)(\/|$)/;

/** Whether a path is relative, stays inside, and is written in the one way. */
function isPlainPath(path: string): boolean {
  return path !== "" && !path.includes("\0") &&
    path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

/** Whether it is the path of something in one of a data folder's folders, or of one of these. */
export function isInDataFolder(path: string): boolean {
  return isPlainPath(path) && FOLDERS.test(path);
}

/** Whether a link is in a snapshot and stays inside of it. */
export function isSnapshotLink(path: string, target: string): boolean {
  const [snapshot] = SNAPSHOT_OF.exec(path) ?? [];
  return snapshot !== undefined && snapshot !== path && isInsideTree(snapshot, path, target);
}

/** Whether a link in a tree leads to somewhere in it. */
export function isInsideTree(tree: string, path: string, target: string): boolean {
  if (target === "" || target.includes("\0") || isAbsolute(target)) return false;
  const leadsTo = normalize(`${dirname(path)}/${target}`);
  return leadsTo === tree || leadsTo.startsWith(`${tree}/`);
}
