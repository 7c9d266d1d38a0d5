/**
 * Streams of backups to and from their place.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { BackupReport } from "../report.ts";
import type { BackupPlace } from "./place.ts";

/** Stores what is written as a backup of this name. It gets the name when all of it is there. */
export async function storeBackup(
  place: BackupPlace,
  name: string,
  signal: AbortSignal,
  write: (target: WritableStream<Uint8Array>) => Promise<BackupReport>,
): Promise<BackupReport> {
  // A folder that is not there is not made.
  await place.list();
  const { readable, writable } = new TransformStream<
    Uint8Array<ArrayBuffer>,
    Uint8Array<ArrayBuffer>
  >();
  const storing = place.store.add(name, readable, { signal });
  let failure: unknown;
  storing.catch((error) => failure ??= error);
  const writer = writable.getWriter();
  const target = new WritableStream<Uint8Array>({
    write: (chunk) => writer.write(new Uint8Array(chunk)),
    close: () => writer.close(),
  });
  try {
    const report = await write(target);
    await storing;
    return report;
  } catch (error) {
    // When storing has failed, writing has failed because of it.
    const cause = failure ?? error;
    // What has come of it does not get its name.
    await writer.abort(cause).catch(() => {});
    await storing.catch(() => {});
    throw cause;
  }
}

/** Hashes a stream while it is read. */
export class Digest {
  readonly #hash = createHash("sha256");
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;

  constructor(source: ReadableStream<Uint8Array<ArrayBuffer>>) {
    const hash = this.#hash;
    this.stream = source.pipeThrough(
      new TransformStream({
        transform(chunk, controller) {
          hash.update(chunk);
          controller.enqueue(chunk);
        },
      }),
    );
  }

  /** The digest of what was read, in hex. */
  get sha256(): string {
    return this.#hash.copy().digest("hex");
  }
}
