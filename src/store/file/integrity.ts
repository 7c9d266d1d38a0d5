/**
 * Damage of a database file, as SQLite's integrity check finds it. A flipped bit may hide records, and
 * reading them tells nothing.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { messageOf } from "../../platform/errors.ts";

/** Time limit to wait for another connection to the database. */
const BUSY_MS = 10_000;
/** SQLite's codes for a file that is damaged, or no database. */
const DAMAGED_CODES = [11, 26];

/**
 * Reads the whole database and returns the first damage, or undefined when there is none. Changes nothing.
 *
 * @throws {Error} of SQLite, when the file cannot be read
 */
export function findDamage(path: string): string | undefined {
  return look(path, (database) => checked(database, "PRAGMA integrity_check(1)"));
}

/**
 * Reads all but the table of records, which is the only large one, and returns the first damage. Deno KV
 * ends the process when it opens a database with such damage ("KV queue_next_ready failed").
 *
 * @throws {Error} of SQLite, when the file cannot be read
 */
export function findDamageOfQueue(path: string): string | undefined {
  return look(path, (database) => {
    const tables = database.prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('kv', 'sqlite_sequence')",
    ).all();
    for (const { name } of tables) {
      const damage = checked(database, `PRAGMA integrity_check("${name}")`);
      if (damage !== undefined) return damage;
    }
    return undefined;
  });
}

function checked(database: DatabaseSync, pragma: string): string | undefined {
  const [found] = Object.values(database.prepare(pragma).get() ?? {});
  if (found === "ok") return undefined;
  return String(found).replace("*** in database main ***\n", "");
}

function look(
  path: string,
  find: (database: DatabaseSync) => string | undefined,
): string | undefined {
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
    try {
      return find(database);
    } finally {
      database.close();
    }
  } catch (error) {
    if (isDamage(error)) return messageOf(error);
    throw error;
  }
}

function isDamage(error: unknown): boolean {
  return error instanceof Error && "errcode" in error &&
    // The lower byte is the primary code.
    DAMAGED_CODES.includes(Number(error.errcode) & 0xff);
}
