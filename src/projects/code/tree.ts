/**
 * Trees of files: what a folder holds, and private copies of it.
 *
 * @module
 */
import { isAbsolute, join } from "node:path";
import { settleAll } from "../../platform/waiting/promises.ts";
import { ActionError, HooklaunchError } from "../../platform/errors.ts";
import { shell } from "../../platform/shell.ts";

const AT_ONCE = 16;
/** Of path_resolution(7). */
const LINKS_FOLLOWED_MAX = 40;

/** A file in a tree. */
export interface FileEntry {
  kind: "file";
  path: string;
  size: number;
  mode: number;
  mtime_ms: number;
  /** When anything of it was last changed, which no program can set; in whole seconds. */
  ctime_ms: number;
  inode: number;
}

/** One thing in a tree; paths are relative to it, with `/` between folders. */
export type TreeEntry =
  | { kind: "folder"; path: string }
  | FileEntry
  | { kind: "link"; path: string; target: string };

/** A folder with a name that is not UTF-8, which no path of Deno can be. */
export class NotUtf8Error extends HooklaunchError {
  override readonly code = "name_not_utf8";
}

/** How much the tree of a project may hold: 100,000 files and folders, and 2 GiB, by default. */
export interface TreeLimits {
  filesMax: number;
  bytesMax: number;
}

/** {@linkcode TreeLimits} by default. */
export const TREE_LIMITS: TreeLimits = { filesMax: 100_000, bytesMax: 2 * 1024 ** 3 };

/** Which part of a folder is its tree, and how much it may hold. */
export interface TreeOptions extends Partial<TreeLimits> {
  /** Whether something, by its path, is left out together with what it holds. */
  skip?: (path: string) => boolean;
}

/**
 * Lists a tree, each folder before what it holds. What is no file, folder or link is left out.
 *
 * @throws {ActionError} when it holds more than it may
 * @throws {NotUtf8Error} when something in it has a name, or a link a target, that is not UTF-8
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
 * Copies what was listed of a tree into an existing folder.
 *
 * @param copyFile copies one file; where nobody else changes the tree, as the system does it
 */
export async function copyTree(
  root: string,
  entries: readonly TreeEntry[],
  destination: string,
  copyFile = ({ path }: FileEntry, target: string) => Deno.copyFile(join(root, path), target),
): Promise<void> {
  const rest: Exclude<TreeEntry, { kind: "folder" }>[] = [];
  for (const entry of entries) {
    // Each folder is listed before what it holds.
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

/** Copies a tree into a new folder, also what {@linkcode listTree} cannot name. */
export async function copyByShell(root: string, destination: string): Promise<void> {
  const { success, stderr } = await shell('exec cp -R -P -- "$1" "$2"', [root, destination]);
  if (success) return;
  throw new ActionError(`Cannot copy ${root}: ${new TextDecoder().decode(stderr).trim()}`);
}

/**
 * Checks that every link of a tree stays inside of it, as it stands and in a copy.
 *
 * @throws {ActionError} that names the first link that does not
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
 * Whether no step of the way to where a link leads is outside of its tree. What is outside is another
 * thing for a copy: nothing may be there for the one, and something for the other.
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
    // Who follows so many gives up.
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
    // This character stands where a name is not UTF-8, and leads to nothing.
    const isUnreadable = path.includes("\ufffd") && error instanceof Deno.errors.NotFound;
    return isUnreadable ? notUtf8("name") : Promise.reject(error);
  });
  if (info.isSymlink) {
    const target = await Deno.readLink(full).catch((error) => {
      if (error instanceof Deno.errors.InvalidData) return notUtf8("target");
      // Something else took its place just now.
      return error.code === "EINVAL" ? undefined : Promise.reject(error);
    });
    return target === undefined ? await entryOf(root, path) : { kind: "link", path, target };
  }
  if (info.isDirectory) return { kind: "folder", path };
  return info.isFile ? fileEntry(path, info) : undefined;
}

/** What is listed of a file. */
export function fileEntry(path: string, info: Deno.FileInfo): FileEntry {
  const mode = (info.mode ?? 0o644) & 0o777;
  const mtime_ms = info.mtime?.getTime() ?? 0;
  const ctime_ms = info.ctime?.getTime() ?? 0;
  return { kind: "file", path, size: info.size, mode, mtime_ms, ctime_ms, inode: info.ino ?? 0 };
}
