/**
 * The records of triggers.
 *
 * @module
 */
import { ConflictError } from "../../platform/errors.ts";
import type { Write } from "../commit/change.ts";
import { keys } from "../keys.ts";
import { triggerChangeWrite } from "../commit/trigger_version.ts";
import { likenessOf } from "../../platform/text/likeness.ts";
import type { Author } from "./audit.ts";
import { withPause } from "../commit/chunked.ts";
import { type Listed, recordOf } from "../read/lists.ts";
import { isStored, readValue, scan } from "../read/scan.ts";
import { recordWrite } from "./record_size.ts";
import { scheduleWrites } from "./schedules.ts";
import type { Store } from "../store.ts";
import type { WrittenKeys } from "../commit/written_keys.ts";

/** Triggers that are read at a time where all are read. */
const PAGE_SIZE = 100;

/** A trigger as it is stored: what its owner wrote, literal secrets encrypted. Times are RFC 3339. */
export interface StoredTrigger {
  id: string;
  name: string;
  created_at: string;
  updated_at: string;
  /** The time at which it came into its project; absent when it was made there. */
  moved_at?: string;
  /** The operator who made it, and the one who changed it last; absent in records of earlier versions. */
  created_by?: Author;
  updated_by?: Author;
  /** The configuration file that it was applied from last; absent for one that only the API has saved. */
  file?: string;
  /** The number of times that it was saved; absent in records of earlier versions, which is 1. */
  revision?: number;
  /** The settings, by the schema in `trigger/trigger.ts`. */
  settings: unknown;
}

/** A trigger that was deleted. Times are RFC 3339. */
interface FormerTrigger {
  id: string;
  name: string;
  /** The project that it was in at last. */
  project: string;
  created_at: string;
  deleted_at: string;
}

/** Reads a trigger; undefined when there is none of this id. */
export async function getStoredTrigger(
  store: Store,
  id: string,
): Promise<StoredTrigger | undefined> {
  // Only triggers are stored under these keys.
  return (await readValue(store.kv, keys.trigger(id)) as StoredTrigger | null) ?? undefined;
}

/** The id of the trigger of this name. */
export async function triggerIdByName(store: Store, name: string): Promise<string | undefined> {
  const id = await readValue(store.kv, keys.triggerName(name));
  return typeof id === "string" ? id : undefined;
}

/**
 * Stores a trigger in place of the one of its id.
 *
 * @throws {ConflictError} when another trigger has its name
 */
export async function putStoredTrigger(store: Store, trigger: StoredTrigger): Promise<void> {
  const holder = await triggerIdByName(store, trigger.name);
  if (holder !== undefined && holder !== trigger.id) {
    throw new ConflictError(`Cannot save the trigger: another one is named "${trigger.name}"`);
  }
  const before = await getStoredTrigger(store, trigger.id);
  const isNamed = before?.name !== trigger.name;
  if (isNamed && await hasAlike(store, trigger)) {
    const detail = `"${trigger.name}" looks like the name of another one`;
    throw new ConflictError(`Cannot save the trigger: ${detail}`);
  }
  const change = await triggerChangeWrite(store.kv, trigger.id);
  await store.committer.write([
    change,
    ...(before && isNamed ? await unnamed(store, before) : []),
    { key: keys.triggerName(trigger.name), value: trigger.id },
    ...(isNamed ? [{ key: likenessKey(trigger), value: trigger.id }] : []),
    ...await scheduleWrites(store, trigger, before?.settings),
    { key: keys.trigger(trigger.id), value: trigger, bytes: 64 * 1024 },
  ]);
}

/**
 * Removes a trigger. Its runs stay until their retention ends; what else it leaves behind is found by
 * {@linkcode triggersWithLeftovers}.
 */
export async function deleteStoredTrigger(
  store: Store,
  { id, name, created_at }: StoredTrigger,
  end: Pick<FormerTrigger, "project" | "deleted_at">,
): Promise<void> {
  const change = await triggerChangeWrite(store.kv, id);
  const former: FormerTrigger = { id, name, created_at, ...end };
  await store.committer.write([
    change,
    recordWrite(keys.formerTrigger(id), former),
    { key: keys.formerName(name, id), value: end.deleted_at },
    ...await unnamed(store, { id, name }),
    { key: keys.schedule(id) },
    { key: keys.trigger(id) },
  ]);
}

/** Tells whether people take the name of another trigger for this one's. */
async function hasAlike(
  store: Store,
  trigger: Pick<StoredTrigger, "id" | "name">,
): Promise<boolean> {
  const id = await readValue(store.kv, likenessKey(trigger)) ??
    // Earlier versions stored no likeness. Most of their names are their own.
    await triggerIdByName(store, likenessOf(trigger.name));
  return typeof id === "string" && id !== trigger.id;
}

function likenessKey({ name }: Pick<StoredTrigger, "name">): Deno.KvKey {
  return keys.triggerLikeness(likenessOf(name));
}

/** Returns the writes that free a trigger's name. */
async function unnamed(
  { kv }: Store,
  trigger: Pick<StoredTrigger, "id" | "name">,
): Promise<Write[]> {
  const key = likenessKey(trigger);
  const isOwn = await readValue(kv, key) === trigger.id;
  return [{ key: keys.triggerName(trigger.name) }, ...(isOwn ? [{ key }] : [])];
}

/** Reads the record of a deleted trigger. Returns undefined when no trigger of this id was deleted. */
export async function getFormerTrigger(
  store: Store,
  id: string,
): Promise<FormerTrigger | undefined> {
  // Only former triggers are stored under these keys.
  return (await readValue(store.kv, keys.formerTrigger(id)) as FormerTrigger | null) ?? undefined;
}

