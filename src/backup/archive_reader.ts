/**
 * Reads an archive into an empty folder. The archive is not trusted: it holds only paths and kinds of entries
 * that a backup has, and all of it must match its manifest before any of it is used.
 *
 * @module
 */
import { createTarDecoder, type ParsedTarEntry } from "modern-tar";
import { createHash, hash } from "node:crypto";
import { dirname, join, relative } from "node:path";
import type { z } from "zod";
import { HooklaunchError, messageOf } from "../platform/errors.ts";
import { ignoreMissing } from "../platform/files/missing_file.ts";
import { parseJson } from "../platform/text/parse_json.ts";
import { DATABASE_FILE } from "../store/file/database_file.ts";
import { MACHINE_ID_FILE } from "../store/file/machine_id.ts";
import { KEY_FILE } from "../triggers/secret_key.ts";
import { partWriter } from "../platform/files/durable.ts";
import { BackupError, DamagedBackupError } from "./error.ts";
import {
  type BackupHeader,
  type Entry,
  type Flaw,
  FLAWS_ENTRY,
  flawsSchema,
  HEADER_ENTRY,
  headerSchema,
  isChunkPath,
  MANIFEST_ENTRY,
  manifestLine,
  RECORDS_ENTRY,
  RECORDS_FOLDER,
  RECORDS_FORMAT,
  recordsSchema,
} from "./manifest.ts";
import { isInDataFolder, isSnapshotLink } from "./paths.ts";

/** Limit of an entry that is read into memory. */
const TEXT_BYTES_MAX = 64 * 1024 * 1024;
/** The files beside the folders. */
const FILES = [DATABASE_FILE, KEY_FILE, MACHINE_ID_FILE];
/** Limit of the links that are held in memory until all files are written. */
const LINKS_MAX = 1_000_000;

/** The result of reading an archive. */
export interface ExtractedArchive {
  header: BackupHeader;
  flaws: Flaw[];
  files: number;
  /** The number of records that are in chunks of their own; absent where there is a database file. */
  records?: number;
}

interface ExtractOptions {
  /** An empty folder. */
  folder: string;
  signal: AbortSignal;
  /** Receives the progress as one sentence, often. */
  onProgress(text: string): void;
}

/**
 * Reads all of an archive. A failure may leave a part of it in the folder.
 *
 * @throws {BackupError} when it is no backup, is damaged, or this version cannot read it
 */
export async function extractArchive(
  source: ReadableStream<Uint8Array<ArrayBuffer>>,
  options: ExtractOptions,
): Promise<ExtractedArchive> {
  const { signal } = options;
  const reader = new ArchiveReader(options);
  try {
    const entries = source
      .pipeThrough(new DecompressionStream("gzip"), { signal })
      .pipeThrough(createTarDecoder({ strict: true }), { signal });
    for await (const entry of entries) await reader.take(entry);
    return await reader.finish();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof HooklaunchError) throw error;
    const details = messageOf(error);
    // The system's errors, such as that of a full disk, say nothing of the archive.
    if (error instanceof Error && "code" in error) {
      throw new BackupError(`Cannot restore: ${details}`, { cause: error });
    }
    throw damaged(details);
  }
}

class ArchiveReader {
  readonly #options: ExtractOptions;
  readonly #manifest = createHash("sha256");
  readonly #links: { path: string; target: string }[] = [];
  #header: BackupHeader | undefined;
  #flaws: Flaw[] | undefined;
  #isComplete = false;
  #files = 0;
  #records: number | undefined;

  constructor(options: ExtractOptions) {
    this.#options = options;
  }

