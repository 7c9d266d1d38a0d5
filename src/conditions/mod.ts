/**
 * Conditions as owners write them: their schema, and the review of those of one trigger together.
 *
 * @module
 */
import { z } from "zod";
import { prefixed, type Problem } from "../platform/errors.ts";
import { schemasOf } from "../platform/schema/schema.ts";
import { ExpressionError, parseExpression } from "./cel/expression.ts";
import { type Key, pathsIn } from "./cel/paths.ts";
import type { ConditionKind, ConditionSettings, SecretForm } from "./condition.ts";
import { compileKey, keyMistakes } from "./delivery_key.ts";
import type { CredentialField } from "./field.ts";
import { factsOf, type KnownCondition } from "./facts.ts";
import { CONDITION_TYPES, KINDS } from "./kinds.ts";
import type { Preset } from "./signing/preset.ts";

const kinds = await Promise.all(CONDITION_TYPES.map((type) => KINDS[type]()));

/** Every kind of condition, in the order in which they are checked. */
export const conditionKinds: readonly ConditionKind[] = kinds;

// The list is not empty, which its type does not say.
const schemas = schemasOf(kinds) as [typeof kinds[number]["schema"]];

/** The schema of one condition's settings, told apart by `type`. */
export const conditionSchema = z.discriminatedUnion("type", schemas, {
  error: (issue) =>
    issue.code === "invalid_union"
      ? `Unknown type of condition: there are ${CONDITION_TYPES.join(", ")}`
      : undefined,
});

/** The settings of a condition, complete with defaults. */
export type Condition = z.output<typeof conditionSchema>;

/**
 * Finds what is wrong with a trigger's conditions together. A trigger with such a problem is not saved.
 *
 * @returns the problems, each with a pointer relative to the list (`/0/signed_content`)
 */
export function reviewConditions(conditions: readonly ConditionSettings[]): Problem[] {
  const known = conditions.map(withKind);
  const facts = factsOf(known);
  return known.flatMap(({ settings, kind }, index) => {
    const isRepeated = kind.isUnique &&
      conditions.filter(({ type }) => type === settings.type).length > 1;
    const detail = `Expected at most one ${settings.type}, found several`;
    const problems = isRepeated
      ? [{ pointer: "/type", detail }]
      : kind.review?.(settings, facts) ?? [];
    const key = kind.deliveryKey?.(settings);
    return prefixed(`/${index}`, [...problems, ...key === undefined ? [] : keyMistakes(key)]);
  });
}

/**
 * Finds what is allowed and weaker than it looks: a time that anyone can change, a body that nobody
 * signed. A trigger with a warning can be saved; its owner is told.
 *
 * @param ignoresFiltered the trigger answers a request that a filter refuses with success
 * @returns the warnings, each with a pointer relative to the list (`/0/timestamp`)
 */
export function conditionWarnings(
  conditions: readonly ConditionSettings[],
  ignoresFiltered = false,
): Problem[] {
  const known = conditions.map(withKind);
  const keys = known.flatMap(({ settings, kind }) => kind.deliveryKey?.(settings) ?? []);
  const facts = {
    ...factsOf(known),
    ignoresFiltered,
    keyVariables: new Set(keys.flatMap((key) => [...compileKey(key).variables])),
    hasPresetId: hasPresetId(known),
  };
  return known.flatMap(({ settings, kind }, index) =>
    prefixed(`/${index}`, kind.warnings?.(settings, facts) ?? [])
  );
}

/** Tells whether the first condition that knows the place of a delivery's id has it from its preset. */
function hasPresetId(conditions: readonly KnownCondition[]): boolean {
  const first = conditions.find(({ settings, kind }) => kind.deliveryId?.(settings) !== undefined);
  const { preset, delivery_id } = Object(first?.settings);
  return preset !== undefined && delivery_id === undefined;
}

/** Tells whether a condition proves who the sender is. */
export function isAuthenticating({ type }: ConditionSettings): boolean {
  return conditionKinds.some((kind) => kind.type === type && kind.stage === "authentication");
}

/** The row of the provider that a condition names. */
export interface NamedPreset {
  /** The condition's place in the trigger. */
  index: number;
  name: string;
  preset: Preset;
}

/** Returns the rows of the providers that conditions name. */
export function presetsOf(conditions: readonly ConditionSettings[]): NamedPreset[] {
  return conditions.map(withKind).flatMap(({ settings, kind }, index) => {
    const preset = kind.preset?.(settings);
    const name = "preset" in settings ? settings.preset : undefined;
    return preset && typeof name === "string" ? [{ index, name, preset }] : [];
  });
}

/** Returns the form of a condition's secrets. */
export function secretFormOf(settings: ConditionSettings): SecretForm {
  return conditionKinds.find(({ type }) => type === settings.type)?.secretForm?.(settings) ?? {};
}

/** Returns the fields in which conditions read credentials. */
export function credentialsOf(
  conditions: readonly ConditionSettings[],
): readonly CredentialField[] {
  return factsOf(conditions.map(withKind)).credentials;
}

/** Returns the fields of the body that are stored without their values. */
export function redactedBy(conditions: readonly ConditionSettings[]): CredentialField[] {
  return conditions.map(withKind).flatMap(({ settings, kind }) => kind.redacted?.(settings) ?? []);
}

/** Returns the paths by which the verdict of a condition depends on the request, where its owner chooses them. */
export function readsOf(condition: ConditionSettings): (readonly Key[])[] {
  const { settings, kind } = withKind(condition);
  const key = kind.deliveryKey?.(settings);
  return [...kind.reads?.(settings) ?? [], ...key === undefined ? [] : readsOfExpression(key)];
}

/** Returns the paths by which an expression depends on the request; none of one that cannot be compiled. */
export function readsOfExpression(source: string): (readonly Key[])[] {
  try {
    return pathsIn(parseExpression(source).expr);
  } catch (error) {
    if (error instanceof ExpressionError) return [];
    throw error;
  }
}

function withKind(settings: ConditionSettings): KnownCondition {
  const kind = conditionKinds.find(({ type }) => type === settings.type);
  if (!kind) throw new TypeError(`Unknown type of condition: ${settings.type}`);
  return { settings, kind };
}
