/**
 * The interface of a kind of condition. A kind is one file in this folder and one line in `kinds.ts`.
 *
 * @module
 */
import type { z } from "zod";
import type { Clock } from "../platform/clock.ts";
import type { Problem } from "../platform/errors.ts";
import type { Delivery } from "../runs/delivery_ids.ts";
import type { Check, HeadCheck, Refusal, RunSerially } from "./check.ts";
import type { Key } from "./cel/paths.ts";
import type { CredentialField, Field } from "./field.ts";
import type { DecodeWork } from "./decoding/job.ts";
import type { KeyWork } from "./delivery_key.ts";
import type { FilterWork } from "./filter/job.ts";
import type { SchemaWork } from "./json_schema/job.ts";
import type { ValuesWork } from "./values/evaluate.ts";
import type { Quota } from "../runs/rate_window.ts";
import type { LaunchRequest } from "./request.ts";
import type { Preset } from "./signing/preset.ts";
import type { Scheme } from "./signing/scheme.ts";
import type { SigningContext, SigningStep } from "./signing/draft.ts";

/**
 * The stage of the door at which a condition is checked, in this order. Run info has the first three
 * alone. `quota` is decided by the commit that stores the run, since what it counts is stored with the run.
 */
export type Stage = "address" | "authentication" | "timestamp" | "filter" | "quota";

/** The service's parts that all conditions use. */
export interface ConditionEnvironment {
  clock: Clock;
  /** Reads an environment variable, for secrets written as `{env:NAME}`. */
  env(name: string): string | undefined;
  /** Aborted when the service stops: ends what a condition does in the background. */
  signal: AbortSignal;
  /** Evaluates filters, schemas, keys of deliveries and values of responses, and decodes bodies, in the Worker. */
  heavyWork: DecodeWork & FilterWork & KeyWork & SchemaWork & ValuesWork;
}

/** The facts that the conditions of one trigger tell each other. */
export interface TriggerFacts {
  /** The signing schemes of the conditions that have one. */
  schemes: readonly Scheme[];
  /** The rows of the providers that the conditions name. */
  presets: readonly Preset[];
  /** The fields in which timestamp conditions read the time. */
  times: readonly Field[];
  /** The field that stays the same when a delivery is repeated, by the first condition that knows it. */
  deliveryId: Field | undefined;
  /** The fields that carry credentials: no log shows their values. */
  credentials: readonly CredentialField[];
}

/** The facts that warnings depend on. */
export interface WarningFacts extends TriggerFacts {
  /** The trigger answers a request that a filter refuses with success. */
  ignoresFiltered: boolean;
  /** The variables that the expression reads whose value is the delivery's id. */
  keyVariables: ReadonlySet<string>;
  /** The delivery's id is where a provider puts it, by its preset: the owner has not chosen the place. */
  hasPresetId: boolean;
}

/** The surroundings of a prepared condition. */
export interface ConditionContext extends ConditionEnvironment, TriggerFacts {
  /**
   * Runs costly work, such as a check of a long body, one request of the trigger at a time.
   *
   * @throws {UnavailableError} when too many requests wait for their turn
   */
  runSerially: RunSerially;
  /** The trigger, to which the Worker's time is counted. */
  triggerId: string;
  /** A handshake of the trigger signs tokens: no signature of one proves a sender. */
  signsTokens: boolean;
}

/** The settings of any condition. */
export interface ConditionSettings {
  type: string;
}

/** The form of a condition's secrets, by which their strength is judged. */
export interface SecretForm {
  /** Decodes a secret's text, or returns undefined; UTF-8 when absent. */
  decode?(text: string): Uint8Array | undefined;
  /** The bytes that an algorithm asks for. */
  need?: { bytes: number; by: string };
}

/** The capabilities of every kind of condition. Those that are optional are absent where a kind has none. */
interface KindBase<Settings extends ConditionSettings> {
  type: Settings["type"];
  /** Checks and completes the settings; unknown fields are errors. */
  schema: z.ZodType<Settings>;
  /** A trigger has at most one condition of this kind. */
  isUnique?: true;
  /** Returns the errors in the settings beside the trigger's other conditions, pointers relative to this one. */
  review?(settings: Settings, facts: TriggerFacts): Problem[];
  /** Returns the weaknesses that an owner should know, pointers relative to this condition. */
  warnings?(settings: Settings, facts: WarningFacts): Problem[];
  /** Returns the form of its secrets, where that is not just any text. */
  secretForm?(settings: Settings): SecretForm;
  /** Returns the fields that carry what this condition compares with a secret. */
  credentials?(settings: Settings): CredentialField[];
  /** Returns the fields of the body that are stored without their values. */
  redacted?(settings: Settings): CredentialField[];
  /** Returns the row of the provider, where the settings name one. */
  preset?(settings: Settings): Preset | undefined;
  /** Returns the scheme by which the sender signs. */
  scheme?(settings: Settings): Scheme;
  /** Returns the field in which this condition reads the time of sending. */
  time?(settings: Settings): Field;
  /** Returns the field that stays the same when the sender repeats a delivery, where its preset knows it. */
  deliveryId?(settings: Settings): Field | undefined;
  /** Returns the paths by which its verdict depends on the request, where its owner chooses them. */
  reads?(settings: Settings): (readonly Key[])[];
  /** Returns the expression whose value is the delivery's id. */
  deliveryKey?(settings: Settings): string | undefined;
  /** Makes the reader of the secret that signed a request, with which a handshake's answer is signed. */
  handshakeKey?(
    settings: Settings,
    context: ConditionContext,
  ): (request: LaunchRequest) => Promise<Uint8Array | undefined>;
  /** Returns the steps that make a request which passes this condition. */
  sign?(settings: Settings, context: SigningContext): SigningStep[];
}

/** A kind of condition that checks a request. */
export interface CheckedKind<Settings extends ConditionSettings = ConditionSettings>
  extends KindBase<Settings> {
  stage: Exclude<Stage, "quota">;
  /**
   * Makes the check, once each time a trigger is loaded: parse keys and expressions here. A setting that
   * cannot work (an environment variable that is not set) must not throw: return a check that refuses
   * every request and says why.
   */
  prepare(settings: Settings, context: ConditionContext): Check | Promise<Check>;
  /**
   * Makes the cheap check that the door does before it reads the body: the credential is present and well
   * formed. It compares no secret, and refuses nothing that the check would let pass. Undefined where the
   * settings look for the credential in the body.
   */
  beforeBody?(
    settings: Settings,
    context: ConditionContext,
  ): HeadCheck | undefined | Promise<HeadCheck | undefined>;
}

/** A kind of condition that is decided by the commit that stores the run: see `runs/accept.ts`. */
export interface QuotaKind<Settings extends ConditionSettings = ConditionSettings>
  extends KindBase<Settings> {
  stage: "quota";
  quota(settings: Settings, context: ConditionContext): QuotaRule | Promise<QuotaRule>;
}

/** A rule that acceptance holds a launch to: it has one field or both. */
export interface QuotaRule {
  /** Limits the accepted launches in any span of time. */
  limit?: Quota;
  /** Reads the id of the delivery, of which a repeat starts nothing. */
  readDelivery?(request: LaunchRequest): Delivery | Refusal | Promise<Delivery | Refusal>;
}

/** A kind of condition. */
export type ConditionKind<Settings extends ConditionSettings = ConditionSettings> =
  | CheckedKind<Settings>
  | QuotaKind<Settings>;
