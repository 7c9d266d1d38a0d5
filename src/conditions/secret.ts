/**
 * Secrets: their settings, and the only place where they are compared. The one exception is the HMAC of a
 * JWT, which jose leaves to WebCrypto's `verify`.
 *
 * @module
 */
import { hash } from "node:crypto";
import { timingSafeEqual } from "@std/crypto/timing-safe-equal";
import type { Refusal } from "./check.ts";
import { readSecretFile } from "../platform/files/secret_file.ts";

/** The setting of a secret that is in an environment variable. */
export const VARIABLE = /^\{env:([A-Za-z_][A-Za-z0-9_]*)\}$/;

/** The setting of a secret that is in a file, by its absolute path. */
export const SECRET_FILE = /^\{file:(\/[^{}\0]*[^{}\0/])\}$/;

/** The text that the API shows in place of a stored secret. Writing it back keeps the stored one. */
export const SECRET_MASK = "********";

/** Tells whether a text stands for a secret that is in the environment, in a file, or stored. */
export function standsForSecret(text: string): boolean {
  return VARIABLE.test(text) || SECRET_FILE.test(text) || text === SECRET_MASK;
}

/** The setting of a secret: a literal, `{env:NAME}` or `{file:PATH}`, with or without a name and an end date. */
export type SecretSetting = string | {
  readonly name?: string | undefined;
  readonly value?: string | undefined;
  /** The earlier name of `value`. */
  readonly secret?: string | undefined;
  readonly until?: string | undefined;
};

/** Returns the secret of a setting, without its name and end date. */
export function secretText(setting: SecretSetting): string {
  return typeof setting === "string" ? setting : setting.value ?? setting.secret ?? "";
}

/** Returns the time at which a secret ends, in milliseconds since the epoch; Infinity without an end date. */
export function secretEnd_ms(setting: SecretSetting): number {
  const until = typeof setting === "string" ? undefined : setting.until;
  return until === undefined ? Infinity : Date.parse(until);
}

interface Secret {
  readonly bytes: Uint8Array;
  /** The SHA-256 of the bytes. */
  readonly digest: Uint8Array;
}

/** The secrets of one condition. */
export interface Secrets {
  /** The secrets that can match. None of them is empty. */
  readonly usable: readonly Secret[];
  /** The environment variables that are not set, empty or blank. */
  readonly missing: readonly string[];
  /** The files that cannot be read, are empty or blank. */
  readonly unreadable: readonly string[];
  /** The number of secrets that could not be decoded. */
  readonly malformed: number;
}

/**
 * Resolves the secrets of a condition's settings. One that is empty, missing or malformed matches nothing.
 * Secrets that have ended are no longer in the settings of a prepared trigger.
 *
 * @param decode decodes a secret's text, or returns undefined; UTF-8 by default
 */
export function resolveSecrets(
  settings: readonly SecretSetting[],
  env: (name: string) => string | undefined,
  decode: (text: string) => Uint8Array | undefined = (text) => new TextEncoder().encode(text),
): Secrets {
  const usable: Secret[] = [];
  const missing: string[] = [];
  const unreadable: string[] = [];
  let malformed = 0;
  for (const setting of settings) {
    const written = secretText(setting);
    const text = resolveSecret(written, env);
    const variable = VARIABLE.exec(written)?.[1];
    const file = SECRET_FILE.exec(written)?.[1];
    if (text) {
      const bytes = decode(text);
      if (bytes === undefined || bytes.length === 0) malformed++;
      else usable.push({ bytes, digest: hash("sha256", bytes, "buffer") });
    } else if (variable !== undefined) {
      missing.push(variable);
    } else if (file !== undefined) {
      unreadable.push(file);
    }
  }
  return { usable, missing, unreadable, malformed };
}

/**
 * Reads a secret where its setting says that it is. Undefined where a variable is not set, or a file cannot be
 * read, or either is empty or blank.
 */
export function resolveSecret(
  written: string,
  env: (name: string) => string | undefined,
): string | undefined {
  const variable = VARIABLE.exec(written)?.[1];
  if (variable !== undefined) return valueOf(variable, env);
  const file = SECRET_FILE.exec(written)?.[1];
  return file === undefined ? written : readSecretFile(file);
}

/** Reads an environment variable; undefined where it is not set, empty or blank. */
export function valueOf(
  variable: string,
  env: (name: string) => string | undefined,
): string | undefined {
  const text = env(variable);
  return text?.trim() ? text : undefined;
}

/** Refuses every request where no secret can be used. */
export function refuseWithoutSecrets(secrets: Secrets): Refusal | undefined {
  if (secrets.usable.length > 0) return undefined;
  return {
    reason: `No secret can be used${describeMissing(secrets) || ": all are empty or have ended"}`,
  };
}

/** Says which secrets cannot be used, to end a reason with; empty where all can. */
export function describeMissing({ missing, unreadable, malformed }: Secrets): string {
  const parts: string[] = [];
  if (missing.length === 1) parts.push(`environment variable ${missing[0]} is not set`);
  if (missing.length > 1) parts.push(`environment variables ${missing.join(", ")} are not set`);
  for (const path of unreadable) parts.push(`file ${path} cannot be read, or is empty`);
  if (malformed > 0) parts.push(`${malformed} cannot be decoded`);
  return parts.length === 0 ? "" : `: ${parts.join("; ")}`;
}

/**
 * Tells whether a token is one of the secrets. It compares digests, so that the time tells nothing of the
 * secrets' content or length.
 */
export function isSecret(token: Uint8Array, secrets: Secrets): boolean {
  return isAnyOf(hash("sha256", token, "buffer"), secrets.usable.map(({ digest }) => digest));
}

/**
 * Tells whether the bytes are one of the candidates, in a time that depends on their number and lengths
 * alone: all are compared, also after one that is equal.
 */
export function isAnyOf(bytes: Uint8Array, candidates: readonly Uint8Array[]): boolean {
  let found = false;
  for (const candidate of candidates) {
    const equal = bytes.length === candidate.length && timingSafeEqual(bytes, candidate);
    found = equal || found;
  }
  return found;
}
