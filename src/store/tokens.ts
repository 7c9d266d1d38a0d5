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

/** A stored token, as operators see it. */
export interface ListedToken extends AdminToken {
  /** The beginning of its hash: enough to tell it from others, and nothing to guess it by. */
  id: string;
}

const ID_LENGTH = 16;

/** The SHA-256 of a token, in hex. Tokens are random, so one round is enough. */
export function tokenHash(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** The id by which a token is listed and removed. */
export function tokenId(token: string): string {
  return tokenHash(token).slice(0, ID_LENGTH);
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

/** All stored tokens. */
export async function listTokens(store: Store): Promise<ListedToken[]> {
  const found: ListedToken[] = [];
  for await (const { key, value } of store.kv.list<AdminToken>({ prefix: ["token"] })) {
    found.push({ id: String(key[1]).slice(0, ID_LENGTH), ...value });
  }
  return found;
}

/**
 * Removes a token: from now on nobody gets in with it.
 *
 * @returns false when there is none of this id
 */
export async function removeToken(store: Store, id: string): Promise<boolean> {
  for await (const { key } of store.kv.list({ prefix: ["token"] })) {
    if (String(key[1]).slice(0, ID_LENGTH) !== id) continue;
    await store.committer.write([{ key }]);
    return true;
  }
  return false;
}
