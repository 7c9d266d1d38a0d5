/**
 * The contents of a backup beside the database: the files that records refer to and that cannot be made
 * again.
 *
 * - Of each execution the log, the outputs, and the files by which the engine knows how far it is. What
 *   only its running command needs is left out. Of one that ran elsewhere, what the artifact store in the data
 *   folder has; another artifact store is no part of a backup.
 * - Of each project the snapshots of its plain folder, which are the only copy of what its executions
 *   ran. The mirror of a repository and the trees made from it are fetched again when they are needed;
 *   for that there is the file that says where it is.
 *
 * The copy of the database is taken before any of these files is read. Files of an execution that had
 * ended then do not change any more, and their checksums in its record say whether all of them are
 * there. They can only have been removed since, by the service's cleanup: that is a flaw, and listed.
 * Had the files been read first, an execution that ends in between would be recorded with outputs that
 * were read half-written, and nothing would tell.
 *
 * An execution that had not ended then ends when the restored service starts, as the engine decides by
 * its files: complete when its exit code is there, or else as an error. The folder with the exit code is
 * therefore listed before the outputs are: an exit code in the backup says that the outputs in it are
 * complete.
 *
 * @module
 */
import { join } from "node:path";
import { ENGINE_TYPES, engineKind } from "../engines/kinds.ts";
import { isId } from "../platform/ids.ts";
import { openRegularFile } from "../platform/files/regular_file.ts";
import { type Execution, hasEnded } from "../store/records/executions.ts";
import { MACHINE_ID_FILE } from "../store/file/machine_id.ts";
import type { ArchiveWriter, WrittenFile } from "./archive_writer.ts";
import type { Flaw } from "./manifest.ts";
import { isInsideTree } from "./paths.ts";

/** The parts of a work folder that are kept. The control files come before the outputs, see above. */
const WORK_FOLDERS = ["control", "config", "outputs"];
/**
 * The files of an execution with secrets that may hold these in the clear while it runs: the service makes the first
 * two again, and has most of the others in its log.
 */
const WITH_SECRETS = /^control\/(?:container\/)?(?:environment|secrets\/.*|stdout|stderr)$/;
/** The files that are kept beside a project's mirror. */
const PROJECT_FILES = ["origin.json", "known_hosts"];
/** Prefix of a snapshot's folder. Other trees are commits of a repository. */
const SNAPSHOT = "~";

/** The record of an execution, as it is stored. */
interface ExecutionRecord {
  id: string;
  value: unknown;
}

/** The source and the target of the contents. */
interface ContentsOptions {
  /** The data folder. */
  data: string;
  archive: ArchiveWriter;
  /** Told of each thing that is not in the backup as it should be. */
  onFlaw(flaw: Flaw): void;
}

/** Adds what is kept of executions, by their records in a copy of the database. */
export async function addExecutions(
  records: Iterable<ExecutionRecord> | AsyncIterable<ExecutionRecord>,
  options: ContentsOptions,
): Promise<void> {
  const { data, archive, onFlaw } = options;
  const root = join(data, "executions");
  const hasArtifacts = await isFolder(join(data, "artifacts"));
  if (await isFolder(root)) await archive.addFolder("executions", 0o700);
  if (hasArtifacts) {
    await archive.addFolder("artifacts", 0o700);
    await archive.addFolder("artifacts/executions", 0o700);
  }
  for await (const { id, value } of records) {
    const path = `executions/${id}`;
    if (typeof value !== "object" || value === null) {
      onFlaw({ path, detail: "Its record in the database is damaged" });
      continue;
    }
    // Only `store/executions.ts` writes these records. The engine is missing in the first format alone.
    const execution = value as Pick<Execution, "status" | "outputs"> & Partial<Execution>;
    // The files of an execution with attempts are those of its attempts.
    if (execution.attempt_id !== undefined) continue;
    if (!isId(id) || execution.status === "created" || execution.status === "queued") continue;
    if (!keepsFiles(execution.engine?.type)) {
      if (hasArtifacts) await addArtifacts(id, execution, options);
      continue;
    }
    const leftOut = execution.secrets === undefined ? undefined : WITH_SECRETS;
    const seen = await isFolder(join(root, id)) ? await addWork(path, options, leftOut) : new Map();
    if (hasEnded(execution.status)) reportOutputs(path, execution.outputs, { seen, onFlaw });
  }
}

