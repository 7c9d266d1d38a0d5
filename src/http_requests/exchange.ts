/**
 * One request over the network: an attempt of an action's request, or a poll.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import { HooklaunchError, messageOf } from "../platform/errors.ts";
import { joinedBytes } from "../platform/joined_bytes.ts";
import type { Network } from "../platform/network/connection.ts";
import { FetchError } from "../platform/network/fetch_errors.ts";
import { fetchPublic } from "../platform/network/fetch_public.ts";
import type { Answer } from "../platform/network/http_exchange.ts";
import { retryAfter_ms } from "../platform/network/retry_after.ts";
import type { HttpRequest, HttpRequestPlan } from "../store/records/http_requests.ts";
import { type AnswerMask, answerMask, maskedBody, maskedHeaders } from "./masked_answer.ts";
import { type Ready, signed } from "./sign.ts";

/** Bytes of a body that are read at most: expressions see no more. */
const READ_BYTES_MAX = 1024 * 1024;
/** Statuses that may be others a moment later (RFC 9110, RFC 8470, RFC 6585); so may those of 500 and more. */
const PASSING = [408, 425, 429];
/** Headers that another origin gets behind a redirect. */
const FOR_ALL = ["accept", "content-type", "idempotency-key", "user-agent"];

/** An answer. */
export interface Answered {
  status: number;
  headers: Record<string, string>;
  body: Uint8Array;
  /** The body was longer. */
  isCut: boolean;
  duration_ms: number;
  /** True when the same request may be answered otherwise later. */
  mayPass: boolean;
  /** The pause that the server asks for. */
  wait_ms: number | undefined;
}

/** The reason for which there is no answer. */
export interface Failed {
  failure: string;
  /** True when a second try may succeed. */
  mayPass: boolean;
}

/** The surroundings of a request. */
export interface ExchangeParts {
  clock: Clock;
  network: Network;
  /** Returns the secret that a setting stands for: of a sealed one, a variable or a file. */
  reveal(secret: string, triggerId: string): string | undefined;
}

/** Options of {@linkcode send}. */
interface SendOptions {
  /** The part of the plan's time that is left. */
  left_ms: number;
  /** Aborted when the service stops. */
  signal: AbortSignal;
  /** False where a redirect is an answer like others. */
  followsRedirects?: boolean;
  /** Names the setting that allows addresses that are not public. */
  setting?: string;
}

/** The parts of a plan that every request of it has. */
type Common = Pick<
  HttpRequestPlan,
  "headers" | "timeout_ms" | "private_networks" | "body" | "tells_sender"
>;

/** The parts of a plan that are sent. */
export type SentPlan = Common & Pick<HttpRequestPlan, "method" | "url" | "sign">;

/**
 * Sends the request of a plan.
 */
export function send(
  request: Pick<HttpRequest, "id" | "trigger_id">,
  plan: SentPlan,
  parts: ExchangeParts,
  { left_ms, signal, ...options }: SendOptions,
): Promise<Answered | Failed> {
  return withinTime({ ...plan, left_ms }, parts.clock, signal, async (limit) => {
    const { secrets, hidden, ...ready } = await readyOf(request, plan, parts);
    const body = plan.body === undefined && ready.body.length === 0 ? undefined : ready.body;
    const how = { ...plan, ...options, secrets, mask: answerMask(hidden, plan) };
    return await exchange({ ...ready, body, method: plan.method }, how, parts, limit);
  });
}

/** Asks how far the work is that the request of a plan has started. */
export function poll(
  { trigger_id }: Pick<HttpRequest, "trigger_id">,
  plan: Common & { url: string },
  parts: ExchangeParts,
  { mask, signal }: { mask: AnswerMask; signal: AbortSignal },
): Promise<Answered | Failed> {
  return withinTime({ ...plan, left_ms: plan.timeout_ms }, parts.clock, signal, async (limit) => {
    const { secrets, plain } = headersOf(plan, (secret) => parts.reveal(secret, trigger_id));
    const { "content-type": _, ...headers } = plain;
    const ready = { url: plan.url, headers, body: undefined, method: "GET" };
    return await exchange(ready, { ...plan, secrets, mask }, parts, limit);
  });
}

/** Returns what masks the secrets of a request in what comes back later: its server may show what it has got. */
export async function maskOf(
  request: Pick<HttpRequest, "id" | "trigger_id">,
  plan: SentPlan,
  parts: ExchangeParts,
): Promise<AnswerMask> {
  // The secrets of one that cannot be made any more are not known.
  const { hidden } = await readyOf(request, plan, parts).catch(() => ({ hidden: [] }));
  return answerMask(hidden, plan);
}

