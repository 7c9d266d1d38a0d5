/**
 * Numbers that JavaScript cannot represent as they are written: an id of 20 digits would become
 * another one.
 *
 * @module
 */
import { truncate } from "./display.ts";

const SHOWN_MAX = 100;

/**
 * Returns the problem with a number that cannot be represented exactly; undefined if it can.
 *
 * @param source the number as it is written
 */
export function inexactNumberProblem(value: number, source: string): string | undefined {
  if (Number.isSafeInteger(value)) return undefined;
  const isWhole = /^[-+]?(\d+|0[ox][\da-f]+)$/i.test(source);
  if (Number.isFinite(value) && !isWhole) return undefined;
  return inexactProblem(source);
}

/** Returns the problem with a number that cannot be represented where it stands. */
export function inexactProblem(source: string): string {
  return `Expected a number that can be kept as it is, found ${truncate(source, SHOWN_MAX)}: ` +
    "put it in quotes to make it text";
}
