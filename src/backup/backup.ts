/**
 * Making a backup of a data folder, while a service works with it or not.
 *
 * The files are read directly, beside the service, and not through its API: the same way works when it
 * is stopped, no token of an operator gets at the key of stored secrets, and the service has no work
 * with it. Whoever may read the data folder may read all of it anyway.
 *
 * Nothing is locked, so a service can start and stop meanwhile. What must be of one moment is the
 * database, see `database.ts`; what is read after it, see `contents.ts`. The key file is read before
 * and after: when it stays the same, it is the one that the secrets in the copy are encrypted with,
 * unless the key is in a variable, see `key.ts`.
 *
 * @module
 */
import { abortable } from "@std/async/abortable";
import { basename, dirname, join, resolve } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { messageOf } from "../platform/errors.ts";
import { exists, ignoreMissing } from "../platform/files/missing_file.ts";
import { removeInParts } from "../platform/files/remove_tree.ts";
import { partWriter, syncFolder } from "../platform/files/durable.ts";
import type { CopyOptions } from "../store/file/compaction.ts";
import { DATABASE_FILE } from "../store/file/database_file.ts";
import { openStore } from "../store/open_store.ts";
import { storedRecords } from "../store/read/lists.ts";
import { KEY_FILE } from "../triggers/secret_key.ts";
import { ArchiveWriter } from "./archive_writer.ts";
import { addExecutions, addProjects } from "./contents.ts";
import { copyDatabase, countRecords, settleDatabase } from "./database.ts";
import { BackupError } from "./error.ts";
import { type KeyUse, tryKey } from "./key.ts";
import {
  type BackupHeader,
  FILE_FORMAT,
  type Flaw,
  FLAWS_ENTRY,
  HEADER_ENTRY,
} from "./manifest.ts";
import type { BackupReport } from "./report.ts";

/** Number of copies of the database that are tried while the key changes. */
const KEY_ATTEMPTS = 5;
const PROGRESS_MS = 1_000;

/** The data folder and the target of a backup. */
interface BackUpOptions {
  /** The data folder. */
  data: string;
  /** The shared database, in place of the one in the data folder. */
  kv?: Deno.Kv | undefined;
  /** The path of the file, or a stream. */
  target: string | WritableStream<Uint8Array>;
  /** The folder for temporary files of a backup to a stream; that of the system when absent. */
  temporary?: string;
  /** Leaves out the key of stored secrets. */
  withoutKey: boolean;
  /** Replaces an existing file. */
  force: boolean;
  signal: AbortSignal;
  /** Told how far it is, in one sentence, often. */
  onProgress(text: string): void;
}

/**
 * Makes a backup. A file is complete when it appears; when anything fails nothing is left.
 *
 * @throws {BackupError} when it cannot be made
 */
export async function backUp(options: BackUpOptions): Promise<BackupReport> {
  const { data, target, force, kv, signal } = options;
  if (kv === undefined && !await exists(join(data, DATABASE_FILE))) {
    throw new BackupError(`Cannot back up ${data}: there is no ${DATABASE_FILE} in it`);
  }
  const path = typeof target === "string" ? resolve(target) : undefined;
  if (path !== undefined) await expectFree(path, force);
  const folder = await temporaryFolder(path, options.temporary);
  try {
    const archive = join(folder, "archive");
    const output = typeof target === "string" ? await create(archive) : stoppable(target, signal);
    const report = kv === undefined
      ? await write(output, folder, options)
      : await writeShared(kv, output, folder, options);
    if (path === undefined) return report;
    await expectFree(path, force);
    await Deno.rename(archive, path);
    await syncFolder(dirname(path));
    return report;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof BackupError || !(error instanceof Error)) throw error;
    const where = path ?? `standard output, by way of ${folder}`;
    const what = kv === undefined ? data : "the shared database";
    const said = `Cannot back up ${what} to ${where}: ${messageOf(error)}`;
    throw new BackupError(said, { cause: error });
  } finally {
    await removeInParts(join(folder, DATABASE_FILE));
    await Deno.remove(folder, { recursive: true });
  }
}

async function write(
  output: WritableStream<Uint8Array>,
  folder: string,
  { data, withoutKey, signal, onProgress }: BackUpOptions,
): Promise<BackupReport> {
  onProgress("copying the database");
  const created_at = new Date().toISOString();
  const copy = join(folder, DATABASE_FILE);
  const flaws: Flaw[] = [];
  const onFlaw = (flaw: Flaw) => void flaws.push(flaw);
  const found = await copyWithKey(data, copy, {
    signal,
    onProgress: (rows) => onProgress(`copying the database: ${rows} records`),
  });
  const key = await usableKey(folder, found, onFlaw);
  const has_key = key !== undefined && !withoutKey;
  const archive = await ArchiveWriter.begin({ output, spool: join(folder, "manifest"), signal });
  const timer = setInterval(
    () => onProgress(`${archive.files} files with ${archive.bytes} bytes`),
    PROGRESS_MS,
  );
  try {
    const { version } = config;
    const records = countRecords(copy);
    const header: BackupHeader = {
      archive_format: FILE_FORMAT,
      version,
      created_at,
      has_key,
      records,
    };
    await archive.addText(HEADER_ENTRY, `${JSON.stringify(header)}\n`);
    {
      // While nobody has it open as a database.
      using database = await Deno.open(copy, { read: true });
      await archive.addFile(DATABASE_FILE, database);
    }
    if (has_key) await archive.addText(KEY_FILE, key);
    const contents = { data, archive, onFlaw };
    {
      await using store = await openStore(folder, { keepFormat: true });
      await addExecutions(storedRecords(store, "execution"), contents);
    }
    await addProjects(contents);
    await archive.addText(FLAWS_ENTRY, `${JSON.stringify(flaws)}\n`);
    const { size, sha256 } = await archive.finish();
    const files = archive.files + Number(has_key);
    return { size, sha256, files, bytes: archive.bytes, records, has_key, created_at, flaws };
  } finally {
    clearInterval(timer);
    await archive.close();
  }
}

