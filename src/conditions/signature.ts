/**
 * The condition `signature`: a request is signed with a private key, whose public key is known.
 *
 * @module
 */
import type { KeyObject } from "node:crypto";
import { z } from "zod";
import { messageOf, type Problem } from "../platform/errors.ts";
import { refuseField } from "../platform/schema/schema.ts";
import type { Check, HeadCheck } from "./check.ts";
import type { CheckedKind, ConditionContext, TriggerFacts } from "./condition.ts";
import type { Field } from "./field.ts";
import { publicKeySchema, settingsObject } from "./settings.ts";
import { type Maker, signatureMaker, signatureMatcher } from "./signing/algorithms.ts";
import { Certificates } from "./signing/certificates.ts";
import { prepareCertified } from "./signing/certified.ts";
import { CannotSignError, type SigningContext, type SigningStep } from "./signing/draft.ts";
import { readSigningKey, readVerificationKey } from "./signing/keys.ts";
import type { Preset } from "./signing/preset.ts";
import { signaturePresets } from "./signing/presets/mod.ts";
import {
  type Scheme,
  schemeShape,
  SIGNATURE_ALGORITHMS,
  type SignatureAlgorithm,
  signatureFields,
} from "./signing/scheme.ts";
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

const KEYS_MAX = 8;

const schema = settingsObject({
  type: z.literal("signature"),
  preset: presetSchema("signature"),
  algorithm: z.enum(SIGNATURE_ALGORITHMS).optional().describe("The algorithm of the signature"),
  signature_format: z.enum(["der", "raw"]).optional().describe(
    "The form of a signature by ecdsa_p256: ASN.1 DER, or 32 bytes of r and 32 of s",
  ),
  ...schemeShape,
  public_keys: z.array(publicKeySchema).min(1).max(KEYS_MAX).optional().describe(
    "Public keys of which any one may match: as the provider shows them, PEM or JWK; needed, but with " +
      "a preset whose requests name a certificate of the provider",
  ),
  identity: z.string().min(1).max(256).optional().describe(
    "With such a preset, the provider's name for what sends, such as the ARN of a topic of SNS",
  ),
}).superRefine((settings, context) => {
  checkScheme(settings, context, signaturePresets, SIGNATURE_ALGORITHMS);
  const scheme = schemeOf(settings, signaturePresets);
  if (scheme.algorithm === undefined) return;
  checkKeySource(settings, scheme, context);
  settings.public_keys?.forEach((setting, index) => {
    const key = readVerificationKey(setting, scheme);
    if (typeof key !== "string") return;
    refuseField(context, ["public_keys", index], key);
  });
}).overwrite((settings) => fillGeneralForm(settings, "base64"));

/** The settings of a signature condition. */
export type SignatureSettings = z.infer<typeof schema>;

/** A signature made with a private key. */
export const signature = {
  type: "signature",
  stage: "authentication",
  schema,
  review: (settings: SignatureSettings, { times }: TriggerFacts): Problem[] =>
    reviewTimestamp(signatureScheme(settings), times),
  warnings: (settings: SignatureSettings, { schemes }: TriggerFacts): Problem[] =>
    warnOfScheme(signatureScheme(settings), settings, schemes),
  credentials: (settings: SignatureSettings): Field[] => signatureFields(signatureScheme(settings)),
  preset: ({ preset }: SignatureSettings): Preset | undefined =>
    preset === undefined ? undefined : signaturePresets[preset],
  scheme: signatureScheme,
  deliveryId: (settings: SignatureSettings): Field | undefined =>
    signatureScheme(settings).delivery_id,
  prepare,
  beforeBody: (settings: SignatureSettings): HeadCheck | undefined =>
    prepareHeadCheck(signatureScheme(settings)),
  sign(settings: SignatureSettings, context: SigningContext): SigningStep[] {
    const scheme = signatureScheme(settings);
    return signingSteps(scheme, () => makers(scheme, context), context);
  },
} satisfies CheckedKind<SignatureSettings>;

/** Returns the whole scheme of a signature condition. */
export function signatureScheme(
  settings: Omit<SignatureSettings, "public_keys">,
): Scheme & { algorithm: SignatureAlgorithm } {
  const scheme = schemeOf(settings, signaturePresets);
  const algorithm = SIGNATURE_ALGORITHMS.find((name) => name === scheme.algorithm);
  if (algorithm === undefined) throw new TypeError(`No signature algorithm: ${scheme.algorithm}`);
  return { ...scheme, algorithm };
}

/** Demands keys, or the identity where the requests name a certificate. */
function checkKeySource(
  { preset, public_keys, identity }: Pick<SignatureSettings, "preset" | "public_keys" | "identity">,
  { certificate }: Scheme,
  context: z.RefinementCtx,
): void {
  const refuse = (name: string, message: string) => refuseField(context, [name], message);
  if (certificate === undefined) {
    if (public_keys === undefined) refuse("public_keys", "Expected at least one public key");
    if (identity !== undefined) {
      refuse("identity", "Must only stand beside a preset that names a certificate");
    }
    return;
  }
  const title = signaturePresets[preset ?? ""]?.title;
  if (public_keys !== undefined) {
    refuse("public_keys", `Must not stand beside this preset: ${title} names its certificate`);
  }
  if (identity === undefined) {
    refuse("identity", `Expected the name that ${title} has for what sends, such as a topic's ARN`);
  }
}

function prepare(settings: SignatureSettings, context: ConditionContext): Check {
  const scheme = signatureScheme(settings);
  if (scheme.certificate) {
    return prepareCertified(scheme, scheme.certificate, new Certificates(context), {
      timeField: context.times[0],
      runSerially: context.runSerially,
    });
  }
  const keys = (settings.public_keys ?? []).map((setting) => readVerificationKey(setting, scheme))
    .filter((key): key is KeyObject => typeof key !== "string");
  // Only settings that were stored without a review can have such a problem.
  const [problem] = reviewTimestamp(scheme, context.times);
  if (problem) return () => ({ reason: problem.detail });
  return prepareVerifier(scheme, {
    matcher: signatureMatcher(scheme, keys),
    timeField: context.times[0],
    hint: "",
    runSerially: context.runSerially,
  });
}

function makers(scheme: Scheme, { privateKeys }: SigningContext): Maker[] {
  const reasons: string[] = [];
  const keys = privateKeys.flatMap((setting): KeyObject[] => {
    try {
      return [readSigningKey(setting, scheme)];
    } catch (error) {
      reasons.push(messageOf(error));
      return [];
    }
  });
  if (keys.length > 0) return keys.map((key) => signatureMaker(scheme, key));
  throw new CannotSignError(
    `Cannot sign with ${scheme.algorithm}: the trigger knows the public key, and signing takes the ` +
      `private one${reasons.length > 0 ? ` (${reasons.join("; ")})` : ""}`,
  );
}
