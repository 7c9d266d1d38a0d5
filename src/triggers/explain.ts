/**
 * The dry run of a launch: every verdict on a request, and nothing is started or counted.
 *
 * @module
 */
import type { Refusal } from "../conditions/check.ts";
import type { LaunchRequest } from "../conditions/request.ts";
import type { Delivery } from "../runs/delivery_ids.ts";
import { describeExhausted, type Quota } from "../runs/rate_window.ts";
import {
  type BodyCheck,
  type CheckName,
  type HeadCheck,
  NO_CONDITION,
  type Order,
  placeOf,
} from "./order.ts";

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

/** Writes which check it is for its owner. */
export function nameOf({ condition, index }: Pick<Verdict, "condition" | "index">): string {
  return index === NO_CONDITION ? condition : `conditions/${index} (${condition})`;
}

/** Writes a refusal for its owner. */
export function refusalText(
  { condition, index, reason = "", expected, found }: Omit<Verdict, "verdict">,
): string {
  const values = [expected && `expected ${expected}`, found && `found ${found}`]
    .filter((part) => part).join(", ");
  return `${nameOf({ condition, index })}: ${reason}${values === "" ? "" : `: ${values}`}`;
}

/** The verdict on a request that is a handshake: what follows it is not reached. */
const HANDSHAKE: Verdict = {
  condition: "handshake",
  index: NO_CONDITION,
  verdict: "passed",
  reason: "The provider asks whether the URL is listening: it is answered, and nothing is started",
};

/** The facts that an explanation needs beside the request. */
interface ExplanationContext {
  triggerId: string;
  acceptance: AcceptancePreview;
}

/**
 * Checks a request against everything, also after a check has failed, so that an owner sees all that is
 * wrong. The first verdict that failed is the one that a launch is refused by. Checks that are no
 * condition are listed only when they fail.
 *
 * @throws {UnavailableError} when a check cannot decide now and may a little later
 */
export async function explain(
  order: Order,
  sent: LaunchRequest,
  context: ExplanationContext,
): Promise<Verdict[]> {
  const verdicts = sent.method === "POST" ? [] : [otherMethod(sent)];
  let isOver = false;
  let request = sent;
  const checks = [...order.beforeBody, ...order.withBody];
  for (const [place, check] of checks.entries()) {
    if ("answer" in check) {
      if (isOver || verdicts.some(({ verdict }) => verdict === "failed")) continue;
      isOver = await check.answer(request) !== undefined;
      if (isOver) verdicts.push(HANDSHAKE);
      continue;
    }
    // A condition that is checked before the body and with it has one verdict: where it fails, or at last.
    const isSame = isOf(check);
    if (verdicts.some(isSame)) continue;
    const isLast = !checks.slice(place + 1).some(isSame);
    if (isOver) {
      if (isLast) verdicts.push({ ...placeOf(check), verdict: "not reached" });
      continue;
    }
    const { repeatOf, decoded = request, ...verdict } = await verdictOf(check, request, context);
    request = decoded;
    // What follows would only see bytes that mean nothing.
    const isUnread = check.condition === "content_encoding" && verdict.verdict === "failed";
    isOver = repeatOf !== undefined || isUnread;
    const isToBeListed = isLast && check.index !== NO_CONDITION;
    if (verdict.verdict === "failed" || isToBeListed) verdicts.push(verdict);
  }
  for (const { quota, ...limit } of order.limits) {
    // Each by itself: a launch is refused by the first that is used up, and others may be as well.
    const exhausted = isOver
      ? undefined
      : await context.acceptance.exhausted(context.triggerId, [quota]);
    if (isOver) verdicts.push({ ...limit, verdict: "not reached" });
    else if (exhausted === undefined) verdicts.push({ ...limit, verdict: "passed" });
    else verdicts.push({ ...limit, verdict: "failed", reason: describeExhausted(exhausted) });
  }
  return verdicts;
}

/** The verdict on a method by which nothing is launched. */
function otherMethod({ method: found }: LaunchRequest): Verdict {
  const reason = "Only a POST launches: another method is answered 405, or as a handshake";
  const place = { condition: "method", index: NO_CONDITION };
  return { ...place, verdict: "failed", reason, expected: "POST", found };
}

/** The verdict of one check, the run that the request is a repeat of, and the request for the checks that follow. */
async function verdictOf(
  check: HeadCheck | BodyCheck,
  request: LaunchRequest,
  { triggerId, acceptance }: ExplanationContext,
): Promise<Verdict & { repeatOf?: string; decoded?: LaunchRequest }> {
  const finding = "head" in check ? check.head(request) : await check.look(request);
  const place = placeOf(check);
  if (finding === undefined) return { ...place, verdict: "passed" };
  if ("decoded" in finding) return { ...place, verdict: "passed", decoded: finding.decoded };
  if (!("delivery" in finding)) {
    const { reason, expected, found } = finding;
    return {
      ...place,
      verdict: "failed",
      reason,
      ...(expected === undefined ? {} : { expected }),
      ...(found === undefined ? {} : { found }),
    };
  }
  const run = await acceptance.madeBy(triggerId, finding.delivery);
  if (run === undefined) return { ...place, verdict: "passed" };
  const reason =
    `A repeat of what made run ${run}: it is answered like that one and starts nothing`;
  return { ...place, verdict: "passed", reason, repeatOf: run };
}

/** Makes a test of whether something belongs to the same condition as a check. */
function isOf({ condition, index }: CheckName): (other: object) => boolean {
  return (other) =>
    "condition" in other && "index" in other && other.condition === condition &&
    other.index === index;
}
