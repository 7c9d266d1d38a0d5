/**
 * Answers of a service at its addresses for probes.
 *
 * @module
 */
import type { ServiceAddress } from "../api/address.ts";
import { unreachable } from "../api/client.ts";

/** The `Date` of an answer is cut to seconds: on average half of one is missing. */
const CUT_MS = 500;
/** The characters of another program's answer that are shown. */
const SHOWN_LENGTH_MAX = 100;

/** An answer. */
export interface HttpAnswer {
  status: number;
  /** Its first words. */
  text: string;
  /**
   * The time by which the other clock is surely ahead of the own one, negative when behind; 0 where both may be the
   * same, and undefined where the answer has no time.
   */
  ahead_ms: number | undefined;
}

/** The own clock, in milliseconds since the epoch, and the time that an answer may take. */
interface Patience {
  now(): number;
  timeout_ms: number;
}

/**
 * Asks for a path of a service.
 *
 * @throws {ApiError} when nothing answers
 */
export async function askAt(
  address: ServiceAddress,
  path: string,
  { now, timeout_ms }: Patience,
): Promise<HttpAnswer> {
  const asked_ms = now();
  try {
    const answer = await fetch(address.base + path, {
      redirect: "manual",
      signal: AbortSignal.timeout(timeout_ms),
      ...address.init,
    });
    const answered_ms = now();
    const date = answer.headers.get("date");
    const text = await answer.text();
    return {
      status: answer.status,
      text: text.trim().slice(0, SHOWN_LENGTH_MAX),
      ahead_ms: date === null ? undefined : aheadOf(Date.parse(date), asked_ms, answered_ms),
    };
  } catch (error) {
    throw unreachable(address, error);
  }
}

/** Compares a time with that between a question and its answer, by which it was read somewhen. */
function aheadOf(date_ms: number, asked_ms: number, answered_ms: number): number | undefined {
  if (Number.isNaN(date_ms)) return undefined;
  const ahead_ms = date_ms + CUT_MS - (asked_ms + answered_ms) / 2;
  const unsure_ms = CUT_MS + (answered_ms - asked_ms) / 2;
  return Math.sign(ahead_ms) * Math.max(0, Math.abs(ahead_ms) - unsure_ms);
}
