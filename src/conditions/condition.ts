/**
 * What a condition is: a schema for its settings, and a check of one request. A kind of condition is
 * one file in this folder and one line in `mod.ts` and in `prepare.ts`.
 *
 * @module
 */
import type { z } from "zod";
import type { Clock } from "../platform/clock.ts";
import type { Problem } from "../platform/errors.ts";
import type { CredentialField } from "./field.ts";
import type { LaunchRequest } from "./request.ts";

/** Why a request was refused. It goes to the trigger log alone, never to the sender. */
export interface Refusal {
  /** One sentence without a full stop. It names no secret, and no signature that would have passed. */
  reason: string;
  /** What the condition wanted, where that tells no secret. */
  expected?: string;
  /** What the request held, where that is no credential. */
  found?: string;
}

/** Checks one request: undefined lets it pass. A check that throws refuses the request. */
export type Check = (
  request: LaunchRequest,
) => Refusal | undefined | Promise<Refusal | undefined>;

/**
 * When a condition is checked. All kinds of a stage run before any of the next; run info checks
 * `address`, `authentication` and `timestamp` alone. `quota` is decided when the run is accepted, by
 * `runs/accept`, because what it counts must be stored with the run.
 */
export type Stage = "address" | "authentication" | "timestamp" | "filter" | "quota";

/** What the checks of a service have in common. */
export interface ConditionEnvironment {
  clock: Clock;
  /** Reads an environment variable, for secrets written as `{env:NAME}`. */
  env(name: string): string | undefined;
  /** Stops what a condition does in the background, when the service stops. */
  signal: AbortSignal;
}

/** What a condition may use to prepare its check. */
export interface ConditionContext extends ConditionEnvironment {
  /** The settings of the trigger's conditions, this one included, in order. */
  siblings: readonly ConditionSettings[];
  /** Where a request to the trigger carries credentials: what is found there is shown in no log. */
  credentials: readonly CredentialField[];
}

/** The settings of any condition. */
export interface ConditionSettings {
  type: string;
}

/** What all kinds of condition have. */
export interface ConditionKindBase<Settings extends ConditionSettings> {
  type: Settings["type"];
  /** Checks and completes the settings; unknown fields are errors. */
  schema: z.ZodType<Settings>;
  /**
   * Looks at the settings together with the trigger's other conditions when a trigger is saved.
   * Answers what is wrong, each with a pointer relative to this condition (`/signed_content`).
   */
  review?(settings: Settings, siblings: readonly ConditionSettings[]): Problem[];
  /** Where a request carries what this condition compares with a secret. */
  credentials?(settings: Settings): CredentialField[];
}

/** A kind of condition that decides by looking at a request. */
export interface CheckedKind<Settings extends ConditionSettings = ConditionSettings>
  extends ConditionKindBase<Settings> {
  stage: Exclude<Stage, "quota">;
  /**
   * Makes the check, once for each time a trigger is loaded: parse keys and expressions here. A
   * setting that cannot work (an environment variable that is not set) must not throw: the check
   * that is made refuses every request and says why.
   */
  prepare(settings: Settings, context: ConditionContext): Check;
}

/** A kind of condition that decides by counting accepted launches: it has no check of a request. */
export interface QuotaKind<Settings extends ConditionSettings = ConditionSettings>
  extends ConditionKindBase<Settings> {
  stage: "quota";
}

/** A kind of condition. */
export type ConditionKind<Settings extends ConditionSettings = ConditionSettings> =
  | CheckedKind<Settings>
  | QuotaKind<Settings>;
