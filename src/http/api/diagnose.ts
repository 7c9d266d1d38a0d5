/**
 * `POST /api/v0/triggers/<id>/diagnose/`: the signature doctor, which says why a trigger refuses a request.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { z } from "zod";
import { type LaunchRequest, launchRequest } from "../../conditions/request.ts";
import { isBaseUrl } from "../../platform/network/urls.ts";
import { ConflictError, InvalidInputError } from "../../platform/errors.ts";
import { parseInput } from "../../platform/schema/nulls.ts";
import { type KeptRequest, whyNotKept } from "../../triggers/kept_requests.ts";
import { requestOfKept, requestOfRun } from "../../triggers/replay.ts";
import { idSchema } from "./queries.ts";
import type { RefusedEvent } from "../../store/records/trigger_log_entries.ts";
import type { Finding } from "../../triggers/diagnose.ts";
import type { Verdict } from "../../triggers/explain.ts";
import { NO_CONDITION } from "../../triggers/checks.ts";
import type { PreparedTrigger } from "../../triggers/prepare.ts";
import { problem } from "../problem.ts";
import { type Access, isLimited } from "./access.ts";
import { answer, input, text } from "./answer.ts";
import type { Authenticated } from "./auth.ts";
import { expectNoRepeat } from "./deliveries.ts";
import { found } from "./finder.ts";
import { operation } from "./operation.ts";
import type { Api } from "./api.ts";
import type { Records } from "./records.ts";
import { sentHeadersSchema } from "./try_out.ts";

const MIB = 1024 * 1024;
const BODY_BYTES_MAX = MIB;
/** Longer than the longest body in base64, with its headers. */
const REQUEST_BYTES_MAX = 2 * MIB;
const URL_CHARACTERS_MAX = 8_192;
/** The form of a URL that a sender calls; that its host can be one is checked beside it. */
const CALLED_URL = "^https?://[^/?#]+[^#]*$";
/** The other triggers whose secrets are tried. */
const OTHER_TRIGGERS_MAX = 50;
const LISTED_MAX = 200;

const diagnosis = answer<DiagnosisResult>()(
  "Diagnosis",
  z.object({
    findings: z.array(z.object({
      sentence: text.describe("It holds no secret, and no signature that would be right"),
      condition: text.describe("The type of the condition, or `request` where it is about all"),
      index: z.int().describe("Its place among the conditions; -1 for what is not a condition"),
      certainty: z.enum(["matches", "likely", "possible"]).describe(
        "`matches`: it was tried, and with this change the request passes the condition",
      ),
    })).describe("At least one, the most certain first"),
  }),
);

const storedRequest = z.strictObject({
  delivery_id: idSchema.describe(
    "A delivery of the trigger: one that is kept (`keep_refused`), or an accepted one",
  ),
});

const pastedRequest = z.strictObject({
  method: z.string().max(16).default("POST"),
  url: z.string().max(URL_CHARACTERS_MAX).refine(isCalledUrl, {
    error: "Expected the http: or https: URL that the sender called",
  }).meta({ pattern: CALLED_URL }).optional().describe(
    "The URL that the sender called; the launch URL when absent",
  ),
  headers: sentHeadersSchema,
  body: z.base64().max(Math.ceil(BODY_BYTES_MAX / 3) * 4).describe("The body's bytes in base64"),
  received_at: z.iso.datetime({ offset: true }).optional().describe(
    "The time at which the request came; now when absent",
  ),
});

const request = input("RefusedRequest", z.union([storedRequest, pastedRequest]));

/** The operation of the signature doctor. */
export const diagnosisOperations = [
  operation({
    id: "diagnoseRequest",
    method: "post",
    path: "/triggers/{id}/diagnose/",
    scope: "operate",
    isTrial: true,
    answeredBy: "any",
    summary: "Say why the signature or the token of a request does not match",
    description:
      "Tries the trigger's secrets in many ways, and launches nothing. `delivery_id` names a delivery of the " +
      "trigger that is kept, or an accepted one, in place of the request itself. One diagnosis of a trigger runs at " +
      "a time, and a token may ask for 10 a minute, at each instance; beyond that the answer is 429 with " +
      "`Retry-After`.",
    body: {
      schema: request,
      limit_bytes: REQUEST_BYTES_MAX,
      examples: {
        "A request": {
          headers: {
            "content-type": "application/json",
            "x-hub-signature-256": `sha256=${"0".repeat(64)}`,
          },
          body: "eyJhY3Rpb24iOiJvcGVuZWQifQ==",
        },
      },
    },
    answers: { 200: { schema: diagnosis } },
    async perform({ api, records, context, params: { id }, body }) {
      const prepared = await found("trigger", id, api.triggers.prepared(id));
      const sent = readRequest(body);
      // The caller has put it there.
      const { access }: Authenticated = context.env;
      const turn = api.diagnoses.begin(access.id ?? access.name, id);
      if ("wait_s" in turn) return tooMany(turn.wait_s);
      using _turn = turn;
      return context.json({ findings: await findingsOn(api, prepared, { sent, access, records }) });
    },
  }),
];

/** The findings about a request. */
export interface DiagnosisResult {
  findings: Finding[];
}

