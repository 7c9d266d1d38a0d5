/**
 * The file of a new database, before Deno KV opens it.
 *
 * @module
 */

/**
 * The size of a page. SQLite makes pages of 4 KiB, and writes each with two calls to the operating
 * system: a chunk of a payload is fifteen of them, and launches of 1 KiB are a tenth slower. It cannot be
 * changed any more once there is something in the file.
 */
const PAGE_BYTES = 16 * 1024;

/** Makes the file of a database, unless there is one. */
export async function makeDatabaseFile(path: string): Promise<void> {
  if (await sizeOf(path) > 0) return;
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(path);
  try {
    // As Deno KV has it; besides, this writes the first page.
    database.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = WAL`);
  } finally {
    database.close();
  }
}

/** The size of a file, in bytes; 0 when there is none. */
async function sizeOf(path: string): Promise<number> {
  try {
    return (await Deno.stat(path)).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}
