/**
 * Reading what agents send.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { z } from "zod";
import {
  IncompleteError,
  InvalidInputError,
  TooLargeError,
  UnavailableError,
} from "../../platform/errors.ts";
import { parseInput } from "../../platform/schema/nulls.ts";
import type { BodyReader } from "../body.ts";
import { tokenOf } from "../api/auth.ts";

/** The time without a byte after which an upload is given up. */
const STALL_MS = 120_000;

const wholeNumber = z.string().regex(/^\d{1,15}$/).transform(Number);
const flag = z.literal("1").transform(() => true as const);

/** An id that an agent makes for its claim. */
const claimId = z.string().regex(/^[0-9a-f]{16,64}$/);

/** The query of a claim. */
export const claimQuery = z.object({
  host: z.string().max(256),
  folder: z.string().min(1).max(4_096).startsWith("/"),
  /** The manifest is wanted in the answer. */
  manifest: flag.exactOptional(),
});

/** The query of a beat. */
export const beatQuery = z.object({
  stream: z.enum(["stdout", "stderr"]),
  offset: wholeNumber,
  state: z.enum(["preparing", "running", "ended"]),
  /** The age of the bytes in seconds. */
  ago: wholeNumber.default(0),
  last: flag.exactOptional(),
});

/** The query of a file of the manifest. */
export const fileQuery = z.object({
  /** The agent cannot reach the artifact store. */
  through: z.literal("service").exactOptional(),
});

/** The query of an output. */
export const outputQuery = z.object({
  path: z.string().min(1).max(4_096),
  size: wholeNumber,
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  put: flag.exactOptional(),
});

/** The query of an end. */
export const endQuery = z.object({
  stdout: wholeNumber,
  stderr: wholeNumber,
  outputs: wholeNumber.exactOptional(),
  exit_code: z.string().regex(/^\d{1,3}$/).transform(Number).exactOptional(),
  cause: z.enum(["stopped", "time_limit", "no_output", "out_of_memory", "terminated"])
    .exactOptional(),
  reason: z.string().max(4_096).exactOptional(),
});

/** The token of an agent, and its claim. */
interface Credentials {
  token: string;
  claimId: string | undefined;
}

/** Reads an agent's credentials; undefined when there are none. */
export function credentialsOf(context: Context): Credentials | undefined {
  const token = tokenOf(context);
  const claim = context.req.header("hooklaunch-claim");
  if (token === undefined) return undefined;
  const { success, data } = claimId.exactOptional().safeParse(claim);
  return claim === undefined || success ? { token, claimId: data } : undefined;
}

/**
 * Reads the query of a request.
 *
 * @throws {InvalidInputError} when it is not as expected
 */
export function readQuery<T>(context: Context, schema: z.ZodType<T>): T {
  return parseInput(schema, context.req.query(), "the query");
}

/**
 * Reads a body into memory.
 *
 * @throws {TooLargeError} when it is longer than the limit
 * @throws {IncompleteError} when it breaks off, or takes too long
 */
export async function readBytes(
  context: Context,
  { bodies, limit_bytes }: { bodies: BodyReader; limit_bytes: number },
): Promise<Uint8Array> {
  using held = await bodies.read(context.req.raw, limit_bytes);
  const { body } = held;
  if ("bytes" in body) return body.bytes.slice();
  if (body.failure === "no_memory") throw new UnavailableError("Too many requests of agents", 1);
  if (body.failure === "too_large") {
    throw new TooLargeError(`Expected at most ${limit_bytes} bytes`);
  }
  throw new IncompleteError("The body did not come to its end", body.failure === "too_slow");
}

/**
 * Returns the body of an upload as a stream that fails when nothing comes for some time.
 *
 * @param onFailure called when the body breaks off
 */
export function uploadStream(
  request: Request,
  size: number,
  onFailure: (error: Error) => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) !== size) {
    throw new InvalidInputError("the upload", `Expected ${size} bytes, ${declared} are announced`);
  }
  const { body } = request;
  if (body === null) return new Blob([]).stream();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const fail = (isLate: boolean) => {
    const error = new IncompleteError("The upload did not come to its end", isLate);
    onFailure(error);
    return error;
  };
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      timer = setTimeout(() => void reader.cancel(fail(true)).catch(() => {}), STALL_MS);
      const read = await reader.read().catch(() => undefined);
      clearTimeout(timer);
      if (read === undefined) controller.error(fail(false));
      else if (read.done) controller.close();
      else controller.enqueue(read.value);
    },
    async cancel(reason) {
      clearTimeout(timer);
      await reader.cancel(reason).catch(() => {});
    },
  });
}