async function writeShared(
  kv: Deno.Kv,
  output: WritableStream<Uint8Array>,
  temporary: string,
  { data, signal, onProgress }: BackUpOptions,
): Promise<BackupReport> {
  onProgress("reading the database");
  const { writeSharedArchive } = await import("./shared/write.ts");
  let timer: ReturnType<typeof setInterval> | undefined;
  try {
    return await writeSharedArchive({
      kv,
      output,
      folders: { data, temporary },
      signal,
      onBegin(archive) {
        timer = setInterval(
          () => onProgress(`${archive.files} files with ${archive.bytes} bytes`),
          PROGRESS_MS,
        );
      },
    });
  } finally {
    clearInterval(timer);
  }
}

/** Copies the database, and answers the key of its secrets; undefined when there is no key file. */
async function copyWithKey(
  data: string,
  target: string,
  options: CopyOptions,
): Promise<string | undefined> {
  for (let attempt = 0; attempt < KEY_ATTEMPTS; attempt++) {
    const before = await readKey(data);
    await copyDatabase(join(data, DATABASE_FILE), target, options);
    if (await readKey(data) === before) return before;
  }
  throw new BackupError(`Cannot back up ${data}: ${KEY_FILE} in it keeps changing`);
}

/** The key that was found, unless it opens none of the secrets in the copy of the database. */
async function usableKey(
  folder: string,
  key: string | undefined,
  onFlaw: (flaw: Flaw) => void,
): Promise<string | undefined> {
  if (key === undefined) return undefined;
  const { opened, locked } = await tryKeyOn(folder, key);
  if (locked === 0) return key;
  if (opened === 0) return undefined;
  onFlaw({ path: KEY_FILE, detail: `Stored secrets that it does not open: ${locked}` });
  return key;
}

async function tryKeyOn(folder: string, key: string): Promise<KeyUse> {
  let use: KeyUse;
  {
    await using store = await openStore(folder, { keepFormat: true });
    use = await tryKey(store, key);
  }
  // What opening it has written is not in its one file yet.
  await settleDatabase(join(folder, DATABASE_FILE));
  return use;
}

function readKey(data: string): Promise<string | undefined> {
  return Deno.readTextFile(join(data, KEY_FILE)).catch(ignoreMissing);
}

/** A folder beside the file, so that what is made in it can be moved there. */
async function temporaryFolder(
  path: string | undefined,
  dir: string | undefined,
): Promise<string> {
  if (path === undefined) {
    const options = { prefix: "hooklaunch-backup-", ...(dir !== undefined && { dir }) };
    return await Deno.makeTempDir(options).catch((error) => {
      const why = messageOf(error);
      throw new BackupError(`Cannot make a temporary folder, look at ${dir ?? "TMPDIR"}: ${why}`);
    });
  }
  try {
    return await Deno.makeTempDir({ dir: dirname(path), prefix: `.${basename(path)}-` });
  } catch (error) {
    throw new BackupError(`Cannot write to ${path}: ${messageOf(error)}`);
  }
}

async function expectFree(path: string, force: boolean): Promise<void> {
  const info = await Deno.lstat(path).catch(() => undefined);
  if (info === undefined || (force && !info.isDirectory)) return;
  const advice = info.isDirectory ? "it is a folder" : "it is there already, --force replaces it";
  throw new BackupError(`Cannot write to ${path}: ${advice}`);
}

/** A stream that a stop does not wait for: what nobody reads takes nothing more, for as long as it is open. */
function stoppable(
  output: WritableStream<Uint8Array>,
  signal: AbortSignal,
): WritableStream<Uint8Array> {
  const writer = output.getWriter();
  return new WritableStream({
    write: (chunk) => abortable(writer.write(chunk), signal),
    close: () => abortable(writer.close(), signal),
  });
}

/** A file of its owner's alone, which is on disk when the stream is closed. */
async function create(path: string): Promise<WritableStream<Uint8Array>> {
  const file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
  return new WritableStream({
    write: partWriter(file),
    async close() {
      await file.sync();
      file.close();
    },
    abort: () => file.close(),
  });
}
