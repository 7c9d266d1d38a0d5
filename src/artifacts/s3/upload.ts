/**
 * Uploads of artifacts: in one request, or in parts where that would take much memory.
 *
 * @module
 */
import { UnavailableError } from "../../platform/errors.ts";
import { checkedChunks, MeasuredChunks } from "../checked_content.ts";
import type { ArtifactContent, ArtifactInfo, PutOptions } from "../store.ts";
import type { S3Client } from "./client.ts";
import { escaped, valueOf } from "./xml.ts";

/** The size of a part. S3 takes 5 MiB and more. */
const PART_BYTES = 8 * 1024 * 1024;
/** The most parts that an object has. */
const PARTS_MAX = 10_000;
/** Of what is described only behind its end, so many parts have one size, as some servers demand of all. */
const PARTS_EQUAL = 8_000;
/** Each further hundred parts are larger by the first size: an object has up to 31,000 of that, which is 242 GiB. */
const PARTS_GROWING = 100;
/** Parts that are sent at once. */
const PARTS_AT_ONCE = 3;
const RETRY_AFTER_S = 10;

/** An upload. */
interface Upload {
  client: S3Client;
  key: string;
  info: ArtifactInfo;
  signal?: AbortSignal | undefined;
  /** See `PutOptions.finish`. */
  finish?: PutOptions["finish"];
  /** The time within which each request is repeated, where that is shorter than the client's. */
  within_ms?: number | undefined;
}

/**
 * Uploads an artifact. It is visible after all of its bytes are compared with its description.
 *
 * @throws {ArtifactMismatchError} when they differ
 * @throws {UnavailableError} when the server does not take them
 */
export async function upload(content: ArtifactContent, options: Upload): Promise<void> {
  const { client, key, info, signal, within_ms, finish = (giveName) => giveName() } = options;
  const chunks = checkedChunks(key, content, info);
  const partBytes = Math.max(PART_BYTES, Math.ceil(info.size / PARTS_MAX));
  if (info.size > partBytes) {
    const parts = partsOf(chunks, info.size, () => partBytes);
    return await uploadInParts(parts, { ...options, describe: () => info });
  }
  const [body = new Uint8Array()] = await Array.fromAsync(
    partsOf(chunks, info.size, () => partBytes),
  );
  const { sha256 } = info;
  await finish(async () => {
    const answer = await client.ask({ method: "PUT", key, body, sha256, signal, within_ms });
    await expectSuccess(answer, "store it");
  });
}

/**
 * Uploads an artifact that is described only behind its last byte, and returns its description.
 *
 * @throws {UnavailableError} when the server does not take it
 */
export async function uploadMeasured(
  content: ReadableStream<Uint8Array<ArrayBuffer>>,
  options: Pick<Upload, "client" | "key" | "signal"> & { partBytes?: number },
): Promise<ArtifactInfo> {
  const { client, key, signal, partBytes = PART_BYTES } = options;
  const chunks = new MeasuredChunks(content);
  const parts = partsOf(chunks, Infinity, (index) => {
    const grown = Math.max(0, 1 + Math.floor((index - PARTS_EQUAL) / PARTS_GROWING));
    return partBytes * (1 + grown);
  });
  try {
    const { value: first = new Uint8Array() } = await parts.next();
    const second = await parts.next();
    if (second.done) {
      const info = chunks.info();
      const { sha256 } = info;
      const answer = await client.ask({ method: "PUT", key, body: first, sha256, signal });
      await expectSuccess(answer, "store it");
      return info;
    }
    const all = async function* (): AsyncGenerator<Uint8Array<ArrayBuffer>> {
      yield first;
      yield second.value;
      yield* parts;
    };
    let info: ArtifactInfo | undefined;
    const describe = () => info ??= chunks.info();
    await uploadInParts(all(), { ...options, describe });
    return describe();
  } finally {
    // Whoever sends the rest of one that fails is told to stop.
    await parts.return(undefined);
  }
}

