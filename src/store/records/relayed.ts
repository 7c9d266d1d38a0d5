/**
 * Messages between instances that reach each other by their database alone. None of them decides anything: an
 * instance that stores nothing any more may still have written one, and each is forgotten after a while.
 *
 * @module
 */
import { keys } from "../keys.ts";

/** The length of a part: a value has at most 64 KiB. */
const PART_BYTES = 60_000;
/** A message that nobody has read by then has no reader. */
const KEPT_MS = 60_000;
/** The parts that are read at once. */
const READ_MAX = 10;

/** A message's place: that of the requests to an instance, or that of answers. */
type Place = { to: string } | "answer";

/** Stores a message. Whoever looks for it finds it whole. */
export async function putRelayed(
  kv: Deno.Kv,
  id: string,
  place: Place,
  text: string,
): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  const count = Math.ceil(bytes.length / PART_BYTES);
  const kind = kindOf(place);
  await Promise.all(Array.from({ length: count }, (_, index) => {
    const part = bytes.slice(index * PART_BYTES, (index + 1) * PART_BYTES);
    return kv.set(keys.relayPart(kind, id, index), part, { expireIn: KEPT_MS });
  }));
  await kv.set(keyOf(id, place), count, { expireIn: KEPT_MS });
}

/** Lists the ids of the requests to an instance. */
export async function relayedTo(kv: Deno.Kv, to: string): Promise<string[]> {
  const found = await Array.fromAsync(kv.list({ prefix: ["relay_request", to] }));
  return found.map(({ key }) => String(key.at(-1)));
}

/** Reads a message, and removes it; undefined when there is none. */
export async function takeRelayed(
  kv: Deno.Kv,
  id: string,
  place: Place,
): Promise<string | undefined> {
  const { value: count } = await kv.get<number>(keyOf(id, place));
  if (count === null) return undefined;
  // One process at a time has this id: its only reader.
  await kv.delete(keyOf(id, place));
  const kind = kindOf(place);
  const all = Array.from({ length: count }, (_, index) => keys.relayPart(kind, id, index));
  const parts: Uint8Array[] = [];
  for (let start = 0; start < count; start += READ_MAX) {
    const some = all.slice(start, start + READ_MAX);
    const entries = await kv.getMany<Uint8Array[]>(some);
    for (const { value } of entries) if (value instanceof Uint8Array) parts.push(value);
    let removal = kv.atomic();
    for (const key of some) removal = removal.delete(key);
    await removal.commit();
  }
  if (parts.length < count) return undefined;
  return await new Blob(parts as Uint8Array<ArrayBuffer>[]).text();
}

function keyOf(id: string, place: Place): Deno.KvKey {
  return place === "answer" ? keys.relayAnswer(id) : keys.relayRequest(place.to, id);
}

function kindOf(place: Place): string {
  return place === "answer" ? "answer" : "request";
}
