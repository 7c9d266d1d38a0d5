/**
 * Opening files in folders in which others may put anything.
 *
 * @module
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
} from "node:fs";
import { ignoreMissing } from "./missing_file.ts";

/** A file that is read on while it grows. */
export interface GrowingFile extends Disposable {
  /** Reads what there is; null at the end. */
  readSync(buffer: Uint8Array): number | null;
  /** Goes to an offset. */
  seekSync(offset: number, from: Deno.SeekMode.Start): number;
  close(): void;
}

/** What an error of opening says that there is no regular file, or none that may be read. */
const NO_FILE = ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "ENODEV", "EACCES", "EPERM"];

/**
 * Opens a regular file in a folder that is changed all the time by who may want to hold the service up;
 * undefined when there is none that may be read. A pipe that takes its place just then is not waited for,
 * which needs a flag that Deno's own `open` has not.
 */
export function openGrowingFile(path: string): GrowingFile | undefined {
  try {
    const named = lstatSync(path);
    return named.isFile() ? openNamed(path, named) : undefined;
  } catch (error) {
    if (error instanceof Error && "code" in error && NO_FILE.includes(String(error.code))) {
      return undefined;
    }
    throw error;
  }
}

function openNamed(path: string, named: Stats): GrowingFile | undefined {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const close = () => closeSync(fd);
  const { dev, ino } = fstatSync(fd);
  if (dev !== named.dev || ino !== named.ino) {
    close();
    return undefined;
  }
  let at = 0;
  return {
    readSync(buffer) {
      const bytes = readSync(fd, buffer, 0, buffer.length, at);
      at += bytes;
      return bytes === 0 ? null : bytes;
    },
    seekSync: (offset) => at = offset,
    close,
    [Symbol.dispose]: close,
  };
}

/**
 * Opens a regular file; undefined when there is none, or it was replaced just now. Links are not followed,
 * and pipes are not opened, as that would wait for who writes into them: so it does for one that takes the
 * file's place at the wrong moment.
 */
export async function openRegularFile(path: string): Promise<Deno.FsFile | undefined> {
  try {
    const named = await Deno.lstat(path);
    if (!named.isFile) return undefined;
    const file = await Deno.open(path, { read: true });
    // It may have been replaced by a link between the two.
    const { dev, ino } = await file.stat();
    if (dev === named.dev && ino === named.ino) return file;
    file.close();
    return undefined;
  } catch (error) {
    return ignoreMissing(error);
  }
}
