/**
 * The condition `hmac`: a request is signed with an HMAC (RFC 2104), by a provider's scheme or one of its own.
 *
 * @module
 */
import { z } from "zod";
import type { Problem } from "../platform/errors.ts";
import type { Check, HeadCheck } from "./check.ts";
import type { CheckedKind, ConditionContext, SecretForm, TriggerFacts } from "./condition.ts";
import type { Field } from "./field.ts";
import type { LaunchRequest } from "./request.ts";
import {
  describeMissing,
  refuseWithoutSecrets,
  resolveSecrets,
  type Secrets,
  secretText,
  standsForSecret,
} from "./secret.ts";
import { secretsSchema, settingsObject } from "./settings.ts";
import { isMac, macMaker, macMatcher, type Maker } from "./signing/algorithms.ts";
import { CannotSignError, type SigningContext, type SigningStep } from "./signing/draft.ts";
import { decodeSecret } from "./signing/keys.ts";
import type { Preset } from "./signing/preset.ts";
import { hmacPresets } from "./signing/presets/mod.ts";
import { type MacAlgorithm, type Scheme, schemeShape, signatureFields } from "./signing/scheme.ts";
import {
  checkScheme,
  fillGeneralForm,
  presetSchema,
  reviewTimestamp,
  schemeOf,
  warnOfScheme,
} from "./signing/settings.ts";
import { signingSteps } from "./signing/sign.ts";
import { prepareHeadCheck, prepareVerifier } from "./signing/verify.ts";

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

/** A signature made with a shared secret. */
export const hmac = {
  type: "hmac",
  stage: "authentication",
  schema,
  review,
  warnings: (settings: HmacSettings, { schemes }: TriggerFacts): Problem[] =>
    warnOfScheme(hmacScheme(settings), settings, schemes),
  credentials: (settings: HmacSettings): Field[] => signatureFields(hmacScheme(settings)),
  secretForm(settings: HmacSettings): SecretForm {
    const scheme = hmacScheme(settings);
    return { decode: (text) => decodeSecret(text, scheme) };
  },
  preset: ({ preset }: HmacSettings): Preset | undefined =>
    preset === undefined ? undefined : hmacPresets[preset],
  scheme: hmacScheme,
  deliveryId: (settings: HmacSettings): Field | undefined => hmacScheme(settings).delivery_id,
  handshakeKey,
  prepare,
  beforeBody: (settings: HmacSettings): HeadCheck | undefined =>
    prepareHeadCheck(hmacScheme(settings)),
  sign: (settings: HmacSettings, context: SigningContext): SigningStep[] =>
    signingSteps(hmacScheme(settings), () => makers(settings, context), context),
} satisfies CheckedKind<HmacSettings>;

/** Returns the whole scheme of an HMAC condition. */
export function hmacScheme(settings: HmacSettings): Scheme & { algorithm: MacAlgorithm } {
  const scheme = schemeOf(settings, hmacPresets);
  if (!isMac(scheme.algorithm)) throw new TypeError(`No algorithm of an HMAC: ${scheme.algorithm}`);
  return { ...scheme, algorithm: scheme.algorithm };
}

function secretsOf(settings: HmacSettings, { env }: Pick<ConditionContext, "env">): Secrets {
  const scheme = hmacScheme(settings);
  return resolveSecrets(settings.secrets, env, (text) => decodeSecret(text, scheme));
}

function review(settings: HmacSettings, { times }: TriggerFacts): Problem[] {
  const scheme = hmacScheme(settings);
  const problems = reviewTimestamp(scheme, times);
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
  const secrets = secretsOf(settings, context);
  // Only settings that were stored without a review can have such a problem.
  const [problem] = reviewTimestamp(scheme, context.times);
  const unusable = refuseWithoutSecrets(secrets) ?? (problem && { reason: problem.detail });
  if (unusable) return () => unusable;
  return prepareVerifier(scheme, {
    matcher: macMatcher(scheme.algorithm, secrets.usable.map(({ bytes }) => bytes)),
    timeField: context.times[0],
    hint: describeMissing(secrets),
    refusesTokens: context.signsTokens,
    runSerially: context.runSerially,
  });
}

/**
 * Only the secret that signed the request may sign the answer. A provider that signs nothing when it asks has
 * the first one.
 */
function handshakeKey(
  { secrets, ...others }: HmacSettings,
  context: ConditionContext,
): (request: LaunchRequest) => Promise<Uint8Array | undefined> {
  const each = secrets.map((secret) => {
    const own = { ...others, secrets: [secret] };
    return { check: prepare(own, context), key: secretsOf(own, context).usable[0]?.bytes };
  });
  return async (request) => {
    for (const { check, key } of each) {
      if (await check(request) === undefined) return key;
    }
    return each.find(({ key }) => key !== undefined)?.key;
  };
}

function makers(settings: HmacSettings, context: SigningContext): Maker[] {
  const { algorithm } = hmacScheme(settings);
  const secrets = secretsOf(settings, context);
  const unusable = refuseWithoutSecrets(secrets);
  if (unusable) throw new CannotSignError(unusable.reason);
  return secrets.usable.map(({ bytes }) => macMaker(algorithm, bytes));
}
