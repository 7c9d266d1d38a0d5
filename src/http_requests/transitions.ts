/**
 * The next state of an HTTP request after each event.
 *
 * @module
 */
import { timeText } from "../platform/clock.ts";
import { isCredentialName } from "../platform/network/credential_names.ts";
import type {
  AnswerPart,
  HttpAnswer,
  HttpRequest,
  HttpRequestPlan,
  HttpWaitPlan,
} from "../store/records/http_requests.ts";
import type { Answered, Failed } from "./exchange.ts";

/** Nothing is there any more, nor will be (RFC 9110 section 15.5.11). */
const GONE = 410;
/** Bytes of a body that are kept. */
const KEPT_BYTES_MAX = 64 * 1024;
/** Characters of an answer's headers that are kept. */
const HEADERS_LENGTH_MAX = 4_096;
/** The longest pause between two attempts that no server has asked for. */
const PAUSE_MAX_MS = 60 * 60_000;
/** The longest pause that a server may ask for. */
const ASKED_MAX_MS = 24 * 60 * 60_000;

/** The body of something that came back, and what it takes the place of. */
export interface Part {
  part: AnswerPart;
  body: Uint8Array;
  before: HttpAnswer | undefined;
}

/** Returns the time at which something is due for a request that has not ended. */
export function dueAt_ms({ next_at, until }: HttpRequest): number {
  const times = [next_at, until].filter((time) => time !== undefined).map((time) =>
    Date.parse(time)
  );
  return times.length === 0 ? 0 : Math.min(...times);
}

/** Ends a request. Without a reason it is complete. */
export function end(
  request: HttpRequest,
  now_ms: number,
  reason?: string,
  status: "error" | "stopped" = "error",
): void {
  request.status = reason === undefined ? "complete" : status;
  request.ended_at = timeText(now_ms);
  if (reason === undefined) delete request.reason;
  else request.reason = reason;
  delete request.next_at;
}

/** Goes on after an answer that says that the work has begun, or, without a wait, is done. */
export function answered(
  request: HttpRequest,
  { wait }: HttpRequestPlan,
  now_ms: number,
  failed: string | undefined,
): void {
  delete request.reason;
  if (wait.for === "none") return end(request, now_ms, failed);
  request.status = "waiting";
  request.until = timeText(now_ms + wait.timeout_s * 1_000);
  if (wait.for === "poll") request.next_at = timeText(now_ms + wait.every_s * 1_000);
}

/** Goes on after an attempt that has failed: sends it again later, or ends it. */
export function notAnswered(
  request: HttpRequest,
  { retry, tells_sender }: HttpRequestPlan,
  now_ms: number,
  outcome: Answered | Failed,
): void {
  const reason = reasonOf(outcome);
  const asked_ms = "status" in outcome ? outcome.wait_ms ?? 0 : 0;
  const own_ms = retry.first * 1_000 * retry.factor ** (request.tried - 1);
  const wait_ms = Math.max(asked_ms, Math.min(own_ms, PAUSE_MAX_MS));
  const isFinal = tells_sender && "status" in outcome ? outcome.status === GONE : !outcome.mayPass;
  if (isFinal) return end(request, now_ms, reason);
  if (request.tried >= retry.attempts) {
    return end(request, now_ms, `${reason}, at attempt ${request.tried} of ${retry.attempts}`);
  }
  if (wait_ms > ASKED_MAX_MS) {
    return end(request, now_ms, `${reason}, and asks to wait for more than a day`);
  }
  request.reason = reason;
  request.next_at = timeText(now_ms + wait_ms);
}

/**
 * Goes on after a poll.
 *
 * @param verdict true when the work is done; what is wrong with the expression, where it has no value
 * @param failed the reason for which the work has failed
 */
export function polled(
  request: HttpRequest,
  { every_s }: Extract<HttpWaitPlan, { for: "poll" }>,
  now_ms: number,
  { outcome, verdict, failed }: {
    outcome: Answered | Failed;
    verdict: boolean | { problem: string };
    failed: string | undefined;
  },
): void {
  if (verdict === true) return end(request, now_ms, failed);
  const isGood = isSuccess(outcome);
  if (isGood && typeof verdict === "object") return end(request, now_ms, verdict.problem);
  if (isGood) delete request.reason;
  else request.reason = `A poll has failed: ${reasonOf(outcome)}`;
  if (!isGood && !outcome.mayPass) return end(request, now_ms, request.reason);
  const asked_ms = "status" in outcome ? outcome.wait_ms ?? 0 : 0;
  request.next_at = timeText(now_ms + Math.max(every_s * 1_000, asked_ms));
}

/** Ends a request whose wait is over. */
export function timedOut(request: HttpRequest, { wait }: HttpRequestPlan, now_ms: number): void {
  const seconds = wait.for === "none" ? 0 : wait.timeout_s;
  const what = wait.for === "callback" ? "no callback came" : "the work was not done";
  const last = request.reason === undefined ? "" : `. ${request.reason}`;
  end(request, now_ms, `Timeout: ${what} within ${seconds} s${last}`);
}

/** Keeps an answer in the record of its request. */
export function keep(
  request: HttpRequest,
  part: AnswerPart,
  now_ms: number,
  { status, duration_ms, headers, body, isCut = false }:
    & Pick<Answered, "headers" | "body">
    & Partial<Answered>,
): Part {
  const before = request[part];
  const kept = body.subarray(0, KEPT_BYTES_MAX);
  request[part] = {
    ...(status !== undefined && { status }),
    received_at: timeText(now_ms),
    ...(duration_ms !== undefined && { duration_ms }),
    headers: keptHeaders(headers),
    size: kept.length,
    ...((isCut || kept.length < body.length) && { cut: true as const }),
  };
  return { part, body: kept, before };
}

/** Tells whether an answer is a success. */
export function isSuccess(outcome: Answered | Failed): outcome is Answered {
  return "status" in outcome && outcome.status >= 200 && outcome.status <= 299;
}

function reasonOf(outcome: Answered | Failed): string {
  return "status" in outcome
    ? `It was answered with the status ${outcome.status}`
    : `It cannot be sent: ${outcome.failure}`;
}

function keptHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  let left = HEADERS_LENGTH_MAX;
  return Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => {
      if (isCredentialName(name)) return false;
      left -= name.length + value.length;
      return left >= 0;
    }),
  );
}
