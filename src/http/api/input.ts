/**
 * Reading the JSON that operators send.
 *
 * @module
 */
import { isUtf8 } from "node:buffer";
import type { Context } from "@hono/hono";
import { sizeOfBody } from "../../conditions/body_limits.ts";
import {
  IncompleteError,
  InvalidInputError,
  messageOf,
  TooLargeError,
  UnavailableError,
} from "../../platform/errors.ts";
import { isObject } from "../../platform/objects.ts";
import { readNumber, settleIntegers } from "../../platform/text/exact_integers.ts";
import type { BodyReader, ReadBody } from "../body.ts";

const MIB = 1024 * 1024;
/** The longest body of an operator's request. */
export const BODY_BYTES_MAX = MIB;
/** The longest body that holds a payload: 16 MiB in base64. */
export const PAYLOAD_BODY_BYTES_MAX = 24 * MIB;

/**
 * Reads a JSON body.
 *
 * @throws {InvalidInputError} when it is not JSON
 * @throws {IncompleteError} when it breaks off, or takes too long
 * @throws {TooLargeError} when it is longer than the limit
 */
export async function readJson(
  context: Context,
  bodies: BodyReader,
  limit_bytes = BODY_BYTES_MAX,
): Promise<unknown> {
  using held = await bodies.read(context.req.raw, limit_bytes);
  return parseJson(bytesOf(held.body, limit_bytes));
}

/**
 * Reads a JSON body; undefined when there is none.
 *
 * @throws {InvalidInputError} when it is not JSON
 * @throws {IncompleteError} when it breaks off, or takes too long
 * @throws {TooLargeError} when it is longer than the limit
 */
export async function readOptionalJson(
  context: Context,
  bodies: BodyReader,
  limit_bytes = BODY_BYTES_MAX,
): Promise<unknown> {
  using held = await bodies.read(context.req.raw, limit_bytes);
  const bytes = bytesOf(held.body, limit_bytes);
  return bytes.length === 0 ? undefined : parseJson(bytes);
}

function bytesOf(read: ReadBody, limit_bytes: number): Uint8Array {
  if ("bytes" in read) return read.bytes;
  if (read.failure === "no_memory") throw new UnavailableError("Too many requests", 1);
  if (read.failure !== "too_large") {
    const isLate = read.failure === "too_slow";
    const why = isLate ? "it took too long to arrive" : "the connection broke off";
    throw new IncompleteError(`Cannot read the body: ${why}`, isLate);
  }
  throw new TooLargeError(
    `Expected a body of at most ${limit_bytes / MIB} MiB, found a longer one`,
  );
}

function parseJson(bytes: Uint8Array): unknown {
  // A wrongly decoded secret would match nothing, and its mask would hide why.
  if (!isUtf8(bytes)) throw invalid("Expected JSON in UTF-8, found bytes that are not UTF-8");
  const text = new TextDecoder().decode(bytes);
  const size = sizeOfBody(text, false);
  if ("refused" in size) throw invalid(`Cannot read the body: ${size.refused}`);
  try {
    let hasIntegers = false;
    const parsed: unknown = JSON.parse(text, (key, value, ...written) => {
      const kept = keptNumber(key, value, ...written);
      hasIntegers ||= typeof kept === "bigint";
      return kept;
    });
    if (!hasIntegers) return parsed;
    const { value, problems } = settleIntegers(parsed);
    if (problems.length > 0) throw new InvalidInputError("the body", problems);
    return value;
  } catch (error) {
    throw error instanceof InvalidInputError
      ? error
      : invalid(`Expected JSON: ${messageOf(error)}`);
  }
}

/**
 * A reviver for `JSON.parse` that refuses a number that JavaScript would change, but for integers of 64 bits.
 *
 * @param written the source text, which TypeScript's types leave out
 */
function keptNumber(_key: string, value: unknown, ...[written]: [{ source: string }?]): unknown {
  if (typeof value !== "number") return value;
  const read = readNumber(value, written?.source ?? "");
  if (typeof read === "object") throw invalid(read.problem);
  return read;
}

/**
 * Applies a JSON Merge Patch (RFC 7396): null removes a field, objects are merged, any other value
 * replaces the one before.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

function invalid(detail: string): InvalidInputError {
  return new InvalidInputError("the request", detail);
}
