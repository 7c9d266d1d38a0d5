/**
 * Secrets in files, such as those that a container's platform mounts at `/run/secrets`.
 *
 * @module
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from "node:fs";
import { messageOf } from "../errors.ts";

const SECRET_FILE_BYTES_MAX = 64 * 1024;

/**
 * Reads a secret from a file, without the line break at its end. Undefined where it cannot be read, is empty or
 * blank, or is no regular file of at most 64 KiB.
 */
export function readSecretFile(path: string): string | undefined {
  const read = tryReadSecretFile(path);
  return "text" in read ? read.text : undefined;
}

/** Reads a secret as {@linkcode readSecretFile} does, or says why it cannot be read. */
export function tryReadSecretFile(path: string): { text: string } | { problem: string } {
  let file: number | undefined;
  try {
    // A pipe that nobody writes to would block.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const info = fstatSync(file);
    // Other files, such as pipes, may never end.
    if (!info.isFile()) return { problem: "it is no regular file" };
    if (info.size > SECRET_FILE_BYTES_MAX) {
      return {
        problem: `it has ${info.size} bytes, and at most ${SECRET_FILE_BYTES_MAX} are read`,
      };
    }
    const text = readFileSync(file, "utf8").replace(/\r?\n$/, "");
    return text.trim() === "" ? { problem: "it is empty" } : { text };
  } catch (error) {
    return { problem: messageOf(error) };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Identifies the content of a file without reading it; undefined where there is none. */
export function fileVersion(path: string): string | undefined {
  try {
    // A mount of secrets replaces a link, so that the file behind it is another one.
    const { dev, ino, size, mtimeMs } = statSync(path);
    return [dev, ino, size, mtimeMs].join(" ");
  } catch {
    return undefined;
  }
}
