/**
 * The diagnosis of a request that a trigger refuses: the dry run says which conditions refuse it, and the
 * signature doctor looks for the cause.
 *
 * @module
 */
import { whenPartsRead } from "../platform/waiting/pending.ts";
import { Buffer } from "node:buffer";
import type { ConditionSettings } from "../conditions/condition.ts";
import {
  bestFirst,
  Budget,
  diagnoseCondition,
  type Finding,
  type KnownSecret,
  knownSecrets,
  secretsOf,
} from "../conditions/doctor/mod.ts";
import { compiledFilter, type FilterSettings } from "../conditions/filter/filter.ts";
import { loadKinds } from "../conditions/prepare.ts";
import { factsOf } from "../conditions/facts.ts";
import type { LaunchRequest } from "../conditions/request.ts";
import { type AcceptancePreview, explain, nameOf, refusalText, type Verdict } from "./explain.ts";
import { NO_CONDITION, type Order, placeOf } from "./order.ts";
import type { PreparedTrigger } from "./prepare.ts";

export type { Finding };

/** The time of a diagnosis in which it computes, or waits for a processor. Others have their turns meanwhile. */
export const DIAGNOSIS_MS_MAX = 3_000;
/** A shorter secret may be part of any sentence. */
const HIDDEN_CHARACTERS_MIN = 8;
/** The condition that a request cannot be checked against whose sender's address is not known. */
const ADDRESS = "ip_allowlist";
/** The check that refuses every request where a secret cannot be decrypted. */
const LOCKED = "secrets";

/** The parts of the service that a diagnosis uses. */
export interface DiagnosisParts {
  acceptance: AcceptancePreview;
  /** Reads an environment variable, for secrets written as `{env:NAME}`. */
  env(name: string): string | undefined;
  now_ms: number;
  /** The URL that the sender called, where it is another one than the trigger's. */
  calledUrl?: string | undefined;
  /** The address of the sender is known. */
  isAddressKnown: boolean;
  /** The time of receipt is known. Else it is the time of the diagnosis. */
  isReceiptKnown: boolean;
  /** The refusal of a delivery when it came. */
  refusedAs?: Verdict;
  /** Reads other triggers, whose secrets the sender may have used. */
  otherTriggers(): Promise<readonly PreparedTrigger[]>;
  /** The time in which it computes, in milliseconds; 3,000 by default. */
  limit_ms?: number;
}

/**
 * Finds out why a trigger refuses a request.
 *
 * @returns what was found, the most certain first: at least one finding
 * @throws {UnavailableError} when a condition cannot decide now and may a little later
 */
export async function diagnose(
  prepared: PreparedTrigger,
  request: LaunchRequest,
  parts: DiagnosisParts,
): Promise<Finding[]> {
  const { trigger, launch } = prepared;
  const { acceptance, isAddressKnown } = parts;
  const verdicts = await explain(launch, request, { triggerId: trigger.id, acceptance });
  const failed = verdicts.filter(({ verdict, condition }) =>
    verdict === "failed" && (isAddressKnown || condition !== ADDRESS)
  );
  if (failed.length === 0) return [passed(verdicts, launch, parts)];
  // Without its secrets nothing can be said of a credential.
  const locked = failed.find(({ condition }) => condition === LOCKED);
  if (locked !== undefined) return [refused(locked)];
  const diagnosis = new TriggerDiagnosis(prepared, request, parts);
  const credentials: Finding[] = [];
  const others: Finding[] = [];
  for (const verdict of failed) {
    const found = await diagnosis.of(verdict);
    if (found === undefined) others.push(refused(verdict));
    else credentials.push(...found);
  }
  // One that is refused for a credential may be refused for another reason too.
  const [first] = others;
  if (credentials.length === 0 && first !== undefined) {
    first.sentence = `Every credential is right. ${first.sentence}`;
  }
  return await diagnosis.withoutSecrets([...bestFirst(credentials), ...others]);
}

/**
 * Finds out whether a trigger as it is now would refuse a request that it has accepted. Its credentials are
 * not kept: payload filters alone are asked.
 *
 * @throws {UnavailableError} when a filter cannot decide now and may a little later
 */
export async function diagnoseAccepted(
  { trigger, launch }: PreparedTrigger,
  request: LaunchRequest,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of launch.withBody) {
    if ("answer" in check || check.cause !== "filter") continue;
    const settings = trigger.conditions[check.index];
    if (settings !== undefined && readsToken(settings)) {
      const sentence =
        `It was accepted when it came. ${nameOf(check)} reads the token of the request, ` +
        "which is not kept: it is not tried again.";
      findings.push({ ...placeOf(check), sentence, certainty: "possible" });
      continue;
    }
    const found = await check.look(request);
    if (found === undefined || "delivery" in found || "decoded" in found) continue;
    const finding = refused({ ...placeOf(check), verdict: "failed", ...found });
    const sentence =
      `It was accepted when it came. The trigger would refuse it now. ${finding.sentence}`;
    findings.push({ ...finding, sentence });
  }
  if (findings.length > 0) return bestFirst(findings);
  const sentence =
    "It was accepted: every condition has let it pass, and its payload would pass now, " +
    "too. Its credentials are not kept, so they are not tried again.";
  return [{ condition: "request", index: NO_CONDITION, sentence, certainty: "matches" }];
}

