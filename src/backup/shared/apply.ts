/**
 * Stores the records of a backup in a database.
 *
 * @module
 */
import { join } from "node:path";
import { ignoreMissing } from "../../platform/files/missing_file.ts";
import { BatchSize } from "../../store/commit/batch_size.ts";
import { DATABASE_FILE, makeDatabaseFile } from "../../store/file/database_file.ts";
import { DamagedBackupError } from "../error.ts";
import { RECORDS_FOLDER } from "../manifest.ts";
import { recordsIn, type StoredRecord } from "./record_chunks.ts";

/** Stores records, in their order. Returns their number. */
export async function storeRecords(
  kv: Deno.Kv,
  records: AsyncIterable<StoredRecord & { bytes: number }>,
  signal: AbortSignal,
): Promise<number> {
  let operation = kv.atomic();
  let size = new BatchSize();
  let count = 0;
  for await (const { key, value, bytes } of records) {
    signal.throwIfAborted();
    const write = [{ key, value, bytes }];
    if (!size.add(write)) {
      await operation.commit();
      operation = kv.atomic();
      size = new BatchSize();
      size.add(write);
    }
    operation.set(key, value);
    count++;
  }
  await operation.commit();
  return count;
}

/**
 * Makes the database of a folder from the chunks of records that were extracted there.
 *
 * @throws {DamagedBackupError} when they are not as many records as were written
 */
export async function makeDatabase(
  folder: string,
  expected: number,
  signal: AbortSignal,
): Promise<void> {
  const chunks = join(folder, RECORDS_FOLDER);
  await makeDatabaseFile(folder);
  let found: number;
  {
    using kv = await Deno.openKv(join(folder, DATABASE_FILE));
    found = await storeRecords(kv, recordsOfFolder(chunks), signal);
  }
  if (found !== expected) {
    throw new DamagedBackupError(
      `Cannot restore this backup, it is damaged: it has ${found} records, and ${expected} were backed up`,
    );
  }
  await Deno.remove(chunks, { recursive: true }).catch(ignoreMissing);
}

async function* recordsOfFolder(
  folder: string,
): AsyncGenerator<StoredRecord & { bytes: number }> {
  const entries = await Array.fromAsync(Deno.readDir(folder)).catch(ignoreMissing) ?? [];
  const names = entries.map(({ name }) => name).sort();
  for (const name of names) yield* recordsIn(await Deno.readFile(join(folder, name)));
}
