/**
 * The causes of one trigger: its failures of the last 24 hours, and the warnings of its set-up.
 *
 * @module
 */
import type { Problem } from "../platform/errors.ts";
import type { DeliveryCounts, DeliveryHour } from "../store/records/delivery_counts.ts";
import { dismissalsOf } from "../store/records/dismissals.ts";
import type { Store } from "../store/store.ts";
import { triggerWarnings } from "../triggers/review.ts";
import type { Trigger } from "../triggers/trigger.ts";
import { type ScheduleCauseParts, scheduleCauses } from "./schedule_causes.ts";
import { type Cause, type CauseCode, type CauseSource, newCause, type Subject } from "./cause.ts";

/** The parts of a service that are asked. */
interface TriggerCauseParts extends ScheduleCauseParts {
  store: Store;
  deliveryCounts: Pick<DeliveryCounts, "read">;
  notifications: CauseSource;
  /** Reads an environment variable, for secrets written as `{env:NAME}`. */
  env(name: string): string | undefined;
}

/** The share of refused deliveries from which a trigger needs attention. */
const REFUSED_SHARE = 0.1;

/**
 * Lists what needs attention of a trigger: failures first.
 *
 * @param since_ms what was counted before is left out
 */
export async function triggerCauses(
  trigger: Trigger,
  parts: TriggerCauseParts,
  since_ms = -Infinity,
): Promise<Cause[]> {
  const { hours } = await parts.deliveryCounts.read(trigger.id);
  const counted = hours.filter(({ from_ms }) => from_ms >= since_ms);
  const looked = [...await scheduleCauses(parts), ...parts.notifications.causes()];
  const seen = looked.filter(({ subject: { id } }) => id === trigger.id);
  return [
    ...failureCauses(subjectOf(trigger), counted),
    ...seen,
    ...await setupCauses(trigger, parts),
  ];
}

/** Lists the warnings of a trigger's set-up, those that were dismissed among them. */
export async function setupCauses(
  trigger: Trigger,
  { store, env }: Pick<TriggerCauseParts, "store" | "env">,
): Promise<Cause[]> {
  const causes = warningCauses(trigger, triggerWarnings(trigger, env));
  // Most triggers have no warning, and are not asked for dismissals.
  if (causes.length === 0) return causes;
  const dismissals = await dismissalsOf(store, trigger.id);
  return causes.map((cause) => {
    const found = dismissals.get(cause.id);
    if (found === undefined) return cause;
    const { reason, author, time } = found;
    return { ...cause, dismissed: { reason, author, time } };
  });
}

function subjectOf({ id, name, project }: Trigger): Subject {
  return { kind: "trigger", name, id, project };
}

/** Makes one cause of all warnings that say the same, so that one more of them is another cause. */
function warningCauses(trigger: Trigger, warnings: readonly Problem[]): Cause[] {
  const since_ms = Date.parse(trigger.updated_at);
  const bySaying = Map.groupBy(warnings, ({ detail }) => detail);
  return Array.from(bySaying, ([detail, { length }]) => {
    const text = length === 1 ? detail : `${detail} (${length} times)`;
    const pointers = warnings.filter((each) => each.detail === detail).map(({ pointer }) =>
      pointer
    );
    const cause = newCause("trigger_setup", subjectOf(trigger), { text, since_ms, isSaid: true });
    return { ...cause, pointers };
  });
}

function failureCauses(subject: Subject, hours: readonly DeliveryHour[]): Cause[] {
  const sumOf = (...names: (keyof DeliveryHour["counts"])[]) =>
    hours.reduce(
      (sum, { counts }) => names.reduce((all, name) => all + (counts[name] ?? 0), sum),
      0,
    );
  const causeOf = (code: CauseCode, text: string, ...names: (keyof DeliveryHour["counts"])[]) => {
    const first = hours.find(({ counts }) => names.some((name) => (counts[name] ?? 0) > 0));
    return newCause(code, subject, { text, since_ms: first?.from_ms ?? 0 });
  };
  const refused = sumOf("refused", "unavailable");
  const all = refused + sumOf("accepted", "repeat", "filtered");
  const causes: Cause[] = [];
  for (const noun of ["run", "execution", "pipeline"] as const) {
    const code = `${noun}_error` as const;
    const failed = sumOf(code);
    if (failed === 0) continue;
    const text = `${failed} ${noun}${failed === 1 ? "" : "s"} failed in the last 24 hours`;
    causes.push(causeOf(code, text, code));
  }
  if (refused > 0 && refused / all >= REFUSED_SHARE) {
    const text = `${refused} of ${all} deliveries were refused in the last 24 hours`;
    causes.push(causeOf("refused", text, "refused", "unavailable"));
  }
  return causes;
}
