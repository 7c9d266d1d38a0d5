/**
 * The condition `jwt`: a request carries a JSON Web Token (RFC 7519) of a trusted issuer.
 *
 * @module
 */
import type { Problem } from "../platform/errors.ts";
import type { Check, HeadCheck } from "./check.ts";
import type { CheckedKind, ConditionContext, SecretForm, TriggerFacts } from "./condition.ts";
import type { CredentialField } from "./field.ts";
import { longestSecret } from "./jwt/algorithms.ts";
import { jwtSchema, type JwtSettings } from "./jwt/settings.ts";
import { signsBody } from "./signing/coverage.ts";
import { type SigningContext, type SigningStep, STEP_ORDER } from "./signing/draft.ts";

/** A token that an issuer signed. */
export const jwt = {
  type: "jwt",
  stage: "authentication",
  schema: jwtSchema,
  secretForm({ algorithms }: JwtSettings): SecretForm {
    const need = longestSecret(algorithms);
    return need === undefined ? {} : { need };
  },
  credentials: (settings: JwtSettings): CredentialField[] => [settings],
  warnings,
  prepare: async (settings: JwtSettings, context: ConditionContext): Promise<Check> =>
    (await import("./jwt/check.ts")).jwtCheck(settings, context),
  beforeBody: async (settings: JwtSettings): Promise<HeadCheck | undefined> =>
    (await import("./jwt/check.ts")).jwtHeadCheck(settings),
  sign: (settings: JwtSettings, context: SigningContext): SigningStep[] => [
    {
      order: settings.body_hash ? STEP_ORDER.signatureOverBody : STEP_ORDER.beforeSigning,
      run: async () => (await import("./jwt/sign.ts")).putJwt(settings, context),
    },
  ],
} satisfies CheckedKind<JwtSettings>;

/** A token says who sends. Without the hash of the body in it, it goes with any body. */
function warnings({ body_hash }: JwtSettings, { schemes }: TriggerFacts): Problem[] {
  if (body_hash !== undefined || schemes.some(signsBody)) return [];
  const detail =
    "The token does not sign the body: whoever has seen one can send another body with it until it expires. " +
    "Where the issuer puts the hash of the body into a claim, name that in body_hash; where it does not, " +
    "body_hash: false says so";
  return [{ pointer: "", detail }];
}
