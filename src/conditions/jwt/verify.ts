/**
 * Verifying a JWT with one key, and explaining why it fails.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { errors, type JWTPayload, jwtVerify, type JWTVerifyOptions } from "@panva/jose";
import { truncate } from "../../platform/text/display.ts";
import { messageOf } from "../../platform/errors.ts";
import type { Refusal } from "../check.ts";
import type { VerificationKey } from "./key_finder.ts";

const SHOWN_CHARACTERS_MAX = 200;

/** The requirements for a token. */
interface Expectations {
  algorithms: readonly string[];
  issuer?: string | string[] | undefined;
  audience?: string | string[] | undefined;
  /** The values of claims; null where any value will do. */
  claims?: Record<string, unknown> | undefined;
  /** The greatest age of the token, in seconds; `exp` is needed without it. */
  max_age?: number | undefined;
  /** A token need have no time at all; `exp` counts where there is one. */
  without_exp?: boolean | undefined;
  /** The tolerated error of the sender's clock, in seconds. */
  leeway: number;
}

/** The refusal of a token that another key may have signed. */
export const WRONG_SIGNATURE: Refusal = { reason: "The signature of the token is wrong" };

/**
 * Verifies the signature of a token in compact form, then its claims: `exp`, which it must have where no age is
 * expected, `nbf`, and `iss`, `aud` and others where they are expected.
 *
 * @param now_ms the current time, in milliseconds since the epoch
 * @returns undefined when the token is valid
 */
export async function verifyToken(
  token: string,
  key: VerificationKey,
  expectations: Expectations,
  now_ms: number,
): Promise<Refusal | undefined> {
  const { algorithms, issuer, audience, leeway, max_age, without_exp, claims = {} } = expectations;
  const options: JWTVerifyOptions = {
    algorithms: [...algorithms],
    requiredClaims: without_exp === true ? [] : [max_age === undefined ? "exp" : "iat"],
    ...(max_age !== undefined && { maxTokenAge: max_age }),
    clockTolerance: leeway,
    currentDate: new Date(now_ms),
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  };
  try {
    const { payload } = await jwtVerify(token, key, options);
    return checkClaims(payload, claims);
  } catch (error) {
    return explain(error, options);
  }
}

function checkClaims(payload: JWTPayload, claims: Record<string, unknown>): Refusal | undefined {
  for (const [name, expected] of Object.entries(claims)) {
    if (!Object.hasOwn(payload, name)) return { reason: `The token has no claim '${name}'` };
    if (expected === null || isDeepStrictEqual(payload[name], expected)) continue;
    return {
      reason: `The claim '${name}' of the token does not hold`,
      expected: shown(expected),
      found: shown(payload[name]),
    };
  }
  return undefined;
}

/** Explains an error of jose, which checks claims only after the signature. */
function explain(error: unknown, options: JWTVerifyOptions): Refusal {
  if (error instanceof errors.JWSSignatureVerificationFailed) return WRONG_SIGNATURE;
  if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed) {
    const { claim, payload, reason } = error;
    if (reason === "missing") return { reason: `The token has no claim '${claim}'` };
    return {
      reason: error instanceof errors.JWTExpired
        ? "The token has expired"
        : `The claim '${claim}' of the token does not hold`,
      expected: expectedOf(claim, options),
      found: shown(payload[claim]),
    };
  }
  return { reason: `The token cannot be verified: ${messageOf(error)}` };
}

function expectedOf(claim: string, options: JWTVerifyOptions): string {
  const now_s = Math.floor(Number(options.currentDate) / 1000);
  const leeway = `with ${options.clockTolerance} s of leeway`;
  switch (claim) {
    case "iss":
      return shown(options.issuer);
    case "aud":
      return shown(options.audience);
    case "exp":
      return `a number after ${now_s}, ${leeway}`;
    case "iat":
      return `a number from ${now_s - Number(options.maxTokenAge)} to ${now_s}, ${leeway}`;
    case "nbf":
      return `a number not after ${now_s}, ${leeway}`;
    default:
      return "a number";
  }
}

/** Writes a value as JSON, truncated where it is long. */
function shown(value: unknown): string {
  return truncate(JSON.stringify(value) ?? "nothing", SHOWN_CHARACTERS_MAX);
}