/** Tells whether a filter reads the verified token of a request. */
function readsToken({ type, ...filter }: ConditionSettings & FilterSettings): boolean {
  if (type !== "payload_filter") return false;
  try {
    return compiledFilter(filter).variables.has("jwt");
  } catch {
    // The check says why it cannot be used.
    return false;
  }
}

/** The diagnosis of one request at one trigger. */
class TriggerDiagnosis {
  readonly #prepared: PreparedTrigger;
  readonly #request: LaunchRequest;
  readonly #parts: DiagnosisParts;
  readonly #budget: Budget;
  #others: Promise<readonly KnownSecret[]> | undefined;

  constructor(prepared: PreparedTrigger, request: LaunchRequest, parts: DiagnosisParts) {
    this.#prepared = prepared;
    this.#request = request;
    this.#parts = parts;
    this.#budget = new Budget(parts.limit_ms ?? DIAGNOSIS_MS_MAX);
  }

  /** Returns the findings about a condition that refuses; undefined where it checks no credential. */
  async of(verdict: Verdict): Promise<Finding[] | undefined> {
    const { condition, index, reason = "" } = verdict;
    const { trigger, conditions } = this.#prepared;
    const settings = trigger.conditions[index];
    if (settings === undefined) return undefined;
    const { times } = factsOf(await loadKinds(conditions));
    const context = {
      request: this.#request,
      refusal: { ...verdict, reason },
      calledUrl: this.#parts.calledUrl ?? this.#request.url,
      isReceiptKnown: this.#parts.isReceiptKnown,
      times,
      env: (name: string) => this.#parts.env(name),
      budget: this.#budget,
      now_ms: this.#parts.now_ms,
      otherSecrets: () => this.#otherSecrets(index),
    };
    const clues = await whenPartsRead(() => diagnoseCondition(settings, context));
    if (clues === undefined) return undefined;
    if (clues.length === 0) return [refused(verdict)];
    return clues.map((clue) => ({ ...clue, condition, index }));
  }

  /** Leaves out what a sentence quotes of the request where that is a secret. */
  async withoutSecrets(findings: readonly Finding[]): Promise<Finding[]> {
    const own = this.#prepared.trigger.conditions.flatMap((settings) => this.#secretsOf(settings));
    const hidden = [...own, ...await this.#others ?? []].map(({ text }) => text.trim())
      .filter(({ length }) => length >= HIDDEN_CHARACTERS_MIN)
      .flatMap((
        text,
      ) => [text, Buffer.from(text).toString("base64"), Buffer.from(text).toString("hex")]);
    return findings.map((finding) =>
      hidden.some((text) => finding.sentence.includes(text))
        ? { ...finding, sentence: "The reason is not shown: a secret is part of it." }
        : finding
    );
  }

  /** The secrets of the trigger's other conditions, and of other triggers. */
  async #otherSecrets(own: number): Promise<readonly KnownSecret[]> {
    this.#others ??= this.#parts.otherTriggers().then((triggers) =>
      triggers.flatMap(({ trigger, conditions }) => {
        const difference =
          `The secret is that of trigger "${trigger.name}": one of the two is at the wrong place.`;
        return conditions.flatMap((settings) => this.#secretsOf(settings))
          .map((secret) => ({ ...secret, difference }));
      })
    );
    const siblings = this.#prepared.conditions.flatMap((settings, index) => {
      if (index === own) return [];
      const difference = `The secret is that of conditions/${index} of this trigger.`;
      return this.#secretsOf(settings).map((secret) => ({ ...secret, difference }));
    });
    return [...siblings, ...await this.#others];
  }

  #secretsOf(settings: ConditionSettings): KnownSecret[] {
    return knownSecrets(secretsOf(settings), this.#parts);
  }
}

/** A refusal as the dry run says it. */
function refused(verdict: Verdict): Finding {
  const { condition, index } = verdict;
  const sentence = `It is refused by ${refusalText(verdict)}.`;
  return { condition, index, sentence, certainty: "likely" };
}

/** A request that nothing refuses. */
function passed(
  verdicts: readonly Verdict[],
  { limits }: Order,
  { isAddressKnown, refusedAs }: DiagnosisParts,
): Finding {
  const address = verdicts.find(({ condition }) => condition === ADDRESS);
  if (address !== undefined && !isAddressKnown) {
    const { condition, index } = address;
    const sentence =
      `Everything else passes. ${nameOf(address)} is not checked, as the address of ` +
      "the sender is not known.";
    return { condition, index, sentence, certainty: "possible" };
  }
  const remark = verdicts.findLast(({ verdict, reason }) => verdict === "passed" && reason)?.reason;
  const sentence = remark === undefined
    ? `Everything passes: this request would launch. ${earlierRefusal(limits, refusedAs)}.`
    : `Everything passes. ${remark}.`;
  return { condition: "request", index: NO_CONDITION, sentence, certainty: "matches" };
}

/** Says why a request that passes now may have been refused when it came. */
function earlierRefusal(limits: Order["limits"], refusedAs: Verdict | undefined): string {
  if (refusedAs !== undefined) return `When it came, it was refused by ${refusalText(refusedAs)}`;
  const quota = limits.length > 0 ? "a rate limit was used up then, or " : "";
  return `If it was refused, ${quota}the trigger has changed since`;
}
