/**
 * An artifact store in an S3 bucket.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf, UnavailableError } from "../../platform/errors.ts";
import { matches } from "../checked_content.ts";
import { checkKey } from "../keys.ts";
import {
  type ArtifactContent,
  type ArtifactInfo,
  type ArtifactStore,
  type OpenArtifact,
  type OpenOptions,
  type PresignedPut,
  type PutOptions,
} from "../store.ts";
import { type ClientTimes, S3Client } from "./client.ts";
import type { S3Credentials, S3Location } from "./location.ts";
import { upload, uploadMeasured } from "./upload.ts";
import { valueOf, valuesOf } from "./xml.ts";

/** The life of presigned URLs. */
const PRESIGNED_S = 15 * 60;
/** The most that one PUT takes. */
const PUT_BYTES_MAX = 5 * 1024 ** 3;
/** Objects that are removed at once. */
const REMOVALS_AT_ONCE = 8;
/** The most keys of one list. */
const LIST_KEYS_MAX = 1_000;
/** The most lists that a removal takes. */
const LISTS_MAX = 1_000;
/** The time without a byte after which a read goes on with another request, and the most of those. */
const STALL_MS = 20_000;
const RESUMES_MAX = 20;
const RETRY_AFTER_S = 10;

const log = getLogger(["hooklaunch", "artifacts"]);

/** Options of an S3 store. */
interface S3StoreOptions {
  location: S3Location;
  credentials: S3Credentials;
  times?: ClientTimes;
}

/** Keeps artifacts as objects of an S3 bucket, named by their keys behind a prefix. */
export class S3Store implements ArtifactStore {
  readonly isShared = true;
  readonly name: string;
  readonly #client: S3Client;
  readonly #prefix: string;
  #failure: string | undefined;
  #failingSince_ms: number | undefined;
  /** When a request was answered last. */
  #answered_ms = -Infinity;

