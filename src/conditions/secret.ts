/**
 * Secrets: where they come from, and the only comparisons of them that there are. An HMAC of a JWT
 * is the one exception: `jwt_verify.ts` leaves it to WebCrypto's `verify`.
 *
 * @module
 */
import { hash } from "node:crypto";
import { timingSafeEqual } from "@std/crypto/timing-safe-equal";
import type { Refusal } from "./check.ts";

/** A secret that is in an environment variable. */
export const VARIABLE = /^\{env:([A-Za-z_][A-Za-z0-9_]*)\}$/;

/** What the API shows in place of a stored secret. Writing it back keeps what is stored. */
export const SECRET_MASK = "********";

/** Whether a text only stands for a secret that is elsewhere: in the environment, or stored. */
export function standsForSecret(text: string): boolean {
  return VARIABLE.test(text) || text === SECRET_MASK;
}

/** A secret as settings have it: a literal or `{env:NAME}`, with or without an end date. */
export type SecretSetting = string | { readonly secret: string; readonly until: string };

/** The secret of a setting, without its end date. */
export function secretText(setting: SecretSetting): string {
  return typeof setting === "string" ? setting : setting.secret;
}

/** When a secret ends, in milliseconds since the epoch; never, where it has no end date. */
export function secretEnd_ms(setting: SecretSetting): number {
  return typeof setting === "string" ? Infinity : Date.parse(setting.until);
}

/** One secret. */
export interface Secret {
  readonly bytes: Uint8Array;
  /** The SHA-256 of the bytes. */
  readonly digest: Uint8Array;
}

/** The secrets of one condition. */
export interface Secrets {
  /** Those that can match; never empty ones. */
  readonly usable: readonly Secret[];
  /** The environment variables that are not set, empty or blank. */
  readonly missing: readonly string[];
  /** How many could not be decoded. */
  readonly malformed: number;
}

/**
 * Looks up the secrets of a condition's settings, of which those that have ended are left out before.
 * One that is empty, missing or malformed matches nothing.
 *
 * @param decode makes a secret's bytes from its text, undefined when it cannot; UTF-8 by default
 */
export function resolveSecrets(
  settings: readonly SecretSetting[],
  env: (name: string) => string | undefined,
  decode: (text: string) => Uint8Array | undefined = (text) => new TextEncoder().encode(text),
): Secrets {
  const usable: Secret[] = [];
  const missing: string[] = [];
  let malformed = 0;
  for (const setting of settings) {
    const written = secretText(setting);
    const variable = VARIABLE.exec(written)?.[1];
    const text = variable === undefined ? written : valueOf(variable, env);
    if (text) {
      const bytes = decode(text);
      if (bytes === undefined || bytes.length === 0) malformed++;
      else usable.push({ bytes, digest: hash("sha256", bytes, "buffer") });
    } else if (variable !== undefined) {
      missing.push(variable);
    }
  }
  return { usable, missing, malformed };
}

/** The value of an environment variable; undefined where it is not set, empty or blank. */
export function valueOf(
  variable: string,
  env: (name: string) => string | undefined,
): string | undefined {
  const text = env(variable);
  return text?.trim() ? text : undefined;
}

/** Why a condition can let no request pass: none of its secrets can be used. */
export function refuseWithoutSecrets(secrets: Secrets): Refusal | undefined {
  if (secrets.usable.length > 0) return undefined;
  return {
    reason: `No secret can be used${describeMissing(secrets) || ": all are empty or have ended"}`,
  };
}

/** Which secrets cannot be used, to end a reason with; empty when all can. */
export function describeMissing({ missing, malformed }: Secrets): string {
  const parts: string[] = [];
  if (missing.length === 1) parts.push(`environment variable ${missing[0]} is not set`);
  if (missing.length > 1) parts.push(`environment variables ${missing.join(", ")} are not set`);
  if (malformed > 0) parts.push(`${malformed} cannot be decoded`);
  return parts.length === 0 ? "" : `: ${parts.join("; ")}`;
}

/**
 * Whether a token is one of the secrets. Digests are compared, so that the time tells nothing of
 * the secrets' content, nor of their length.
 */
export function isSecret(token: Uint8Array, secrets: Secrets): boolean {
  return isAnyOf(hash("sha256", token, "buffer"), secrets.usable.map(({ digest }) => digest));
}

/**
 * Whether the bytes are one of the candidates, in a time that depends on their number and lengths
 * alone: all are compared, even when an early one is equal.
 */
export function isAnyOf(bytes: Uint8Array, candidates: readonly Uint8Array[]): boolean {
  let found = false;
  for (const candidate of candidates) {
    const equal = bytes.length === candidate.length && timingSafeEqual(bytes, candidate);
    found = equal || found;
  }
  return found;
}
