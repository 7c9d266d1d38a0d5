/**
 * A condition that a request is signed with an HMAC (RFC 2104), as a provider does or in a way of
 * its own.
 *
 * @module
 */
import { z } from "zod";
import type { Problem } from "../platform/errors.ts";
import type { Check, CheckedKind, ConditionContext, ConditionSettings } from "./condition.ts";
import type { Field } from "./field.ts";
import {
  describeMissing,
  refuseWithoutSecrets,
  resolveSecrets,
  type Secrets,
  secretText,
  standsForSecret,
} from "./secret.ts";
import { secretsSchema } from "./secret_schema.ts";
import { settingsObject } from "./settings.ts";
import { isMac, macMatcher } from "./signing/algorithms.ts";
import { decodeSecret } from "./signing/keys.ts";
import { presetSchema } from "./signing/preset_schema.ts";
import { hmacPresets } from "./signing/presets/mod.ts";
import { type MacAlgorithm, type Scheme, schemeShape, signatureFields } from "./signing/scheme.ts";
import { checkScheme, fillGeneralForm, reviewTimestamp, schemeOf } from "./signing/settings.ts";
import { prepareVerifier } from "./signing/verify.ts";
import { isTimestamp } from "./timestamp.ts";

const ALGORITHMS = ["sha1", "sha256", "sha384", "sha512"] as const;

const schema = settingsObject({
  type: z.literal("hmac"),
  preset: presetSchema("hmac"),
  algorithm: z.enum(ALGORITHMS).optional().describe("The hash of the HMAC"),
  ...schemeShape,
  secrets: secretsSchema,
}).superRefine((settings, context) => checkScheme(settings, context, hmacPresets, ALGORITHMS))
  .overwrite((settings) => fillGeneralForm(settings, "hex"));

/** The settings of an HMAC condition. */
export type HmacSettings = z.infer<typeof schema>;

/** A signature over the body and what else the scheme names, made with a secret. */
export const hmac = {
  type: "hmac",
  stage: "authentication",
  schema,
  review,
  credentials: (settings: HmacSettings): Field[] => signatureFields(hmacScheme(settings)),
  prepare,
} satisfies CheckedKind<HmacSettings>;

/** The whole scheme of an HMAC condition. */
export function hmacScheme(settings: HmacSettings): Scheme & { algorithm: MacAlgorithm } {
  const scheme = schemeOf(settings, hmacPresets);
  if (!isMac(scheme.algorithm)) throw new TypeError(`No algorithm of an HMAC: ${scheme.algorithm}`);
  return { ...scheme, algorithm: scheme.algorithm };
}

/** The secrets of an HMAC condition, as the scheme writes its keys. */
export function hmacSecrets(
  settings: HmacSettings,
  env: (name: string) => string | undefined,
): Secrets {
  const scheme = hmacScheme(settings);
  return resolveSecrets(settings.secrets, env, (text) => decodeSecret(text, scheme));
}

function review(settings: HmacSettings, siblings: readonly ConditionSettings[]): Problem[] {
  const scheme = hmacScheme(settings);
  const problems = reviewTimestamp(scheme, siblings);
  settings.secrets.map(secretText).forEach((secret, index) => {
    if (standsForSecret(secret) || decodeSecret(secret, scheme)?.length) return;
    const detail = scheme.key_encoding === "utf8"
      ? "Expected a secret, found nothing behind its prefix"
      : `Expected a secret in ${scheme.key_encoding}, found another string`;
    problems.push({ pointer: `/secrets/${index}`, detail });
  });
  return problems;
}

function prepare(settings: HmacSettings, context: ConditionContext): Check {
  const scheme = hmacScheme(settings);
  const secrets = hmacSecrets(settings, context.env);
  // Only settings that were stored without a review can have such a problem.
  const [problem] = reviewTimestamp(scheme, context.siblings);
  const unusable = refuseWithoutSecrets(secrets) ?? (problem && { reason: problem.detail });
  if (unusable) return () => unusable;
  return prepareVerifier(scheme, {
    matches: macMatcher(scheme.algorithm, secrets.usable.map(({ bytes }) => bytes)),
    siblingTimestamp: context.siblings.find(isTimestamp),
    hint: describeMissing(secrets),
  });
}
