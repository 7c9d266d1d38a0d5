/**
 * Secrets in files, such as those that a container's platform mounts at `/run/secrets`.
 *
 * @module
 */
import { readFileSync, statSync } from "node:fs";

const SECRET_FILE_BYTES_MAX = 64 * 1024;

/**
 * Reads a secret from a file, without the line break at its end. Undefined where it cannot be read, is empty or
 * blank, or is no regular file of at most 64 KiB.
 */
export function readSecretFile(path: string): string | undefined {
  try {
    const info = statSync(path);
    // Other files, such as pipes, may never end.
    if (!info.isFile() || info.size > SECRET_FILE_BYTES_MAX) return undefined;
    const text = readFileSync(path, "utf8").replace(/\r?\n$/, "");
    return text.trim() === "" ? undefined : text;
  } catch {
    return undefined;
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
