/**
 * Numbers that people write and JavaScript cannot keep: an id of 20 digits would become another one.
 *
 * @module
 */

import { cut } from "./truncate.ts";

const SHOWN_MAX = 100;

/**
 * Why a number cannot be kept as it was written; undefined where it can.
 *
 * @param source how it was written
 */
export function whyNotKept(value: number, source: string): string | undefined {
  if (Number.isSafeInteger(value)) return undefined;
  const isWhole = /^[-+]?(\d+|0[ox][\da-f]+)$/i.test(source);
  if (Number.isFinite(value) && !isWhole) return undefined;
  return `Expected a number that can be kept as it is, found ${cut(source, SHOWN_MAX)}: ` +
    "put it in quotes to make it text";
}
