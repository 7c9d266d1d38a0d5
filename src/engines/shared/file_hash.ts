/**
 * Computes the SHA-256 of files. A process of low priority does that for long files, so that they do not take
 * the service's time.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { shell } from "../../platform/run_script.ts";

/** The longest file that the service hashes itself: starting a process takes longer. */
const INLINE_BYTES_MAX = 1024 * 1024;
const BUFFER_BYTES = 256 * 1024;

/** Prints the hash of the first $2 bytes of the file $1. SIGTERM ends it with what it has started. */
const HASH = `
trap '[ -z "$!" ] || kill "$!"; exit 1' TERM
exec 3<"$1" || exit
head -c "$2" <&3 | nice sha256sum &
wait "$!"`;

/** The content of a file. */
export interface HashedFile {
  /** Bytes. */
  size: number;
  sha256: string;
}

export interface HashOptions {
  /** Aborted when the hash is not needed any more. */
  signal?: AbortSignal | undefined;
  /** Of a longer file little more is read. Its size is above this then. */
  bytesMax?: number;
}

/** Computes the size and the SHA-256 of a file. */
export async function hashFile(path: string, options: HashOptions = {}): Promise<HashedFile> {
  const before = await Deno.lstat(path);
  const { bytesMax = Infinity, signal } = options;
  if (before.size > INLINE_BYTES_MAX && before.size <= bytesMax && before.isFile) {
    const sha256 = await hashInProcess(path, before.size, signal);
    const after = await Deno.lstat(path);
    const isSame = after.size === before.size && after.ino === before.ino &&
      after.mtime?.getTime() === before.mtime?.getTime();
    if (sha256 !== undefined && isSame) return { size: before.size, sha256 };
  }
  return await hashHere(path, options);
}

/** Hashes in a process; undefined when that fails, such as where there is no `sha256sum`. */
async function hashInProcess(
  path: string,
  bytes: number,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const { stdout } = await shell(HASH, [path, String(bytes)], signal && { signal });
  signal?.throwIfAborted();
  return /^\\?([0-9a-f]{64}) /.exec(new TextDecoder().decode(stdout))?.[1];
}

async function hashHere(
  path: string,
  { signal, bytesMax = Infinity }: HashOptions,
): Promise<HashedFile> {
  using file = await Deno.open(path, { read: true });
  const hash = createHash("sha256");
  const buffer = new Uint8Array(BUFFER_BYTES);
  let size = 0;
  while (size <= bytesMax) {
    const count = await file.read(buffer);
    if (count === null) break;
    signal?.throwIfAborted();
    hash.update(buffer.subarray(0, count));
    size += count;
  }
  return { size, sha256: hash.digest("hex") };
}
