/**
 * The operators' tokens. Only hashes are stored.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { keys } from "./keys.ts";
import type { Store } from "./store.ts";

/** What is known of a token. */
export interface AdminToken {
  name: string;
  /** RFC 3339. */
  created_at: string;
}

/** The SHA-256 of a token, in hex. Tokens are random, so one round is enough. */
export function tokenHash(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** Reads what is known of a token; undefined when it is not one. */
export async function getToken(store: Store, token: string): Promise<AdminToken | undefined> {
  return (await store.kv.get<AdminToken>(keys.token(tokenHash(token)))).value ?? undefined;
}

/** Whether any token is stored. */
export async function hasTokens(store: Store): Promise<boolean> {
  for await (const _ of store.kv.list({ prefix: ["token"] }, { limit: 1 })) return true;
  return false;
}

/** Makes a token and stores its hash; the token itself is in nobody's hands but the caller's. */
export async function createToken(store: Store, token: AdminToken): Promise<string> {
  const secret = `hl_${
    crypto.getRandomValues(new Uint8Array(32)).toBase64({
      alphabet: "base64url",
      omitPadding: true,
    })
  }`;
  await store.committer.write([{ key: keys.token(tokenHash(secret)), value: token }]);
  return secret;
}
