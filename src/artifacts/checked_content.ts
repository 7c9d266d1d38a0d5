/**
 * Compares the bytes of an artifact with its description while they pass.
 *
 * @module
 */
import { createHash } from "node:crypto";
import {
  type ArtifactContent,
  type ArtifactInfo,
  ArtifactMismatchError,
  type OpenArtifact,
} from "./store.ts";

/**
 * Yields the chunks of a content. Throws before the end when they are more than expected, and at the end when
 * they are fewer or others.
 *
 * @throws {ArtifactMismatchError} when the size or the SHA-256 differs
 */
export async function* checkedChunks(
  key: string,
  content: ArtifactContent,
  { size, sha256 }: ArtifactInfo,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of content instanceof Uint8Array ? [content] : content) {
    bytes += chunk.length;
    if (bytes > size) throw mismatch(key, `it has more than ${size} bytes`);
    hash.update(chunk);
    yield chunk;
  }
  if (bytes < size) throw mismatch(key, `it has ${bytes} of ${size} bytes`);
  const found = hash.digest("hex");
  if (found !== sha256) throw mismatch(key, `its SHA-256 is ${found}, expected ${sha256}`);
}

/** The chunks of a content, and what they are once all of them were read. */
export class MeasuredChunks implements AsyncIterable<Uint8Array<ArrayBuffer>> {
  readonly #content: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #hash = createHash("sha256");
  #size = 0;

  constructor(content: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.#content = content;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    for await (const chunk of this.#content) {
      this.#size += chunk.length;
      this.#hash.update(chunk);
      yield chunk;
    }
  }

  /** Returns the size and the SHA-256, once. */
  info(): ArtifactInfo {
    return { size: this.#size, sha256: this.#hash.digest("hex") };
  }
}

/** Compares what a store has with its description: false when it has nothing, or something else. */
export async function matches(
  key: string,
  found: OpenArtifact | undefined,
  info: ArtifactInfo,
): Promise<boolean> {
  if (found === undefined) return false;
  try {
    for await (const _ of checkedChunks(key, found.stream, info));
    return true;
  } catch (error) {
    if (error instanceof ArtifactMismatchError) return false;
    throw error;
  }
}

function mismatch(key: string, what: string): ArtifactMismatchError {
  return new ArtifactMismatchError(`Cannot store ${JSON.stringify(key)}: ${what}`);
}
