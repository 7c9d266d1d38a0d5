/** Names of headers and parameters that carry credentials, and those that only resemble them. */
import { assertEquals } from "@std/assert";
import { isCredentialName } from "../../../src/platform/network/credential_names.ts";

const CREDENTIALS = [
  ...[
    "access",
    "account",
    "functions",
    "integration",
    "master",
    "private",
    "routing",
    "service",
    "shared",
    "signing",
    "webhook",
    "write",
  ].map((word) => `x-${word}-key`),
  "access_token",
  "accessToken",
  "accesstoken",
  "apiKey",
  "api_key",
  "apikey",
  "auth",
  "bearer",
  "authorization",
  "client_secret",
  "cookie",
  "hmac",
  "ocp-apim-subscription-key",
  "passphrase",
  "password",
  "phpsessid",
  "pwd",
  "sessid",
  "sessionId",
  "sig",
  "user[password]",
  "verif-hash",
  "x-amz-credential",
  "x-amz-signature",
  "x-auth-key",
  "x-hub-signature-256",
  "x-shopify-hmac-sha256",
  "x-square-hmacsha256-signature",
  "x-telegram-bot-api-secret-token",
];
const OTHERS = [
  "author",
  "code",
  "content-digest",
  "design",
  "hash",
  "key",
  "keyword",
  "max_tokens",
  "partition_key",
  "secretary",
  "session",
  "signed_off_by",
  "tokenizer",
  "x-promo-code",
];

/** Those that are masked where a request was refused. */
const SUSPECTS = ["author", "code", "content-digest", "design", "hash", "key", "Pass", "session"];

Deno.test("a name that says so carries a credential, one that only resembles it does not", () => {
  const named = [...CREDENTIALS, ...OTHERS].filter((name) => isCredentialName(name));
  assertEquals(named, CREDENTIALS);
  // What is masked where a request was accepted is masked where one was refused.
  const suspects = [...CREDENTIALS, ...SUSPECTS];
  assertEquals(suspects.filter((name) => isCredentialName(name, "possibly")), suspects);
  for (const name of ["ref", "event", "delivery", "page", "x-model"]) {
    assertEquals(isCredentialName(name, "possibly"), false, name);
  }
});
