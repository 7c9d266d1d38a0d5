/**
 * Plans with paces: triggers whose runs wait for their turn, one with a schedule, and clocks that jump.
 *
 * @module
 */
import fc from "fast-check";
import type { CoalescePace, ConcurrencyPace, Pace } from "../../src/store/records/pace.ts";
import { FAILED } from "./engine.ts";
import {
  execution,
  faultFields,
  type FaultKind,
  jump_ms,
  launchFields,
  pipeline,
  type Plan,
  type SimTrigger,
  skew_ms,
} from "./plan.ts";

const WINDOW_MS = 6_000;
const WAIT_MS_MAX = 9_000;
const DELAY_MS = 3_000;

/** Returns a pace that makes runs of a key one. */
function coalesced(keep: CoalescePace["keep"]): (key: string) => Pace {
  return (key) => ({ coalesce: { key, window_ms: WINDOW_MS, wait_max_ms: WAIT_MS_MAX, keep } });
}

/** Returns a pace that limits the runs of a key that have work under way. */
function limited(
  when_full: ConcurrencyPace["when_full"],
  limit: number,
): (key: string) => Pace {
  return (key) => ({ concurrency: { key, limit, when_full } });
}

/** An execution whose first attempt fails. */
const retried = {
  ...execution,
  retry: { attempts: 3, first: 2, factor: 2, exit_codes: [FAILED] },
};

/** The triggers: each way to coalesce and to wait for others of a key, a retry, a delay, and all in one. */
const PACES: readonly [actions: SimTrigger["actions"], pace: NonNullable<SimTrigger["pace"]>][] = [
  [[execution], limited("queue", 1)],
  [[pipeline], limited("queue", 2)],
  [[execution], limited("newest", 1)],
  [[execution], limited("refuse", 1)],
  [[execution], coalesced("newest")],
  [[execution], coalesced("first")],
  [[execution], coalesced("all")],
  [[retried], limited("queue", 1)],
  [[execution], (_key, now_ms) => ({ due_ms: now_ms + DELAY_MS })],
  [[execution], (key, now_ms) => ({
    ...coalesced("newest")(key),
    due_ms: now_ms + DELAY_MS,
    ...limited("queue", 1)(key),
  })],
];

const PACED: readonly SimTrigger[] = PACES.map(([actions, pace], index) => ({
  id: `01900000-0000-7000-8000-00000000001${index}`,
  quotas: [],
  actions,
  pace,
}));

/** The trigger with a schedule, whose occurrences wait for each other. */
const SCHEDULED: SimTrigger = {
  id: "01900000-0000-7000-8000-000000000020",
  quotas: [],
  actions: [execution],
  pace: limited("queue", 1),
};

/** Triggers of one plan: so few that runs meet. */
const TRIGGERS_MAX = 2;

const { step, ...others } = faultFields;
const fault = fc.record({
  step,
  kind: fc.constantFrom<FaultKind[]>(
    "crash",
    "crash",
    "stop",
    "freeze",
    "commit",
    "outage",
    "clock",
  ),
  ...others,
  jump_ms,
});

/** Makes plans with paces. */
export const pacedPlans: fc.Arbitrary<Plan> = fc.record({
  isRemote: fc.oneof(
    { weight: 9, arbitrary: fc.constant(true) },
    { weight: 1, arbitrary: fc.constant(false) },
  ),
  triggers: fc.shuffledSubarray([...PACED], { minLength: 1, maxLength: TRIGGERS_MAX }),
  scheduled: fc.constant(SCHEDULED),
  skews_ms: fc.array(skew_ms, { minLength: 3, maxLength: 3 }),
  launches: fc.array(
    fc.record({
      at_ms: fc.nat(8_000),
      ...launchFields,
      delivery: fc.nat(1),
      size: fc.constantFrom(5, 5, 10_000),
    }),
    { minLength: 4, maxLength: 10 },
  ),
  faults: fc.array(fault, { minLength: 1, maxLength: 5 }),
});
