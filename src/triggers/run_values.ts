/**
 * The values of runs: expressions that are evaluated over the request that launched a run.
 *
 * @module
 */
import type { LaunchRequest } from "../conditions/request.ts";
import type { EvaluateValues, ValuesWork } from "../conditions/values/evaluate.ts";
import type { PendingRun } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";
import type { TriggerRegistry } from "./registry.ts";
import { requestOfRun } from "./replay.ts";

/** The parts of a service that values need. */
interface RunValuesParts {
  store: Store;
  triggers: Pick<TriggerRegistry, "prepared">;
  heavyWork: ValuesWork;
  /** Returns the address of the service as senders reach it, without a slash at the end. */
  baseUrl(): string;
}

/** Returns what evaluates expressions over the request of a run, which is read when the first one needs it. */
export function valuesOfRun(
  { store, triggers, heavyWork, baseUrl }: RunValuesParts,
  { run, body }: Pick<PendingRun, "run" | "body">,
): EvaluateValues {
  let request: Promise<LaunchRequest> | undefined;
  return async (wanted) => {
    // Together: a payload that cannot be read would else fail while nobody waits for it.
    const [seen, { evaluateValues }, prepared] = await Promise.all([
      request ??= requestOfRun(store, run, baseUrl(), body),
      import("../conditions/values/evaluate.ts"),
      triggers.prepared(run.trigger_id),
    ]);
    const trigger = prepared?.trigger.name ?? run.trigger_id;
    const credentials = prepared?.credentials ?? [];
    const of = { run_id: run.id, trigger };
    const context = { heavyWork, owner: run.trigger_id };
    return await evaluateValues(seen, of, { credentials, ...wanted }, context);
  };
}