async function uploadInParts(
  parts: AsyncIterable<Uint8Array<ArrayBuffer>>,
  { client, key, describe, signal, within_ms, finish = (giveName) => giveName() }:
    & Omit<Upload, "info">
    & { describe(): ArtifactInfo },
): Promise<void> {
  const limits = { signal, within_ms };
  const begun = await client.ask({ method: "POST", key, query: { uploads: "" }, ...limits });
  const uploadId = valueOf(await expectSuccess(begun, "begin an upload"), "UploadId");
  if (uploadId === undefined) throw unexpected("begin an upload", "no UploadId came");
  const sent: Promise<string>[] = [];
  try {
    for await (const body of parts) {
      const query = { partNumber: String(sent.length + 1), uploadId };
      const sending = sendPart(client, { key, body, query, ...limits });
      // It may fail while nobody waits for it yet.
      sending.catch(() => {});
      sent.push(sending);
      await sent.at(-PARTS_AT_ONCE);
    }
    const tags = await Promise.all(sent);
    await finish(() => complete({ client, key, info: describe(), ...limits }, uploadId, tags));
  } catch (error) {
    await Promise.allSettled(sent);
    // What stays of it takes room until the bucket's own rule removes it.
    await client.ask({ method: "DELETE", key, query: { uploadId } })
      .then((answer) => answer.body?.cancel(), () => {});
    throw error;
  }
}

async function sendPart(
  client: S3Client,
  request: Pick<Upload, "key" | "signal" | "within_ms"> & {
    body: Uint8Array<ArrayBuffer>;
    query: Record<string, string>;
  },
): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", request.body);
  const sha256 = new Uint8Array(digest).toHex();
  const answer = await client.ask({ method: "PUT", ...request, sha256 });
  await expectSuccess(answer, "store a part");
  const tag = answer.headers.get("etag");
  if (tag === null) throw unexpected("store a part", "no ETag came");
  return tag;
}

async function complete(
  { client, key, info, ...limits }: Upload,
  uploadId: string,
  tags: readonly string[],
): Promise<void> {
  const listed = tags.map((tag, index) =>
    `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`
  );
  const text = `<CompleteMultipartUpload>${listed.join("")}</CompleteMultipartUpload>`;
  const body = new TextEncoder().encode(text);
  const answer = await client.ask({ method: "POST", key, query: { uploadId }, body, ...limits });
  // An answer that was lost may have completed it: the repeated request finds no such upload.
  if (answer.status === 404 && await hasSize(client, key, info.size)) {
    await answer.body?.cancel();
    return;
  }
  // S3 answers 200 before it is done, and tells of an error in the body.
  const said = await expectSuccess(answer, "complete an upload");
  const code = valueOf(said, "Code");
  if (code !== undefined) throw unexpected("complete an upload", code);
}

async function hasSize(client: S3Client, key: string, size: number): Promise<boolean> {
  const answer = await client.ask({ method: "GET", key });
  await answer.body?.cancel();
  return answer.ok && Number(answer.headers.get("content-length")) === size;
}

/** Yields chunks put together to parts of these sizes, the last one shorter. */
async function* partsOf(
  chunks: AsyncIterable<Uint8Array<ArrayBuffer>>,
  size: number,
  partBytesAt: (index: number) => number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let left = size;
  let count = 0;
  let part = new Uint8Array(Math.min(left, partBytesAt(count)));
  let filled = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) {
      if (filled === part.length) {
        yield part;
        left -= part.length;
        part = new Uint8Array(Math.min(left, partBytesAt(++count)));
        filled = 0;
      }
      const some = chunk.subarray(at, at + part.length - filled);
      part.set(some, filled);
      filled += some.length;
      at += some.length;
    }
  }
  if (filled > 0) yield part.subarray(0, filled);
}

async function expectSuccess(answer: Response, what: string): Promise<string> {
  const text = await answer.text();
  if (answer.ok) return text;
  throw unexpected(what, valueOf(text, "Code") ?? `it answers ${answer.status}`);
}

function unexpected(what: string, why: string): UnavailableError {
  return new UnavailableError(`The S3 server does not ${what}: ${why}`, RETRY_AFTER_S);
}