/** Returns true for engines that keep files in the work folders of their executions. */
function keepsFiles(type: string | undefined): boolean {
  return type === undefined || ENGINE_TYPES.includes(type) && engineKind(type).keepsFiles;
}

/** Adds what the artifact store has of an execution, where that is a folder here. Another store keeps it itself. */
async function addArtifacts(
  id: string,
  { status, outputs }: Pick<Execution, "status" | "outputs">,
  options: ContentsOptions,
): Promise<void> {
  const { data, onFlaw } = options;
  const path = `artifacts/executions/${id}`;
  const seen = new Map<string, WrittenFile>();
  const start = `${path}/outputs/`;
  if (await isFolder(join(data, path))) {
    const onFile = (file: string, written: WrittenFile) => {
      if (file.startsWith(start)) seen.set(file.slice(start.length), written);
    };
    await addTree(path, { ...options, onFile });
  }
  if (hasEnded(status)) reportOutputs(path, outputs, { seen, onFlaw });
}

/** Adds the id of the machine, by which its executions are its own where they are restored. */
export async function addMachineId(options: ContentsOptions): Promise<void> {
  await addFile(MACHINE_ID_FILE, options);
}

/** Adds what is kept of projects. */
export async function addProjects(options: ContentsOptions): Promise<void> {
  const { data, archive } = options;
  const root = join(data, "projects");
  if (!await isFolder(root)) return;
  await archive.addFolder("projects", 0o700);
  for (const name of await namesIn(root)) {
    const path = `projects/${name}`;
    if (!await isFolder(join(root, name))) continue;
    await archive.addFolder(path, 0o700);
    for (const file of PROJECT_FILES) await addFile(`${path}/${file}`, options);
    const trees = join(root, name, "trees");
    if (!await isFolder(trees)) continue;
    await archive.addFolder(`${path}/trees`, 0o700);
    for (const commit of await namesIn(trees)) {
      if (commit.startsWith(SNAPSHOT)) await addSnapshot(`${path}/trees/${commit}`, options);
    }
  }
}

/** Adds a work folder, and answers its outputs by their paths. */
async function addWork(
  path: string,
  options: ContentsOptions,
  leftOut: RegExp | undefined,
): Promise<Map<string, WrittenFile>> {
  const seen = new Map<string, WrittenFile>();
  await options.archive.addFolder(path, 0o700);
  for (const name of WORK_FOLDERS) {
    const folder = `${path}/${name}`;
    const onFile = (file: string, written: WrittenFile) => {
      if (name === "outputs") seen.set(file.slice(folder.length + 1), written);
    };
    const isLeftOut = (file: string) => leftOut?.test(file.slice(path.length + 1)) ?? false;
    await addTree(folder, { ...options, onFile, isLeftOut });
  }
  return seen;
}

/** Compares what there is of an ended execution's outputs with what its record says. */
function reportOutputs(
  path: string,
  outputs: Execution["outputs"],
  { seen, onFlaw }: { seen: ReadonlyMap<string, WrittenFile> } & Pick<ContentsOptions, "onFlaw">,
): void {
  if (outputs.length > 0 && seen.size === 0) {
    return onFlaw({ path, detail: "Its outputs are not there any more" });
  }
  for (const output of outputs) {
    const found = seen.get(output.path);
    if (found?.size === output.size && found.sha256 === output.sha256) continue;
    const detail = found
      ? "It is not what its record says: it was changed after the execution had ended"
      : "It is not there any more";
    onFlaw({ path: `${path}/outputs/${output.path}`, detail });
  }
}

