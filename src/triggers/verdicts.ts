/**
 * The verdicts on a request that was answered: the door ends with the first check that fails, so what comes
 * before it has passed, and what comes after it was not reached.
 *
 * @module
 */
import type { KnownVerdict } from "../store/records/trigger_log_entries.ts";
import { type CheckName, NO_CONDITION, type Order, type Refused } from "./order.ts";

/**
 * The end of a request's checks: a refusal, a repeat of an earlier delivery, a check that cannot decide now,
 * or the commit, which decides the limits.
 */
export type EndOfChecks =
  | Pick<Refused, "condition" | "index" | "isBeforeBody">
  | "repeat"
  | { undecided: CheckName }
  | "commit";

/**
 * Returns the verdict on each condition of a trigger, in the order of the door.
 *
 * @param end the end of the checks; undefined when all have passed
 */
export function knownVerdicts(order: Order, end?: EndOfChecks): KnownVerdict[] {
  const checks = [...order.beforeBody, ...bodyChecks(order), ...order.limits];
  const endsAt = placeOfEnd(checks, order, end);
  const verdicts: KnownVerdict[] = [];
  for (const [place, check] of checks.entries()) {
    const { condition, index } = check;
    // A condition that is checked before the body and with it has passed with the last of both.
    const isLast = !checks.slice(place + 1).some((other) => isSame(other, check));
    if (index === NO_CONDITION || !isLast) continue;
    const isFailed = typeof end === "object" && "condition" in end && isSame(end, check);
    const verdict = isFailed ? "failed" : place < endsAt ? "passed" : "not reached";
    verdicts.push({ condition, index, verdict });
  }
  return verdicts;
}

/** Returns the place of the first check that did not pass. */
function placeOfEnd(
  checks: readonly CheckName[],
  { beforeBody, limits }: Order,
  end: EndOfChecks | undefined,
): number {
  if (end === undefined) return checks.length;
  if (end === "commit" || end === "repeat") return checks.length - limits.length;
  const found = "undecided" in end ? end.undecided : end;
  const isFound = (check: CheckName) => isSame(check, found);
  const isBeforeBody = "condition" in end && end.isBeforeBody;
  const place = isBeforeBody ? checks.findIndex(isFound) : checks.findLastIndex(isFound);
  // What is no check of the trigger happens while the body is read.
  return place === -1 ? beforeBody.length : place;
}

function bodyChecks({ withBody }: Order): CheckName[] {
  return withBody.flatMap((check) => "answer" in check ? [] : [check]);
}

function isSame(one: CheckName, other: CheckName): boolean {
  return one.condition === other.condition && one.index === other.index;
}