  constructor({ location, credentials, times = {} }: S3StoreOptions) {
    const { bucket, prefix, endpoint } = location;
    this.name = `s3://${bucket}/${prefix} at ${endpoint}`;
    this.#prefix = prefix;
    this.#client = new S3Client({
      location,
      credentials,
      times,
      onOutcome: (failure, began_ms) => this.#note(failure, began_ms),
    });
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  get failingSince_ms(): number | undefined {
    return this.#failingSince_ms;
  }

  async put(
    key: string,
    content: ArtifactContent,
    info: ArtifactInfo,
    options: PutOptions = {},
  ): Promise<void> {
    checkKey(this.#prefix + key);
    const uploading = upload(content, { client: this.#client, key, info, ...options });
    await cancelledOnFailure(content, uploading);
  }

  async add(
    key: string,
    content: ReadableStream<Uint8Array<ArrayBuffer>>,
    options: Pick<PutOptions, "signal"> = {},
  ): Promise<ArtifactInfo> {
    checkKey(this.#prefix + key);
    const uploading = uploadMeasured(content, { client: this.#client, key, ...options });
    return await cancelledOnFailure(content, uploading);
  }

  async open(
    key: string,
    { offset = 0, within_ms }: OpenOptions = {},
  ): Promise<OpenArtifact | undefined> {
    checkKey(this.#prefix + key);
    const opened = await this.#openAt(key, offset, { within_ms });
    if (opened === undefined) return undefined;
    const { size, tag, body } = opened;
    return { size, stream: this.#resumed(key, { at: offset, size, tag, body }) };
  }

  async verify(key: string, info: ArtifactInfo): Promise<boolean> {
    return await matches(key, await this.open(key), info);
  }

  async remove(prefix: string): Promise<void> {
    if (!prefix.endsWith("/")) return await this.#removeKey(prefix);
    checkKey(this.#prefix + prefix.slice(0, -1));
    for (let round = 0; round < LISTS_MAX; round++) {
      const { keys } = await this.#list(prefix);
      if (keys.length === 0) return;
      const left = keys.values();
      const removeNext = async () => {
        for (const key of left) await this.#removeKey(key);
      };
      await Promise.all(Array.from({ length: REMOVALS_AT_ONCE }, removeNext));
    }
    throw new UnavailableError(`The bucket still lists what was removed: ${prefix}`, RETRY_AFTER_S);
  }

  async presignGet(key: string): Promise<string> {
    checkKey(this.#prefix + key);
    return await this.#client.presign({ method: "GET", key }, PRESIGNED_S);
  }

  async presignPut(
    key: string,
    { size, sha256 }: ArtifactInfo,
  ): Promise<PresignedPut | undefined> {
    checkKey(this.#prefix + key);
    if (size > PUT_BYTES_MAX) return undefined;
    const checksum = Uint8Array.fromHex(sha256).toBase64();
    const headers = {
      "content-length": String(size),
      // An artifact that is there already is not replaced.
      "if-none-match": "*",
      "x-amz-checksum-sha256": checksum,
    };
    const url = await this.#client.presign({ method: "PUT", key, headers }, PRESIGNED_S);
    return { url, checksum };
  }

  async probe(): Promise<string | undefined> {
    try {
      await this.#list("", 1);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  /** Notes how the last request ended, and logs each change. */
  #note(failure: string | undefined, began_ms: number): void {
    // One that hung before another was answered tells nothing of now.
    if (failure !== undefined && began_ms < this.#answered_ms) return;
    if (failure === undefined) this.#answered_ms = performance.now();
    const isChange = (failure === undefined) !== (this.#failure === undefined);
    this.#failure = failure;
    if (!isChange) return;
    this.#failingSince_ms = failure === undefined ? undefined : Date.now();
    const details = { store: this.name, error: failure };
    if (failure === undefined) log.info("The artifact store {store} works again", details);
    else log.error("The artifact store {store} fails, trying again: {error}", details);
  }

  async #removeKey(key: string): Promise<void> {
    checkKey(this.#prefix + key);
    const answer = await this.#client.ask({ method: "DELETE", key });
    await answer.body?.cancel();
  }

  /**
   * Lists all keys that start with a text.
   *
   * @throws {UnavailableError} when the bucket cannot be used now
   */
  async list(start: string): Promise<string[]> {
    const all: string[] = [];
    for (let lists = 0; lists < LISTS_MAX; lists++) {
      const { keys, isLast } = await this.#list(start, LIST_KEYS_MAX, all.at(-1));
      all.push(...keys);
      if (isLast) return all;
    }
    throw new UnavailableError(`The bucket lists more than it may hold: ${start}`, RETRY_AFTER_S);
  }

  /** Lists keys that start with a path, from behind a key on: all, or as many as the server gives at once. */
  async #list(
    path: string,
    max = LIST_KEYS_MAX,
    after?: string,
  ): Promise<{ keys: string[]; isLast: boolean }> {
    const answer = await this.#client.ask({
      method: "GET",
      query: {
        "list-type": "2",
        "max-keys": String(max),
        prefix: this.#prefix + path,
        ...(after !== undefined && { "start-after": this.#prefix + after }),
      },
    });
    const text = await answer.text();
    const keys = Array.from(valuesOf(text, "Key"), (key) => key.slice(this.#prefix.length));
    return { keys, isLast: keys.length < max && valueOf(text, "IsTruncated") !== "true" };
  }

  async #openAt(
    key: string,
    offset: number,
    { tag, within_ms }: { tag?: string | undefined; within_ms?: number | undefined } = {},
  ) {
    const headers = {
      ...(offset > 0 && { range: `bytes=${offset}-` }),
      ...(tag !== undefined && { "if-match": tag }),
    };
    const answer = await this.#client.ask({ method: "GET", key, headers, within_ms });
    const { status } = answer;
    if (status === 404 || status === 412 || status === 416) {
      await answer.body?.cancel();
      if (status !== 416) return undefined;
      // The offset is the end, or behind it.
      const size = Number(
        /\/(\d+)$/.exec(answer.headers.get("content-range") ?? "")?.[1] ?? offset,
      );
      return { size, tag: null, body: null };
    }
    const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(answer.headers.get("content-range") ?? "");
    if (offset > 0 && range?.[1] !== String(offset)) {
      await answer.body?.cancel();
      throw new UnavailableError("The S3 server does not answer ranges", RETRY_AFTER_S);
    }
    const size = Number(range?.[2] ?? answer.headers.get("content-length") ?? NaN);
    if (Number.isNaN(size)) {
      await answer.body?.cancel();
      throw new UnavailableError(
        "The S3 server does not tell the length of objects",
        RETRY_AFTER_S,
      );
    }
    return { size, tag: answer.headers.get("etag"), body: answer.body };
  }

  /** Returns the rest of an object as a stream, which goes on with another request where one breaks off. */
  #resumed(
    key: string,
    { at, size, tag, body }: {
      at: number;
      size: number;
      tag: string | null;
      body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
    },
  ): ReadableStream<Uint8Array<ArrayBuffer>> {
    let reader = body?.getReader();
    let resumes = 0;
    const again = async () => {
      await reader?.cancel().catch(() => {});
      if (++resumes > RESUMES_MAX) {
        throw new UnavailableError(`Reading ${key} breaks off`, RETRY_AFTER_S);
      }
      const opened = await this.#openAt(key, at, { tag: tag ?? undefined });
      if (opened === undefined) throw new UnavailableError(`${key} was removed`, RETRY_AFTER_S);
      reader = opened.body?.getReader();
    };
    return new ReadableStream({
      async pull(controller) {
        while (at < size) {
          const value = await readWithin(reader, STALL_MS);
          if (value === undefined) {
            await again();
            continue;
          }
          at += value.length;
          controller.enqueue(value);
          return;
        }
        await reader?.cancel().catch(() => {});
        controller.close();
      },
      async cancel(reason) {
        await reader?.cancel(reason).catch(() => {});
      },
    });
  }
}

/** Waits for an upload. Whoever sends the content of one that fails is told to stop. */
async function cancelledOnFailure<T>(content: ArtifactContent, uploading: Promise<T>): Promise<T> {
  try {
    return await uploading;
  } catch (error) {
    if (content instanceof ReadableStream && !content.locked) {
      await content.cancel().catch(() => {});
    }
    throw error;
  }
}

/** Reads the next bytes; undefined when the stream ends, breaks off, or brings none for some time. */
async function readWithin(
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined,
  stall_ms: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (reader === undefined) return undefined;
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), stall_ms);
  try {
    return (await reader.read()).value;
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
