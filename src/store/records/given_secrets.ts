/**
 * The secrets that executions were given, encrypted. They are kept until an execution has ended, so that its log is
 * masked whatever has become of the project's secrets since.
 *
 * @module
 */
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import { isUndecodable, logDamage, scan } from "../read/scan.ts";
import type { Store } from "../store.ts";

/** Limit of the secrets of one execution together, in bytes of UTF-8. */
export const GIVEN_BYTES_MAX = 128 * 1024;

const CHUNK_LENGTH = 60_000;
/** Base64 is a third longer. */
const CHUNKS_MAX = Math.ceil(GIVEN_BYTES_MAX * 4 / 3 / CHUNK_LENGTH) + 1;
const BESIDE_BYTES = 64;

/** The writes that store the secrets of an execution, in the place of earlier ones. */
export function givenSecretsWrites(executionId: string, sealed: string): Write[] {
  return Array.from({ length: CHUNKS_MAX }, (_, index): Write => {
    const key = keys.givenSecrets(executionId, index);
    const value = sealed.slice(index * CHUNK_LENGTH, (index + 1) * CHUNK_LENGTH);
    return value === "" ? { key } : { key, value, bytes: value.length + BESIDE_BYTES };
  });
}

/** The writes that remove them. */
export function removeGivenSecretsWrites(executionId: string): Write[] {
  return givenSecretsWrites(executionId, "");
}

/** Reads the secrets of an execution, encrypted; undefined when there are none. */
export async function getGivenSecrets(
  store: Store,
  executionId: string,
): Promise<string | undefined> {
  const prefix = ["given_secrets", executionId];
  let sealed = "";
  try {
    for await (const { value } of store.kv.list<unknown>({ prefix })) {
      if (typeof value !== "string") throw new TypeError("Expected text");
      sealed += value;
    }
  } catch (error) {
    if (!(error instanceof TypeError) && !isUndecodable(error)) throw error;
    logDamage(prefix);
    return undefined;
  }
  return sealed === "" ? undefined : sealed;
}

/** Yields the ids of the executions that have secrets. */
export async function* executionsWithSecrets(store: Store): AsyncGenerator<string> {
  let last: unknown;
  for await (const { key: [, id] } of scan(store.kv, ["given_secrets"])) {
    if (id !== last) yield String(id);
    last = id;
  }
}
