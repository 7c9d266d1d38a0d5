/**
 * Reading what a program writes, which may be without end.
 *
 * @module
 */

/** How a stream is read. */
export interface FirstBytesOptions {
  /** Aborted when it is not waited for any more: what the program has started may hold it open. */
  signal?: AbortSignal | undefined;
  /** Told, again and again, that there is more than is kept. */
  onCut?(): void;
}

/** Reads a stream to its end, keeps the first bytes of it, and says when there are more. */
export async function firstBytes(
  stream: ReadableStream<Uint8Array>,
  bytesMax: number,
  { signal, onCut = () => {} }: FirstBytesOptions = {},
): Promise<{ bytes: Uint8Array; isCut: boolean }> {
  const bytes = new Uint8Array(bytesMax);
  let length = 0;
  const reader = stream.getReader();
  const cancel = () => void reader.cancel().catch(() => {});
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      bytes.set(value.subarray(0, Math.max(0, bytesMax - length)), Math.min(length, bytesMax));
      length += value.length;
      if (length > bytesMax) onCut();
    }
  } finally {
    signal?.removeEventListener("abort", cancel);
  }
  return { bytes: bytes.subarray(0, Math.min(length, bytesMax)), isCut: length > bytesMax };
}
