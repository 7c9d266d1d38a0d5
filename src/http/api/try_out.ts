/**
 * Trying a trigger out: `POST /api/v0/triggers/<id>/test/` says what each condition thinks of a
 * request, `…/sign/` makes a request that the conditions let pass. Neither launches anything or uses a
 * quota.
 *
 * @module
 */
import { isIP } from "node:net";
import { z } from "zod";
import { headerNameSchema } from "../../conditions/field.ts";
import { describeExhausted } from "../../conditions/rate_window.ts";
import { type LaunchRequest, launchRequest } from "../../conditions/request.ts";
import { type SignedRequest, signRequest } from "../../conditions/signing/sign_request.ts";
import { parseWith } from "../../platform/schema.ts";
import type { PreparedTrigger, Verdict } from "../../triggers/prepare.ts";
import type { Operator } from "./operator.ts";

const headerSchema = z.string().refine((name) => headerNameSchema.safeParse(name).success, {
  error: "Expected letters, digits and !#$%&'*+-.^_`|~",
});
/** What a header may hold (RFC 9110 section 5.5). */
const headerValueSchema = z.string().regex(/^[^\0\r\n\u0100-\uffff]*$/, {
  error: "Must be the value of a header: one line of characters of Latin-1",
});

/** What is sent for a request to be tried out. */
export const requestSchema = z.strictObject({
  method: z.string().max(16).default("POST"),
  headers: z.record(headerSchema, headerValueSchema).default({}),
  /** What stands behind the launch URL, beginning with `?`. */
  query: z.string().max(8_192).regex(/^(\?[^#]*)?$/, {
    error: "Must begin with ? and have no fragment",
  }).default(""),
  /** The body as text; or its bytes in base64. */
  body: z.string().optional(),
  body_base64: z.base64().optional(),
  remote_ip: z.string().refine((text) => isIP(text) !== 0, { error: "Expected an IP address" })
    .default("127.0.0.1"),
}).refine(({ body, body_base64 }) => body === undefined || body_base64 === undefined, {
  error: "Expected either body or body_base64, found both",
});

/** Said of a request that is one, wherever a condition behind it would have refused it. */
const HANDSHAKE: Verdict = {
  condition: "handshake",
  index: -1,
  passed: true,
  reason: "The provider asks whether the URL is listening: it is answered, and nothing is started",
};

type RequestInput = z.infer<typeof requestSchema>;

/** What the conditions of a trigger say of a request. */
export interface TestResult {
  /** Whether nothing refuses the request. */
  passed: boolean;
  conditions: Verdict[];
}

/** Checks a request against every condition of a trigger. */
export async function testTrigger(
  operator: Operator,
  prepared: PreparedTrigger,
  input: unknown,
): Promise<TestResult> {
  const { id, enabled } = prepared.trigger;
  const { method, headers, query, remote_ip, ...rest } = read(input);
  const request = launchRequest({
    method,
    query: new URLSearchParams(query),
    url: `${operator.baseUrl()}/api/v0/launch/${id}/${query}`,
    headers: new Headers(headers),
    body: bytesOf(rest),
    remoteIp: remote_ip,
    receivedAt_ms: operator.clock.now(),
  });
  const conditions = await verdictsOf(operator, prepared, request);
  if (!enabled) {
    const reason = "The trigger is disabled";
    conditions.unshift({ condition: "enabled", index: -1, passed: false, reason });
  }
  return { passed: conditions.every(({ passed }) => passed), conditions };
}

/** What the conditions say, up to where the door would answer a handshake or a repeat. */
async function verdictsOf(
  { acceptor }: Operator,
  prepared: PreparedTrigger,
  request: LaunchRequest,
): Promise<Verdict[]> {
  const { trigger: { enabled }, handshakes } = prepared;
  const isOpen = (verdicts: Verdict[]) => enabled && verdicts.every(({ passed }) => passed);
  const address = await prepared.explain(request, ["address"]);
  if (isOpen(address) && handshakes.unverified(request)) return [...address, HANDSHAKE];
  const proof = [...address, ...await prepared.explain(request, ["authentication", "timestamp"])];
  if (isOpen(proof) && await handshakes.verified(request)) return [...proof, HANDSHAKE];
  const delivery = await deliveryVerdicts(acceptor, prepared, request);
  const isRepeat = delivery.some(({ passed, reason }) => passed && reason !== undefined);
  return [
    ...proof,
    ...await prepared.explain(request, ["filter"]),
    ...delivery,
    ...(isRepeat ? [] : await quotaVerdicts(acceptor, prepared)),
  ];
}

async function deliveryVerdicts(
  acceptor: Operator["acceptor"],
  { trigger, deliveries }: PreparedTrigger,
  request: LaunchRequest,
): Promise<Verdict[]> {
  if (deliveries === undefined) return [];
  const verdict = { condition: "deduplication", index: deliveries.index };
  const delivery = deliveries.read(request);
  if ("reason" in delivery) return [{ ...verdict, passed: false, ...delivery }];
  const run = await acceptor.madeBy(trigger.id, delivery);
  const reason =
    `A repeat of what made run ${run}: it is answered like that one and starts nothing`;
  return [{ ...verdict, passed: true, ...(run !== undefined && { reason }) }];
}

async function quotaVerdicts(
  acceptor: Operator["acceptor"],
  { trigger }: PreparedTrigger,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const [index, settings] of trigger.conditions.entries()) {
    if (settings.type !== "rate_limit") continue;
    // Each by itself: a launch is refused by the first that is used up, and others may be as well.
    const exhausted = await acceptor.exhausted(trigger.id, [settings]);
    const reason = exhausted && describeExhausted(exhausted);
    verdicts.push({
      condition: "rate_limit",
      index,
      passed: exhausted === undefined,
      ...(reason !== undefined && { reason }),
    });
  }
  return verdicts;
}

/** A request that a trigger's conditions let pass, as JSON has it. */
export interface SignedResult extends Omit<SignedRequest, "body"> {
  body_base64: string;
}

/** Signs a request as a trigger's conditions ask for, with the secrets that the service knows. */
export async function signForTrigger(
  operator: Operator,
  { trigger, conditions }: PreparedTrigger,
  input: unknown,
): Promise<SignedResult> {
  const { method, headers, query, ...rest } = read(input);
  const { body, ...signed } = await signRequest(conditions, {
    method,
    url: `${operator.baseUrl()}/api/v0/launch/${trigger.id}/${query}`,
    headers,
    body: bytesOf(rest),
    now_ms: operator.clock.now(),
    env: (name) => operator.env(name),
  });
  return { ...signed, body_base64: body.toBase64() };
}

function read(input: unknown): RequestInput {
  return parseWith(requestSchema, input, "the request to try out");
}

function bytesOf({ body, body_base64 }: Pick<RequestInput, "body" | "body_base64">) {
  return body_base64 === undefined
    ? new TextEncoder().encode(body ?? "")
    : Uint8Array.fromBase64(body_base64);
}
