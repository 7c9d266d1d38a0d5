/**
 * The dry run of a launch: every verdict on a request, and nothing is started or counted.
 *
 * @module
 */
import type { Refusal } from "../conditions/check.ts";
import type { LaunchRequest } from "../conditions/request.ts";
import type { Delivery } from "../runs/delivery_ids.ts";
import { describeExhausted, type Quota } from "../runs/rate_window.ts";
import { NO_CONDITION, type Order, placeOf } from "./order.ts";

/** The result of one check as an owner reads it. */
export interface Verdict extends Partial<Refusal> {
  condition: string;
  index: number;
  verdict: "passed" | "failed" | "not reached";
}

/** Answers what the commit of a launch would decide; nothing is counted. */
export interface AcceptancePreview {
  /** Returns the run that an earlier request of the same delivery has made. */
  madeBy(triggerId: string, delivery: Delivery): Promise<string | undefined>;
  /** Returns the first quota that is used up. */
  exhausted(triggerId: string, quotas: readonly Quota[]): Promise<Quota | undefined>;
}

/** The verdict on a request that is a handshake: what follows it is not reached. */
const HANDSHAKE: Verdict = {
  condition: "handshake",
  index: NO_CONDITION,
  verdict: "passed",
  reason: "The provider asks whether the URL is listening: it is answered, and nothing is started",
};

/**
 * Checks a request against everything, also after a check has failed, so that an owner sees all that is
 * wrong. The first verdict that failed is the one that a launch is refused by. Checks that are no
 * condition are listed only when they fail.
 *
 * @throws {UnavailableError} when a check cannot decide now and may a little later
 */
export async function explain(
  { checks, limits }: Order,
  request: LaunchRequest,
  { triggerId, acceptance }: { triggerId: string; acceptance: AcceptancePreview },
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  let isOver = false;
  for (const check of checks) {
    if (isOver) {
      if (!("answer" in check)) verdicts.push({ ...placeOf(check), verdict: "not reached" });
      continue;
    }
    if ("answer" in check) {
      isOver = verdicts.every(({ verdict }) => verdict === "passed") &&
        await check.answer(request) !== undefined;
      if (isOver) verdicts.push(HANDSHAKE);
      continue;
    }
    const finding = await check.look(request);
    if (finding && !("delivery" in finding)) {
      verdicts.push({ ...placeOf(check), verdict: "failed", ...finding });
      continue;
    }
    const run = finding && await acceptance.madeBy(triggerId, finding.delivery);
    isOver = run !== undefined;
    verdicts.push({ ...placeOf(check), verdict: "passed", ...(run && { reason: repeatOf(run) }) });
  }
  for (const { condition, index, quota } of limits) {
    const place = { condition, index };
    // Each by itself: a launch is refused by the first that is used up, and others may be as well.
    const exhausted = isOver ? undefined : await acceptance.exhausted(triggerId, [quota]);
    if (isOver) verdicts.push({ ...place, verdict: "not reached" });
    else if (exhausted === undefined) verdicts.push({ ...place, verdict: "passed" });
    else verdicts.push({ ...place, verdict: "failed", reason: describeExhausted(exhausted) });
  }
  return verdicts;
}

function repeatOf(runId: string): string {
  return `A repeat of what made run ${runId}: it is answered like that one and starts nothing`;
}
