/**
 * The room that is left on the disk of a data folder. What is accepted needs room later on: for what
 * its executions bring and leave, for logs, and for the records of how things ended. So launches are
 * turned away while there is still some, and not by the database that has none.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { statfs } from "node:fs/promises";
import { messageOf } from "../errors.ts";

/** With less room than this, launches are turned away. */
const RESERVE_BYTES = 32 * 1024 * 1024;
const LOOK_MS = 1_000;

const log = getLogger(["hooklaunch", "store"]);

/** What a watch may be told. */
export interface SpaceOptions {
  /** The database's file: once it is gone, what is written is gone with it. */
  file?: string;
  reserve_bytes?: number;
  /** How much room there is, in bytes; undefined when that cannot be known. */
  look?(folder: string): Promise<number | undefined>;
}

/** Watches the room that is left for a folder. */
export class Space {
  readonly #folder: string;
  readonly #file: string | undefined;
  readonly #reserve_bytes: number;
  readonly #measure: (folder: string) => Promise<number | undefined>;
  #isShort = false;
  #timer: ReturnType<typeof setInterval> | undefined;
  #looking: Promise<void> | undefined;

  constructor(
    folder: string,
    { file, reserve_bytes = RESERVE_BYTES, look = freeBytes }: SpaceOptions,
  ) {
    this.#folder = folder;
    this.#file = file;
    this.#reserve_bytes = reserve_bytes;
    this.#measure = look;
  }

  /** Whether there was too little room at the last look, or no database to have it in. */
  get isShort(): boolean {
    return this.#isShort;
  }

  /** Looks now and then each second. */
  async start(): Promise<void> {
    await this.look();
    this.#timer = setInterval(() => void this.look(), LOOK_MS);
  }

  /** Looks now. A look that is under way is this one's too: a disk that hangs is asked once. */
  look(): Promise<void> {
    return this.#looking ??= this.#look().finally(() => this.#looking = undefined);
  }

  /** Looks no more. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    const isGone = this.#file !== undefined && await isMissing(this.#file);
    let free_bytes: number | undefined;
    try {
      free_bytes = isGone ? 0 : await this.#measure(this.#folder);
    } catch (error) {
      log.warn("Cannot see how full the disk is: {error}", { error: messageOf(error) });
    }
    const isShort = free_bytes !== undefined && free_bytes < this.#reserve_bytes;
    if (isShort === this.#isShort) return;
    this.#isShort = isShort;
    const details = { folder: this.#folder, free_bytes, reserve_bytes: this.#reserve_bytes };
    if (isGone) {
      log.error(
        "The database in {folder} is gone, and what is accepted would be gone with it: " +
          "launches are turned away",
        { folder: this.#folder },
      );
    } else if (isShort) {
      log.error(
        "The disk of {folder} is nearly full, {free_bytes} bytes are free: " +
          "launches are turned away until there are {reserve_bytes}",
        details,
      );
    } else log.info("The disk of {folder} has room again: launches are accepted", details);
  }
}

async function isMissing(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(
    () => false,
    (error) => error instanceof Deno.errors.NotFound,
  );
}

/**
 * How much room a process has on the disk of a folder. Without the permission to ask, which is
 * `--allow-sys=statfs`, it is not known, and a full disk is noticed by the commits that fail.
 */
export async function freeBytes(folder: string): Promise<number | undefined> {
  const { state } = await Deno.permissions.query({ name: "sys", kind: "statfs" });
  if (state !== "granted") return undefined;
  const { bavail, bsize, blocks } = await statfs(folder);
  // Some network file systems do not tell.
  return blocks === 0 ? undefined : bavail * bsize;
}
