/**
 * Preparing a trigger's conditions for launches.
 *
 * @module
 */
import type { Check, HeadCheck } from "./check.ts";
import type {
  ConditionContext,
  ConditionEnvironment,
  ConditionSettings,
  QuotaRule,
  Stage,
} from "./condition.ts";
import { factsOf, type KnownCondition } from "./facts.ts";
import type { CredentialField } from "./field.ts";
import type { OwnHandshake } from "./handshake/collect.ts";
import type { PreparedHandshake } from "./handshake/prepare.ts";
import { CONDITION_TYPES, type ConditionType, KINDS } from "./kinds.ts";
import { serialChecks } from "./serial_checks.ts";

/** A condition that is ready to check requests. */
export interface PreparedCondition {
  /** The condition's place in the trigger. */
  index: number;
  type: ConditionType;
  stage: Exclude<Stage, "quota">;
  /** Checks before the body is read that the credential is present and well formed; absent where the kind cannot. */
  beforeBody?: HeadCheck;
  check: Check;
}

/** A condition that is ready to be decided when a run is accepted. */
export interface PreparedQuota extends QuotaRule {
  /** The condition's place in the trigger. */
  index: number;
  type: ConditionType;
}

/** The conditions of a trigger, ready for launches. */
export interface PreparedConditions {
  /** In the order in which they are checked. */
  checks: readonly PreparedCondition[];
  quotas: readonly PreparedQuota[];
  handshakes: readonly PreparedHandshake[];
  /** The fields that carry credentials: no log shows their values. */
  credentials: readonly CredentialField[];
  /** The fields of the body that are stored without their values. */
  redacted: readonly CredentialField[];
  /** The first condition that verifies a signature, which a request without a body cannot have. */
  signedBy: Pick<PreparedCondition, "index" | "type"> | undefined;
}

/** Prepares the conditions and the handshakes of a trigger. */
export async function prepareConditions(
  conditions: readonly ConditionSettings[],
  environment: ConditionEnvironment,
  triggerId: string,
  ownHandshakes: readonly OwnHandshake[] = [],
): Promise<PreparedConditions> {
  const known = await loadKinds(conditions);
  const facts = factsOf(known);
  const surroundings: ConditionContext = {
    clock: environment.clock,
    env: (name) => environment.env(name),
    signal: environment.signal,
    runSerially: serialChecks(environment.clock),
    heavyWork: environment.heavyWork,
    triggerId,
    signsTokens: false,
    ...facts,
  };
  const handshakes = await handshakesOf(ownHandshakes, known, surroundings);
  const credentials = [
    ...facts.credentials,
    ...handshakes.flatMap((handshake) => handshake.credentials),
  ];
  const context: ConditionContext = {
    ...surroundings,
    credentials,
    signsTokens: handshakes.some(({ isSigning }) => isSigning),
  };
  const checks: PreparedCondition[] = [];
  const quotas: PreparedQuota[] = [];
  const inOrder = known.map((condition, index) => ({ ...condition, index }))
    .sort((a, b) => CONDITION_TYPES.indexOf(a.type) - CONDITION_TYPES.indexOf(b.type));
  for (const { settings, kind, type, index } of inOrder) {
    if (kind.stage === "quota") {
      quotas.push({ index, type, ...await kind.quota(settings, context) });
      continue;
    }
    const beforeBody = await kind.beforeBody?.(settings, context);
    const check = await kind.prepare(settings, context);
    checks.push({ index, type, stage: kind.stage, check, ...(beforeBody && { beforeBody }) });
  }
  return {
    checks,
    quotas,
    handshakes,
    credentials,
    redacted: known.flatMap(({ kind, settings }) => kind.redacted?.(settings) ?? []),
    signedBy: inOrder.find(({ kind }) => kind.scheme !== undefined),
  };
}

async function handshakesOf(
  own: readonly OwnHandshake[],
  known: readonly KnownCondition[],
  context: ConditionContext,
): Promise<PreparedHandshake[]> {
  if (own.length === 0 && !context.presets.some(({ handshakes }) => handshakes)) return [];
  const { prepareHandshakes } = await import("./handshake/collect.ts");
  return await prepareHandshakes(own, known, context);
}

/**
 * Loads the kind of each condition.
 *
 * @throws {TypeError} when a kind is unknown: a later version has stored it
 */
export async function loadKinds(
  conditions: readonly ConditionSettings[],
): Promise<(KnownCondition & { type: ConditionType })[]> {
  return await Promise.all(conditions.map(async (settings) => {
    const type = CONDITION_TYPES.find((name) => name === settings.type);
    if (type === undefined) throw new TypeError(`Unknown type of condition: ${settings.type}`);
    return { settings, type, kind: await KINDS[type]() };
  }));
}
