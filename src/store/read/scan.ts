/**
 * Reads records that may be damaged. A value that the database cannot decode makes the whole read fail. One
 * damaged record must not hide the others, so such a read is split.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { Buffer } from "node:buffer";
import { messageOf } from "../../platform/errors.ts";

const TEXT_LENGTH_MAX = 256;
const ASCII_MAX = 0x7f;
const SURROGATES_START = 0xd800;
const SURROGATES = 0x800;
/** The last place of a character that another one comes behind. */
const PLACE_MAX = 0x10ffff - SURROGATES - 1;
/** Entries of one scan that may be removed by others meanwhile. */
const MISSED_MAX = 100;

const log = getLogger(["hooklaunch", "store"]);

/** A stored value, which is what its type says once it has been looked at. */
export interface FoundEntry {
  key: Deno.KvKey;
  /** Undefined when the database cannot decode it. */
  value: unknown;
  /** Of the commit that has stored it, where that is known. */
  versionstamp?: string;
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

/** The value of an entry, if it is what it must be; otherwise the log says so. */
export function whole<T>(
  { key, value }: FoundEntry,
  isWhole: (value: unknown) => value is T,
): T | undefined {
  if (isWhole(value)) return value;
  logDamage(key);
  return undefined;
}

/** Reads a value that is what it must be; undefined when there is none, or, as the log says, another. */
export async function readWhole<T>(
  kv: Deno.Kv,
  key: Deno.KvKey,
  isWhole: (value: unknown) => value is T,
): Promise<T | undefined> {
  const value = await readValue(kv, key);
  return value === null ? undefined : whole({ key, value }, isWhole);
}

/** Says that a record does not hold what it must. */
export function logDamage(key: Deno.KvKey): void {
  log.error("The record {key} is damaged", { key: key.map(String).join("/") });
}

/** Options of {@linkcode scan}. */
interface ScanOptions {
  /** Look only behind this id. */
  after?: string | undefined;
  /** Look only behind this key. */
  last?: Deno.KvKey | undefined;
  /** Entries that are read at a time. */
  batchSize?: number;
  /** The most key parts after the prefix by which entries differ. Each is a text or a whole number. */
  ids?: number;
}

/**
 * All entries under a prefix whose next part is a text or a whole number, in their order, those that cannot be decoded
 * among them.
 */
export async function* scan(
  kv: Deno.Kv,
  prefix: Deno.KvKey,
  { after, last = after === undefined ? undefined : [...prefix, after], batchSize = 100, ids = 1 }:
    ScanOptions = {},
): AsyncGenerator<FoundEntry> {
  let missed = 0;
  for (;;) {
    try {
      for await (
        const { key, value, versionstamp } of kv.list(behind(prefix, last), { batchSize })
      ) {
        last = key;
        yield { key, value, versionstamp };
      }
      return;
    } catch (error) {
      if (!isUndecodable(error)) throw error;
    }
    // It was in the batch to come: what is before it comes one by one, until it is the next itself.
    if (await fails(kv, behind(prefix, last))) {
      let found = await findUndecodable(kv, prefix, last);
      for (let id = 1; found && id < ids && !await isDamaged(kv, found); id++) {
        // Others of the same first id may come before it.
        const isBegun = last?.[found.length - 1] === found.at(-1);
        found = await findUndecodable(kv, found, isBegun ? last : undefined);
      }
      if (found) {
        last = found;
        yield { key: last, value: undefined };
      } else if (++missed > MISSED_MAX) {
        throw new RangeError(`Cannot decode what is stored under ${prefix.join("/")}`);
      }
    } else {
      for await (
        const { key, value, versionstamp } of kv.list(behind(prefix, last), { limit: 1 })
      ) {
        last = key;
        yield { key, value, versionstamp };
      }
    }
  }
}

/** Selects the keys under a prefix, after a given one. No key has `true` where that one ends. */
export function behind(prefix: Deno.KvKey, last: Deno.KvKey | undefined): Deno.KvListSelector {
  return last === undefined ? { prefix } : { prefix, start: [...last, true] };
}

/** Selects the keys under a prefix whose next part is an id, up to and without a given id. */
export function upTo(prefix: Deno.KvKey, end: string | undefined): Deno.KvListSelector {
  return end === undefined ? { prefix } : { prefix, end: [...prefix, end] };
}

/**
 * The key of the next entry, which cannot be decoded, up to the part behind the prefix. The database does not tell it
 * either, so it is searched: it is the first entry behind the last, so what ends behind it cannot be read, and what
 * ends before it is empty. Undefined when it is neither a text nor a whole number, or was removed meanwhile.
 */
async function findUndecodable(
  kv: Deno.Kv,
  prefix: Deno.KvKey,
  last?: Deno.KvKey,
): Promise<Deno.KvKey | undefined> {
  // Numbers come behind texts.
  const isBehind = typeof last?.[prefix.length] === "number";
  const text = isBehind ? undefined : await findText(kv, prefix, last);
  return text ?? await findNumber(kv, prefix, last);
}

/** Finds a text character by character. */
async function findText(
  kv: Deno.Kv,
  prefix: Deno.KvKey,
  last?: Deno.KvKey,
): Promise<Deno.KvKey | undefined> {
  const start = last === undefined ? prefix : [...last, true];
  const from = String(last?.[prefix.length] ?? "");
  const isUpTo = async (end: string) =>
    // The database wants no range that ends before it begins.
    isBefore(from, end) && await fails(kv, { start, end: [...prefix, end] });
  let text = "";
  for (let length = 0; length < TEXT_LENGTH_MAX; length++) {
    const isUpToPlace = (place: number) => isUpTo(text + characterAt(place + 1));
    // Most texts are ids.
    const range = await isUpToPlace(ASCII_MAX) ? [0, ASCII_MAX] : [ASCII_MAX + 1, PLACE_MAX];
    const place = await least(range, isUpToPlace);
    // What holds of none leads to the last of all.
    if (place === PLACE_MAX && !await isUpToPlace(place)) return undefined;
    text += characterAt(place);
    if (await isUpTo(`${text}\0`)) return [...prefix, text];
  }
  return undefined;
}

/** Returns the character at a place in the order of their bytes, in which there are no surrogates. */
function characterAt(place: number): string {
  return String.fromCodePoint(place < SURROGATES_START ? place : place + SURROGATES);
}

/** Compares texts as the database sorts them, which is by their bytes. */
function isBefore(one: string, other: string): boolean {
  return Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0;
}

/** Finds a whole number. */
async function findNumber(
  kv: Deno.Kv,
  prefix: Deno.KvKey,
  last?: Deno.KvKey,
): Promise<Deno.KvKey | undefined> {
  const start = last === undefined ? prefix : [...last, true];
  const from = last?.[prefix.length];
  const isUpTo = (end: number) => fails(kv, { start, end: [...prefix, end, true] });
  // What is neither comes before it.
  if (typeof from !== "number" && await isUpTo(-1)) return undefined;
  const range = [typeof from === "number" ? from + 1 : 0, Number.MAX_SAFE_INTEGER] as const;
  const found = await least(range, isUpTo);
  return await isUpTo(found) ? [...prefix, found] : undefined;
}

/** The first number of a range that something holds of, as it does of all behind it. */
async function least(
  [low = 0, high = 0]: readonly number[],
  holds: (number: number) => Promise<boolean>,
): Promise<number> {
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    if (await holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Returns true when a value is stored under a key, even a damaged one. */
export async function isStored(kv: Deno.Kv, key: Deno.KvKey): Promise<boolean> {
  try {
    return (await kv.get(key)).versionstamp !== null;
  } catch (error) {
    if (!isUndecodable(error)) throw error;
    return true;
  }
}

/** Returns true when the value under a key cannot be decoded. */
export async function isDamaged(kv: Deno.Kv, key: Deno.KvKey): Promise<boolean> {
  try {
    await kv.get(key);
    return false;
  } catch (error) {
    if (!isUndecodable(error)) throw error;
    return true;
  }
}

/** Returns true when the first entry of a selection cannot be decoded. */
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
