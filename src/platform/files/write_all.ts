/**
 * Writing bytes to files, all of them.
 *
 * @module
 */

/** Writes bytes: a write may take only some of those that it is given. */
export async function writeAll(
  target: { write(bytes: Uint8Array): Promise<number> },
  bytes: Uint8Array,
): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += await target.write(bytes.subarray(written));
  }
}

/** Writes bytes likewise, without awaiting it. */
export function writeAllSync(
  target: { writeSync(bytes: Uint8Array): number },
  bytes: Uint8Array,
): void {
  for (let written = 0; written < bytes.length;) {
    written += target.writeSync(bytes.subarray(written));
  }
}
