/**
 * The people who have logged in at an identity provider, with the access that their last login there gave.
 *
 * @module
 */
import { hash } from "node:crypto";
import type { Write } from "../commit/change.ts";
import { removeInBatches } from "../commit/chunked.ts";
import { keys } from "../keys.ts";
import { readValue, scan } from "../read/scan.ts";
import type { Store } from "../store.ts";
import type { Scope } from "./tokens.ts";

/** A person. All times are RFC 3339. */
export interface Person {
  issuer: string;
  /** The identifier at the issuer: it is never given to another person. */
  subject: string;
  /** The verified email address, or the name at the issuer. */
  name: string;
  scope: Scope;
  triggers?: string[];
  projects?: string[];
  /** The key of the provider, and the revision of its settings that has decided on the access. */
  provider: string;
  revision: string;
  /** The access ends then, unless the person logs in at the issuer again. */
  expires_at: string;
}

/** Returns the key of a person: a SHA-256 in hex. */
export function personKey({ issuer, subject }: Pick<Person, "issuer" | "subject">): string {
  return hash("sha256", `${issuer}\0${subject}`);
}

/** Reads a person; undefined when there is none, or the record is damaged. */
export async function getPerson(store: Store, key: string): Promise<Person | undefined> {
  const value = await readValue(store.kv, keys.person(key));
  return isPerson(value) ? value : undefined;
}

/** Stores a person. It resolves when the record is on disk. */
export async function putPerson(store: Store, person: Person): Promise<void> {
  await store.committer.write([{ key: keys.person(personKey(person)), value: person }]);
}

/** Removes a person: sessions, passkeys and tokens that rest on the login open nothing from then on. */
export async function removePerson(store: Store, key: string): Promise<void> {
  await store.committer.write([{ key: keys.person(key) }]);
}

/** Removes the people whose access ended before a time, and returns their number. Who logs in meanwhile stays. */
export async function removeFormerPeople(
  { store, signal }: { store: Store; signal: AbortSignal },
  before_ms: number,
): Promise<number> {
  return await removeInBatches<never>({ store, signal, renewed: "person" }, async () => {
    const writes: Write[] = [];
    for await (const { key, value } of scan(store.kv, ["person"])) {
      if (!isPerson(value) || Date.parse(value.expires_at) <= before_ms) writes.push({ key });
    }
    return { writes, count: writes.length, next: undefined };
  });
}

function isPerson(value: unknown): value is Person {
  const { issuer, subject, name, scope, provider, revision, expires_at } = Object(value);
  return [issuer, subject, name, scope, provider, revision, expires_at]
    .every((each) => typeof each === "string");
}