/** Adds a snapshot. Part of one would be taken for all of it, so it is whole or discarded. */
async function addSnapshot(path: string, options: ContentsOptions): Promise<void> {
  let isWhole = true;
  const onFlaw = () => void (isWhole = false);
  await addTree(path, { ...options, onFlaw, isSnapshot: true });
  if (isWhole && await isFolder(join(options.data, path))) return;
  options.onFlaw({ path, detail: "It was removed while it was read", discard: true });
}

interface TreeOptions extends ContentsOptions {
  /** Set for a snapshot. Only snapshots have links, and no file of one may be missing. */
  isSnapshot?: true;
  /** Returns true for a file that is not added. */
  isLeftOut?(path: string): boolean;
  /** Told of each file that was added. */
  onFile?(path: string, written: WrittenFile): void;
}

/** Adds a folder with all that it holds. */
async function addTree(path: string, options: TreeOptions): Promise<void> {
  const { data, archive, onFlaw, isSnapshot, onFile, isLeftOut } = options;
  const folders = [path];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const found = await listed(join(data, folder));
    if (found === undefined) {
      if (isSnapshot || folder !== path) onFlaw({ path: folder, detail: "It cannot be read" });
      continue;
    }
    await archive.addFolder(folder, found.mode);
    for (const { name, isDirectory, isFile, isSymlink } of found.entries) {
      const inner = `${folder}/${name}`;
      if (isDirectory) folders.push(inner);
      else if (isFile && isLeftOut?.(inner)) continue;
      else if (isFile) {
        const written = await addFile(inner, options);
        if (written) onFile?.(inner, written);
        else if (isSnapshot) onFlaw({ path: inner, detail: "It is not there any more" });
      } else if (isSymlink && isSnapshot) await addLink(path, inner, options);
    }
  }
}

/** Adds a link of a snapshot. */
async function addLink(
  snapshot: string,
  path: string,
  { data, archive, onFlaw }: ContentsOptions,
): Promise<void> {
  const target = await Deno.readLink(join(data, path)).catch(() => "/");
  if (isInsideTree(snapshot, path, target)) await archive.addLink(path, target);
  else onFlaw({ path, detail: "It leads out of its snapshot" });
}

/** Adds a regular file; undefined when there is none that can be read, or it was torn. */
async function addFile(
  path: string,
  { data, archive, onFlaw }: ContentsOptions,
): Promise<WrittenFile | undefined> {
  const source = join(data, path);
  // A command may put a link, or something that is no file, in the place of what was listed.
  const file = await openRegularFile(source).catch(() =>
    onFlaw({ path, detail: "It cannot be read" })
  );
  if (file === undefined) return undefined;
  try {
    const written = await archive.addFile(path, file);
    if (!written.isTorn) return written;
    onFlaw({ path, detail: "It became shorter while it was read", discard: true });
    return undefined;
  } finally {
    file.close();
  }
}

/** A folder's mode and what it holds, by name; undefined when it cannot be read. */
async function listed(
  path: string,
): Promise<{ mode: number; entries: Deno.DirEntry[] } | undefined> {
  try {
    const { isDirectory, mode } = await Deno.lstat(path);
    if (!isDirectory) return undefined;
    const entries = await Array.fromAsync(Deno.readDir(path));
    // Whoever restores it must be able to write into it.
    return { mode: (mode ?? 0) & 0o777 | 0o700, entries: entries.sort(byName) };
  } catch {
    return undefined;
  }
}

async function isFolder(path: string): Promise<boolean> {
  return await Deno.lstat(path).then((info) => info.isDirectory, () => false);
}

async function namesIn(path: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(path))).sort(byName).map(({ name }) => name);
}

function byName(a: Deno.DirEntry, b: Deno.DirEntry): number {
  return a.name < b.name ? -1 : 1;
}
