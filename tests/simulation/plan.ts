/**
 * A plan of what happens to a simulated world: who launches what, and what goes wrong.
 *
 * @module
 */
import fc from "fast-check";
import type { Quota } from "../../src/runs/rate_window.ts";
import type { Pace } from "../../src/store/records/pace.ts";
import type { ActionSettings } from "../../src/store/records/runs.ts";

/** A trigger of the simulation. */
export interface SimTrigger {
  id: string;
  quotas: readonly Quota[];
  /** The time in which a repeat is recognised, in seconds; absent where repeats launch too. */
  window_s?: number;
  actions: readonly ActionSettings[];
  /** The pace of a launch; absent where runs are performed at once. */
  pace?(key: string, now_ms: number): Pace;
}

/** An action that launches one execution. */
export const execution = { type: "run_execution", step: "train", commit: "HEAD", parameters: {} };
/** An action that launches a pipeline. */
export const pipeline = { type: "run_pipeline", pipeline: "learn", commit: "HEAD", parameters: {} };

/** An action that sends a request: its run is its instance's own. */
const request = { type: "http_request" };

/** The triggers with runs that are their instances' own, and one with others. */
export const OWN_TRIGGERS: readonly SimTrigger[] = [
  { id: "01900000-0000-7000-8000-000000000004", quotas: [], actions: [request] },
  {
    id: "01900000-0000-7000-8000-000000000005",
    quotas: [{ period: 5, quota: 3 }],
    window_s: 3,
    actions: [request],
  },
  { id: "01900000-0000-7000-8000-000000000001", quotas: [], actions: [execution] },
];

/** The triggers without a pace: a free one, one with two quotas, and one with deduplication and a quota. */
export const TRIGGERS: readonly SimTrigger[] = [
  { id: "01900000-0000-7000-8000-000000000001", quotas: [], actions: [execution] },
  {
    id: "01900000-0000-7000-8000-000000000002",
    quotas: [{ period: 1, quota: 2 }, { period: 10, quota: 4 }],
    actions: [execution, execution],
  },
  {
    id: "01900000-0000-7000-8000-000000000003",
    quotas: [{ period: 5, quota: 3 }],
    window_s: 3,
    actions: [pipeline],
  },
];

const DELIVERIES = 3;
/** Payloads that lie in the run's record, beside it, and in an upload. */
const SIZES = [5, 5, 5, 10_000, 140_000];

/** The fields of a launch, all but its time. */
export const launchFields = {
  trigger: fc.nat(TRIGGERS.length - 1),
  /** The sender's id of the delivery, where its trigger has deduplication; its key, where that has a pace. */
  delivery: fc.nat(DELIVERIES - 1),
  size: fc.constantFrom(...SIZES),
  /** The sender leaves after so long. */
  leaves_ms: fc.oneof(
    { weight: 5, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.nat(40) },
    { weight: 1, arbitrary: fc.nat(3_000) },
  ),
};
const launch = fc.record({ at_ms: fc.nat(6_000), ...launchFields });

/** One launch of a plan. */
export type PlannedLaunch = typeof launch extends fc.Arbitrary<infer T> ? T : never;

/**
 * The end of a call of a remote database.
 *
 * - `ok`: it is executed and answered.
 * - `none`: it is not executed, and ends with an error.
 * - `lost`: it is executed, and ends with an error.
 * - `late`: it ends with an error, and a commit is executed later.
 * - `swallowed`: it is not executed, and never ends.
 * - `unanswered`: it is executed, and never ends.
 */
export type CallEnd = "ok" | "none" | "lost" | "late" | "swallowed" | "unanswered";

/** Makes the ends of some calls, one after the other. */
const endsOf = (...ends: CallEnd[]) =>
  fc.array(fc.constantFrom(...ends), { minLength: 2, maxLength: 6 });

/** The fields of a fault, all but its kind. */
export const faultFields = {
  /** Before which call or step of the clock it happens. */
  step: fc.nat(450),
  /** The process that it happens to, among those that are there. */
  process: fc.nat(2),
  /** The commits that fail, or whose answers are lost. */
  commits: fc.integer({ min: 1, max: 3 }),
  /** How the next calls end in an outage, one after the other. */
  ends: endsOf("ok", "none", "lost", "late"),
  /** True where these are the calls of one lane alone. */
  isOfLane: fc.boolean(),
  /** The time after which late commits arrive. */
  late_ms: fc.constantFrom(1, 100, 1_500, 8_000),
  /** The time that a process is frozen, or until it is started again. */
  time_ms: fc.constantFrom(10, 300, 2_000, 20_000),
};
const kind = fc.constantFrom<FaultKind[]>(
  "crash",
  "crash",
  "stop",
  "freeze",
  "commit",
  "outage",
  "outage",
);
// The order of its fields decides which plans a seed makes.
const { step, ...others } = faultFields;
const ends = endsOf("ok", "none", "lost", "late", "swallowed", "unanswered");
const fault = fc.record({ step, kind, ...others, ends });

/** The lengths of jumps of a clock, in milliseconds. */
export const jump_ms = fc.constantFrom(-65_000, -700, 700, 20_000, 130_000);
const jump = fc.record({ step, kind: fc.constant<FaultKind>("clock"), ...others, jump_ms });

/** A kind of fault. A clock that jumps jumps back after the fault's time. */
export type FaultKind = "crash" | "stop" | "freeze" | "commit" | "outage" | "clock";

/** One fault of a plan. */
export type PlannedFault = (typeof fault extends fc.Arbitrary<infer T> ? T : never) & {
  /** The length of a jump of a clock. */
  jump_ms?: number;
};

/** A plan. */
export interface Plan {
  /** The triggers that are launched. Default: those without a pace. */
  triggers?: readonly SimTrigger[];
  /** The trigger that is launched by a schedule, each minute. */
  scheduled?: SimTrigger;
  isRemote: boolean;
  /** True where instances perform runs of their own. */
  isOwn?: boolean;
  /** How far the clock of each machine is ahead. */
  skews_ms: readonly number[];
  launches: readonly PlannedLaunch[];
  faults: readonly PlannedFault[];
}

/** The largest error of a machine's clock, in milliseconds. */
export const SKEW_MS_MAX = 400;
/** The error of a machine's clock. */
export const skew_ms = fc.integer({ min: -SKEW_MS_MAX, max: SKEW_MS_MAX });

/** Makes plans. */
export const plans: fc.Arbitrary<Plan> = fc.record({
  isRemote: fc.boolean(),
  skews_ms: fc.array(skew_ms, { minLength: 3, maxLength: 3 }),
  launches: fc.array(launch, { minLength: 8, maxLength: 20 }),
  faults: fc.array(fault, { minLength: 1, maxLength: 5 }),
  jumps: fc.array(jump, { maxLength: 2 }),
}).map(({ faults, jumps, ...plan }) => ({ ...plan, faults: [...faults, ...jumps] }));

/** Makes plans with runs that are their instances' own. */
export const ownPlans: fc.Arbitrary<Plan> = fc.record({
  isRemote: fc.constant(true),
  isOwn: fc.constant(true),
  skews_ms: fc.array(skew_ms, { minLength: 3, maxLength: 3 }),
  launches: fc.array(launch, { minLength: 6, maxLength: 14 }),
  faults: fc.array(fault, { minLength: 1, maxLength: 5 }),
});
