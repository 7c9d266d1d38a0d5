/**
 * The check of a database at the start of a service. A small database is checked before it is opened, a
 * large one while the service runs.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { join } from "node:path";
import { HooklaunchError, messageOf } from "../../platform/errors.ts";
import { exists } from "../../platform/files/missing_file.ts";
import { DATABASE_FILE } from "./database_file.ts";

/**
 * The largest database that is checked before it is opened, after an unclean stop and after a clean one.
 * SQLite checks some 200 MiB a second.
 */
export const CHECK_SIZES: CheckSizes = {
  unclean_bytes: 256 * 1024 * 1024,
  clean_bytes: 4 * 1024 * 1024,
};
/** The file that says that the last check found damage: the next one does not wait. */
const DAMAGE_FILE = "damaged";

const log = getLogger(["hooklaunch", "store"]);

// Has `deno compile` embed the module: it does not find those of Workers.
void (() => import("./integrity_worker.ts"));

/** The largest databases that are checked before they are opened. */
export interface CheckSizes {
  unclean_bytes: number;
  clean_bytes: number;
}

/** A database whose file is damaged. */
export class DamagedDatabaseError extends HooklaunchError {
  override readonly code = "database_damaged";

  constructor(folder: string, damage: string) {
    super(
      `Cannot open the database in ${folder}: it is damaged: ${damage}. To go on with the latest backup: ` +
        `hooklaunch restore --data ${folder} --force FILE, which keeps the damaged files beside it`,
    );
  }
}

/** Returns true for an error by which Deno KV tells that the file is damaged. */
export function isDamage(error: unknown): boolean {
  return /database disk image is malformed|file is not a database/.test(messageOf(error));
}

/** The check of one database. */
export class StartCheck {
  readonly #folder: string;
  readonly #path: string;
  readonly #sizes: CheckSizes;

  constructor(folder: string, sizes: CheckSizes) {
    this.#folder = folder;
    this.#path = join(folder, DATABASE_FILE);
    this.#sizes = sizes;
  }

  /**
   * Checks the database unless it is too large for that.
   *
   * @returns whether it was checked
   * @throws {DamagedDatabaseError}
   */
  async checkSmall(): Promise<boolean> {
    // Opening it says what is in the place of the file.
    if (await isFolder(this.#path)) return true;
    const size_bytes = await sizeOf(this.#path);
    const mark = join(this.#folder, DAMAGE_FILE);
    const wasDamaged = await exists(mark);
    // SQLite removes the WAL when the last connection is closed.
    const isUnclean = await sizeOf(`${this.#path}-wal`) > 0;
    const { unclean_bytes, clean_bytes } = this.#sizes;
    const isSmall = wasDamaged || size_bytes <= (isUnclean ? unclean_bytes : clean_bytes);
    const { findDamage, findDamageOfQueue } = await import("./integrity.ts");
    const damage = isSmall ? findDamage(this.#path) : findDamageOfQueue(this.#path);
    if (damage !== undefined) throw new DamagedDatabaseError(this.#folder, damage);
    if (wasDamaged) await Deno.remove(mark);
    return isSmall;
  }

  /** Checks the open database in a Worker, and calls back with the error when it is damaged. */
  async checkLarge(onDamage: (error: DamagedDatabaseError) => void): Promise<void> {
    const { Worker } = await import("node:worker_threads");
    const worker = new Worker(new URL("./integrity_worker.ts", import.meta.url), {
      workerData: this.#path,
    });
    // A stop does not wait for it.
    worker.unref();
    worker.once("error", (error) => {
      log.warn("Cannot check the database {path} for damage: {error}", {
        path: this.#path,
        error: messageOf(error),
      });
    });
    worker.once("message", (damage: string | undefined) => {
      if (damage === undefined) {
        log.info("The database {path} was checked: no damage", { path: this.#path });
        return;
      }
      // Kept for the next start, which refuses at once.
      Deno.writeTextFileSync(join(this.#folder, DAMAGE_FILE), `${damage}\n`, { mode: 0o600 });
      onDamage(new DamagedDatabaseError(this.#folder, damage));
    });
  }
}

async function isFolder(path: string): Promise<boolean> {
  return await Deno.stat(path).then(({ isDirectory }) => isDirectory, () => false);
}

async function sizeOf(path: string): Promise<number> {
  return await Deno.stat(path).then(({ size }) => size, () => 0);
}
