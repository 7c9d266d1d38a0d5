/**
 * The operators' tokens. Only hashes are stored.
 *
 * @module
 */
import { hash } from "node:crypto";
import { keys } from "../keys.ts";
import { readValue, scan } from "../read/scan.ts";
import type { Store } from "../store.ts";
import { type Grant, removePasskeysOf } from "./passkeys.ts";

/** The scopes of tokens, from the least to the most. Each includes the ones before it. */
export const SCOPES = ["read", "operate", "admin"] as const;

/** The scope of a token: to read, to run and stop work, or to change everything. */
export type Scope = typeof SCOPES[number];

/** Returns the lesser of two scopes. */
export function lesserScope(one: Scope, other: Scope): Scope {
  return SCOPES.indexOf(one) < SCOPES.indexOf(other) ? one : other;
}

/** A token, without its secret. All times are RFC 3339. */
export interface AdminToken {
  name: string;
  created_at: string;
  /** `admin` when absent, as tokens of earlier versions are. */
  scope?: Scope;
  /** The triggers that it is limited to, by name or id. */
  triggers?: string[];
  /** The projects that it is limited to. */
  projects?: string[];
  /** It opens nothing from then on. */
  expires_at?: string;
  /** The login that has made it: it allows no more than that, and ends with it. */
  granted_by?: Grant;
}

/** A stored token, as operators see it. */
export interface ListedToken extends AdminToken {
  /** The beginning of its hash: enough to tell it from others, and nothing to guess it by. */
  id: string;
  /** Known to a minute; absent when it was never used. */
  last_used_at?: string;
}

const ID_LENGTH = 16;
/** The substitute for a token whose record is damaged. It opens nothing. */
const DAMAGED: AdminToken = { name: "(damaged)", created_at: new Date(0).toISOString() };

/** The SHA-256 of a token, in hex. Tokens are random, so one round is enough. */
export function tokenHash(token: string): string {
  return hash("sha256", token);
}

/** The id by which a token is listed and removed, from its hash. */
export function tokenId(hash: string): string {
  return hash.slice(0, ID_LENGTH);
}

/** Reads what is known of a token by its hash; undefined when it is not one, or its record is damaged. */
export async function getToken(store: Store, hash: string): Promise<AdminToken | undefined> {
  const value = await readValue(store.kv, keys.token(hash));
  return isToken(value) ? value : undefined;
}

/** Returns true when any token is stored. */
export async function hasTokens(store: Store): Promise<boolean> {
  for await (const _ of scan(store.kv, ["token"])) return true;
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

/** All stored tokens, those among them whose records are damaged: they can be removed. */
export async function listTokens(store: Store): Promise<ListedToken[]> {
  const found: ListedToken[] = [];
  for await (const { key, value } of scan(store.kv, ["token"])) {
    const hash = String(key[1]);
    const used = await readValue(store.kv, keys.tokenUsed(hash));
    found.push({
      id: tokenId(hash),
      ...(isToken(value) ? value : DAMAGED),
      ...(typeof used === "string" && { last_used_at: used }),
    });
  }
  return found;
}

/** Lists the tokens that a login has made. */
export async function listGranted(store: Store, grant: Grant): Promise<ListedToken[]> {
  return (await listTokens(store)).filter(({ granted_by }) =>
    granted_by !== undefined && granted_by.token_hash === grant.token_hash &&
    granted_by.person === grant.person && granted_by.passkey === grant.passkey
  );
}

/** Removes the tokens of logins that ended before a time, and returns their number. */
export async function removeExpiredGranted(store: Store, now_ms: number): Promise<number> {
  const expired = (await listTokens(store)).filter(({ granted_by, expires_at = "" }) =>
    granted_by !== undefined && Date.parse(expires_at) <= now_ms
  );
  for (const { id } of expired) await removeToken(store, id);
  return expired.length;
}

/**
 * Removes a token: from now on nobody gets in with it.
 *
 * @returns false when there is none of this id
 */
export async function removeToken(store: Store, id: string): Promise<boolean> {
  for await (const { key } of scan(store.kv, ["token"])) {
    if (tokenId(String(key[1])) !== id) continue;
    await store.committer.write([{ key }, { key: keys.tokenUsed(String(key[1])) }]);
    await removePasskeysOf(store, String(key[1]));
    const granted = (await listTokens(store)).filter(({ granted_by }) =>
      granted_by?.token_hash === String(key[1])
    );
    for (const each of granted) await removeToken(store, each.id);
    return true;
  }
  return false;
}

/** Stores when a token was last used. */
export async function noteTokenUse(store: Store, hash: string, at: string): Promise<void> {
  await store.intake.write([{ key: keys.tokenUsed(hash), value: at }]);
}

function isToken(value: unknown): value is AdminToken {
  const { name, created_at } = Object(value);
  return typeof name === "string" && typeof created_at === "string";
}
