/**
 * The fields that several kinds of targets have.
 *
 * @module
 */
import { z } from "zod";
import { secretTextSchema } from "../../conditions/settings.ts";
import { FetchError } from "../../platform/network/fetch_errors.ts";
import { isReference } from "../../triggers/secrets.ts";
import { SECRET_MASK } from "../../conditions/secret.ts";

const URL_LENGTH_MAX = 4_096;
const SECRET_LENGTH_MAX = 4_096;

/** The schema of a secret: a literal, `{env:NAME}` or `{file:PATH}`. */
export const secretField = secretTextSchema(SECRET_LENGTH_MAX);

/** The schema of `private_networks`. */
export const privateNetworks = z.boolean().exactOptional().describe(
  "Addresses that are not public are allowed",
);

/** The schema of the address of a service. */
export const urlField = z.string().max(URL_LENGTH_MAX).refine(isHttpUrl, {
  error: "Expected a URL that begins with https:// or http://, without a user name and a password",
});

/** The schema of an address that is a secret itself: who knows it can write there. */
export const secretUrlField = secretField.refine(
  (text) => isReference(text) || text === SECRET_MASK || isHttpUrl(text),
  { error: "Expected a URL that begins with https:// or http://, {env:NAME} or {file:PATH}" },
).describe("Who knows it can write there: it is kept encrypted, and never shown");

/**
 * Returns the text of a secret.
 *
 * @throws {FetchError} when it cannot be had
 */
export function revealed(
  secret: string,
  field: string,
  reveal: (secret: string) => string | undefined,
): string {
  const text = reveal(secret)?.trim();
  if (text !== undefined && text !== "") return text;
  throw new FetchError(
    `${field} cannot be used: its variable is not set, its file cannot be read, or it was stored with another key`,
  );
}

/**
 * Returns a URL that is a secret.
 *
 * @throws {FetchError} when it cannot be had, or is none
 */
export function revealedUrl(
  secret: string,
  reveal: (secret: string) => string | undefined,
): string {
  const url = revealed(secret, "to/url", reveal);
  if (isHttpUrl(url)) return url;
  throw new FetchError("to/url stands for a text that is no URL");
}

function isHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && ["http:", "https:"].includes(url.protocol) && url.username === "" &&
    url.password === "";
}
