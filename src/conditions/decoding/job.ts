/**
 * Undoing the codings of a body, in the Worker for heavy work.
 *
 * @module
 */
import { gunzipSync, inflateRawSync, inflateSync } from "node:zlib";
import type { HeavyWork } from "../../platform/heavy_work/heavy_work.ts";
import type { JobInput } from "../../platform/heavy_work/job.ts";
import { joinedBytes } from "../../platform/joined_bytes.ts";
import { decodeBrotli } from "./brotli.ts";
import type { Coding } from "./codings.ts";
import { DecodingError, type DecodingFailure } from "./decoding_error.ts";

/** A coded body. */
interface DecodeInput extends JobInput {
  /** In the order in which the sender applied them. */
  codings: readonly Coding[];
  /** The longest body. */
  limit_bytes: number;
}

/** A body, or the coding that cannot be undone. */
export type Decoded = { bytes: ArrayBuffer } | { failure: DecodingFailure; coding: Coding };

/** Heavy work that undoes codings. */
export type DecodeWork = Pick<HeavyWork<{ decode_body: () => Promise<typeof decodeJob> }>, "run">;

/** Bytes by which a coding makes a body longer that cannot be compressed. */
const SPARE_BYTES = 64 * 1024;

/** Each returns the parts of a body. */
const DECODERS: Record<Coding, (bytes: Uint8Array, limit_bytes: number) => Uint8Array[]> = {
  gzip: decodeGzip,
  deflate: decodeDeflate,
  br: decodeBrotli,
};

/** Undoes the codings of a body, the last one first. */
export function decodeJob({ bytes, codings, limit_bytes }: DecodeInput): Decoded {
  let body = bytes;
  for (const [index, coding] of [...codings.entries()].reverse()) {
    const most = index === 0 ? limit_bytes : limit_bytes + SPARE_BYTES;
    try {
      body = joined(DECODERS[coding](body, most));
    } catch (error) {
      if (!(error instanceof DecodingError)) throw error;
      return { failure: error.failure, coding };
    }
  }
  // A buffer of its own: what the system gives may lie in a pool.
  const isWhole = body.buffer instanceof ArrayBuffer && body.length === body.buffer.byteLength;
  return { bytes: isWhole ? body.buffer as ArrayBuffer : new Uint8Array(body).buffer };
}

/** Several members make one body (RFC 1952 section 2.2); zeros may follow them. */
function decodeGzip(bytes: Uint8Array, limit_bytes: number): Uint8Array[] {
  return [unzip(() => gunzipSync(bytes, { maxOutputLength: limit_bytes }))];
}

/** Many senders leave out the frame of RFC 1950 that RFC 9110 asks for. */
function decodeDeflate(bytes: Uint8Array, limit_bytes: number): Uint8Array[] {
  const decode = hasFrame(bytes) ? inflateSync : inflateRawSync;
  return [unzip(() => {
    const decoded: unknown = decode(bytes, { maxOutputLength: limit_bytes, info: true });
    if (!isInformed(decoded)) throw new TypeError("Cannot tell where the stream has ended");
    if (decoded.engine.bytesWritten < bytes.length) throw new DecodingError("too_long");
    return decoded.buffer;
  })];
}

/** The result of a call with `info`, which the types of node leave out. */
interface Informed {
  buffer: Uint8Array;
  engine: { bytesWritten: number };
}

function isInformed(value: unknown): value is Informed {
  return typeof value === "object" && value !== null && "buffer" in value && "engine" in value;
}

/** Tells whether a stream begins as RFC 1950 says. */
function hasFrame([method = 0, flags = 0]: Uint8Array): boolean {
  return (method & 0x0f) === 8 && (method * 256 + flags) % 31 === 0;
}

function unzip(decode: () => Uint8Array): Uint8Array {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error)) throw error;
    switch (error.code) {
      case "ERR_BUFFER_TOO_LARGE":
        throw new DecodingError("too_large");
      case "Z_BUF_ERROR":
        throw new DecodingError("cut_off");
      default:
        throw new DecodingError("malformed");
    }
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only, ...others] = parts;
  return only !== undefined && others.length === 0 ? only : joinedBytes(parts);
}
