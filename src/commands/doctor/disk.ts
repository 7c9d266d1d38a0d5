/**
 * Checks of the disk of the data folder, and of backups.
 *
 * @module
 */
import { messageOf } from "../../platform/errors.ts";
import { formatBytes } from "../../platform/text/display.ts";
import { roomOf } from "../../store/file/space.ts";
import type { Facts } from "./facts.ts";
import { failure, NotCheckedError, ok, type Result, warning } from "./result.ts";

const ROOM_BYTES_MIN = 1024 ** 3;
const WRITES = 15;
const WRITE_BYTES = 4_096;
/** A disk of a server takes 1 ms, one that turns 10 ms. Each launch waits for a write. */
const SLOW_MS = 20;
const ADVICE_ROOM = "Free space on the disk of the data folder, or move the folder to a larger one";

/** Checks that the disk has room. */
export async function checkDisk(facts: Facts): Promise<Result> {
  const { data } = facts.surroundings;
  const service = await facts.service().catch(() => undefined);
  if (service?.has_room === false || service?.has_room_for_files === false) {
    return failure("The disk is nearly full: launches are turned away", ADVICE_ROOM);
  }
  if (data === undefined) {
    if (service === undefined) throw notHere();
    return ok("The disk has room enough for launches");
  }
  await expectFolder(data);
  const { bytes } = await roomOf(data);
  if (bytes === undefined) throw new NotCheckedError("The disk does not tell its room");
  const text = `The disk of ${data} has room for ${formatBytes(bytes)}`;
  return bytes < ROOM_BYTES_MIN ? warning(text, ADVICE_ROOM) : ok(text);
}

/** Measures how long the disk of the data folder takes to keep a block for good. */
export async function checkFsync(facts: Facts): Promise<Result> {
  const { data } = facts.surroundings;
  if (data === undefined) throw notHere();
  await expectFolder(data);
  const took_ms = await medianOfWrites(data).catch((error) => {
    throw new NotCheckedError(
      `Cannot write into ${data}: ${messageOf(error)}`,
      "Run doctor as the user of the service, and free space where the disk is full",
    );
  });
  const text = `The disk keeps a block within ${
    took_ms.toFixed(1)
  } ms (fsync, median of ${WRITES})`;
  if (took_ms < SLOW_MS) return ok(text);
  return warning(
    text,
    "Each launch waits for this: use a local SSD for the data folder, and no network disk",
  );
}

async function medianOfWrites(folder: string): Promise<number> {
  const path = await Deno.makeTempFile({ dir: folder, prefix: "tmp-doctor-" });
  try {
    using file = await Deno.open(path, { write: true });
    const took: number[] = [];
    for (let write = 0; write < WRITES; write++) {
      const begun_ms = performance.now();
      await file.write(new Uint8Array(WRITE_BYTES));
      await file.sync();
      took.push(performance.now() - begun_ms);
    }
    return took.sort((one, other) => one - other)[Math.floor(WRITES / 2)] ?? 0;
  } finally {
    await Deno.remove(path);
  }
}

/** Checks how old the last backup is, and when one was last restored. */
export async function checkBackup(facts: Facts): Promise<Result> {
  const { backup } = await facts.service();
  if (backup === undefined) {
    throw new NotCheckedError(
      "The service makes no backups by itself, and does not know those that you make",
      "Add backup to the configuration file, or let a timer run hooklaunch backup and try restore now and then",
    );
  }
  const { to, last, proof, failures: [problem] } = backup;
  if (problem !== undefined) {
    return failure(problem, "hooklaunch backup now tries at once, when the cause is mended");
  }
  if (last === undefined) {
    return warning(`There is no backup in ${to} yet`, "The first is made within a minute");
  }
  const now_ms = facts.surroundings.now();
  const made = `The last backup in ${to} is ${ageText(last.made_at, now_ms)} old`;
  if (proof === undefined) {
    return warning(
      `${made}, and none was restored yet`,
      "It is restored and checked within a minute",
    );
  }
  return ok(`${made}; one was restored and checked ${ageText(proof.proven_at, now_ms)} ago`);
}

function ageText(time: string, now_ms: number): string {
  const minutes = Math.max(0, Math.round((now_ms - Date.parse(time)) / 60_000));
  if (minutes < 120) return `${minutes} min`;
  return minutes < 48 * 60
    ? `${Math.round(minutes / 60)} h`
    : `${Math.round(minutes / 1_440)} days`;
}

async function expectFolder(data: string): Promise<void> {
  const found = await Deno.stat(data).catch(() => undefined);
  if (found?.isDirectory) return;
  throw new NotCheckedError(
    `There is no data folder ${data}`,
    "Run doctor on the service's machine, with its data folder as --data",
  );
}

function notHere(): NotCheckedError {
  return new NotCheckedError(
    "The disk is looked at on the service's machine alone",
    "Run doctor there, with --data and the data folder",
  );
}
