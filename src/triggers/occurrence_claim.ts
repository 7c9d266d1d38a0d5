/**
 * The right to make the run of an occurrence. The commit that accepts the run stores that it was made, and is
 * decided on what was stored before: of two instances that try, one makes it.
 *
 * @module
 */
import type { Claim } from "../runs/delivery_ids.ts";
import { hasRun, withTime } from "../runs/schedule/due.ts";
import type { Write } from "../store/commit/change.ts";
import { keys } from "../store/keys.ts";
import {
  type Occurrences,
  occurrencesOf,
  type StoredSchedule,
} from "../store/records/schedules.ts";
import type { Store } from "../store/store.ts";

/** Sizes of the record of all schedules of a trigger: names and ranges. */
const RECORD_BYTES = 48 * 1024;

/** Claims an occurrence; undefined where it has made a run. */
export async function claimOccurrence(
  store: Store,
  triggerId: string,
  { schedule, time_ms, names }: {
    schedule: StoredSchedule;
    time_ms: number;
    /** Those of all schedules of the trigger: of others nothing is kept. */
    names: ReadonlySet<string>;
  },
): Promise<Claim | undefined> {
  const ledger = store.shared?.ledgers.of(triggerId);
  if (ledger?.isLoaded === false) {
    ledger.loaded((await store.kv.get(ledger.key)).versionstamp);
  }
  let epoch = ledger?.epoch;
  let known: Occurrences = await occurrencesOf(store, triggerId);
  const isMade = () => hasRun(known[schedule.name] ?? [], time_ms);
  if (isMade()) return undefined;
  const key = keys.occurrences(triggerId);
  const write = (value: Occurrences): Write => ({ key, value, bytes: RECORD_BYTES });
  return {
    get madeBy() {
      return isMade() ? "" : undefined;
    },
    refresh() {
      if (ledger === undefined || (epoch === ledger.epoch && ledger.isLoaded)) return undefined;
      const now = ledger.epoch;
      return occurrencesOf(store, triggerId).then((found) => {
        epoch = now;
        known = found;
      });
    },
    writes() {
      const others = Object.entries(known).filter(([name]) => names.has(name));
      const ranges = withTime(schedule, known[schedule.name] ?? [], time_ms);
      return [write({ ...Object.fromEntries(others), [schedule.name]: ranges })];
    },
    withdrawWrites: () => [write(known)],
    settle: () => {},
  };
}
