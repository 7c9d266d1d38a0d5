/**
 * Runs simulations on many schedules, and says how to repeat one that fails.
 *
 * @module
 */
import fc from "fast-check";
import { pacedPlans } from "./pace_plan.ts";
import { ownPlans, plans } from "./plan.ts";
import { simulate, type SimulateOptions } from "./simulation.ts";
import { settled } from "./world.ts";

/** What to simulate. */
export interface CheckOptions extends SimulateOptions {
  /** The number of schedules. */
  runs: number;
  /** No schedule is begun after so long. */
  time_ms?: number;
  seed?: number;
  /** True for triggers with a pace, over three instances, with a schedule and clocks that jump. */
  isPaced?: boolean;
  /** True for triggers with runs that are their instances' own, over three instances. */
  isOwn?: boolean;
  /** The place of one schedule among those of a seed, as a failure names it. */
  path?: string;
}

/** The result of many schedules. */
export interface Checked {
  runs: number;
  seed: number;
  /** True for triggers with a pace. */
  isPaced: boolean;
  /** True for triggers with runs that are their instances' own. */
  isOwn: boolean;
  /** The number of launches that were accepted in all of them. */
  accepted: number;
  /** The calls and steps of the clock of each schedule, as one hash. */
  trace: number;
  /** What did not hold in the first schedule that failed. */
  failure?: { path: string; findings: string[]; plan: string; calls: string[] };
}

/** Runs simulations until one fails. */
export async function check(
  { runs, time_ms, seed, path, isPaced = false, isOwn = false, ...options }: CheckOptions,
): Promise<Checked> {
  const checked = { runs: 0, accepted: 0, trace: 0 };
  let last: Omit<NonNullable<Checked["failure"]>, "path"> | undefined;
  const act = async (call: () => Promise<void>) => {
    await call();
    // A module that is loaded when it is used takes a turn of the event loop; the scheduler uses two in a row.
    for (let turns = 0; turns < (isPaced ? 3 : 1); turns++) await settled();
  };
  const planned = isPaced ? pacedPlans : isOwn ? ownPlans : plans;
  const property = fc.asyncProperty(fc.scheduler({ act }), planned, async (scheduler, plan) => {
    const { findings, accepted } = await simulate(
      scheduler,
      plan,
      isPaced || isOwn ? { processes: 3, ...options } : options,
    );
    const calls = scheduler.report().map(({ label }) => label);
    checked.runs++;
    checked.accepted += accepted;
    for (const call of calls) checked.trace = hashed(checked.trace, call);
    if (findings.length > 0) last = { findings, plan: JSON.stringify(plan), calls };
    return findings.length === 0;
  });
  const details = await fc.check(property, {
    numRuns: runs,
    endOnFailure: true,
    ...(time_ms === undefined ? {} : { interruptAfterTimeLimit: time_ms }),
    ...(seed === undefined ? {} : { seed }),
    ...(path === undefined ? {} : { path }),
  });
  const result = { ...checked, isPaced, isOwn, seed: details.seed };
  if (!details.failed) return result;
  // Then the simulation itself has failed.
  if (last === undefined) throw details.errorInstance;
  return { ...result, failure: { path: details.counterexamplePath ?? "0", ...last } };
}

/** Says what failed, and how to repeat it. */
export function describe({ seed, failure, isPaced, isOwn }: Checked): string {
  if (failure === undefined) return "";
  return [
    ...failure.findings,
    failure.plan,
    `Repeat it: deno task simulate${
      isPaced ? " --pace" : isOwn ? " --own" : ""
    } --seed=${seed} --path=${failure.path}`,
  ].join("\n");
}

function hashed(hash: number, text: string): number {
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash;
}
