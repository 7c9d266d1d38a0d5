/**
 * Checks of the paths in an archive: nothing is written outside the folder that is being restored, whoever
 * made the archive.
 *
 * @module
 */
import { dirname, isAbsolute, normalize } from "node:path";

const SNAPSHOT_OF = /^projects\/[^/]+\/trees\/~[^/]+/;
const FOLDERS = /^(executions|projects|artifacts)(\/|$)/;

/** Accepts a relative path without `.`, `..`, empty parts and NUL. */
function isPlainPath(path: string): boolean {
  return path !== "" && !path.includes("\0") &&
    path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

/** Accepts the path of one of a data folder's folders, or of anything in one. */
export function isInDataFolder(path: string): boolean {
  return isPlainPath(path) && FOLDERS.test(path);
}

/** Accepts a link in a snapshot that stays inside it. */
export function isSnapshotLink(path: string, target: string): boolean {
  const [snapshot] = SNAPSHOT_OF.exec(path) ?? [];
  return snapshot !== undefined && snapshot !== path && isInsideTree(snapshot, path, target);
}

/** Accepts a link in a tree that leads to a place in the tree. */
export function isInsideTree(tree: string, path: string, target: string): boolean {
  if (target === "" || target.includes("\0") || isAbsolute(target)) return false;
  const leadsTo = normalize(`${dirname(path)}/${target}`);
  return leadsTo === tree || leadsTo.startsWith(`${tree}/`);
}
