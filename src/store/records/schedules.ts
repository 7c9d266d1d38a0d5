/**
 * The records of schedules: which triggers have some, and which of their occurrences have made a run.
 *
 * @module
 */
import { keys } from "../keys.ts";
import type { Write } from "../commit/change.ts";
import { readValue, scan } from "../read/scan.ts";
import type { Store } from "../store.ts";

/** A schedule of a trigger that is enabled. */
export interface StoredSchedule {
  /** Tells it from the trigger's others, and stays the same while its times do. */
  name: string;
  cron: string;
  timezone: string;
  missed: "run" | "skip";
  /** The time from which it holds, in milliseconds since the epoch. */
  since_ms: number;
}

/** Occurrences that have made a run, those of a range one after the other: the first and the last time of each. */
export type Ranges = readonly (readonly [first_ms: number, last_ms: number])[];

/** The occurrences of a trigger's schedules that have made a run, by the names of the schedules. */
export type Occurrences = Readonly<Record<string, Ranges>>;

/** The settings that schedules are stored by. */
interface Scheduled {
  enabled: boolean;
  schedule?: readonly Pick<StoredSchedule, "cron" | "timezone" | "missed">[];
}

/** Returns the names of schedules, in their order. */
export function scheduleNames(
  schedules: readonly Pick<StoredSchedule, "cron" | "timezone">[],
): string[] {
  const counts = new Map<string, number>();
  return schedules.map(({ cron, timezone }) => {
    const times = `${cron} ${timezone}`;
    const count = counts.get(times) ?? 0;
    counts.set(times, count + 1);
    return count === 0 ? times : `${times} ${count}`;
  });
}

/** Returns the writes that keep the schedules of a trigger that is stored. One that stays holds since it was new. */
export async function scheduleWrites(
  { kv }: Pick<Store, "kv">,
  { id, updated_at, settings }: { id: string; updated_at: string; settings: unknown },
  before: unknown,
): Promise<Write[]> {
  // Settings have passed the schema.
  const { enabled, schedule = [] } = settings as Scheduled;
  const hadSome = (before as Partial<Scheduled> | undefined)?.schedule?.length;
  const key = keys.schedule(id);
  if (!enabled || schedule.length === 0) return hadSome ? [{ key }] : [];
  const known = hadSome ? await readValue(kv, key) as StoredSchedule[] | null : null;
  const since = new Map(known?.map(({ name, since_ms }) => [name, since_ms]));
  const names = scheduleNames(schedule);
  const value = schedule.map(({ cron, timezone, missed }, index): StoredSchedule => {
    const name = names[index] ?? "";
    return { name, cron, timezone, missed, since_ms: since.get(name) ?? Date.parse(updated_at) };
  });
  return [{ key, value, bytes: 32 * 1024 }];
}

/** The triggers that have schedules, each with them. */
export async function* storedSchedules(
  { kv }: Pick<Store, "kv">,
): AsyncGenerator<{ triggerId: string; schedules: StoredSchedule[] }> {
  for await (const { key, value } of scan(kv, ["pending_schedule"])) {
    // Only schedules are stored under these keys.
    yield { triggerId: String(key[1]), schedules: value as StoredSchedule[] };
  }
}

/** The schedules of a trigger. */
export async function schedulesOf(
  { kv }: Pick<Store, "kv">,
  triggerId: string,
): Promise<StoredSchedule[]> {
  return await readValue(kv, keys.schedule(triggerId)) as StoredSchedule[] | null ?? [];
}

/** The occurrences of a trigger's schedules that have made a run. */
export async function occurrencesOf(
  { kv }: Pick<Store, "kv">,
  triggerId: string,
): Promise<Occurrences> {
  return await readValue(kv, keys.occurrences(triggerId)) as Occurrences | null ?? {};
}
