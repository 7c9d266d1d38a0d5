/**
 * The credentials of the header Authorization: HTTP Basic (RFC 7617), and schemes before tokens.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { Refusal } from "./check.ts";
import type { RequestHead } from "./request.ts";
import { isAnyOf } from "./secret.ts";
import { decode } from "./signing/encoding.ts";

const COLON = 0x3a;
/** The name of the scheme is not case-sensitive (RFC 9110 section 11.1). */
const CREDENTIALS = /^basic +(\S+)$/i;
/** A prefix that is the name of a scheme. */
const SCHEME = /^(?:basic|bearer|token) $/i;

/**
 * Removes the prefix of a token. It must match exactly, but the schemes Basic, Bearer and Token in any case.
 *
 * @returns the rest of the text; undefined where it does not begin with the prefix
 */
export function withoutPrefix(text: string, prefix: string): string | undefined {
  const start = text.slice(0, prefix.length);
  const isSame = start === prefix ||
    (SCHEME.test(prefix) && start.toLowerCase() === prefix.toLowerCase());
  return isSame ? text.slice(prefix.length) : undefined;
}

/**
 * Reads the password of HTTP Basic. The credentials are split at the first colon: a password may contain
 * others.
 *
 * @param username the required username; undefined for any
 * @returns the bytes of the one password, or why there is none
 */
export function readBasic(
  { headers }: Pick<RequestHead, "headers">,
  username: string | undefined,
): Uint8Array[] | Refusal {
  const text = headers.get("authorization");
  if (text === null) return { reason: "Header Authorization is missing" };
  const encoded = CREDENTIALS.exec(text)?.[1];
  if (encoded === undefined) return { reason: "Header Authorization is not of the scheme Basic" };
  const credentials = decode(encoded, "base64");
  if (!credentials?.includes(COLON)) {
    return { reason: "Header Authorization holds no username and password" };
  }
  const colon = credentials.indexOf(COLON);
  const given = credentials.subarray(0, colon);
  if (username !== undefined && !isAnyOf(given, [Buffer.from(username)])) {
    return { reason: "Header Authorization holds another username" };
  }
  return [credentials.subarray(colon + 1)];
}

/** Writes the value of the header Authorization. */
export function writeBasic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}
