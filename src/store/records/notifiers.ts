/**
 * The records of notifiers: what they tell of, and where to.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { withoutFields } from "../../platform/objects.ts";
import type { Write } from "../commit/change.ts";
import { NOTIFIERS, triggerChangeWrite } from "../commit/trigger_version.ts";
import { namedRecordOf } from "../read/lists.ts";
import type { CauseSubject } from "./notifications.ts";
import { keys } from "../keys.ts";
import { isUndecodable, logDamage, readValue, scan } from "../read/scan.ts";
import { recordWrite } from "./record_size.ts";
import type { Store } from "../store.ts";

/** The place that a notifier sends to, as the schema of its kind gives it. Secrets are encrypted where it is stored. */
export interface NotifierTarget {
  type: string;
  [setting: string]: unknown;
}

/** The settings of a notifier, as its schema gives them. */
export interface NotifierSettings {
  name: string;
  /** The codes of causes, and `recovered`. */
  on: string[];
  /** The names of triggers; all when absent. */
  triggers?: string[];
  /** The names of projects. */
  projects?: string[];
  /** The time without an accepted delivery after which a trigger is silent, such as `24h`. */
  silent?: string;
  /** The times in which silence is normal. */
  quiet?: string[];
  /** The number or the share of refused deliveries above which a trigger needs attention. */
  refused?: { above: number | string; within: string };
  /** The time in which what comes is told together, such as `1m`. */
  group?: string;
  title?: string;
  text?: string;
  include?: "payload"[];
  to: NotifierTarget;
}

/** A notifier as it is stored. */
export interface StoredNotifier extends NotifierSettings {
  revision: number;
  /** RFC 3339. */
  created_at: string;
}

/** The progress of a notifier. */
export interface NotifierState {
  /** The time of its last message, RFC 3339: what comes within its group time waits. */
  told_at?: string;
  /** Set from its first failed attempt until one succeeds. */
  failing_since?: string;
  reason?: string;
}

/** The silence of a trigger. */
export interface TriggerSilence {
  /** The newest run that was accepted. */
  run_id: string;
  /** The time since then in which the service ran and silence is not normal. */
  silent_ms: number;
}

/** A cause that a notifier tells of. Times are RFC 3339. */
export interface ToldCause {
  id: string;
  code: string;
  subject: CauseSubject;
  since: string;
  /** The failures since it began, and those that were told. */
  count: number;
  told: number;
  told_at?: string;
  /** The number of times that it was told since it began. */
  tellings: number;
  /** The number of times that it has ended: what comes and goes is told less often. */
  recoveries: number;
  ended_at?: string;
  /** True once its end was told, or where ends are not told: it is kept for a day in case it comes back. */
  is_over?: true;
  text: string;
  run_id?: string;
  execution_id?: string;
  pipeline_id?: string;
}

/** Reads a notifier by its name; undefined when it does not exist, or its record is damaged. */
export async function getNotifier(
  store: Store,
  name: string,
): Promise<StoredNotifier | undefined> {
  const key = keys.notifier(name);
  return namedRecordOf({ key, value: await readValue(store.kv, key) });
}

/** All notifiers, by name. */
export async function listNotifiers({ kv }: Store): Promise<StoredNotifier[]> {
  const found: StoredNotifier[] = [];
  for await (const entry of scan(kv, ["notifier"])) {
    const notifier = namedRecordOf<StoredNotifier>(entry);
    if (notifier) found.push(notifier);
  }
  return found;
}

/** Returns what is stored of a notifier in place of what is stored now: the same, where nothing differs. */
export function nextNotifier(
  before: StoredNotifier | undefined,
  settings: NotifierSettings,
  time: string,
): StoredNotifier {
  if (before === undefined) return { ...settings, revision: 1, created_at: time };
  if (isDeepStrictEqual(notifierSettings(before), settings)) return before;
  return { ...settings, revision: before.revision + 1, created_at: before.created_at };
}

/** The writes that store a notifier in place of the one of its name. */
export function notifierWrites(notifier: StoredNotifier): Write[] {
  return [recordWrite(keys.notifier(notifier.name), notifier)];
}

/** Returns the write that tells other instances of a change of a notifier. Neither it nor triggers change meanwhile. */
export function notifierChangeWrite({ kv }: Pick<Store, "kv">): Promise<Write> {
  return triggerChangeWrite(kv, NOTIFIERS);
}

/** Removes a notifier, and what it has told of. Its notifications stay. */
export async function deleteNotifier(store: Store, name: string): Promise<void> {
  await store.committer.write([
    await notifierChangeWrite(store),
    { key: keys.notifier(name) },
    { key: keys.notifierState(name) },
  ]);
  for (const kind of ["told_cause", "notifier_silences"]) {
    const found = scan(store.kv, [kind, name]);
    const writes = await Array.fromAsync(found, ({ key }) => ({ key }));
    await store.committer.writeInParts(writes);
  }
}

/** The fields that the service adds. */
const READ_ONLY = ["revision", "created_at", "failing_since", "reason", "warnings"];

/** Returns what its owner has written of a notifier, stored or shown. */
export function notifierSettings(notifier: NotifierSettings): NotifierSettings {
  // The fields of its owner stay.
  return withoutReadOnly(notifier) as NotifierSettings;
}

/** Removes the fields that the service adds, so that a notifier can be written as it was read. */
export function withoutReadOnly(notifier: unknown): unknown {
  return withoutFields(notifier, READ_ONLY);
}

/** Reads how far a notifier is. */
export async function getNotifierState({ kv }: Store, name: string): Promise<NotifierState> {
  const value = await readValue(kv, keys.notifierState(name));
  return typeof value === "object" && value !== null ? value : {};
}

/** The silences of one record. */
const SILENCES_OF_RECORD = 400;

/** Reads the silences that a notifier watches, by trigger. */
export async function getSilences(
  { kv }: Store,
  name: string,
): Promise<Record<string, TriggerSilence>> {
  const found: Record<string, TriggerSilence> = {};
  const prefix = ["notifier_silences", name];
  try {
    for await (const { value } of kv.list({ prefix })) Object.assign(found, value);
  } catch (error) {
    if (!isUndecodable(error)) throw error;
    logDamage(prefix);
  }
  return found;
}

/** The writes that store the silences that a notifier watches. */
export function silencesWrites(
  name: string,
  silences: Readonly<Record<string, TriggerSilence>>,
): Write[] {
  const all = Object.entries(silences);
  const count = Math.ceil(all.length / SILENCES_OF_RECORD);
  // One more is removed, where there were more before.
  return Array.from({ length: count + 1 }, (_, index) => {
    const key = keys.notifierSilences(name, index);
    const some = all.slice(index * SILENCES_OF_RECORD, (index + 1) * SILENCES_OF_RECORD);
    return index < count ? recordWrite(key, Object.fromEntries(some)) : { key };
  });
}

/** The write that stores a cause that a notifier tells of. */
export function toldCauseWrite(notifier: string, cause: ToldCause): Write {
  return recordWrite(keys.toldCause(notifier, cause.id), cause);
}

/** Reads the causes that a notifier tells of. */
export async function toldCauses({ kv }: Store, name: string): Promise<ToldCause[]> {
  const found: ToldCause[] = [];
  for await (const { key, value } of scan(kv, ["told_cause", name])) {
    // Only these are stored under such keys.
    if (Object(value).id === key[2]) found.push(value as ToldCause);
    else logDamage(key);
  }
  return found;
}
