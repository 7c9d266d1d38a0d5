/**
 * The longest payload that a trigger takes.
 *
 * @module
 */
import { z } from "zod";
import { InvalidInputError } from "../platform/errors.ts";

const UNITS: Readonly<Record<string, number>> = { B: 1, KiB: 1_024, MiB: 1_024 ** 2 };
const SIZE = /^([1-9]\d{0,8}) ?(B|KiB|MiB)$/;

/** The schema of `max_payload`: a number of bytes, or a size such as `1MiB`. */
export const maxPayloadSchema = z.union([
  z.int().min(1),
  z.string().regex(SIZE, { error: "Expected a size such as 64KiB or 1MiB" }),
]).describe("The longest payload: bytes, or a size such as 64KiB or 1MiB; at most --max-payload");

/** A payload size as an owner writes it. */
type MaxPayload = z.infer<typeof maxPayloadSchema>;

/** Returns a size in bytes; infinite where none is given. */
export function sizeOf(size: MaxPayload | undefined): number {
  if (typeof size === "number") return size;
  const [, count, unit = ""] = SIZE.exec(size ?? "") ?? [];
  return count === undefined ? Infinity : Number(count) * (UNITS[unit] ?? 1);
}

/**
 * Checks that a trigger's limit is within that of the service.
 *
 * @throws {InvalidInputError} when it is not
 */
export function checkMaxPayload(size: MaxPayload | undefined, serviceBytesMax = Infinity): void {
  if (size === undefined || sizeOf(size) <= serviceBytesMax) return;
  const detail =
    `Expected at most ${serviceBytesMax} bytes, the limit of the service (--max-payload), found ${size}`;
  throw new InvalidInputError("the trigger", [{ pointer: "/max_payload", detail }]);
}
