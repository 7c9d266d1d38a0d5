/**
 * Copies of what a data folder is filled with: ten million records of copies take minutes, and those that the store's
 * functions make take hours.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { ignoreMissing } from "../../src/platform/files/missing_file.ts";
import { DATABASE_FILE } from "../../src/store/file/database_file.ts";
import { FIXED_IDS } from "./requests.ts";

/** The ids of runs, executions and entries of logs. */
const ID = /0[0-9a-f]{7}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g;
/** The place of the digit of an id by which copies differ: it is random, and behind the time. */
const DIGIT = 24;
/** As many copies as a digit tells apart. */
export const COPIES_MAX = 16;
const SAID_EACH_MS = 5_000;
const COLUMNS = ["k", "v", "v_encoding", "version", "seq", "expiration_ms"];

/**
 * Multiplies the records of a database that no process uses. Those with fixed ids, such as triggers, stay alone.
 *
 * @param times the number of each record that there is then, at most {@linkcode COPIES_MAX}
 */
export async function multiply(data: string, times: number): Promise<void> {
  const path = join(data, DATABASE_FILE);
  const original = `${path}.original`;
  await Deno.copyFile(path, original);
  {
    using from = new DatabaseSync(original, { readOnly: true });
    using to = new DatabaseSync(path);
    to.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000");
    to.exec("BEGIN");
    const places = COLUMNS.map(() => "?").join();
    // Some keys have no id of their own, as those of known deliveries.
    const insert = to.prepare(
      `INSERT OR IGNORE INTO kv (${COLUMNS.join()}) VALUES (${places})`,
    );
    const { rows } = from.prepare("SELECT count(*) AS rows FROM kv").get() ?? {};
    const all = from.prepare(`SELECT ${COLUMNS.join()} FROM kv ORDER BY k`);
    all.setReadBigInts(true);
    let read = 0;
    let said_ms = performance.now();
    // Each copy goes into the page of its original, which is in memory then.
    for (const { k, v, ...others } of all.iterate()) {
      read++;
      for (let copy = 1; copy < times && withOtherIds(k, copy) !== k; copy++) {
        insert.run(withOtherIds(k, copy), withOtherIds(v, copy), ...Object.values(others));
      }
      if (performance.now() - said_ms < SAID_EACH_MS) continue;
      said_ms = performance.now();
      console.error(`Copying what is stored ${times - 1} times: ${read} of ${rows} rows`);
    }
    to.exec("COMMIT; PRAGMA journal_mode = WAL");
  }
  for (const ending of ["", "-wal", "-shm"]) {
    await Deno.remove(original + ending).catch(ignoreMissing);
  }
}

/** Returns a key or a value in which each id is that of a copy, or what it was given where there is none. */
function withOtherIds(value: SQLInputValue | undefined, copy: number): SQLInputValue {
  if (!(value instanceof Uint8Array)) return value ?? null;
  const text = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("latin1");
  const changed = text.replace(ID, (id) => {
    if (id.startsWith(FIXED_IDS)) return id;
    const digit = (parseInt(id.charAt(DIGIT), 16) ^ copy).toString(16);
    return id.slice(0, DIGIT) + digit + id.slice(DIGIT + 1);
  });
  return changed === text ? value : Buffer.from(changed, "latin1");
}
