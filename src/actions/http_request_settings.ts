/**
 * The settings of the action `http_request`.
 *
 * @module
 */
import { z } from "zod";
import { HEADER_NAME } from "../conditions/field.ts";
import { oneSecretSchema } from "../conditions/settings.ts";
import { isCredentialName } from "../platform/network/credential_names.ts";
import { refuseField } from "../platform/schema/schema.ts";
import { commonFields } from "./values.ts";

export const URL_LENGTH_MAX = 4_096;
export const VALUE_LENGTH_MAX = 4_096;
export const HEADERS_MAX = 32;
export const BODY_LENGTH_MAX = 32 * 1024;
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
const TIMEOUT_S_MAX = 300;
/** The longest wait for work elsewhere: 30 days. */
const WAIT_S_MAX = 30 * 24 * 60 * 60;
/** The time that a wait has by default. */
export const WAIT_S = 60 * 60;
/** Headers that belong to the connection, or that the service sets itself. */
const OWN_HEADERS = [
  "connection",
  "content-length",
  "expect",
  "host",
  "idempotency-key",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

const expressionSchema = z.string().min(1).max(4_096);
const urlSchema = z.string().min(1).max(URL_LENGTH_MAX);
const waitTimeoutSchema = z.number().min(1).max(WAIT_S_MAX).default(WAIT_S).describe(
  "Seconds from the answer to the end of the wait",
);

const headerSchema = z.union([
  z.string().max(VALUE_LENGTH_MAX),
  z.strictObject({
    secret: oneSecretSchema.describe("Kept encrypted, and never shown"),
    prefix: z.string().max(256).optional().describe("The text before it, such as `Bearer `"),
  }),
]);

const waitSchema = z.union([
  z.enum(["none", "callback"]),
  z.strictObject({ callback: z.strictObject({ timeout: waitTimeoutSchema }) }),
  z.strictObject({
    poll: z.strictObject({
      /** The URL that tells how far the work is; `answer` is the answer to the request. */
      url: urlSchema,
      /** True when the work is done; `answer` is the answer to the poll. */
      until: expressionSchema,
      /** Seconds between two polls. */
      every: z.number().min(1).max(3_600).default(10),
      timeout: waitTimeoutSchema,
    }),
  }),
], { error: "Expected none, callback, or { poll: { url, until } }" });

/** The schema of the settings. */
export const httpRequestSchema = z.strictObject({
  type: z.literal("http_request"),
  ...commonFields,
  method: z.enum(METHODS).default("POST"),
  url: urlSchema,
  headers: z.record(
    z.string().max(256).regex(HEADER_NAME, { error: "Expected the name of a header" }),
    headerSchema,
  ).default({}),
  /** A text is sent as it is, anything else as JSON, or as a form where the content type says so. */
  body: z.json().optional(),
  /** Signs each attempt as a provider does. */
  sign: z.strictObject({
    preset: z.string().min(1).max(64),
    secret: oneSecretSchema.describe("The secret, or the private key; kept encrypted"),
  }).optional(),
  /** Seconds for each attempt. */
  timeout: z.number().min(1).max(TIMEOUT_S_MAX).default(30),
  retry: z.strictObject({
    attempts: z.int().min(1).max(20).default(5),
    first: z.number().min(0).max(3_600).default(2).describe("Seconds before the second attempt"),
    factor: z.number().min(1).max(10).default(2).describe("Growth of the pause"),
  }).prefault({}),
  /** Addresses that are not public are allowed. */
  private_networks: z.boolean().optional(),
  /** True where what came back says that the work has failed. */
  failed: expressionSchema.optional(),
  wait: waitSchema.default("none"),
}).superRefine((settings, context) => {
  const names = Object.entries(settings.headers);
  if (names.length > HEADERS_MAX) {
    refuseField(context, ["headers"], `Expected at most ${HEADERS_MAX} headers`);
  }
  for (const [name, value] of names) {
    const lower = name.toLowerCase();
    if (OWN_HEADERS.includes(lower)) {
      refuseField(
        context,
        ["headers", name],
        "Must not be set: the service sets it, or none is sent",
      );
    } else if (typeof value === "string" && isCredentialName(lower)) {
      refuseField(
        context,
        ["headers", name],
        'Expected { secret: "…" }, with prefix: "Bearer " where one is needed, found a text that would not be encrypted',
      );
    }
  }
  if (new Set(names.map(([name]) => name.toLowerCase())).size < names.length) {
    refuseField(context, ["headers"], "Must not have a header twice");
  }
  if (settings.body !== undefined && ["GET", "HEAD"].includes(settings.method)) {
    refuseField(context, ["body"], `Must not stand beside the method ${settings.method}`);
  }
  const { body = "" } = settings;
  // A text is sent as it is, without the quotes of JSON.
  const sent = typeof body === "string" ? body : JSON.stringify(body);
  if (sent.length > BODY_LENGTH_MAX) {
    refuseField(context, ["body"], `Expected at most ${BODY_LENGTH_MAX} characters`);
  }
});

/** The settings of an action that sends an HTTP request. */
export type HttpRequestSettings = z.infer<typeof httpRequestSchema>;
