/**
 * Reading the forms that pages send.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { InvalidInputError, TooLargeError, UnavailableError } from "../../platform/errors.ts";
import type { BodyReader } from "../body.ts";

const FORM_BYTES_MAX = 2 * 1024 * 1024;
const FORM_TYPE = "application/x-www-form-urlencoded";

/**
 * Reads a form.
 *
 * @throws {InvalidInputError} when it is none, or does not arrive completely
 * @throws {TooLargeError} when it is longer than 2 MiB
 */
export async function readForm(context: Context, bodies: BodyReader): Promise<URLSearchParams> {
  const type = context.req.header("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== FORM_TYPE) {
    throw new InvalidInputError("the form", `Expected ${FORM_TYPE}, found ${type ?? "no type"}`);
  }
  using held = await bodies.read(context.req.raw, FORM_BYTES_MAX);
  if ("bytes" in held.body) {
    return new URLSearchParams(new TextDecoder().decode(held.body.bytes));
  }
  const { failure } = held.body;
  if (failure === "too_large") {
    throw new TooLargeError("Expected a form of at most 2 MiB, found a longer one");
  }
  if (failure === "no_memory") throw new UnavailableError("Too many requests", 1);
  throw new InvalidInputError("the form", "It did not arrive completely");
}
