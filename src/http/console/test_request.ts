/**
 * The request of a trigger's test: its headers as they were typed, and how it ended.
 *
 * @module
 */
import type { ShownDelivery } from "../api/delivery_views.ts";
import type { Message } from "./route.ts";

/** The tones of the outcomes of tests; bad where there is none. */
const TEST_TONES: Readonly<Record<string, Message["tone"]>> = {
  accepted: "ok",
  repeat: "waiting",
  filtered: "waiting",
};

/** Says how a test ended. */
export function testMessage(
  { ok, status }: Response,
  delivery: ShownDelivery | undefined,
  why: string,
): Message {
  const text = `The test was answered ${status}`;
  if (delivery === undefined) return { text: text + why, tone: ok ? "ok" : "bad" };
  const { id, outcome, condition, reason } = delivery;
  const told = outcome === "repeat"
    ? "a repeat of an earlier delivery, so it launches nothing"
    : reason === undefined
    ? outcome
    : `${outcome} by ${condition}, ${reason}`;
  return { text: `${text}: ${told}${why}`, tone: TEST_TONES[outcome] ?? "bad", delivery: id };
}

/** Reads headers, one a line. */
export function headersOf(lines: string): Record<string, string> {
  const pairs = lines.split(/\r?\n/).filter((line) => line.includes(":")).map((line) => {
    const at = line.indexOf(":");
    return [line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()];
  });
  return Object.fromEntries(pairs);
}
