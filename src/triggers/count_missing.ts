/**
 * Counting the triggers with secrets that the service does not have.
 *
 * @module
 */
import type { ConditionEnvironment } from "../conditions/condition.ts";
import { allStoredTriggers } from "../store/records/triggers.ts";
import type { Store } from "../store/store.ts";
import { missingVariables } from "./variables.ts";

/**
 * The triggers that are checked for missing secrets. To read 500 takes 10 MiB of an idle service, and to
 * read 10,000 takes 35 MiB and half a second.
 */
const LOOKED_AT_MAX = 100;
/** The missing secrets that are named one by one. */
const PLACES_MAX = 20;

/** A count of triggers with secrets in environment variables that are not set, or empty. */
export interface MissingSecrets {
  /** The triggers with such secrets. */
  missing: number;
  /** The triggers that were checked. */
  total: number;
  /** The trigger, the pointer and the variable of some of them. */
  places: string[];
}

/**
 * Counts the triggers with secrets in environment variables that are not set, or empty, among the oldest
 * ones. Pauses after each page: launches come first.
 */
export async function countMissing(
  store: Store,
  { env, signal }: Pick<ConditionEnvironment, "env" | "signal">,
): Promise<MissingSecrets> {
  const counted: MissingSecrets = { missing: 0, total: 0, places: [] };
  for await (const { name, settings } of allStoredTriggers(store, { rests: true })) {
    if (signal.aborted || counted.total >= LOOKED_AT_MAX) break;
    const found = missingVariables(settings, env);
    counted.total++;
    if (found.length === 0) continue;
    counted.missing++;
    for (const { pointer, variable } of found) {
      if (counted.places.length < PLACES_MAX) {
        counted.places.push(`${name} ${pointer} ${variable}`);
      }
    }
  }
  return counted;
}
