/**
 * Answers of a service at its addresses for probes.
 *
 * @module
 */
import type { ServiceAddress } from "../api/address.ts";
import { unreachable } from "../api/client.ts";

const TIMEOUT_MS = 10_000;
/** The `Date` of an answer is cut to seconds: on average half of one is missing. */
const CUT_MS = 500;
/** The characters of another program's answer that are shown. */
const SHOWN_LENGTH_MAX = 100;

/** An answer. */
export interface HttpAnswer {
  status: number;
  /** Its first words. */
  text: string;
  /** The time by which the other clock is ahead of the own one; undefined where the answer has no time. */
  ahead_ms: number | undefined;
}

/**
 * Asks for a path of a service.
 *
 * @param now the own clock, in milliseconds since the epoch
 * @throws {ApiError} when nothing answers
 */
export async function askAt(
  address: ServiceAddress,
  path: string,
  now: () => number,
): Promise<HttpAnswer> {
  const asked_ms = now();
  try {
    const answer = await fetch(address.base + path, {
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...address.init,
    });
    const between_ms = (asked_ms + now()) / 2;
    const date_ms = Date.parse(answer.headers.get("date") ?? "");
    const text = await answer.text();
    return {
      status: answer.status,
      text: text.trim().slice(0, SHOWN_LENGTH_MAX),
      ahead_ms: Number.isNaN(date_ms) ? undefined : date_ms + CUT_MS - between_ms,
    };
  } catch (error) {
    throw unreachable(address, error);
  }
}
