/**
 * The interface of an artifact store: the place of payloads, outputs and logs that no record holds.
 *
 * @module
 */
import { HooklaunchError } from "../platform/errors.ts";

/** The bytes of an artifact do not have the size or the SHA-256 that they should have. */
export class ArtifactMismatchError extends HooklaunchError {
  override readonly code = "artifact_mismatch";
}

/** A description of an artifact's bytes. */
export interface ArtifactInfo {
  /** Bytes. */
  size: number;
  /** In hex. */
  sha256: string;
}

/** An open artifact. Its stream is read to the end, or cancelled. */
export interface OpenArtifact {
  /** The length of the whole artifact in bytes. */
  size: number;
  stream: ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** The content of an artifact before it is stored. */
export type ArtifactContent = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>;

/**
 * Stores artifacts by their keys. A key is a path with `/` between its parts, such as
 * `executions/<id>/outputs/model.bin`. An artifact is whole or not there, and its bytes never change.
 */
export interface ArtifactStore extends Disposable {
  /** A name of the store for logs, without credentials. */
  readonly name: string;
  /** True when every instance of the service sees the same artifacts. */
  readonly isShared: boolean;
  /** The reason why the store cannot be used now, as far as its last request tells; undefined when it can. */
  readonly failure: string | undefined;
  /** The time of the first failure since it last worked, in milliseconds since the epoch. */
  readonly failingSince_ms?: number | undefined;
  /**
   * Stores an artifact. When this resolves, a loss of power does not take it back. Storing the same bytes
   * again changes nothing.
   *
   * @throws {ArtifactMismatchError} when the content has another size or SHA-256. Nothing is stored then
   * @throws {InvalidInputError} when the key is not one
   * @throws {UnavailableError} when the store cannot be used now
   */
  put(
    key: string,
    content: ArtifactContent,
    info: ArtifactInfo,
    options?: PutOptions,
  ): Promise<void>;
  /**
   * Stores an artifact whose size and SHA-256 are known only behind its last byte, and returns them.
   *
   * @throws {InvalidInputError} when the key is not one
   * @throws {UnavailableError} when the store cannot be used now
   */
  add(
    key: string,
    content: ReadableStream<Uint8Array<ArrayBuffer>>,
    options?: Pick<PutOptions, "signal">,
  ): Promise<ArtifactInfo>;
  /**
   * Opens an artifact, from an offset on; undefined when there is none.
   *
   * @throws {UnavailableError} when the store cannot be used now
   */
  open(key: string, options?: OpenOptions): Promise<OpenArtifact | undefined>;
  /**
   * Reads an artifact, and returns true when it has the given size and SHA-256.
   *
   * @throws {UnavailableError} when the store cannot be used now
   */
  verify(key: string, info: ArtifactInfo): Promise<boolean>;
  /** Removes all artifacts whose keys start with a path, such as `executions/<id>/`, or the one of this key. */
  remove(prefix: string): Promise<void>;
  /** Returns a URL that reads an artifact for a short time; undefined when the store has no URLs. */
  presignGet(key: string): Promise<string | undefined>;
  /**
   * Returns a URL to which an artifact is sent by PUT within a short time; undefined when the store has no
   * URLs, or this artifact is too large for one request. A server that knows checksums takes no other bytes there;
   * the receiver calls `verify` all the same before it trusts them.
   */
  presignPut(key: string, info: ArtifactInfo): Promise<PresignedPut | undefined>;
  /** Asks the store. Resolves to undefined when it works, or to the reason why it does not. */
  probe(): Promise<string | undefined>;
}

/** A URL to which one artifact is sent, with `if-none-match: *`, its length, and the checksum as a header. */
export interface PresignedPut {
  url: string;
  /** The value of the header `x-amz-checksum-sha256`. */
  checksum: string;
}

/** Options of {@linkcode ArtifactStore.put}. */
export interface PutOptions {
  /**
   * Does the last step, which gives checked bytes the key, or throws in place of it. Nothing is stored then.
   * Default: the step is done at once.
   */
  finish?: ((giveName: () => Promise<void>) => Promise<void>) | undefined;
  /** Aborted when the artifact is not needed any more. */
  signal?: AbortSignal | undefined;
  /** The time in milliseconds after which the store gives up, where that is shorter than its own. */
  within_ms?: number;
}

/** Options of {@linkcode ArtifactStore.open}. */
export interface OpenOptions {
  /** The first byte to read. Default 0. */
  offset?: number;
  /** The time in milliseconds after which the store gives up, where that is shorter than its own. */
  within_ms?: number | undefined;
}