/** Makes the request of a plan. Its headers with secrets are apart, and what is not to be shown. */
async function readyOf(
  { id, trigger_id }: Pick<HttpRequest, "id" | "trigger_id">,
  plan: SentPlan,
  parts: ExchangeParts,
): Promise<Ready & { secrets: Record<string, string>; hidden: readonly string[] }> {
  const reveal = (secret: string) => parts.reveal(secret, trigger_id);
  const { secrets, plain, hidden } = headersOf(plan, reveal);
  const bare: Ready = {
    url: plan.url,
    headers: { "idempotency-key": id, ...plain },
    body: new TextEncoder().encode(plan.body ?? ""),
  };
  const { sign, method } = plan;
  if (sign === undefined) return { ...bare, secrets, hidden };
  const ready = await signed({ ...bare, method, id, now_ms: parts.clock.now() }, {
    preset: sign.preset,
    secret: revealed(sign.secret, "sign/secret", reveal),
  });
  return { ...ready, secrets, hidden: [...hidden, ...ready.hidden] };
}

async function exchange(
  { url, headers, body, method }: Omit<Ready, "body"> & {
    body: Uint8Array | undefined;
    method: string;
  },
  how:
    & Pick<SendOptions, "followsRedirects" | "setting">
    & Pick<Common, "private_networks" | "tells_sender">
    & {
      secrets: Record<string, string>;
      mask: AnswerMask;
    },
  { clock, network }: ExchangeParts,
  signal: AbortSignal,
): Promise<Answered> {
  const { private_networks, tells_sender, secrets, mask, setting } = how;
  const { followsRedirects = !tells_sender } = how;
  const began_ms = clock.steady();
  const start = new URL(url);
  const own = { ...headers, ...secrets };
  const forAll = Object.fromEntries(
    Object.entries(headers).filter(([name]) => FOR_ALL.includes(name)),
  );
  using answer = await fetchPublic(start, {
    method,
    body,
    headersFor: ({ origin }) => origin === start.origin ? own : forAll,
    network,
    privateNetworks: private_networks,
    othersAreStrangers: true,
    setting: setting ?? `private_networks of the ${tells_sender ? "callback" : "action"}`,
    followsRedirects,
    signal,
  }).catch((error) => {
    // The address behind a redirect may repeat what was sent.
    if (error instanceof HooklaunchError) error.message = mask(error.message);
    throw error;
  });
  const { bytes, isCut } = await firstBytes(answer);
  const { status } = answer;
  return {
    status,
    headers: maskedHeaders(answer.headers, mask),
    body: maskedBody(bytes, mask),
    isCut,
    duration_ms: Math.round(clock.steady() - began_ms),
    mayPass: PASSING.includes(status) || status >= 500,
    wait_ms: retryAfter_ms(answer.headers["retry-after"], clock.now()),
  };
}

/** Does work within the time limit of a plan. What goes wrong on the way is told. */
async function withinTime(
  { timeout_ms, left_ms }: { timeout_ms: number; left_ms: number },
  clock: Clock,
  stop: AbortSignal,
  work: (signal: AbortSignal) => Promise<Answered>,
): Promise<Answered | Failed> {
  const late = new AbortController();
  const cancel = clock.after(left_ms, () => late.abort());
  try {
    return await work(AbortSignal.any([late.signal, stop]));
  } catch (error) {
    stop.throwIfAborted();
    if (late.signal.aborted) return noAnswer({ timeout_ms });
    return { failure: messageOf(error), mayPass: !(error instanceof FetchError) };
  } finally {
    cancel();
  }
}

/** The failure of an attempt whose time is over. */
export function noAnswer({ timeout_ms }: { timeout_ms: number }): Failed {
  return { failure: `no answer within ${timeout_ms / 1_000} s`, mayPass: true };
}

/** Returns the headers of a plan, those with secrets apart, and the secrets. */
function headersOf(
  plan: Pick<HttpRequestPlan, "headers">,
  reveal: (secret: string) => string | undefined,
): { plain: Record<string, string>; secrets: Record<string, string>; hidden: string[] } {
  const plain: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  const hidden: string[] = [];
  for (const [name, value] of Object.entries(plan.headers)) {
    if (typeof value === "string") plain[name] = value;
    else {
      const { secret, prefix = "" } = value;
      const text = revealed(secret, `headers/${name}/secret`, reveal);
      secrets[name] = prefix + text;
      hidden.push(text);
    }
  }
  return { plain, secrets, hidden };
}

function revealed(
  secret: string,
  at: string,
  reveal: (secret: string) => string | undefined,
): string {
  const text = reveal(secret);
  if (text !== undefined) return text.trim();
  throw new FetchError(
    `${at} cannot be used: its variable is not set, its file cannot be read, or it was stored with another key`,
  );
}

/** Reads as much of an answer as expressions see. */
async function firstBytes(answer: Answer): Promise<{ bytes: Uint8Array; isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  let isCut = false;
  for await (const chunk of answer.body()) {
    chunks.push(chunk);
    length += chunk.length;
    isCut = length > READ_BYTES_MAX;
    if (isCut) break;
  }
  return { bytes: joinedBytes(chunks).subarray(0, READ_BYTES_MAX), isCut };
}
