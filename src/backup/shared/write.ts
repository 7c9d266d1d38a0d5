/**
 * Writes an archive of a shared database: its records as chunks, and the files that this machine has of them.
 *
 * @module
 */
import { join } from "node:path";
import config from "../../../deno.json" with { type: "json" };
import { ArchiveWriter } from "../archive_writer.ts";
import type { BackupReport } from "../report.ts";
import {
  type BackupHeader,
  chunkPath,
  type Flaw,
  FLAWS_ENTRY,
  HEADER_ENTRY,
  RECORDS_ENTRY,
  RECORDS_FORMAT,
} from "../manifest.ts";
import { liveRecords } from "./live_records.ts";
import { ChunkBuilder } from "./record_chunks.ts";

/** Bytes of a database file, and of the chunks that it is made from, for each byte of these. */
const FILE_SHARE = 3;
const DAMAGED = "This record of the database is damaged, and is not in the backup";

/** The source and the target of an archive. */
interface SharedArchiveOptions {
  kv: Deno.Kv;
  output: WritableStream<Uint8Array>;
  /** The data folder of this machine, and one for temporary files; absent where no files are kept. */
  folders?: { data: string; temporary: string } | undefined;
  signal: AbortSignal;
  /** Told of the archive that is being written. */
  onBegin?(archive: Pick<ArchiveWriter, "files" | "bytes">): void;
}

/** Writes the archive. */
export async function writeSharedArchive(
  { kv, output, folders, signal, onBegin }: SharedArchiveOptions,
): Promise<BackupReport> {
  const created_at = new Date().toISOString();
  const flaws: Flaw[] = [];
  const onFlaw = (flaw: Flaw) => void flaws.push(flaw);
  const spool = folders && { spool: join(folders.temporary, "manifest") };
  const archive = await ArchiveWriter.begin({ output, signal, ...spool });
  onBegin?.(archive);
  try {
    const header: BackupHeader = {
      archive_format: RECORDS_FORMAT,
      version: config.version,
      created_at,
      // Its instances have the key in a variable.
      has_key: false,
    };
    await archive.addText(HEADER_ENTRY, `${JSON.stringify(header)}\n`);
    const here = folders && new ExecutionsHere(await idsOfFolders(folders.data));
    const damaged = new Set<string>();
    const onDamage = (key: Deno.KvKey) => void damaged.add(key.map(String).join("/"));
    const read = liveRecords(kv, { signal, onDamage });
    const { records, recordBytes } = await addRecords(archive, read, here);
    for (const path of damaged) onFlaw({ path, detail: DAMAGED });
    await archive.addText(RECORDS_ENTRY, `${JSON.stringify({ records })}\n`);
    if (folders !== undefined && here !== undefined) {
      const { addExecutions, addMachineId, addProjects } = await import("../contents.ts");
      const contents = { data: folders.data, archive, onFlaw };
      await addMachineId(contents);
      await addExecutions(here.records, contents);
      await addProjects(contents);
    }
    await archive.addText(FLAWS_ENTRY, `${JSON.stringify(flaws)}\n`);
    const { size, sha256 } = await archive.finish();
    const { files } = archive;
    const bytes = archive.bytes + FILE_SHARE * recordBytes;
    return { size, sha256, files, bytes, records, has_key: false, created_at, flaws };
  } finally {
    await archive.close();
  }
}

async function addRecords(
  archive: ArchiveWriter,
  records: AsyncIterable<{ key: Deno.KvKey; value: unknown }>,
  here: ExecutionsHere | undefined,
): Promise<{ records: number; recordBytes: number }> {
  const builder = new ChunkBuilder();
  let chunks = 0;
  let recordBytes = 0;
  const add = async (chunk: Uint8Array<ArrayBuffer> | undefined) => {
    if (chunk === undefined) return;
    recordBytes += chunk.length;
    await archive.addBytes(chunkPath(chunks++), chunk);
  };
  for await (const record of records) {
    here?.note(record);
    await add(builder.add(record));
  }
  await add(builder.take());
  return { records: builder.records, recordBytes };
}

/** The records of the executions that have files on this machine: other machines keep those of theirs. */
class ExecutionsHere {
  readonly #found = new Map<string, unknown>();

  constructor(readonly ids: ReadonlySet<string>) {}

  note({ key, value }: { key: Deno.KvKey; value: unknown }): void {
    const id = String(key[1]);
    if (key[0] === "execution" && this.ids.has(id)) this.#found.set(id, value);
  }

  get records(): Iterable<{ id: string; value: unknown }> {
    return Array.from(this.#found, ([id, value]) => ({ id, value }));
  }
}

async function idsOfFolders(data: string): Promise<Set<string>> {
  const ids = new Set<string>();
  for (const folder of ["executions", "artifacts/executions"]) {
    try {
      for await (const { name } of Deno.readDir(join(data, folder))) ids.add(name);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return ids;
}
