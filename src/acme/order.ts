/**
 * Ordering a certificate (RFC 8555 section 7.4): the names are proven, and the authority signs.
 *
 * @module
 */
import { calculateJwkThumbprint } from "@panva/jose";
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../platform/errors.ts";
import type { Clock } from "../platform/clock.ts";
import { pause } from "../platform/waiting/timers.ts";
import { certificateRequest } from "./certificate_request.ts";
import type { AccountKey, AcmeClient, Answer } from "./client.ts";
import { AcmeError, readProblem, retryAfter_ms } from "./error.ts";
import { isAddress } from "./names.ts";

const log = getLogger(["hooklaunch", "acme"]);

/** Shows the authority that this service has a name. */
export interface Prover {
  /** The type of challenges that it answers. */
  readonly type: "http-01" | "dns-01";
  /** Answers a challenge from now on. */
  present(challenge: Challenge): Promise<void>;
  /** Answers it no more. */
  cleanUp(challenge: Challenge): Promise<void>;
}

/** A challenge, and its answer. */
export interface Challenge {
  /** The name that is proven, without `*.`. */
  name: string;
  token: string;
  keyAuthorization: string;
}

/** The parts of an order. */
interface OrderOptions {
  client: AcmeClient;
  accountKey: AccountKey;
  names: readonly string[];
  /** The private key of the certificate, PEM. */
  key: string;
  prover: Prover;
  /** The id of the certificate that this one replaces (RFC 9773 section 5). */
  replaces?: string | undefined;
  clock: Clock;
  signal: AbortSignal;
}

/** The profile of certificates for six days, the only one for IP addresses. */
const SHORT_LIVED = "shortlived";
/** Time for one step of the authority, such as a look at all challenges. */
const STEP_MS_MAX = 5 * 60_000;
const POLL_MS = { first: 250, most: 10_000 };

/**
 * Orders a certificate, and returns its chain in PEM.
 *
 * @throws {AcmeError} when the authority does not issue it
 */
export async function orderCertificate(options: OrderOptions): Promise<string> {
  const { client, names, key } = options;
  const made = await newOrder(options);
  const url = made.headers.get("location") ?? "";
  const authorizations = textsIn(made.json?.authorizations);
  await proveAll(authorizations, options);
  const ready = await poll(url, options, { until: ["ready", "valid"], of: "The order" });
  const csr = certificateRequest(names, key).toBase64({ alphabet: "base64url", omitPadding: true });
  if (ready.json?.status === "ready") await client.post(String(ready.json.finalize), { csr });
  const valid = await poll(url, options, { until: ["valid"], of: "The order" });
  return (await client.post(String(valid.json?.certificate))).text;
}

async function newOrder({ client, names, replaces }: OrderOptions): Promise<Answer> {
  const isShort = names.some(isAddress) && client.hasProfile(SHORT_LIVED);
  const order = {
    identifiers: names.map((value) => ({ type: isAddress(value) ? "ip" : "dns", value })),
    ...(isShort && { profile: SHORT_LIVED }),
  };
  try {
    return await client.post(client.url("newOrder"), { ...order, ...(replaces && { replaces }) });
  } catch (error) {
    // An order that failed later, or that of another instance, may have named it before.
    const isReplaced = error instanceof AcmeError && replaces !== undefined &&
      (error.type === "alreadyReplaced" || error.type === "malformed");
    if (!isReplaced) throw error;
    return await client.post(client.url("newOrder"), order);
  }
}

async function proveAll(urls: readonly string[], options: OrderOptions): Promise<void> {
  const { client, prover } = options;
  const presented: Challenge[] = [];
  try {
    for (const url of urls) {
      const found = await challengeOf(url, options);
      if (found === undefined) continue;
      presented.push(found.challenge);
      await prover.present(found.challenge);
      await client.post(found.url, {});
    }
    for (const url of urls) {
      await poll(url, options, { until: ["valid"], of: "The proof of a name" });
    }
  } finally {
    for (const challenge of presented) {
      // It changes nothing of how the order ends.
      await prover.cleanUp(challenge).catch((error) =>
        log.warn("Cannot remove the answer to a challenge: {error}", { error: messageOf(error) })
      );
    }
  }
}

/** Returns the challenge of an authorization; undefined when the authority knows already. */
async function challengeOf(
  url: string,
  { client, prover, accountKey }: OrderOptions,
): Promise<{ url: string; challenge: Challenge } | undefined> {
  const { json } = await client.post(url);
  if (json?.status === "valid") return undefined;
  if (json?.status !== "pending") {
    throw new AcmeError(`The proof of a name is ${json?.status}`, { problem: problemOf(json) });
  }
  const name = String(Object(json?.identifier).value);
  const all: unknown[] = Array.isArray(json?.challenges) ? json.challenges : [];
  const found = Object(all.find((each) => Object(each).type === prover.type));
  if (typeof found.token !== "string") {
    throw new AcmeError(`The authority wants no challenge ${prover.type} for ${name}`, {
      advice: name.startsWith("*.") || json?.wildcard === true
        ? "A name with * needs --acme-dns-hook"
        : "Give --acme-dns-hook for http-01 that is not offered, or leave it out for dns-01",
    });
  }
  const thumbprint = await calculateJwkThumbprint(accountKey);
  const keyAuthorization = `${found.token}.${thumbprint}`;
  return { url: String(found.url), challenge: { name, token: found.token, keyAuthorization } };
}

/** Reads a record of the server until it has one of some states. */
async function poll(
  url: string,
  { client, clock, signal }: OrderOptions,
  { until, of }: { until: readonly string[]; of: string },
): Promise<Answer> {
  const started_ms = clock.steady();
  for (let wait_ms = POLL_MS.first;; wait_ms = Math.min(2 * wait_ms, POLL_MS.most)) {
    const answer = await client.post(url);
    const status = String(answer.json?.status);
    if (until.includes(status)) return answer;
    if (status !== "pending" && status !== "processing" && status !== "ready") {
      throw new AcmeError(`${of} is ${status}`, { problem: problemOf(answer.json) });
    }
    const asked_ms = Math.min(retryAfter_ms(answer.headers), POLL_MS.most);
    if (clock.steady() - started_ms > STEP_MS_MAX) {
      throw new AcmeError(`${of} is still ${status} after ${STEP_MS_MAX / 60_000} minutes`, {
        advice: "It tries again by itself. If this goes on, look at the authority's status page",
      });
    }
    await pause(clock, Math.max(wait_ms, asked_ms), signal);
    signal.throwIfAborted();
  }
}

/** Finds the reason of a failure: an order has it itself, an authorization in its challenges. */
function problemOf(json: Answer["json"]) {
  const name = String(Object(json?.identifier).value ?? "");
  const challenges: unknown[] = Array.isArray(json?.challenges) ? json.challenges : [];
  const found = json?.error ?? challenges.map((each) => Object(each).error).find(Boolean);
  if (found === undefined) return undefined;
  const { type, detail } = readProblem(found);
  return { type, detail: name === "" ? detail : `${name}: ${detail}` };
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
