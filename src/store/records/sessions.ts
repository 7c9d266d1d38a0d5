/**
 * The sessions of operators in the console. Only hashes of their secrets are stored.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import { readValue, scan } from "../read/scan.ts";
import type { Grant } from "./passkeys.ts";
import type { Store } from "../store.ts";

/** A session. It allows what its grounds allow, as long as they do. All times are RFC 3339. */
export interface Session extends Grant {
  /** The beginning of the hash of its secret. */
  id: string;
  /** The encrypted ID token, by which the issuer knows which of its sessions to end. */
  id_token?: string;
  created_at: string;
  expires_at: string;
  remote_ip: string;
  /** The browser, as it names itself. */
  user_agent: string;
}

const ID_LENGTH = 16;
const SECRET_BYTES = 32;
/** The most sessions at once. For the next, the oldest one ends of whoever has the most: a program that logs in often. */
const SESSIONS_MAX = 1_000;

/** Returns the grounds of a session. */
export function grantOf({ token_hash, person = "", passkey }: Session): Grant {
  return {
    ...(token_hash === undefined ? { person } : { token_hash }),
    ...(passkey !== undefined && { passkey }),
  };
}

/** Opens a session, and returns its secret. It resolves when the session is on disk. */
export async function createSession(store: Store, made: Omit<Session, "id">): Promise<string> {
  const secret = crypto.getRandomValues(new Uint8Array(SECRET_BYTES)).toHex();
  const hashed = secretHash(secret);
  const session: Session = { id: idOf(hashed), ...made };
  const all = await listSessions(store);
  const over = Math.max(0, all.length + 1 - SESSIONS_MAX);
  const byGrounds = Map.groupBy(all, ({ token_hash, person }) => token_hash ?? person);
  const most = [...byGrounds.values()].reduce((a, b) => b.length > a.length ? b : a, []);
  const oldest = most.toSorted((a, b) => a.created_at < b.created_at ? -1 : 1).slice(0, over);
  for (const { id } of oldest) await removeSession(store, id);
  await store.committer.write([{ key: keys.session(hashed), value: session }]);
  return secret;
}

/** Reads the session of a secret; undefined when there is none, or its record is damaged. */
export async function getSession(store: Store, secret: string): Promise<Session | undefined> {
  const value = await readValue(store.kv, keys.session(secretHash(secret)));
  return isSession(value) ? value : undefined;
}

/** Lists all sessions, those that have expired among them. */
export async function listSessions(store: Store): Promise<Session[]> {
  const found: Session[] = [];
  for await (const { value } of scan(store.kv, ["session"])) {
    if (isSession(value)) found.push(value);
  }
  return found;
}

/**
 * Ends a session.
 *
 * @returns false when there is none of this id
 */
export async function removeSession(store: Store, id: string): Promise<boolean> {
  for await (const { key } of scan(store.kv, ["session"])) {
    if (idOf(String(key[1])) !== id) continue;
    await store.committer.write([{ key }]);
    return true;
  }
  return false;
}

/** Removes the sessions that expired before a time, and returns their number. */
export async function removeExpiredSessions(store: Store, now_ms: number): Promise<number> {
  const expired: Write[] = [];
  for await (const { key, value } of scan(store.kv, ["session"])) {
    if (!isSession(value) || Date.parse(value.expires_at) <= now_ms) expired.push({ key });
  }
  await store.committer.writeInParts(expired);
  return expired.length;
}

function secretHash(secret: string): string {
  return hash("sha256", secret);
}

function idOf(hashed: string): string {
  return hashed.slice(0, ID_LENGTH);
}

function isSession(value: unknown): value is Session {
  const { id, token_hash, person, created_at, expires_at } = Object(value);
  return [id, token_hash ?? person, created_at, expires_at]
    .every((each) => typeof each === "string");
}
