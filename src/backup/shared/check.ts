/**
 * Checks an archive of a shared database where there is no disk to restore it to: all of it is read, a chunk at a
 * time. It must have the checksums of its manifest and the number of its records, each record must be readable, and
 * the format one that this version reads.
 *
 * @module
 */
import { createTarDecoder, type ParsedTarEntry } from "modern-tar";
import { createHash, hash } from "node:crypto";
import { HooklaunchError, messageOf } from "../../platform/errors.ts";
import { parseJson } from "../../platform/text/parse_json.ts";
import { FORMAT_VERSION } from "../../store/keys.ts";
import { damaged, readHeader } from "../archive_reader.ts";
import {
  chunkPath,
  FLAWS_ENTRY,
  HEADER_ENTRY,
  headerSchema,
  MANIFEST_ENTRY,
  manifestLine,
  RECORDS_ENTRY,
  recordsSchema,
} from "../manifest.ts";
import { CHUNK_BYTES_MAX, recordsIn } from "./record_chunks.ts";

/** The entries beside the chunks, each of which is held in memory. */
const TEXT_BYTES_MAX = 16 * 1024 * 1024;

/** The findings about an archive. */
interface CheckedArchive {
  records: number;
  /** The value that was written just before the backup. */
  sentinel: unknown;
}

/**
 * Reads all of an archive.
 *
 * @throws {BackupError} when it could not be restored
 */
export async function checkArchive(
  source: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal,
): Promise<CheckedArchive> {
  const check = new ArchiveCheck();
  try {
    const entries = source
      .pipeThrough(new DecompressionStream("gzip"), { signal })
      .pipeThrough(createTarDecoder({ strict: true }), { signal });
    for await (const entry of entries) await check.take(entry);
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof HooklaunchError ? error : damaged(messageOf(error));
  }
  return check.finish();
}

class ArchiveCheck {
  readonly #manifest = createHash("sha256");
  #names: string[] = [];
  #chunks = 0;
  #records = 0;
  #expected: number | undefined;
  #format: unknown;
  #sentinel: unknown;

  async take({ header: { name, size, mode = 0, type = "file" }, body }: ParsedTarEntry) {
    if (this.#names.at(-1) === MANIFEST_ENTRY) throw damaged("an entry follows its manifest");
    const isChunk = name === chunkPath(this.#chunks);
    const isKnown = isChunk ||
      [HEADER_ENTRY, RECORDS_ENTRY, FLAWS_ENTRY, MANIFEST_ENTRY].includes(name);
    if (type !== "file" || !isKnown || this.#names.includes(name)) {
      throw damaged(`it holds ${JSON.stringify(name)}, which a backup from here does not have`);
    }
    if (this.#names.length === 0 && name !== HEADER_ENTRY) {
      throw damaged("it is no backup of Hooklaunch");
    }
    if (size > (isChunk ? CHUNK_BYTES_MAX : TEXT_BYTES_MAX)) {
      throw damaged(`its ${name} has ${size} bytes`);
    }
    const bytes = await new Response(body).bytes();
    const sha256 = hash("sha256", bytes);
    if (name === MANIFEST_ENTRY) {
      if (sha256 !== this.#manifest.digest("hex")) {
        throw damaged("its contents do not match its manifest");
      }
    } else {
      const entry = { type: "file" as const, path: name, mode: mode & 0o777 };
      this.#manifest.update(manifestLine({ ...entry, size: bytes.length, sha256 }));
    }
    if (isChunk) this.#readChunk(bytes);
    else {
      this.#names.push(name);
      this.#readText(name, new TextDecoder().decode(bytes));
    }
  }

  finish(): CheckedArchive {
    if (this.#names.at(-1) !== MANIFEST_ENTRY) throw damaged("its end is missing");
    if (this.#records !== this.#expected) {
      throw damaged(`it has ${this.#records} records, and ${this.#expected} were backed up`);
    }
    const format = this.#format;
    if (typeof format !== "number" || !(format >= 1 && format <= FORMAT_VERSION)) {
      throw damaged(`its format is ${format}, expected at most ${FORMAT_VERSION}`);
    }
    return { records: this.#records, sentinel: this.#sentinel };
  }

  #readChunk(bytes: Uint8Array<ArrayBuffer>): void {
    this.#chunks++;
    for (const { key, value } of recordsIn(bytes)) {
      this.#records++;
      if (key[0] !== "meta") continue;
      if (key[1] === "format") this.#format = value;
      if (key[1] === "backup_sentinel") this.#sentinel = value;
    }
  }

  #readText(name: string, text: string): void {
    if (name === HEADER_ENTRY) {
      const { data, success } = headerSchema.safeParse(parseJson(text));
      if (!success) throw damaged(`its ${name} does not have the expected form`);
      readHeader(data);
    } else if (name === RECORDS_ENTRY) {
      this.#expected = recordsSchema.safeParse(parseJson(text)).data?.records;
    }
  }
}
