/**
 * The operations that take no operator's token, or whose routes are not the API's: `app.ts` mounts them.
 * Their schemas are here and not beside their handlers, which must not load zod: launches come through them.
 *
 * @module
 */
import { z } from "zod";
import { WORK_STATES } from "../../runs/work_state.ts";
import { type Scope, SCOPES } from "../../store/records/tokens.ts";
import { RUN_STATUSES } from "../../store/records/runs.ts";
import type { RunInfo } from "../../runs/run_info.ts";
import { CALLBACK_BYTES_MAX } from "../callbacks/routes.ts";
import { answer, input, problemDetails, text } from "./answer.ts";
import type { Declaration } from "./declaration.ts";
import { HTTP_REQUEST_STATUSES } from "../../store/records/http_requests.ts";

/** The answer to a command line that begins to log in. */
interface DeviceLoginAnswer {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
  expires_in: number;
  interval: number;
}

/** The answer to a command line whose login was confirmed. */
interface LoginTokenAnswer {
  access_token: string;
  token_type: "Bearer";
  expires_in: number;
  scope: Scope;
  name: string;
}

/** An error as OAuth has it (RFC 6749, section 5.2). */
interface LoginErrorAnswer {
  error: string;
  error_description?: string;
}

/** Conditions may read other fields beside these. */
const runQuestion = input(
  "RunQuestion",
  z.looseObject({
    run_id: z.string(),
    wait: z.union([z.string(), z.number()]).optional(),
    work: z.union([z.string(), z.boolean()]).optional(),
  }).describe(
    "A run, and how many seconds to wait for its end, at most 30. With `work`, which is true or false, " +
      "the answer tells how far its work is, too, and the end of that is waited for",
  ),
  { hasOwnNull: true },
);

const runInfo = answer<RunInfo>()(
  "RunInfo",
  z.object({
    status: z.enum(RUN_STATUSES),
    result: z.array(z.union([
      z.object({ action: text, execution_step: text, execution_id: text }),
      z.object({ action: text, pipeline_name: text, pipeline_id: text }),
      z.object({
        action: text,
        url: text,
        status: z.int().nullable().describe("The status of the answer; null without one so far"),
        outcome: z.enum(HTTP_REQUEST_STATUSES),
      }),
    ])),
    source: z.literal("schedule").exactOptional().describe("Set where a schedule has launched it"),
    superseded_by: text.exactOptional().describe("The run that was performed in its place"),
    skipped_by: text.exactOptional().describe(
      "The run of the same concurrency key whose work was under way, so that it was not performed",
    ),
    work: z.enum(WORK_STATES).exactOptional().describe(
      "How far the executions, pipelines and HTTP requests are that the run launched; with `work=true` alone",
    ),
  }),
);

const rejected = {
  description: "A condition refuses the request; the answer does not say which",
  media: { "application/problem+json": problemDetails },
};
const callbackTaken = answer<{ status: "accepted" }>()(
  "CallbackTaken",
  z.object({ status: z.literal("accepted") }),
);
const deviceQuestion = input(
  "DeviceLoginQuestion",
  z.looseObject({
    device: z.string().optional().describe("The name of the computer, as the person sees it"),
    scope: z.enum(SCOPES).optional().describe("The greatest scope; that of the person when absent"),
  }),
  { hasOwnNull: true },
);
const deviceLogin = answer<DeviceLoginAnswer>()(
  "DeviceLogin",
  z.object({
    device_code: text,
    user_code: text,
    verification_uri: text,
    verification_uri_complete: text,
    expires_in: z.int().describe("Seconds"),
    interval: z.int().describe("The least time between two questions, in seconds"),
  }),
);
const tokenQuestion = input(
  "LoginTokenQuestion",
  z.looseObject({
    grant_type: z.literal("urn:ietf:params:oauth:grant-type:device_code"),
    device_code: z.string(),
  }),
  { hasOwnNull: true },
);
const loginToken = answer<LoginTokenAnswer>()(
  "LoginToken",
  z.object({
    access_token: text,
    token_type: z.literal("Bearer"),
    expires_in: z.int().describe("Seconds"),
    scope: z.enum(SCOPES),
    name: text.describe("The name of who has confirmed the login"),
  }),
);
const loginError = answer<LoginErrorAnswer>()(
  "LoginError",
  z.object({ error: text, error_description: text.exactOptional() }),
);
const revokeQuestion = input(
  "LoginRevocation",
  z.looseObject({ token: z.string() }),
  { hasOwnNull: true },
);
const FORMS = ["application/x-www-form-urlencoded", "application/json"];
const PROBLEM = { "application/problem+json": problemDetails };
const plainText = { media: { "text/plain": text } };

