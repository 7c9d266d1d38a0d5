/**
 * Trying a trigger out: `POST /api/v0/triggers/<id>/test/` says what each condition finds in a request;
 * `…/sign/` makes a request that the conditions accept. Neither launches anything or uses a quota.
 *
 * @module
 */
import { z } from "zod";
import { type LaunchRequest, launchRequest } from "../../conditions/request.ts";
import { type SignedRequest, signRequest } from "../../conditions/sign_request.ts";
import { parseInput } from "../../platform/schema/nulls.ts";
import { explain, type Verdict } from "../../triggers/explain.ts";
import { type PlayedHandshake, playHandshakes } from "../../triggers/play_handshakes.ts";
import type { PreparedTrigger } from "../../triggers/prepare.ts";
import { referenceHolders } from "../../triggers/secrets.ts";
import { type Access, isLimited, refused, requireScope } from "./access.ts";
import { answer, input, problem, text } from "./answer.ts";
import { audited } from "./audit_trail.ts";
import type { Authenticated } from "./auth.ts";
import { found } from "./finder.ts";
import { PAYLOAD_BODY_BYTES_MAX } from "./input.ts";
import { operation } from "./operation.ts";
import type { Operator } from "./operator.ts";
import { HEADER_NAME } from "../../conditions/field.ts";

const verdict = answer<TestVerdict>()(
  "Verdict",
  z.object({
    condition: text,
    index: z.int().describe("Its place among the conditions; -1 for what is not a condition"),
    passed: z.boolean(),
    reason: text.exactOptional().describe("Why it did not pass, or a remark where it did"),
    expected: text.exactOptional(),
    found: text.exactOptional(),
  }),
);

const testResult = answer<TestResult>()(
  "TestResult",
  z.object({
    passed: z.boolean().describe(
      "Nothing refuses the request. A repeat or a handshake passes and launches nothing",
    ),
    conditions: z.array(verdict),
  }),
);

const signedRequest = answer<SignedResult>()(
  "SignedRequest",
  z.object({
    url: text,
    headers: z.record(text, text),
    body_base64: text,
    notes: z.array(problem).describe("What was done for each condition"),
    problems: z.array(problem).describe("The conditions that will refuse the request"),
  }),
);

const played = answer<{ handshakes: PlayedHandshake[] }>()(
  "PlayedHandshakes",
  z.object({
    handshakes: z.array(z.object({
      handshake: text.describe("Its place in the trigger, or the provider of a condition's preset"),
      method: text,
      answered: z.boolean(),
      status: z.int().exactOptional(),
      headers: z.record(text, text).exactOptional(),
      body: text.exactOptional(),
      reason: text.exactOptional().describe("Why it is not answered"),
    })),
  }),
);

const headerSchema = z.string().regex(HEADER_NAME, {
  error: "Expected letters, digits and !#$%&'*+-.^_`|~",
});
/** The characters of a header's value (RFC 9110 section 5.5). */
// deno-lint-ignore no-control-regex
const headerValueSchema = z.string().regex(/^[\x01-\x09\x0b\x0c\x0e-\xff]*$/, {
  error: "Must be the value of a header: one line of characters of Latin-1",
});

/** The schema of a request's headers. */
export const sentHeadersSchema = z.record(headerSchema, headerValueSchema);

const aText = { type: "string" };
/** JSON Schema of what the schema refuses in code. */
const BOTH_BODIES = {
  properties: { body: aText, body_base64: aText },
  required: ["body", "body_base64"],
};

