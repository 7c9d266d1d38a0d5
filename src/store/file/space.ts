/**
 * Watches the free space on the disk of a data folder. An accepted launch needs space later: for inputs,
 * outputs, logs and the records of its end. So launches are turned away while some space is left, before the
 * database has none.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { statfsSync, type StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../platform/errors.ts";

/** With less room than this, launches are turned away. */
export const RESERVE_BYTES = 32 * 1024 * 1024;
/** And with room for fewer files and folders than this, as some disks have a table of that length for them. */
export const RESERVE_FILES = 1_000;
/**
 * With less room than this, no messages are sent: a message has to be stored three times within some 100 ms,
 * and Deno KV ends the process where it cannot be. Nothing else takes this much room in that time.
 */
const MESSAGE_RESERVE_BYTES = 256 * 1024 * 1024;
/** The parts of a data folder that may be on disks of their own and that every launch needs. */
const PARTS = ["", "projects"];
/** The part that launches need whose executions keep their files here. */
const EXECUTIONS = "executions";
const LOOK_MS = 1_000;

const log = getLogger(["hooklaunch", "store"]);

interface SpaceOptions {
  reserve_bytes?: number;
  reserve_files?: number;
  /** Returns the free space of an existing folder. */
  look?(folder: string): Promise<Room>;
}

/** The room on a disk; what cannot be known is left out. */
export interface Room {
  bytes?: number;
  /** For how many more files and folders. */
  files?: number;
}

/** Watches the room that is left for a folder. */
export class Space {
  readonly #folder: string;
  readonly #reserve: Required<Room>;
  readonly #measure: (folder: string) => Promise<Room>;
  /** The parts with too little space, and when that was found, in milliseconds since the epoch. */
  readonly #short = new Map<string, number>();
  /** The reasons why the disk of a folder cannot be checked, for the log. */
  readonly #unseen = new Map<string, string>();
  #room: PromiseWithResolvers<void> | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #looking: Promise<void> | undefined;

  constructor(
    folder: string,
    {
      reserve_bytes = RESERVE_BYTES,
      reserve_files = RESERVE_FILES,
      look = roomOf,
    }: SpaceOptions = {},
  ) {
    this.#folder = folder;
    this.#reserve = { bytes: reserve_bytes, files: reserve_files };
    this.#measure = look;
  }

  /** True when the last check found too little space for any launch. */
  get isShort(): boolean {
    return PARTS.some((part) => this.#short.has(part));
  }

  /** True when the last check found too little space for the files of executions. */
  get isShortForFiles(): boolean {
    return this.#short.has(EXECUTIONS);
  }

  /** The time since which there is too little space for any launch; undefined while there is enough. */
  get shortSince_ms(): number | undefined {
    const since = PARTS.flatMap((part) => this.#short.get(part) ?? []);
    return since.length === 0 ? undefined : Math.min(...since);
  }

  /** The time since which there is too little space for the files of executions. */
  get filesShortSince_ms(): number | undefined {
    return this.#short.get(EXECUTIONS);
  }

  /** Looks at the disk of the database: whether there is so much room that a message may be sent. */
  hasRoomForMessage(): boolean {
    if (this.isShort) return false;
    try {
      return (roomIn(statfsSync(this.#folder)).bytes ?? 0) >= MESSAGE_RESERVE_BYTES;
    } catch {
      // Without the permission to ask, or without a disk that tells.
      return false;
    }
  }

  /** Resolves when there is room: at once, or after the look that finds it. */
  async untilRoom(): Promise<void> {
    if (this.isShort) await (this.#room ??= Promise.withResolvers<void>()).promise;
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
    for (const part of [...PARTS, EXECUTIONS]) {
      this.#note(part, await this.#findShort(part));
      // No launch is accepted, so nobody asks for the others.
      if (part !== EXECUTIONS && this.#short.has(part)) return;
    }
    this.#room?.resolve();
    this.#room = undefined;
  }

  #note(part: string, short: Record<string, unknown> | undefined): void {
    if ((short !== undefined) === this.#short.has(part)) return;
    if (short) {
      this.#short.set(part, Date.now());
      log.error(
        "The disk of {folder} is nearly full, {free_bytes} bytes are free and room for {free_files} " +
          "files: launches are turned away until there are {reserve_bytes}, and {reserve_files}",
        short,
      );
    } else {
      this.#short.delete(part);
      const folder = join(this.#folder, part);
      log.info("The disk of {folder} has room again: launches are accepted", { folder });
    }
  }

  /** Returns what is known of the disk of a part that has too little space. */
  async #findShort(part: string): Promise<Record<string, unknown> | undefined> {
    const { bytes: reserve_bytes, files: reserve_files } = this.#reserve;
    const folder = join(this.#folder, part);
    const { bytes, files } = await this.#roomOf(folder);
    if ((bytes ?? Infinity) >= reserve_bytes && (files ?? Infinity) >= reserve_files) {
      return undefined;
    }
    return {
      folder,
      free_bytes: bytes ?? "enough",
      free_files: files ?? "enough",
      reserve_bytes,
      reserve_files,
    };
  }

  async #roomOf(folder: string): Promise<Room> {
    try {
      const room = await this.#measure(folder);
      this.#unseen.delete(folder);
      return room;
    } catch (error) {
      const details = { folder, error: messageOf(error) };
      const isKnown = this.#unseen.get(folder) === details.error;
      if (!isKnown) log.warn("Cannot see how full the disk of {folder} is: {error}", details);
      this.#unseen.set(folder, details.error);
      return {};
    }
  }
}

async function isMissing(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(
    () => false,
    (error) => error instanceof Deno.errors.NotFound,
  );
}

/**
 * The room that a process has on the disk of a folder; nothing is known where there is none. Without the
 * permission to ask, which is `--allow-sys=statfs`, a full disk is noticed by the commits that fail.
 */
export async function roomOf(folder: string): Promise<Room> {
  const { state } = await Deno.permissions.query({ name: "sys", kind: "statfs" });
  if (state !== "granted" || await isMissing(folder)) return {};
  return roomIn(await statfs(folder));
}

function roomIn({ bavail, bsize, blocks, ffree, files }: StatsFs): Room {
  return {
    // Some network file systems do not tell, and some disks have no table of files that could be full.
    ...(blocks === 0 ? {} : { bytes: bavail * bsize }),
    ...(files === 0 ? {} : { files: ffree }),
  };
}
