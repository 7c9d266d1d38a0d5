/**
 * Opening files in folders in which others may put anything, such as a pipe in the place of a file.
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

/** A file that is read while it grows. */
export interface GrowingFile extends Disposable {
  /** Reads the next bytes; returns null at the end. */
  readSync(buffer: Uint8Array): number | null;
  seekSync(offset: number, from: Deno.SeekMode.Start): number;
  close(): void;
}

/** The error codes that say that there is no regular file, or none that may be read. */
const NO_FILE = ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "ENODEV", "EACCES", "EPERM"];

/**
 * Opens a regular file in a folder whose owner may want to block the service; returns undefined if
 * there is none that may be read. It opens without blocking, which Deno's own `open` cannot: the
 * owner may put a pipe in the place of the file just then.
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
 * Opens a regular file; returns undefined if there is none, or it was replaced just now. It follows
 * no links. It opens no pipe, which would block until somebody writes to it, unless one takes the
 * file's place just then.
 */
export async function openRegularFile(path: string): Promise<Deno.FsFile | undefined> {
  try {
    const named = await Deno.lstat(path);
    if (!named.isFile) return undefined;
    const file = await Deno.open(path, { read: true });
    // A link may have replaced it between the two calls.
    const { dev, ino } = await file.stat();
    if (dev === named.dev && ino === named.ino) return file;
    file.close();
    return undefined;
  } catch (error) {
    return ignoreMissing(error);
  }
}
