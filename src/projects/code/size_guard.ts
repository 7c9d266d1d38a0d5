/**
 * The guard of a folder that a program fills: it ends the program when the folder grows too large.
 *
 * @module
 */
import { join } from "node:path";
import { HooklaunchError } from "../../platform/errors.ts";
import { ignoreMissing } from "../../platform/files/missing_file.ts";
import type { EngineSettings } from "../../store/records/projects.ts";

const INTERVAL_MS = 500;
const MIB = 1024 * 1024;

/** The limit of a project that does not set one, in MiB. */
const LIMIT_MB = 20 * 1_024;

/**
 * Returns how many MiB an execution of a project, and the mirror of its repository, may take on
 * disk: `disk_mb` of its engine's settings.
 */
export function diskLimit_mb({ disk_mb }: EngineSettings): number {
  return typeof disk_mb === "number" ? disk_mb : LIMIT_MB;
}

/** A folder that takes more on disk than it may. */
export class TooLargeOnDiskError extends HooklaunchError {
  override readonly code = "too_large_on_disk";

  constructor(limit_mb: number) {
    super(
      `it takes more than ${limit_mb} MiB on disk: raise disk_mb of the project's engine, ` +
        "or make the repository smaller",
    );
  }
}

/**
 * Does work that fills a folder, and measures the folder before, meanwhile and after.
 *
 * @param work is told to end by its signal when the folder is too large
 * @throws {TooLargeOnDiskError} when the folder is too large
 */
export async function guardSize(
  folder: string,
  { limit_mb, signal }: { limit_mb: number; signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const full = new AbortController();
  const measure = async () => {
    if (await sizeOf(folder) > limit_mb * MIB) full.abort(new TooLargeOnDiskError(limit_mb));
  };
  await measure();
  full.signal.throwIfAborted();
  let measuring = Promise.resolve();
  const timer = setInterval(() => {
    // A failed measurement is repeated at the next interval.
    measuring = measuring.then(measure).catch(() => {});
  }, INTERVAL_MS);
  try {
    await work(AbortSignal.any([signal, full.signal]));
  } catch (error) {
    full.signal.throwIfAborted();
    throw error;
  } finally {
    clearInterval(timer);
    await measuring;
  }
  await measure();
  full.signal.throwIfAborted();
}

/** Returns how many bytes the files in a folder have; a folder that is not there has none. */
async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  try {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      const path = join(folder, name);
      if (isDirectory) bytes += await sizeOf(path);
      else bytes += (await Deno.lstat(path).catch(ignoreMissing))?.size ?? 0;
    }
  } catch (error) {
    ignoreMissing(error);
  }
  return bytes;
}