/** The schema of a request that is tried out. */
export const requestSchema = input(
  "Request",
  z.strictObject({
    method: z.string().max(16).default("POST"),
    headers: sentHeadersSchema.default({}),
    query: z.string().max(8_192).regex(/^(\?[^#]*)?$/, {
      error: "Must begin with ? and have no fragment",
    }).default("").describe("The query behind the launch URL, with its ?"),
    body: z.string().optional().describe("The body as text"),
    body_base64: z.base64().optional().describe("The body's bytes, in place of `body`"),
    remote_ip: z.union([z.ipv4(), z.ipv6()], { error: "Expected an IP address" })
      .default("127.0.0.1"),
  }).refine(({ body, body_base64 }) => body === undefined || body_base64 === undefined, {
    error: "Expected either body or body_base64, found both",
  }).meta({ not: BOTH_BODIES }),
);

const body = {
  schema: requestSchema,
  limit_bytes: PAYLOAD_BODY_BYTES_MAX,
  examples: {
    "A body in JSON": {
      headers: { "content-type": "application/json" },
      body: '{"action":"opened"}',
    },
  },
};

/** The operations that try a trigger out. */
export const tryOutOperations = [
  operation({
    id: "testTrigger",
    method: "post",
    path: "/triggers/{id}/test/",
    scope: "operate",
    isTrial: true,
    summary: "Check a request against each condition, without launching",
    body,
    answers: { 200: { schema: testResult } },
    async perform({ api, context, params: { id }, body }) {
      const prepared = await found("trigger", id, api.triggers.prepared(id));
      return context.json(await testTrigger(api, prepared, body));
    },
  }),
  operation({
    id: "signRequest",
    method: "post",
    path: "/triggers/{id}/sign/",
    scope: "operate",
    isTrial: true,
    summary: "Make a request that the trigger's conditions accept",
    description:
      "Where a token or a password of the trigger is in the request, it needs the scope " +
      "`admin`, and is written into the audit log.",
    body,
    answers: { 200: { schema: signedRequest } },
    async perform({ api, context, params: { id }, body }) {
      const prepared = await found("trigger", id, api.triggers.prepared(id));
      const { reveals, ...signed } = await signForTrigger(api, prepared, body);
      const perform = () => Promise.resolve(context.json(signed));
      if (!reveals) return await perform();
      // The caller has put it there.
      const authenticated: Authenticated = context.env;
      requireScope(authenticated.access, { method: "post", scope: "admin" });
      requireOwnSecrets(authenticated.access, prepared);
      const operation = "signRequest";
      const path = `/triggers/${id}/sign/`;
      return await audited(
        { operation, path, name: id, told: undefined, perform },
        authenticated,
        api,
      );
    },
  }),
  operation({
    id: "playHandshakes",
    method: "post",
    path: "/triggers/{id}/handshakes/",
    scope: "admin",
    summary: "Play the provider: make each handshake of the trigger, and answer it",
    description: "The requests hold the trigger's secrets, which its answers may repeat.",
    answers: { 200: { schema: played } },
    async perform({ api, context, params: { id } }) {
      const prepared = await found("trigger", id, api.triggers.prepared(id));
      const { access }: Authenticated = context.env;
      requireOwnSecrets(access, prepared);
      const handshakes = await playHandshakes(prepared, {
        baseUrl: api.baseUrl(),
        now_ms: api.clock.now(),
        env: (name) => api.env(name),
      });
      return context.json({ handshakes });
    },
  }),
];

/**
 * Keeps limited tokens from reading a variable or a file of the service by a trigger that they may change.
 *
 * @throws {ForbiddenError} when the trigger has such a secret
 */
function requireOwnSecrets(access: Access, { trigger }: PreparedTrigger): void {
  const { conditions, handshakes } = trigger;
  if (isLimited(access) && referenceHolders({ conditions, handshakes }).length > 0) {
    throw refused(access);
  }
}

type RequestInput = z.output<typeof requestSchema>;

/** A verdict of a check, as this answer has it: checks that are not reached are left out. */
export interface TestVerdict extends Omit<Verdict, "verdict"> {
  passed: boolean;
}

/** The verdicts on a request. */
export interface TestResult {
  /** Nothing refuses the request. */
  passed: boolean;
  conditions: TestVerdict[];
}

/** Checks a request against every condition of a trigger. */
async function testTrigger(
  operator: Operator,
  prepared: PreparedTrigger,
  input: unknown,
): Promise<TestResult> {
  const { id } = prepared.trigger;
  const request = requestOf(read(input), operator, id);
  const verdicts = await explain(prepared.launch, request, {
    triggerId: id,
    acceptance: operator.acceptor,
  });
  const conditions = verdicts.filter(({ verdict }) => verdict !== "not reached")
    .map(({ verdict, ...rest }) => ({ ...rest, passed: verdict === "passed" }));
  return { passed: conditions.every(({ passed }) => passed), conditions };
}

/** Returns a request as conditions see it, as if it came now. */
export function requestOf(
  { method, headers, query, remote_ip, ...rest }: RequestInput,
  { baseUrl, clock }: Pick<Operator, "baseUrl" | "clock">,
  triggerId: string,
): LaunchRequest {
  return launchRequest({
    method,
    query: new URLSearchParams(query),
    url: `${baseUrl()}/api/v0/launch/${triggerId}/${query}`,
    headers: new Headers(headers),
    body: bytesOf(rest),
    remoteIp: remote_ip,
    receivedAt_ms: clock.now(),
  });
}

/** A request that a trigger's conditions let pass, as JSON has it. */
export interface SignedResult extends Omit<SignedRequest, "body" | "reveals"> {
  body_base64: string;
}

/** Signs a request as a trigger's conditions ask for, with the secrets that the service knows. */
async function signForTrigger(
  operator: Operator,
  { trigger, conditions }: PreparedTrigger,
  input: unknown,
): Promise<SignedResult & Pick<SignedRequest, "reveals">> {
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
  return parseInput(requestSchema, input, "the request to try out");
}

function bytesOf({ body, body_base64 }: Pick<RequestInput, "body" | "body_base64">) {
  return body_base64 === undefined
    ? new TextEncoder().encode(body ?? "")
    : Uint8Array.fromBase64(body_base64);
}
