/**
 * A step of making a request that a trigger's conditions let pass.
 *
 * @module
 */
import type { Field } from "../field.ts";
import type { Draft } from "./draft.ts";
import type { KeySetting } from "./keys.ts";

/** The order of steps: what changes the body comes before what signs it. */
export const STEP_ORDER = { beforeSigning: 0, signatureInBody: 1, signatureOverBody: 2 };

/** One step. Those of the lowest `order` run first. */
export interface SigningStep {
  order: number;
  /** @returns a sentence that says what was done, without secrets */
  run(): string | undefined | Promise<string>;
}

/** The request in the making, and what it is made with. */
export interface SigningContext {
  draft: Draft;
  /** Reads an environment variable, for secrets written as `{env:NAME}`. */
  env(name: string): string | undefined;
  /** Private keys for conditions that know public keys alone: as PEM, JWK or the provider's form. */
  privateKeys: readonly KeySetting[];
  /** The fields in which timestamp conditions read the time. */
  times: readonly Field[];
  /** The field that stays the same when a delivery is repeated. */
  deliveryId: Field | undefined;
}
