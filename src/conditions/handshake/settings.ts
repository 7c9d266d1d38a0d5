/**
 * The schema of a trigger's handshakes.
 *
 * @module
 */
import { z } from "zod";
import { refuseField } from "../../platform/schema/schema.ts";
import {
  ANSWER_BYTES_MAX,
  answerHeadersSchema,
  answerJsonSchema,
  answerStatusSchema,
  contentTypeSchema,
} from "../answer_schema.ts";
import { oneSecretSchema } from "../settings.ts";
import { handshakePresets } from "../signing/presets/mod.ts";
import { locatedMessage, parseExpression } from "../cel/expression.ts";
import type { CredentialField } from "../field.ts";
import { secretFieldsOf } from "./credentials.ts";
import { compileHandshake, handshakeVariables } from "./expression.ts";
import { isSigning } from "./nodes.ts";
import { compileResponse } from "./response.ts";
import { HANDSHAKE_METHODS } from "./row.ts";

const HANDSHAKES_MAX = 8;
const EXPRESSION_NAMES = Object.keys(handshakeVariables).join(", ");

const common = {
  status: answerStatusSchema,
  headers: answerHeadersSchema,
  content_type: contentTypeSchema,
};

const responseSchema = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("text"),
    text: z.string().max(ANSWER_BYTES_MAX),
    ...common,
  }),
  z.strictObject({ type: z.literal("json"), json: answerJsonSchema, ...common }),
]).describe("The answer; {…} in a string holds an expression of CEL");

const handshakeSchema = z.strictObject({
  preset: z.enum(Object.keys(handshakePresets)).optional().describe(
    "A provider whose handshakes are answered, in place of method, when and response",
  ),
  method: z.enum(HANDSHAKE_METHODS).optional(),
  when: z.string().optional().describe(
    `An expression of CEL over ${EXPRESSION_NAMES} that is true for such a request`,
  ),
  secret: oneSecretSchema.optional().describe(
    "What `secret` in the expressions stands for; compared in constant time",
  ),
  verified: z.boolean().optional().describe(
    "Answered only when the conditions that prove the sender have passed",
  ),
  response: responseSchema.optional(),
}).superRefine((settings, context) => {
  if (context.issues.length > 0) return;
  const { preset } = settings;
  if (preset === undefined) return checkOwn(settings, context);
  for (const name of ["method", "when", "verified", "response"] as const) {
    if (settings[name] !== undefined) {
      refuseField(context, [name], "Must not stand beside `preset`, which brings it");
    }
  }
  if (settings.secret === undefined && needsSecret(preset)) {
    refuseField(context, ["secret"], "Expected the secret that the provider sends when it checks");
  }
});

/** The settings of one handshake. */
type HandshakeSettings = z.infer<typeof handshakeSchema>;

/** The schema of a trigger's handshakes. */
export const handshakesSchema = z.array(handshakeSchema).max(HANDSHAKES_MAX).describe(
  "Answers to a provider that checks whether the URL is listening: they launch nothing",
);

/** Tells whether the handshakes of a preset compare with a secret, or sign for anyone with one: the owner sets it. */
export function needsSecret(preset: string): boolean {
  const rows = handshakePresets[preset]?.handshakes ?? [];
  return rows.some(({ when, verified, response }) =>
    (when !== undefined && compileHandshake(when, true).variables.has("secret")) ||
    (verified !== true && compileResponse(response).isSigning)
  );
}

/** Returns the fields that a trigger's own handshakes compare with a secret. */
export function handshakeCredentials(own: readonly HandshakeSettings[]): CredentialField[] {
  const expressions = own.flatMap(({ preset, when }) =>
    preset === undefined
      ? [when]
      : handshakePresets[preset]?.handshakes.map(({ when }) => when) ?? []
  );
  return expressions.flatMap((when) =>
    when === undefined ? [] : secretFieldsOf(parseExpression(when).expr)
  );
}

function checkOwn(settings: HandshakeSettings, context: z.RefinementCtx): void {
  const { method, when, secret, response } = settings;
  if (method === undefined) {
    refuseField(context, ["method"], `Expected one of ${HANDSHAKE_METHODS.join(", ")}`);
  }
  if (response === undefined) return refuseField(context, ["response"], "Expected the answer");
  let readsSecret = false;
  try {
    readsSecret = when !== undefined && compileHandshake(when, true).variables.has("secret");
  } catch (error) {
    return refuseField(context, ["when"], locatedMessage(error));
  }
  try {
    const { variables, templates } = compileResponse(response);
    readsSecret ||= variables.has("secret") ||
      templates.some(({ expressions }) => expressions.some(({ expr }) => isSigning(expr)));
  } catch (error) {
    return refuseField(context, ["response"], locatedMessage(error));
  }
  if (readsSecret && secret === undefined) {
    refuseField(context, ["secret"], "Expected the secret that the expressions read");
  }
}
