/**
 * The records of the service's certificate: the account, the certificate, challenges under way, and the last failure.
 * Private keys are stored encrypted.
 *
 * @module
 */
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import { readValue, scan } from "../read/scan.ts";
import type { Store } from "../store.ts";

/** A certificate that an authority has issued. */
export interface StoredCertificate {
  names: string[];
  /** The URL of the authority's directory. */
  directory: string;
  /** The chain in PEM. */
  chain: string;
  /** The private key in PEM, encrypted. */
  key: string;
}

/** Orders that have failed since the last one that did not. */
export interface OrderFailure {
  /** The time of the first, RFC 3339. */
  since: string;
  /** The number of orders. */
  count: number;
  /** The reason of the latest. */
  detail: string;
  /** The time of the latest, RFC 3339. */
  failed_at: string;
  /** The time of the next, RFC 3339. */
  next_at: string;
  /** True when the authority has named that time: an order before it would make things worse. */
  is_asked: boolean;
  /** The URL of the authority's directory; absent in records of earlier versions. */
  directory?: string;
}

/** Reads the encrypted key of the account at an authority; undefined when there is none. */
export async function getAccount(store: Store, directory: string): Promise<string | undefined> {
  const value = await readValue(store.kv, keys.acmeAccount(directory));
  return typeof value === "string" ? value : undefined;
}

/** Stores it. */
export async function putAccount(store: Store, directory: string, key: string): Promise<void> {
  await store.committer.write([{ key: keys.acmeAccount(directory), value: key }]);
}

/** Lists the authorities with an account. */
export async function listAccounts(store: Store): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of scan(store.kv, ["acme_account"])) found.push(String(key[1]));
  return found;
}

/** Reads the certificate; undefined when there is none, or its record is damaged. */
export async function getCertificate(store: Store): Promise<StoredCertificate | undefined> {
  const value = await readValue(store.kv, keys.acmeCertificate());
  return isCertificate(value) ? value : undefined;
}

/** Stores a certificate; with it ends what was under way and what failed. */
export async function putCertificate(store: Store, value: StoredCertificate): Promise<void> {
  const left: Write[] = [];
  for await (const { key } of scan(store.kv, ["acme_challenge"])) left.push({ key });
  const bytes = value.chain.length + value.key.length + 1_024;
  await store.committer.write([
    { key: keys.acmeCertificate(), value, bytes },
    { key: keys.acmeFailure() },
    ...left,
  ]);
}

/** Stores the certificate with its key encrypted anew. */
export async function putCertificateKey(store: Store, value: StoredCertificate): Promise<void> {
  const bytes = value.chain.length + value.key.length + 1_024;
  await store.committer.write([{ key: keys.acmeCertificate(), value, bytes }]);
}

/** Reads the last failure; undefined when the last order did not fail. */
export async function getOrderFailure(store: Store): Promise<OrderFailure | undefined> {
  const value = await readValue(store.kv, keys.acmeFailure());
  return isFailure(value) ? value : undefined;
}

/** Stores it. */
export async function putOrderFailure(store: Store, value: OrderFailure): Promise<void> {
  await store.committer.write([{ key: keys.acmeFailure(), value, bytes: 8_192 }]);
}

/** Removes it. */
export async function removeOrderFailure(store: Store): Promise<void> {
  await store.committer.write([{ key: keys.acmeFailure() }]);
}

/** Reads the answer to a challenge (RFC 8555 section 8.3); undefined when there is no such challenge. */
export async function getChallenge(store: Store, token: string): Promise<string | undefined> {
  const value = await readValue(store.kv, keys.acmeChallenge(token));
  return typeof value === "string" ? value : undefined;
}

/** Stores it, or removes it. */
export async function putChallenge(
  store: Store,
  token: string,
  answer: string | undefined,
): Promise<void> {
  await store.committer.write([{ key: keys.acmeChallenge(token), value: answer }]);
}

function isCertificate(value: unknown): value is StoredCertificate {
  const { names, directory, chain, key } = Object(value);
  return Array.isArray(names) && [directory, chain, key].every((each) => typeof each === "string");
}

function isFailure(value: unknown): value is OrderFailure {
  const { since, count, detail, failed_at, next_at } = Object(value);
  return typeof count === "number" &&
    [since, detail, failed_at, next_at].every((each) => typeof each === "string");
}
