/**
 * The facts that the conditions of one trigger tell each other.
 *
 * @module
 */
import type { ConditionKind, ConditionSettings, TriggerFacts } from "./condition.ts";
import type { CredentialField } from "./field.ts";

/** These headers carry credentials whatever a trigger's conditions are. */
const CREDENTIAL_HEADERS = ["authorization", "cookie", "proxy-authorization"];

/** A condition and its kind. */
export interface KnownCondition {
  settings: ConditionSettings;
  kind: ConditionKind;
}

/** Collects the facts of a trigger's conditions. */
export function factsOf(conditions: readonly KnownCondition[]): TriggerFacts {
  const collect = <T>(read: (condition: KnownCondition) => T | undefined): T[] =>
    conditions.map(read).filter((fact) => fact !== undefined);
  return {
    presets: collect(({ kind, settings }) => kind.preset?.(settings)),
    schemes: collect(({ kind, settings }) => kind.scheme?.(settings)),
    times: collect(({ kind, settings }) => kind.time?.(settings)),
    deliveryId: collect(({ kind, settings }) => kind.deliveryId?.(settings))[0],
    credentials: [
      ...CREDENTIAL_HEADERS.map((name): CredentialField => ({ in: "header", name })),
      ...collect(({ kind, settings }) => kind.credentials?.(settings)).flat(),
    ],
  };
}