  /** Takes the next entry. */
  async take(entry: ParsedTarEntry): Promise<void> {
    const { name, type = "file" } = entry.header;
    if (this.#isComplete) throw damaged("an entry follows its manifest");
    if (this.#header === undefined) {
      if (type !== "file" || name !== HEADER_ENTRY) throw damaged("it is no backup of Hooklaunch");
      this.#header = readHeader(await this.#text(entry, headerSchema));
    } else if (type === "directory") await this.#folder(entry);
    else if (type === "symlink") this.#link(entry);
    else if (type !== "file") throw refused(name, `it is a ${type}`);
    else if (name === MANIFEST_ENTRY) await this.#check(entry);
    else if (this.#flaws !== undefined) throw damaged("an entry follows its list of flaws");
    else if (name === FLAWS_ENTRY) this.#flaws = await this.#text(entry, flawsSchema);
    else if (name === RECORDS_ENTRY) {
      this.#records = (await this.#text(entry, recordsSchema)).records;
    } else if (isChunkPath(name)) await this.#chunk(entry);
    else if (FILES.includes(name) || isInDataFolder(name)) {
      await this.#file(entry);
    } else throw refused(name, "a backup has no such file");
  }

  /** Makes the links, and removes files of which the archive holds only a part. */
  async finish(): Promise<ExtractedArchive> {
    if (!this.#isComplete || this.#header === undefined || this.#flaws === undefined) {
      throw damaged("its end is missing");
    }
    const { folder } = this.#options;
    // Links come last, so that no file was written through one.
    for (const { path, target } of this.#links) {
      await Deno.symlink(target, join(folder, path)).catch(conflictOf(path));
    }
    await this.#checkLinks();
    for (const { path, discard } of this.#flaws) {
      if (!discard) continue;
      if (!isInDataFolder(path)) throw refused(path, "it is outside of the data folder");
      await Deno.remove(join(folder, path), { recursive: true }).catch(ignoreMissing);
    }
    const found = { header: this.#header, flaws: this.#flaws, files: this.#files };
    return { ...found, ...(this.#records !== undefined && { records: this.#records }) };
  }

  /** Refuses a link that leads out of the folder through another link, although its text stays inside. */
  async #checkLinks(): Promise<void> {
    const root = await Deno.realPath(this.#options.folder);
    for (const { path, target } of this.#links) {
      const leadsTo = await Deno.realPath(join(root, path)).catch(() => undefined);
      if (leadsTo === undefined) continue;
      const written = relative(join(root, dirname(path)), leadsTo) || ".";
      if (!isSnapshotLink(path, written)) throw refused(path, `it is a link to ${target}`);
    }
  }

  async #folder({ header, body }: ParsedTarEntry): Promise<void> {
    const path = header.name.replace(/\/$/, "");
    if (!isInDataFolder(path)) throw refused(header.name, "it is outside of the data folder");
    await body.cancel();
    const mode = (header.mode ?? 0) & 0o777 | 0o700;
    const target = join(this.#options.folder, path);
    await Deno.mkdir(target, { mode: 0o700 }).catch(conflictOf(path));
    await Deno.chmod(target, mode);
    this.#list({ type: "folder", path, mode });
  }

  #link({ header: { name, linkname = "" } }: ParsedTarEntry): void {
    if (!isSnapshotLink(name, linkname)) throw refused(name, `it is a link to ${linkname}`);
    if (this.#links.length >= LINKS_MAX) throw refused(name, `there are over ${LINKS_MAX} links`);
    this.#links.push({ path: name, target: linkname });
    this.#list({ type: "link", path: name, target: linkname });
  }

  async #file({ header, body }: ParsedTarEntry): Promise<void> {
    const { signal, folder, onProgress } = this.#options;
    const { name: path, mtime } = header;
    const mode = (header.mode ?? 0) & 0o777;
    const hash = createHash("sha256");
    const target = join(folder, path);
    using file = await Deno.open(target, { write: true, createNew: true, mode: 0o600 })
      .catch(conflictOf(path));
    const write = partWriter(file);
    let size = 0;
    for await (const chunk of body) {
      signal.throwIfAborted();
      hash.update(chunk);
      await write(chunk);
      size += chunk.length;
    }
    // The time of a file tells when a command ended.
    if (mtime !== undefined) await file.utime(mtime, mtime);
    await Deno.chmod(target, mode);
    this.#list({ type: "file", path, mode, size, sha256: hash.digest("hex") });
    onProgress(`${++this.#files} files`);
  }

  async #chunk(entry: ParsedTarEntry): Promise<void> {
    const folder = join(this.#options.folder, RECORDS_FOLDER);
    await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    await this.#file(entry);
    // A chunk is no file of the data folder.
    this.#files--;
  }

  /** Reads a small entry that is not kept. */
  async #text<T>({ header, body }: ParsedTarEntry, schema: z.ZodType<T>): Promise<T> {
    const { name: path, size } = header;
    if (size > TEXT_BYTES_MAX) throw refused(path, `it has ${size} bytes`);
    const bytes = await new Response(body).bytes();
    const sha256 = hash("sha256", bytes);
    const mode = (header.mode ?? 0) & 0o777;
    this.#list({ type: "file", path, mode, size: bytes.length, sha256 });
    const { data, success } = schema.safeParse(parseJson(new TextDecoder().decode(bytes)));
    if (!success) throw damaged(`its ${path} does not have the expected form`);
    return data;
  }

  async #check({ body }: ParsedTarEntry): Promise<void> {
    const hash = createHash("sha256");
    for await (const chunk of body) hash.update(chunk);
    if (hash.digest("hex") !== this.#manifest.digest("hex")) {
      throw damaged("its contents do not match its manifest");
    }
    this.#isComplete = true;
  }

  #list(entry: Entry): void {
    this.#options.signal.throwIfAborted();
    this.#manifest.update(manifestLine(entry));
  }
}

/**
 * Returns the header of a backup.
 *
 * @throws {BackupError} when this version cannot read it
 */
export function readHeader(header: BackupHeader): BackupHeader {
  const { archive_format, version } = header;
  if (archive_format <= RECORDS_FORMAT) return header;
  throw new BackupError(
    `Cannot restore this backup: it has the format ${archive_format} of Hooklaunch ${version}, ` +
      `and this version reads format ${RECORDS_FORMAT}`,
  );
}

/** Explains an entry that cannot be made because of the entries before it. */
function conflictOf(path: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof Deno.errors.AlreadyExists) throw refused(path, "it is there twice");
    const isMissing = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.NotADirectory;
    if (isMissing) throw refused(path, "the folder that it is in does not come before it");
    throw error;
  };
}

/** Returns the error of an archive that is not what was written. */
export function damaged(detail: string): DamagedBackupError {
  return new DamagedBackupError(`Cannot restore this backup, it is damaged: ${detail}`);
}

function refused(path: string, detail: string): DamagedBackupError {
  return new DamagedBackupError(
    `Cannot restore this backup: it holds ${JSON.stringify(path)}, which no backup has: ${detail}`,
  );
}
