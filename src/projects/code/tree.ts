/**
 * Trees of files: listing and copying a folder.
 *
 * @module
 */
import { isAbsolute, join } from "node:path";
import { settleAll } from "../../platform/waiting/promises.ts";
import { ActionError, HooklaunchError } from "../../platform/errors.ts";
import { shell } from "../../platform/run_script.ts";

const AT_ONCE = 16;
/** The limit of path_resolution(7). */
const LINKS_FOLLOWED_MAX = 40;

/** A file in a tree. */
export interface FileEntry {
  kind: "file";
  path: string;
  size: number;
  mode: number;
  mtime_ms: number;
  /**
   * The time of the last change of contents or metadata, in whole seconds. No program can set it.
   */
  ctime_ms: number;
  inode: number;
}

/** An entry of a tree. Its path is relative to the tree, with `/` between folders. */
export type TreeEntry =
  | { kind: "folder"; path: string }
  | FileEntry
  | { kind: "link"; path: string; target: string };

/** A folder with a name that is not UTF-8, which no path of Deno can be. */
export class NotUtf8Error extends HooklaunchError {
  override readonly code = "name_not_utf8";
}

/** Limits of a project's tree. */
export interface TreeLimits {
  filesMax: number;
  bytesMax: number;
}

/** The default limits of a tree: 100,000 files and folders, and 2 GiB. */
export const TREE_LIMITS: TreeLimits = { filesMax: 100_000, bytesMax: 2 * 1024 ** 3 };

/** Options of {@linkcode listTree}. */
interface TreeOptions extends Partial<TreeLimits> {
  /** Returns true for the path of an entry to leave out, with everything below it. */
  skip?: (path: string) => boolean;
}

/**
 * Lists the files, folders and links of a tree, each folder before its contents.
 *
 * @throws {ActionError} when it exceeds a limit
 * @throws {NotUtf8Error} when a name, or the target of a link, is not UTF-8
 */
export async function listTree(root: string, options: TreeOptions = {}): Promise<TreeEntry[]> {
  const { skip = () => false, filesMax = Infinity, bytesMax = Infinity } = options;
  const entries: TreeEntry[] = [];
  let bytes = 0;
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const names = (await Array.fromAsync(Deno.readDir(join(root, folder)))).map(({ name }) => name);
    const paths = names.sort().map((name) => folder === "" ? name : `${folder}/${name}`)
      .filter((path) => !skip(path));
    if (entries.length + paths.length > filesMax) {
      throw new ActionError(`Cannot use the folder ${root}: it holds more than ${filesMax} files`);
    }
    for (const entry of await settleAll(paths.map((path) => entryOf(root, path)))) {
      if (entry === undefined) continue;
      entries.push(entry);
      if (entry.kind === "folder") folders.push(entry.path);
      if (entry.kind === "file") bytes += entry.size;
    }
    if (bytes > bytesMax) {
      throw new ActionError(`Cannot use the folder ${root}: it holds more than ${bytesMax} bytes`);
    }
  }
  return entries;
}

/**
 * Copies the listed entries of a tree into an existing folder.
 *
 * @param copyFile copies one file; the default is for a tree that nobody else changes
 */
export async function copyTree(
  root: string,
  entries: readonly TreeEntry[],
  destination: string,
  copyFile = ({ path }: FileEntry, target: string) => Deno.copyFile(join(root, path), target),
): Promise<void> {
  const rest: Exclude<TreeEntry, { kind: "folder" }>[] = [];
  for (const entry of entries) {
    // Each folder is listed before its contents.
    if (entry.kind === "folder") await Deno.mkdir(join(destination, entry.path), { mode: 0o700 });
    else rest.push(entry);
  }
  for (let start = 0; start < rest.length; start += AT_ONCE) {
    await settleAll(
      rest.slice(start, start + AT_ONCE).map((entry) => {
        const target = join(destination, entry.path);
        return entry.kind === "link" ? Deno.symlink(entry.target, target) : copyFile(entry, target);
      }),
    );
  }
}

/** Copies a tree into a new folder, also with names that {@linkcode listTree} refuses. */
export async function copyByShell(root: string, destination: string): Promise<void> {
  const { success, stderr } = await shell('exec cp -R -P -- "$1" "$2"', [root, destination]);
  if (success) return;
  throw new ActionError(`Cannot copy ${root}: ${new TextDecoder().decode(stderr).trim()}`);
}

/**
 * Checks that every link of a tree stays inside of it, here and in a copy.
 *
 * @throws {ActionError} that names the first link that leads out
 */
export async function checkLinks(root: string, entries: readonly TreeEntry[]): Promise<void> {
  const realRoot = await Deno.realPath(root);
  const links = new Map<string, string>();
  for (const entry of entries) if (entry.kind === "link") links.set(entry.path, entry.target);
  for (const path of links.keys()) {
    const leadsTo = await Deno.realPath(join(root, path)).catch(() => undefined);
    const isInside = staysInside(path, links) &&
      (leadsTo === undefined || leadsTo === realRoot || leadsTo.startsWith(`${realRoot}/`));
    if (!isInside) {
      throw new ActionError(`Cannot use the folder ${root}: its link ${path} leads outside of it`);
    }
  }
}

/**
 * Returns true if no part of a link's path is outside of its tree, where a copy has other
 * surroundings.
 */
function staysInside(path: string, links: ReadonlyMap<string, string>): boolean {
  const at: string[] = [];
  const rest = path.split("/").reverse();
  for (let followed = 0, part = rest.pop(); part !== undefined; part = rest.pop()) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      if (at.pop() === undefined) return false;
      continue;
    }
    const target = links.get([...at, part].join("/"));
    if (target === undefined) at.push(part);
    else if (isAbsolute(target)) return false;
    // The system follows no more than this.
    else if (++followed > LINKS_FOLLOWED_MAX) return true;
    else rest.push(...target.split("/").reverse());
  }
  return true;
}

async function entryOf(root: string, path: string): Promise<TreeEntry | undefined> {
  const full = join(root, path);
  const notUtf8 = (what: string): never => {
    throw new NotUtf8Error(`Cannot use the folder ${root}: the ${what} of ${path} is not UTF-8`);
  };
  const info = await Deno.lstat(full).catch((error) => {
    // Deno puts this character in the place of bytes that are not UTF-8.
    const isUnreadable = path.includes("\ufffd") && error instanceof Deno.errors.NotFound;
    return isUnreadable ? notUtf8("name") : Promise.reject(error);
  });
  if (info.isSymlink) {
    const target = await Deno.readLink(full).catch((error) => {
      if (error instanceof Deno.errors.InvalidData) return notUtf8("target");
      // It was replaced just now.
      return error.code === "EINVAL" ? undefined : Promise.reject(error);
    });
    return target === undefined ? await entryOf(root, path) : { kind: "link", path, target };
  }
  if (info.isDirectory) return { kind: "folder", path };
  return info.isFile ? fileEntry(path, info) : undefined;
}

export function fileEntry(path: string, info: Deno.FileInfo): FileEntry {
  const mode = (info.mode ?? 0o644) & 0o777;
  const mtime_ms = info.mtime?.getTime() ?? 0;
  const ctime_ms = info.ctime?.getTime() ?? 0;
  return { kind: "file", path, size: info.size, mode, mtime_ms, ctime_ms, inode: info.ino ?? 0 };
}
