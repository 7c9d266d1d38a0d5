/**
 * Restores a database to a remote Deno KV, which has to be empty.
 *
 * @module
 */
import { serialize } from "node:v8";
import { FORMAT_VERSION, keys } from "../../store/keys.ts";
import { BackupError } from "../error.ts";
import { storeRecords } from "./apply.ts";
import type { StoredRecord } from "./record_chunks.ts";

/** The format while not all of the records are there: no version of the service begins with it. */
const UNFINISHED = 0;
const REMOVED_AT_ONCE = 500;

/**
 * Copies all records of a database file to an empty remote one, but for its format: without that no service begins
 * with it. What a restore that was broken off has left is removed before.
 *
 * @throws {BackupError} when it is not empty
 */
export async function fillDatabase(
  kv: Deno.Kv,
  { file, where, signal }: { file: string; where: string; signal: AbortSignal },
): Promise<void> {
  const [first] = await Array.fromAsync(kv.list({ prefix: [] }, { limit: 1 }));
  const { value: format } = await kv.get(keys.format());
  if (format === UNFINISHED) await clear(kv, signal);
  else if (first !== undefined) {
    throw new BackupError(
      `Cannot restore to ${where}: it holds data already. Name an empty database`,
    );
  }
  await kv.set(keys.format(), UNFINISHED);
  using from = await Deno.openKv(file);
  await storeRecords(kv, recordsOf(from), signal);
}

/** Lets services begin with a database that was filled. */
export async function finishFilling(kv: Deno.Kv): Promise<void> {
  await kv.set(keys.format(), FORMAT_VERSION);
}

async function* recordsOf(kv: Deno.Kv): AsyncGenerator<StoredRecord & { bytes: number }> {
  for await (const { key, value } of kv.list({ prefix: [] })) {
    if (key[0] === "meta" && key[1] === "format") continue;
    yield { key, value, bytes: serialize(value).length };
  }
}

async function clear(kv: Deno.Kv, signal: AbortSignal): Promise<void> {
  let operation = kv.atomic();
  let count = 0;
  for await (const { key } of kv.list({ prefix: [] })) {
    // It goes on saying that the database is not whole.
    if (key[0] === "meta" && key[1] === "format") continue;
    signal.throwIfAborted();
    operation.delete(key);
    if (++count % REMOVED_AT_ONCE > 0) continue;
    await operation.commit();
    operation = kv.atomic();
  }
  await operation.commit();
}
