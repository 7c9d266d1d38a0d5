/**
 * A look for work that waits, by as few reads as that takes: an idle minute costs no more.
 *
 * @module
 */
import { isMakeDue, isProofDue } from "../backup/scheduled/due.ts";
import type { BackupSettings } from "../backup/scheduled/settings.ts";
import { getBackupState } from "../store/records/backups.ts";
import { occurrencesOf, storedSchedules } from "../store/records/schedules.ts";

/** The prefixes of what has not ended. Each of them is empty where nothing waits. */
const OPEN = ["held", "execution_open", "pipeline_open", "http_request_open", "callback_due"];
/** Those of what notifiers are to tell. Without a notifier nobody takes it away. */
const TO_TELL = ["notice", "notification_open", "status_due"];

/** Returns true when there is anything that has not ended, or a time of a schedule has come. */
export async function isWorkPending(kv: Deno.Kv, now_ms: number): Promise<boolean> {
  const looks = await Promise.all([
    isRunPending(kv, now_ms),
    isAny(kv, OPEN),
    isAny(kv, ["notifier"]).then((hasNotifiers) => hasNotifiers && isAny(kv, TO_TELL)),
  ]);
  return looks.includes(true);
}

async function isAny(kv: Deno.Kv, prefixes: readonly string[]): Promise<boolean> {
  const looks = prefixes.map(async (prefix) => {
    for await (const _ of kv.list({ prefix: [prefix] }, { limit: 1 })) return true;
    return false;
  });
  return (await Promise.all(looks)).includes(true);
}

/** Returns true when a scheduled backup is to be made or proven. */
export async function isBackupDue(
  kv: Deno.Kv,
  { to, every_ms }: BackupSettings,
  now_ms: number,
): Promise<boolean> {
  const state = await getBackupState({ kv }, to, now_ms);
  return isMakeDue(state, every_ms, now_ms) || isProofDue(state, now_ms);
}

/** Looks for a pending run, or a replay or an occurrence that is to make one: without any, by one read. */
async function isRunPending(kv: Deno.Kv, now_ms: number): Promise<boolean> {
  // Behind all ids, which are text.
  const range = { start: ["pending"], end: ["pending_schedule", true] };
  for await (const { key: [kind] } of kv.list(range, { limit: 1 })) {
    return kind !== "pending_schedule" || await isScheduleDue(kv, now_ms);
  }
  return false;
}

async function isScheduleDue(kv: Deno.Kv, now_ms: number): Promise<boolean> {
  for await (const { triggerId, schedules } of storedSchedules({ kv })) {
    const { dueTime } = await import("../runs/schedule/due.ts");
    const occurrences = await occurrencesOf({ kv }, triggerId);
    const look = { now_ms, before_ms: now_ms };
    if (schedules.some((each) => dueTime(each, occurrences[each.name] ?? [], look) !== undefined)) {
      return true;
    }
  }
  return false;
}
