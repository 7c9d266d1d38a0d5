/**
 * Performing the actions of one run.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../platform/clock.ts";
import { messageOf } from "../platform/errors.ts";
import { pause } from "../platform/waiting/timers.ts";
import type { Store } from "../store/store.ts";
import { intakeOf } from "./own_runs.ts";
import { type Perform, type Performed, statusOf, type WaitingRun } from "./outcome.ts";

const RETRY_MS = 1_000;

const log = getLogger(["hooklaunch", "runs"]);

interface PerformParts {
  store: Store;
  clock: Clock;
  perform: Perform;
}

/**
 * Returns the outcomes of the actions; undefined when the signal aborted before. Actions that failed while the
 * database could not store, or for lack of files or processes, are performed again.
 */
export async function performUntilFinal(
  waiting: WaitingRun,
  parts: PerformParts,
  signal: AbortSignal,
): Promise<Performed | undefined> {
  const { store, clock } = parts;
  const intake = intakeOf(store, waiting);
  for (let { repeated } = waiting; !signal.aborted; repeated = true) {
    const failuresBefore = intake.failures;
    const performed = await performOnce({ ...waiting, repeated }, parts, signal);
    const isFinal = intake.failures === failuresBefore && performed.isShort !== true;
    if (isFinal || statusOf(performed.outcomes) === "completed") return performed;
    const { error } = performed.outcomes.find(({ error }) => error !== undefined) ?? {};
    log.warn("Cannot perform run {run_id} now, trying again: {error}", {
      run_id: waiting.run.id,
      error,
    });
    await pause(clock, RETRY_MS, signal);
  }
  return undefined;
}

async function performOnce(
  waiting: WaitingRun,
  { perform }: PerformParts,
  signal: AbortSignal,
): Promise<Performed> {
  try {
    return await perform(waiting, signal);
  } catch (error) {
    log.error("Cannot perform run {run_id}: {error}", { run_id: waiting.run.id, error });
    const failed = waiting.actions.map(({ type }) => ({ action: type, error: messageOf(error) }));
    return { outcomes: failed };
  }
}
