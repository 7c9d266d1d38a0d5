/**
 * The verdicts on a request that was answered: the door ends with the first check that fails, so what comes
 * before it has passed, and what comes after it was not reached.
 *
 * @module
 */
import type { KnownVerdict } from "../store/records/trigger_log_entries.ts";
import { type CheckName, NO_CONDITION, type Order, type Refused } from "./order.ts";

/**
 * Returns the verdict on each condition of a trigger, in the order of the door.
 *
 * @param end the refusal; or what let the request pass as a repeat; or undefined where all have passed
 */
export function knownVerdicts(order: Order, end?: Refused | "deduplication"): KnownVerdict[] {
  const checks = [...order.beforeBody, ...bodyChecks(order), ...order.limits];
  const endsAt = placeOfEnd(checks, order, end);
  const verdicts: KnownVerdict[] = [];
  for (const [place, check] of checks.entries()) {
    const { condition, index } = check;
    // A condition that is checked before the body and with it has passed with the last of both.
    const isLast = !checks.slice(place + 1).some((other) => isSame(other, check));
    if (index === NO_CONDITION || !isLast) continue;
    const isFailed = typeof end === "object" && isSame(end, check);
    const verdict = isFailed ? "failed" : place < endsAt ? "passed" : "not reached";
    verdicts.push({ condition, index, verdict });
  }
  return verdicts;
}

function placeOfEnd(
  checks: readonly CheckName[],
  { beforeBody }: Order,
  end: Refused | "deduplication" | undefined,
): number {
  if (end === undefined) return checks.length;
  if (end === "deduplication") {
    return checks.findLastIndex(({ condition }) => condition === end) + 1;
  }
  const isEnd = (check: CheckName) => isSame(check, end);
  const place = end.isBeforeBody ? checks.findIndex(isEnd) : checks.findLastIndex(isEnd);
  // What is no check of the trigger happens while the body is read or after it.
  return place === -1 ? beforeBody.length : place;
}

function bodyChecks({ withBody }: Order): CheckName[] {
  return withBody.flatMap((check) => "answer" in check ? [] : [check]);
}

function isSame(one: CheckName, other: CheckName): boolean {
  return one.condition === other.condition && one.index === other.index;
}
