/**
 * The causes of schedules: occurrences that are due and cannot be stored.
 *
 * @module
 */
import type { TriggerRegistry } from "../triggers/registry.ts";
import type { ScheduleFailure } from "../triggers/scheduler.ts";
import { type Cause, newCause } from "./cause.ts";

/** The parts of a service that are asked. */
export interface ScheduleCauseParts {
  scheduler: { readonly failures: readonly ScheduleFailure[] };
  triggers: Pick<TriggerRegistry, "labelsOf">;
}

/** Lists the triggers whose schedules cannot launch them, each once. */
export async function scheduleCauses(
  { scheduler, triggers }: ScheduleCauseParts,
): Promise<Cause[]> {
  const causes: Cause[] = [];
  for (const [id, failures] of Map.groupBy(scheduler.failures, ({ triggerId }) => triggerId)) {
    const [failure] = failures.sort((one, other) => one.since_ms - other.since_ms);
    const labels = await triggers.labelsOf(id);
    if (failure === undefined || labels === undefined) continue;
    const { time_ms, since_ms, detail } = failure;
    const text = `The occurrence of ${new Date(time_ms).toISOString()} made no run yet: ${detail}`;
    const { name, project } = labels;
    causes.push(
      newCause("schedule_failed", { kind: "trigger", name, id, project }, { text, since_ms }),
    );
  }
  return causes;
}
