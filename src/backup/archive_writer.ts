/**
 * Writes an archive entry by entry, in bounded memory, with the checksum of each.
 *
 * @module
 */
import { createTarPacker, type TarPackController } from "modern-tar";
import { createHash, hash } from "node:crypto";
import { BackupError } from "./error.ts";
import { writeAll } from "../platform/files/bytes.ts";
import { type Entry, MANIFEST_ENTRY, manifestLine } from "./manifest.ts";

const CHUNK_BYTES = 256 * 1024;
const FILE_MODE = 0o600;
/** The latest time that an entry can hold; the earliest is 1970. Commands may set others. */
const TIME_MS_MAX = (8 ** 11 - 1) * 1_000;

/** A file as it was written. */
export interface WrittenFile {
  size: number;
  sha256: string;
  /** True when the file became shorter while it was read: the rest of its entry is zeros. */
  isTorn: boolean;
}

/** A complete archive. */
interface WrittenArchive {
  /** Bytes of the archive itself. */
  size: number;
  sha256: string;
}

/** The output of an archive, and the file that holds its manifest until it is added. */
interface ArchiveWriterOptions {
  output: WritableStream<Uint8Array>;
  /** A path for a file of its own; absent where there is no disk, and few entries. */
  spool?: string;
  signal: AbortSignal;
}

/** Writes one archive. */
export class ArchiveWriter {
  /** Number of files so far. */
  files = 0;
  /** Bytes of these files. */
  bytes = 0;
  readonly #signal: AbortSignal;
  readonly #tar: TarPackController;
  readonly #spool: Deno.FsFile | undefined;
  /** The manifest, where it has no file. */
  #lines = "";
  readonly #written: Promise<WrittenArchive>;

  private constructor(
    { output, signal }: ArchiveWriterOptions,
    spool: Deno.FsFile | undefined,
  ) {
    const { readable, controller } = createTarPacker();
    this.#signal = signal;
    this.#tar = controller;
    this.#spool = spool;
    this.#written = writeCompressed(readable, output);
    // A failure is reported to the next write.
    this.#written.catch(() => {});
  }

  /** Begins an archive. */
  static async begin(options: ArchiveWriterOptions): Promise<ArchiveWriter> {
    const { spool } = options;
    const mode = { read: true, write: true, createNew: true, mode: FILE_MODE };
    return new ArchiveWriter(
      options,
      spool === undefined ? undefined : await Deno.open(spool, mode),
    );
  }

  /** Adds a folder. It comes before its contents. */
  async addFolder(path: string, mode: number): Promise<void> {
    await this.#tar.add({ name: `${path}/`, type: "directory", size: 0, mode }).close();
    await this.#list({ type: "folder", path, mode });
  }

  /** Adds a symbolic link. */
  async addLink(path: string, target: string): Promise<void> {
    await this.#tar.add({ name: path, type: "symlink", size: 0, linkname: target }).close();
    await this.#list({ type: "link", path, target });
  }

  /** Adds a small file with this text. */
  async addText(path: string, text: string): Promise<void> {
    await this.addBytes(path, new TextEncoder().encode(text));
  }

  /** Adds a file with these bytes, which are few. */
  async addBytes(path: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#addBytes(path, bytes);
    const sha256 = hash("sha256", bytes);
    await this.#list({ type: "file", path, mode: FILE_MODE, size: bytes.length, sha256 });
  }

  async #addBytes(path: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#signal.throwIfAborted();
    const header = { name: path, type: "file" as const, mode: FILE_MODE, size: bytes.length };
    const writer = this.#tar.add(header).getWriter();
    await writer.write(bytes);
    await endEntry(writer);
  }

  /** Adds a file with its present size. Bytes that are appended meanwhile are left out. */
  async addFile(path: string, file: Deno.FsFile): Promise<WrittenFile> {
    const info = await file.stat();
    const mode = (info.mode ?? FILE_MODE) & 0o777;
    const time_ms = info.mtime?.getTime() ?? Date.now();
    const mtime = new Date(Math.min(Math.max(0, time_ms), TIME_MS_MAX));
    const header = { name: path, type: "file" as const, size: info.size, mode, mtime };
    const written = await this.#copy(file, header);
    this.files++;
    this.bytes += written.size;
    const { size, sha256 } = written;
    await this.#list({ type: "file", path, mode, size, sha256 });
    return written;
  }

  /** Adds the manifest and ends the archive. */
  async finish(): Promise<WrittenArchive> {
    if (this.#spool === undefined) {
      await this.#addBytes(MANIFEST_ENTRY, new TextEncoder().encode(this.#lines));
    } else {
      await this.#spool.seek(0, Deno.SeekMode.Start);
      const { size } = await this.#spool.stat();
      const mode = FILE_MODE;
      await this.#copy(this.#spool, { name: MANIFEST_ENTRY, type: "file" as const, size, mode });
    }
    this.#tar.finalize();
    return await this.#written;
  }

  /** Closes everything. The output of an archive that was not finished cannot be used. */
  async close(): Promise<void> {
    this.#tar.error(new BackupError("The archive is closed"));
    await this.#written.catch(() => {});
    this.#spool?.close();
  }

  async #copy(
    file: Deno.FsFile,
    header: { name: string; type: "file"; size: number; mode: number; mtime?: Date },
  ): Promise<WrittenFile> {
    const writer = this.#tar.add(header).getWriter();
    const hash = createHash("sha256");
    let isTorn = false;
    for (let left = header.size; left > 0;) {
      this.#signal.throwIfAborted();
      // A new buffer each time: the writer keeps it until it is compressed.
      const buffer = new Uint8Array(Math.min(left, CHUNK_BYTES));
      const read: number | null = isTorn ? null : await file.read(buffer);
      isTorn = read === null;
      const chunk = buffer.subarray(0, read ?? buffer.length);
      hash.update(chunk);
      await writer.write(chunk);
      left -= chunk.length;
    }
    await endEntry(writer);
    return { size: header.size, sha256: hash.digest("hex"), isTorn };
  }

  async #list(entry: Entry): Promise<void> {
    this.#signal.throwIfAborted();
    const line = manifestLine(entry);
    if (this.#spool === undefined) this.#lines += line;
    else await writeAll(this.#spool, new TextEncoder().encode(line));
  }
}

/** Ends an entry. Of one that has failed already, closing says that it has, and `closed` says why. */
async function endEntry(writer: WritableStreamDefaultWriter<Uint8Array>): Promise<void> {
  await writer.close().catch(() => writer.closed);
}

async function writeCompressed(
  tar: ReadableStream<Uint8Array<ArrayBuffer>>,
  output: WritableStream<Uint8Array>,
): Promise<WrittenArchive> {
  const hash = createHash("sha256");
  let size = 0;
  const measure = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      hash.update(chunk);
      size += chunk.length;
      controller.enqueue(chunk);
    },
  });
  await tar.pipeThrough(new CompressionStream("gzip")).pipeThrough(measure).pipeTo(output);
  return { size, sha256: hash.digest("hex") };
}
