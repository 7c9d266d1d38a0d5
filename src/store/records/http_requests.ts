/**
 * The records of HTTP requests that actions send: the plan, which never changes, how far it is, and what came back.
 *
 * @module
 */
import { joinedBytes } from "../../platform/joined_bytes.ts";
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import type { Launched } from "./launchers.ts";
import { isUndecodable, logDamage, scan } from "../read/scan.ts";
import { listOldestEnded, type OldestEnded, recordOf } from "../read/lists.ts";
import { CHUNK_BYTES, chunkCount } from "./payloads.ts";
import { recordWrite } from "./record_size.ts";
import type { Store } from "../store.ts";

/** The statuses of an HTTP request. The last three are ends. */
export const HTTP_REQUEST_STATUSES = [
  "sending",
  "waiting",
  "stopped",
  "error",
  "complete",
] as const;

/** The status of an HTTP request. */
export type HttpRequestStatus = typeof HTTP_REQUEST_STATUSES[number];

/** Returns true for the statuses of an HTTP request that has ended. */
export function hasHttpRequestEnded(status: HttpRequestStatus): boolean {
  return status === "stopped" || status === "error" || status === "complete";
}

/** The waits that an HTTP request may have behind its answer. */
export const HTTP_WAITS = ["none", "callback", "poll"] as const;

/** Something that came back: the answer to the request, the last answer to a poll, or a callback. Times are RFC 3339. */
export interface HttpAnswer {
  /** The status; absent in a callback. */
  status?: number;
  received_at: string;
  /** The time until it was there; absent in a callback. */
  duration_ms?: number;
  /** Without credentials, as far as there is room for them. */
  headers: Record<string, string>;
  /** Bytes of the body that are kept. */
  size: number;
  /** The body was longer. */
  cut?: true;
}

/** The parts of an HTTP request that have a body. */
export type AnswerPart = "answer" | "result";

/** An HTTP request of an action and how far it is. All times are RFC 3339. */
export interface HttpRequest extends Launched {
  id: string;
  run_id: string;
  trigger_id: string;
  project: string;
  method: string;
  /** Without a user name, a password, a query and a fragment, which may hold credentials. */
  url: string;
  wait: typeof HTTP_WAITS[number];
  status: HttpRequestStatus;
  /** The instance whose own it is: it sends it, and the leader only once that one is gone. */
  owner?: string;
  created_at: string;
  ended_at?: string;
  /** The number of times that it was sent, or was about to be. */
  attempts: number;
  /** Of those, the ones whose end is known. */
  tried: number;
  /** Set while it is being sent: who sends it. */
  sender?: string;
  /** The time of the next attempt or poll. */
  next_at?: string;
  /** The time at which the wait is over. */
  until?: string;
  /** The answer to the last attempt that had one. */
  answer?: HttpAnswer;
  /** The result of the wait: the callback, or the last answer to a poll. */
  result?: HttpAnswer;
  /** The cause of its end, unless it is complete; before, of the last failure. */
  reason?: string;
  /** Set where it tells a sender that its run has ended: no action sends it. */
  tells_sender?: true;
  /** The SHA-256 of the token of its callback. */
  callback_hash?: string;
  /** The trace context of its launch. */
  traceparent?: string;
}

/** A secret as its trigger stores it, and the text before it in a header. */
interface PlannedSecret {
  secret: string;
  prefix?: string | undefined;
}

/** The parts of an HTTP request as they were when its action was performed. */
export interface HttpRequestPlan {
  method: string;
  url: string;
  headers: Record<string, string | PlannedSecret>;
  body?: string;
  sign?: { preset: string; secret: string };
  /** The limit of one attempt. */
  timeout_ms: number;
  retry: { attempts: number; first: number; factor: number };
  private_networks: boolean;
  /** It goes to an address that the sender chose: redirects are answers, and every refusal is tried again. */
  tells_sender?: true;
  /** An expression that is true where what came back says that the work has failed. */
  failed?: string;
  wait: HttpWaitPlan;
}

/** The wait of an HTTP request. */
export type HttpWaitPlan =
  | { for: "none" }
  | { for: "callback"; timeout_s: number }
  | { for: "poll"; timeout_s: number; url: string; until: string; every_s: number };

/** Limit of a plan as JSON. */
const PLAN_BYTES_MAX = 512 * 1024;
/** Limit of the reason in a record. */
const REASON_LENGTH_MAX = 4_096;

/**
 * The writes that make an HTTP request.
 *
 * @throws {RangeError} when it is too large to be stored
 */
export function createHttpRequestWrites(request: HttpRequest, plan: HttpRequestPlan): Write[] {
  return [...planWrites(request.id, plan), ...httpRequestWrites(request)];
}

/**
 * The writes that store the plan of an HTTP request.
 *
 * @throws {RangeError} when it is too large to be stored
 */
export function planWrites(id: string, plan: HttpRequestPlan): Write[] {
  return chunkWrites(planBytes(plan), (index) => keys.httpRequestPlan(id, index));
}

/**
 * Returns a plan as it is stored.
 *
 * @throws {RangeError} when it is too long
 */
