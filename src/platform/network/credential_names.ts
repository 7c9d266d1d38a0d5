/**
 * The names of headers and parameters that carry credentials: one list for everything that is kept, shown
 * or logged of a request.
 *
 * @module
 */

/** The words that say that a header or parameter carries a credential. */
const CREDENTIAL_WORD =
  /^(?:auth|bearer|hmac\w*|jwt|otp|pwd|passphrase|passcode|sig|sign|(?:j|php)?sess(?:ion)?id)$|(?:authorization|authentication|token|secret|password|passwd|signature|apikey|accesskey|cookie|credentials?)$/;
/** The words before `key` that make it a credential. */
const KEY_WORDS = new Set([
  "access",
  "account",
  "api",
  "auth",
  "functions",
  "integration",
  "master",
  "private",
  "routing",
  "secret",
  "service",
  "shared",
  "signing",
  "subscription",
  "webhook",
  "write",
]);
/** Headers that carry credentials although their names do not say so. */
const CREDENTIAL_HEADERS = new Set(["verif-hash", "x-amzn-oidc-data", "x-plaid-verification"]);

/** The parts of names that may stand for a credential, and mostly do not. */
const RESEMBLING =
  /auth|bearer|token|key|secret|sig|cookie|pass|pwd|cred|sess|hmac|digest|jwt|otp|hash|code/i;

/**
 * Returns true for the name of a header or parameter that carries a credential, such as `apiKey`.
 *
 * @param certainty `possibly` takes names in that only resemble one: a sender that is refused may have put its
 * credential at a place of another name
 */
export function isCredentialName(
  name: string,
  certainty: "surely" | "possibly" = "surely",
): boolean {
  if (CREDENTIAL_HEADERS.has(name) || certainty === "possibly" && RESEMBLING.test(name)) {
    return true;
  }
  const words = name.replace(/([a-z\d])([A-Z])/g, "$1_$2").toLowerCase().split(/[^a-z\d]+/);
  return words.some((word, index) =>
    CREDENTIAL_WORD.test(word) ||
    (word === "key" && KEY_WORDS.has(words[index - 1] ?? "")) ||
    (word === "id" && words[index - 1] === "session")
  );
}
