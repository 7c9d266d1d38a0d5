/**
 * Requests whose bodies are coded: the coding is undone once the sender is known, in the Worker.
 *
 * @module
 */
import { UnavailableError } from "../../platform/errors.ts";
import { JobTimeoutError, WorkerLostError } from "../../platform/heavy_work/job.ts";
import type { Refusal } from "../check.ts";
import { claimsOf, keepClaims } from "../jwt/claims.ts";
import { describeBody, type LaunchRequest } from "../request.ts";
import { type Coding, codingsIn, KNOWN_CODINGS } from "./codings.ts";
import type { DecodingFailure } from "./decoding_error.ts";
import type { Decoded, DecodeWork } from "./job.ts";

const DECODE_MS_MAX = 2_000;
/** The most that deflate, and so gzip, makes of one byte. */
const RATIO_MAX = 1_040;

/** A refusal of a coded body, and the status of its answer. */
interface CodingRefusal extends Refusal {
  status: 413 | 415;
}

/** The body of a coded request as its sender meant it, or the reason why there is none. */
type DecodedRequest = { decoded: LaunchRequest } | CodingRefusal;

/** Undoes the codings of a request; undefined for one without any. */
export type DecodeRequest = (
  request: LaunchRequest,
) => DecodedRequest | undefined | Promise<DecodedRequest>;

/** The surroundings of a decoder. */
interface DecoderContext {
  heavyWork: DecodeWork;
  /** The owner to which the Worker's time is counted, such as a trigger. */
  owner: string;
  /** The longest body. */
  limit_bytes: number;
}

/** Makes the decoder of requests. */
export function requestDecoder(context: DecoderContext): DecodeRequest {
  return (request) => {
    const header = request.headers.get("content-encoding");
    if (header === null || request.body.length === 0) return undefined;
    const read = codingsIn(header);
    if ("unknown" in read) return unknownCoding(read.unknown);
    return read.codings.length === 0 ? undefined : decode(request, read.codings, context);
  };
}

/** @throws {UnavailableError} when there is no memory or no time for it now */
async function decode(
  request: LaunchRequest,
  codings: readonly Coding[],
  { heavyWork, owner, limit_bytes }: DecoderContext,
): Promise<DecodedRequest> {
  const { body: bytes, signal } = request;
  const most = mostBytes(bytes.length, codings, limit_bytes);
  await holdMemory(request, bytes.length + most);
  const result = await heavyWork.run(
    "decode_body",
    { bytes, codings, limit_bytes },
    { key: owner, timeout_ms: DECODE_MS_MAX, ...(signal && { signal }) },
  ).catch(unavailable);
  const size = "bytes" in result ? result.bytes.byteLength : 0;
  await holdMemory(request, bytes.length + size);
  if (!("bytes" in result)) return refusalOf(request, result, limit_bytes);
  const headers = new Headers(request.headers);
  headers.delete("content-encoding");
  headers.delete("content-length");
  const decoded = request.withBody(new Uint8Array(result.bytes), headers);
  keepClaims(decoded, claimsOf(request));
  return { decoded };
}

/** Returns the most bytes that a coded body can make. Brotli has no useful limit. */
function mostBytes(bytes: number, codings: readonly Coding[], limit_bytes: number): number {
  if (codings.includes("br")) return limit_bytes;
  return Math.min(limit_bytes, bytes * RATIO_MAX ** codings.length);
}

async function holdMemory(request: LaunchRequest, bytes: number): Promise<void> {
  if (await request.holdMemory?.(bytes) !== false) return;
  throw new UnavailableError("Cannot decode a body: those under way take too much memory", 1);
}

function unavailable(error: unknown): never {
  if (error instanceof JobTimeoutError || error instanceof WorkerLostError) {
    throw new UnavailableError(`Cannot decode a body: ${error.message}`, 1, { cause: error });
  }
  throw error;
}

function unknownCoding(found: string): CodingRefusal {
  const reason = "The body has an encoding that is not undone";
  return { reason, expected: KNOWN_CODINGS, found, status: 415 };
}

const FAILURES: Record<Exclude<DecodingFailure, "too_large">, string> = {
  cut_off: "it is cut off",
  too_long: "more bytes follow its end",
  malformed: "it is malformed",
};

function refusalOf(
  request: LaunchRequest,
  { failure, coding }: Exclude<Decoded, { bytes: ArrayBuffer }>,
  limit_bytes: number,
): CodingRefusal {
  const found = describeBody(request);
  if (failure === "too_large") {
    const reason = `The body is too large once its encoding ${coding} is undone`;
    return { reason, expected: `at most ${limit_bytes} bytes`, found, status: 413 };
  }
  return {
    reason: `The body is not of encoding ${coding}: ${FAILURES[failure]}`,
    found,
    status: 415,
  };
}