/** Returns the id of the trigger of this name that was deleted last, as long as its records are kept. */
export async function formerIdByName(store: Store, name: string): Promise<string | undefined> {
  let newest = { id: undefined as string | undefined, deleted_at: "" };
  for await (const { key, value } of scan(store.kv, ["former_name", name])) {
    const deleted_at = String(value);
    if (deleted_at >= newest.deleted_at) newest = { id: String(key[2]), deleted_at };
  }
  return newest.id;
}

/** Removes the names of triggers that were deleted before a time, and returns their number. */
export async function removeFormerNames(store: Store, before_ms: number): Promise<number> {
  const writes: Write[] = [];
  for await (const { key, value } of scan(store.kv, ["former_name"], { ids: 2 })) {
    if (Date.parse(String(value)) < before_ms) writes.push({ key });
  }
  await store.committer.writeInParts(writes);
  return writes.length;
}

/**
 * Returns true for an id that a trigger has, or has had. Of triggers that an earlier version has deleted only
 * what they have left behind is known.
 */
export async function wasTriggerId(store: Store, id: string): Promise<boolean> {
  for (const key of [keys.trigger(id), keys.formerTrigger(id), ...singleLeftovers(id)]) {
    if (await isStored(store.kv, key)) return true;
  }
  for (const kind of ["trigger_run", "trigger_log", "kept", ...LEFTOVERS]) {
    const left = store.kv.list({ prefix: [kind, id] }, { limit: 1 });
    if ((await Array.fromAsync(left)).length > 0) return true;
  }
  return false;
}

/**
 * One page of triggers by id, oldest first.
 *
 * @param after list only those behind this id; the `next` of the page before
 */
export async function listStoredTriggers(
  store: Store,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<Listed<StoredTrigger>> {
  const records: StoredTrigger[] = [];
  // One more than is shown tells whether another page comes.
  for await (const entry of scan(store.kv, ["trigger"], { after, batchSize: limit + 1 })) {
    const trigger = recordOf<StoredTrigger>(entry);
    if (trigger === undefined) continue;
    if (records.length === limit) return { records, next: records.at(-1)?.id };
    records.push(trigger);
  }
  return { records, next: undefined };
}

/**
 * All triggers, oldest first, a page of them in memory at a time.
 *
 * @param rests whether it rests after each page, so that launches come first
 */
export async function* allStoredTriggers(
  store: Store,
  { rests = false } = {},
): AsyncGenerator<StoredTrigger> {
  let after: string | undefined;
  do {
    const read = () => listStoredTriggers(store, { after, limit: PAGE_SIZE });
    const { records, next } = await (rests ? withPause(read) : read());
    yield* records;
    after = next;
  } while (after !== undefined);
}

/** The fingerprint of the keys that no trigger was locked with when all were last looked at. */
export function noneLockedWith(store: Store): Promise<unknown> {
  return readValue(store.kv, keys.noneLocked());
}

/** Stores that fingerprint, or, when it is undefined, that some are locked. */
export async function putNoneLockedWith(
  store: Store,
  fingerprint: string | undefined,
): Promise<void> {
  const key = keys.noneLocked();
  await store.committer.write([fingerprint === undefined ? { key } : { key, value: fingerprint }]);
}

/** First key parts of what a trigger that is gone leaves behind for nobody: its log stays for its retention. */
const LEFTOVERS = ["rate", "delivery", "dismissal"];
/** The same of records of which a trigger has one: no further part of a key is behind its id. */
const SINGLE_LEFTOVERS = ["occurrences", "shape_sample"];

function singleLeftovers(triggerId: string): Deno.KvKey[] {
  return SINGLE_LEFTOVERS.map((kind) => [kind, triggerId]);
}

/**
 * The ids of triggers of which something is kept beside the record and the runs, those of triggers that
 * are gone among them. One may come more than once.
 */
export async function* triggersWithLeftovers(store: Store): AsyncGenerator<string> {
  for (const kind of [...LEFTOVERS, ...SINGLE_LEFTOVERS, "kept"]) yield* idsBehind(store, kind);
}

/** Begins to record which triggers are written from now on. */
export function watchTriggers({ committer }: Store): WrittenKeys {
  return committer.watch("trigger");
}

/**
 * Removes some of what is kept of a trigger that is gone.
 *
 * @param written the triggers that were written since this one was seen to be gone: it may be there again
 * @returns how much was removed, less than `limit` when nothing is left, or the trigger is there again
 */
export async function removeLeftovers(
  store: Store,
  triggerId: string,
  { limit, written }: { limit: number; written: WrittenKeys },
): Promise<number> {
  const writes: Write[] = [];
  let found = 0;
  for (const kind of LEFTOVERS) {
    if (found === limit) break;
    for await (const { key } of scan(store.kv, [kind, triggerId], { batchSize: limit })) {
      if (found === limit) break;
      found++;
      writes.push({ key });
    }
  }
  for (const key of singleLeftovers(triggerId)) {
    if (found === limit || !await isStored(store.kv, key)) continue;
    found++;
    writes.push({ key });
  }
  let removed = 0;
  await store.committer.commit({
    writes() {
      const isThereAgain = written.has(keys.trigger(triggerId));
      removed = isThereAgain ? 0 : found;
      return isThereAgain ? [] : writes;
    },
  });
  return removed;
}

/** The different second parts of the keys that begin with a word, in order: one step for each. */
export async function* idsBehind(store: Store, first: string): AsyncGenerator<string> {
  for (let after: string | undefined;;) {
    const before = after;
    for await (const { key } of scan(store.kv, [first], { after, batchSize: 1 })) {
      after = String(key[1]);
      break;
    }
    if (after === undefined || after === before) return;
    yield after;
  }
}