export function planBytes(plan: HttpRequestPlan): Uint8Array {
  const bytes = new TextEncoder().encode(JSON.stringify(plan));
  if (bytes.length <= PLAN_BYTES_MAX) return bytes;
  throw new RangeError(
    `Cannot store the HTTP request: it has ${bytes.length} bytes, at most ${PLAN_BYTES_MAX} fit`,
  );
}

/** The writes that store how far an HTTP request is and keep the list of open ones true. */
export function httpRequestWrites(request: HttpRequest): Write[] {
  const { id, status, reason, owner } = request;
  const open: Write = { key: keys.httpRequestOpen(id) };
  if (!hasHttpRequestEnded(status)) open.value = owner ?? true;
  const short = reason === undefined
    ? request
    : { ...request, reason: reason.slice(0, REASON_LENGTH_MAX) };
  return [recordWrite(keys.httpRequest(id), short), open];
}

/** The writes that store the body of something that came back, in the place of an earlier one. */
export function answerWrites(
  id: string,
  part: AnswerPart,
  body: Uint8Array,
  before: HttpAnswer | undefined,
): Write[] {
  const stale = Array.from(
    { length: chunkCount(before?.size ?? 0) },
    (_, index) => ({ key: keys.httpAnswer(id, part, index) }),
  );
  const chunks = chunkWrites(body, (index) => keys.httpAnswer(id, part, index));
  return [...chunks, ...stale.slice(chunks.length)];
}

/** The writes that remove an HTTP request. */
export function removeHttpRequestWrites({ id, answer, result }: HttpRequest): Write[] {
  const plan = Array.from(
    { length: chunkCount(PLAN_BYTES_MAX) },
    (_, index) => ({ key: keys.httpRequestPlan(id, index) }),
  );
  return [
    ...plan,
    ...answerWrites(id, "answer", new Uint8Array(), answer),
    ...answerWrites(id, "result", new Uint8Array(), result),
    { key: keys.httpRequestOpen(id) },
    { key: keys.httpRequest(id) },
  ];
}

/** Reads an HTTP request; undefined when there is none, or none that is whole. */
export async function getHttpRequest(store: Store, id: string): Promise<HttpRequest | undefined> {
  return httpRequestIn(id, await store.reads.read(keys.httpRequest(id)));
}

/** Returns the HTTP request that is stored; undefined when there is none, or none that is whole. */
export function httpRequestIn(id: string, value: unknown): HttpRequest | undefined {
  return value === null ? undefined : recordOf<HttpRequest>({ key: keys.httpRequest(id), value });
}

/** Reads the plan of an HTTP request; undefined when there is none, or none that is whole. */
export async function getHttpRequestPlan(
  store: Store,
  id: string,
): Promise<HttpRequestPlan | undefined> {
  const prefix = ["http_request_plan", id];
  const bytes = await readChunks(store, prefix);
  try {
    return bytes.length === 0 ? undefined : JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    logDamage(prefix);
    return undefined;
  }
}

/** Reads the body of something that came back to an HTTP request. */
export function readAnswerBody(store: Store, id: string, part: AnswerPart): Promise<Uint8Array> {
  return readChunks(store, ["http_answer", id, part]);
}

/** The ids of all HTTP requests that have not ended, whoever sends them, oldest first. */
export function allOpenHttpRequests({ kv }: Store): Promise<string[]> {
  return Array.fromAsync(scan(kv, ["http_request_open"]), ({ key }) => String(key[1]));
}

/** The ids of the HTTP requests that have not ended and that are no other instance's own, oldest first. */
export async function openHttpRequests({ kv, shared }: Store): Promise<string[]> {
  const ids: string[] = [];
  const others = new Map<string, boolean>();
  for await (const { key, value: owner } of scan(kv, ["http_request_open"])) {
    let isElsewhere = false;
    if (shared !== undefined && typeof owner === "string" && owner !== shared.id) {
      // Read after the request: an instance that is gone by now stores nothing any more.
      isElsewhere = others.get(owner) ?? (await kv.get(keys.instance(owner))).value !== null;
      others.set(owner, isElsewhere);
    }
    if (!isElsewhere) ids.push(String(key[1]));
  }
  return ids;
}

/**
 * The ended ones among the oldest HTTP requests that were made before a time.
 *
 * @param after look only behind this id; the `next` of the call before
 */
export function endedHttpRequestsMadeBefore(
  store: Store,
  before_ms: number,
  page: { after?: string | undefined; limit: number },
): Promise<OldestEnded<HttpRequest>> {
  return listOldestEnded<HttpRequest>(
    store,
    "http_request",
    { before_ms, ...page },
    hasHttpRequestEnded,
  );
}

function chunkWrites(bytes: Uint8Array, keyOf: (index: number) => Deno.KvKey): Write[] {
  return Array.from({ length: chunkCount(bytes.length) }, (_, index) => {
    const value = bytes.slice(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES);
    return { key: keyOf(index), value, bytes: value.length + 64 };
  });
}

async function readChunks(store: Store, prefix: Deno.KvKey): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const { value } of store.kv.list({ prefix })) {
      if (!(value instanceof Uint8Array)) throw new TypeError("Expected bytes");
      chunks.push(value);
    }
  } catch (error) {
    if (!(error instanceof TypeError) && !isUndecodable(error)) throw error;
    logDamage(prefix);
    return new Uint8Array();
  }
  return joinedBytes(chunks);
}
