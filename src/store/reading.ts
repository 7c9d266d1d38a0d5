/**
 * Reading what may be damaged. A value that the database cannot decode makes the whole read fail, and
 * with it every value that is read along: one damaged record must not hide the others.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../errors.ts";

/** The characters of an id, in the order of their bytes. */
const ID_CHARACTERS = "-0123456789abcdef";
const ID_LENGTH = 36;

const log = getLogger(["hooklaunch", "store"]);

/** A stored value, which is what its type says once it has been looked at. */
export interface FoundEntry {
  key: Deno.KvKey;
  /** Undefined when the database cannot decode it. */
  value: unknown;
}

/** Reads a value, or null when there is none or it cannot be decoded. */
export async function readValue(kv: Deno.Kv, key: Deno.KvKey): Promise<unknown> {
  try {
    return (await kv.get(key)).value;
  } catch (error) {
    if (!isUndecodable(error)) throw error;
    logDamage(key);
    return null;
  }
}

/** Reads the first value under a prefix, or null when there is none or it cannot be decoded. */
export async function readFirst(kv: Deno.Kv, prefix: Deno.KvKey): Promise<unknown> {
  try {
    const [entry] = await Array.fromAsync(kv.list({ prefix }, { limit: 1 }));
    return entry?.value ?? null;
  } catch (error) {
    if (!isUndecodable(error)) throw error;
    logDamage(prefix);
    return null;
  }
}

/** Says that a record does not hold what it must. */
export function logDamage(key: Deno.KvKey): void {
  log.error("The record {key} is damaged", { key: key.map(String).join("/") });
}

/** How a {@linkcode scan} goes. */
export interface ScanOptions {
  /** Look only behind this id. */
  after?: string | undefined;
  /** How many are read at a time. */
  batchSize?: number;
  /** How many parts of a key come behind the prefix. All are ids. */
  ids?: number;
}

/**
 * All entries under a prefix whose next part is an id, in their order, those that cannot be decoded
 * among them.
 */
export async function* scan(
  kv: Deno.Kv,
  prefix: Deno.KvKey,
  { after, batchSize = 100, ids = 1 }: ScanOptions = {},
): AsyncGenerator<FoundEntry> {
  let last: Deno.KvKey | undefined = after === undefined ? undefined : [...prefix, after];
  for (;;) {
    try {
      for await (const { key, value } of kv.list(behind(prefix, last), { batchSize })) {
        last = key;
        yield { key, value };
      }
      return;
    } catch (error) {
      if (!isUndecodable(error)) throw error;
    }
    // It was in the batch to come: what is before it comes one by one, until it is the next itself.
    if (await fails(kv, behind(prefix, last))) {
      last = await findUndecodable(kv, prefix, last);
      for (let id = 1; id < ids; id++) last = await findUndecodable(kv, last);
      yield { key: last, value: undefined };
    } else {
      for await (const { key, value } of kv.list(behind(prefix, last), { limit: 1 })) {
        last = key;
        yield { key, value };
      }
    }
  }
}

/** What is under a prefix behind a key: no key has `true` where this one ends. */
function behind(prefix: Deno.KvKey, last: Deno.KvKey | undefined): Deno.KvListSelector {
  return last === undefined ? { prefix } : { prefix, start: [...last, true] };
}

/**
 * The key of the next entry, which cannot be decoded. The database does not tell it either, so its id
 * is found digit by digit: the right one begins the first range in which a read fails.
 */
async function findUndecodable(
  kv: Deno.Kv,
  prefix: Deno.KvKey,
  last?: Deno.KvKey,
): Promise<Deno.KvKey> {
  const from = String(last?.[prefix.length] ?? "");
  let id = "";
  while (id.length < ID_LENGTH) {
    const character = await firstOf(ID_CHARACTERS, (next) => {
      const low = `${id}${next}`;
      const high = `${low}\x7f`;
      if (high <= from) return Promise.resolve(false);
      const start = last !== undefined && low <= from ? [...last, true] : [...prefix, low];
      return fails(kv, { start, end: [...prefix, high] });
    });
    if (character === undefined) {
      throw new RangeError(`Cannot decode what is stored under ${prefix.join("/")}`);
    }
    id += character;
  }
  return [...prefix, id];
}

async function firstOf(
  characters: string,
  is: (character: string) => Promise<boolean>,
): Promise<string | undefined> {
  for (const character of characters) if (await is(character)) return character;
  return undefined;
}

/** Whether the first entry of a selection cannot be decoded. */
async function fails(kv: Deno.Kv, selector: Deno.KvListSelector): Promise<boolean> {
  try {
    await Array.fromAsync(kv.list(selector, { limit: 1 }));
    return false;
  } catch (error) {
    if (isUndecodable(error)) return true;
    throw error;
  }
}

/** Deno KV throws a RangeError for a value that is no structured clone. */
export function isUndecodable(error: unknown): boolean {
  return error instanceof RangeError && /deserialize/.test(messageOf(error));
}