/** The operations that `app.ts` mounts. */
export const openOperations: readonly Declaration[] = [
  {
    id: "launchTrigger",
    method: "post",
    path: "/launch/{trigger_id}/",
    summary: "Launch a trigger",
    description:
      'The trigger\'s `response` says what an accepted request is answered; else {"status":"accepted"}.',
    body: { media: ["*/*"] },
    answers: {
      "2XX": { media: { "application/json": undefined, "text/plain": text } },
      400: rejected,
    },
    isOpen: true,
  },
  {
    id: "getRunInfo",
    method: "get",
    path: "/launch/{trigger_id}/run/",
    summary: "Read the state of a run, where the trigger wants no signature",
    query: runQuestion,
    answers: { 200: { schema: runInfo }, 400: rejected },
    isOpen: true,
  },
  {
    id: "askRunInfo",
    method: "post",
    path: "/launch/{trigger_id}/run/",
    summary: "Read the state of a run",
    body: {
      schema: runQuestion,
      media: ["application/json", "application/x-www-form-urlencoded"],
      examples: {
        "Wait for its end": { run_id: "01900000-0000-7000-8000-000000000000", wait: 30 },
        "Wait for the end of its work": {
          run_id: "01900000-0000-7000-8000-000000000000",
          wait: 30,
          work: true,
        },
      },
    },
    answers: { 200: { schema: runInfo }, 400: rejected },
    isOpen: true,
  },
  {
    id: "callBack",
    method: "post",
    path: "/callbacks/{id}/{token}/",
    summary: "Report the end of work that an HTTP request of an action has started",
    description:
      "The address is `callback_url` in the settings of the action. It takes one callback: a second one, and one " +
      "that comes when the wait is over, get 410.",
    body: { media: ["*/*"], isOptional: true, limit_bytes: CALLBACK_BYTES_MAX },
    answers: { 200: { schema: callbackTaken }, 410: { media: PROBLEM } },
    isOpen: true,
  },
  {
    id: "beginLogin",
    method: "post",
    path: "/login/device/",
    summary: "Begin the login of a command line (RFC 8628)",
    description: "A person who is logged in to the console confirms it at `verification_uri`.",
    body: { schema: deviceQuestion, media: FORMS },
    answers: {
      200: { schema: deviceLogin },
      400: { media: { "application/json": loginError } },
    },
    isOpen: true,
  },
  {
    id: "fetchLoginToken",
    method: "post",
    path: "/login/token/",
    summary: "Fetch the token of a login that was confirmed (RFC 8628)",
    description:
      "Until it is decided, the error is authorization_pending. The token allows no more than the login of who " +
      "confirmed it, and ends with that, after 30 days at most.",
    body: { schema: tokenQuestion, media: FORMS },
    answers: {
      200: { schema: loginToken },
      400: { media: { "application/json": loginError } },
    },
    isOpen: true,
  },
  {
    id: "revokeLoginToken",
    method: "post",
    path: "/login/revoke/",
    summary: "Revoke the token of such a login (RFC 7009)",
    description: "The answer is the same for a text that is no such token.",
    body: { schema: revokeQuestion, media: FORMS },
    answers: { 200: {} },
    isOpen: true,
  },
  {
    id: "getDescription",
    method: "get",
    path: "/openapi.json",
    summary: "Read this OpenAPI document",
    answers: { 200: {} },
    isOpen: true,
  },
  {
    id: "getDocs",
    method: "get",
    path: "/docs/",
    summary: "Read a page that lists the operations",
    answers: { 200: { media: { "text/html": text } } },
    isOpen: true,
  },
  {
    id: "getMetrics",
    method: "get",
    path: "/metrics",
    summary: "Read the metrics for Prometheus",
    description: "They tell of all triggers: a token that is limited to some gets 403.",
    answers: { 200: plainText },
    isAtRoot: true,
  },
  {
    id: "getHealth",
    method: "get",
    path: "/healthz",
    summary: "Check that the service is alive",
    answers: { 200: plainText },
    isOpen: true,
    isAtRoot: true,
  },
  {
    id: "getReadiness",
    method: "get",
    path: "/readyz",
    summary: "Check that the service can accept launches",
    answers: { 200: plainText },
    isOpen: true,
    isAtRoot: true,
  },
];