type PastedRequest = z.output<typeof pastedRequest>;

interface Asked {
  sent: PastedRequest | z.output<typeof storedRequest>;
  access: Access;
  records: Records;
}

/** Reads what is sent by one of both forms: a problem then has its place in that one. */
function readRequest(body: unknown): Asked["sent"] {
  const isStored = Object.hasOwn(Object(body), "delivery_id");
  return parseInput<Asked["sent"]>(
    isStored ? storedRequest : pastedRequest,
    body,
    "the request to diagnose",
  );
}

async function findingsOn(
  api: Api,
  prepared: PreparedTrigger,
  { sent, access, records }: Asked,
): Promise<Finding[]> {
  const { diagnose, diagnoseAccepted } = await import("../../triggers/diagnose.ts");
  const parts = {
    acceptance: api.acceptor,
    env: (name: string) => api.env(name),
    now_ms: api.clock.now(),
    otherTriggers: () => otherTriggers(api, prepared, access),
  };
  if (!("delivery_id" in sent)) {
    return await diagnose(prepared, requestOf(api, prepared, sent), {
      ...parts,
      calledUrl: sent.url,
      isAddressKnown: false,
      isReceiptKnown: sent.received_at !== undefined,
    });
  }
  const delivery = await deliveryOf(api, prepared, { id: sent.delivery_id, records });
  if ("accepted" in delivery) return await diagnoseAccepted(prepared, delivery.accepted);
  return await diagnose(prepared, requestOfKept(delivery.kept, api.baseUrl()), {
    ...parts,
    isAddressKnown: true,
    isReceiptKnown: true,
    refusedAs: delivery.refusedAs,
  });
}

/**
 * Reads a delivery of a trigger, as far as it is kept.
 *
 * @throws {InvalidInputError} when the trigger has no delivery of this id
 * @throws {ConflictError} when its request is not kept
 */
async function deliveryOf(
  { store, keptRequests, baseUrl }: Api,
  { trigger }: PreparedTrigger,
  { id, records }: { id: string; records: Records },
): Promise<{ kept: KeptRequest; refusedAs: Verdict } | { accepted: LaunchRequest }> {
  const found = await records.delivery(id);
  const triggerId = found && ("run" in found ? found.run.trigger_id : found.trigger_id);
  if (found === undefined || triggerId !== trigger.id) {
    const detail = `Expected the id of a delivery of trigger "${trigger.name}", found "${id}"`;
    throw new InvalidInputError("the request to diagnose", [{ pointer: "/delivery_id", detail }]);
  }
  if ("run" in found) return { accepted: await requestOfRun(store, found.run, baseUrl()) };
  const { entry } = found;
  expectNoRepeat("diagnose", entry);
  const kept = await keptRequests.read({ triggerId, entryId: id });
  if (kept !== undefined) return { kept, refusedAs: verdictOf(entry) };
  throw new ConflictError(
    `Cannot diagnose delivery ${id}: its request is not kept. ${
      whyNotKept(trigger)
    }. What the sender ` +
      "shows of the request can be diagnosed, too",
  );
}

function verdictOf(
  { condition, condition_index: index = NO_CONDITION, reason, expected, found }: RefusedEvent,
): Verdict {
  return {
    condition,
    index,
    verdict: "failed",
    reason,
    ...(expected !== undefined && { expected }),
    ...(found !== undefined && { found }),
  };
}

function requestOf(
  { baseUrl, clock }: Api,
  { trigger }: PreparedTrigger,
  { method, url, headers, body, received_at }: PastedRequest,
): LaunchRequest {
  // As it was sent: a `URL` would write `'` as `%27`.
  const question = url?.indexOf("?") ?? -1;
  const query = url === undefined || question === -1 ? "" : url.slice(question);
  return launchRequest({
    method,
    url: `${baseUrl()}/api/v0/launch/${trigger.id}/${query}`,
    query: new URLSearchParams(query),
    headers: new Headers(headers),
    body: Uint8Array.fromBase64(body),
    remoteIp: "127.0.0.1",
    receivedAt_ms: received_at === undefined ? clock.now() : Date.parse(received_at),
  });
}

function isCalledUrl(text: string): boolean {
  const [base = ""] = text.split("?", 1);
  return isBaseUrl(base) && !text.includes("#");
}

/** The other triggers that have secrets. A token that is limited learns nothing of them. */
async function otherTriggers(
  { triggers }: Api,
  { trigger }: PreparedTrigger,
  access: Access,
): Promise<PreparedTrigger[]> {
  if (isLimited(access)) return [];
  const { records } = await triggers.list({ limit: LISTED_MAX });
  const others = records.filter(({ id, conditions }) =>
    id !== trigger.id && conditions.some((condition) => "secrets" in condition)
  );
  const prepared = await Promise.all(
    others.slice(0, OTHER_TRIGGERS_MAX).map(({ id }) => triggers.prepared(id)),
  );
  return prepared.filter((other) => other !== undefined);
}

function tooMany(wait_s: number): Response {
  return problem(STATUS_CODE.TooManyRequests, {
    detail: `Too many diagnoses: try again in ${wait_s} s`,
    headers: { "retry-after": String(wait_s) },
  });
}
