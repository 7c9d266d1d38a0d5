/**
 * The notifications of a service, and what they look at.
 *
 * @module
 */
import { type ServiceCauseParts, serviceCauses } from "../attention/service_causes.ts";
import { Notifications } from "../notifications/notifications.ts";
import type { NotifierSecrets } from "../notifications/secrets.ts";
import type { Clock } from "../platform/clock.ts";
import { messageOf } from "../platform/errors.ts";
import type { Network } from "../platform/network/connection.ts";
import type { Worker } from "../runs/worker.ts";
import { readWholePayload } from "../store/records/payloads.ts";
import type { EvaluateValues } from "../conditions/values/evaluate.ts";
import type { RunWork } from "../runs/work_state.ts";
import { endedIdsOf } from "../store/records/run_lists.ts";
import { getRun, type Run } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";
import type { DeliveryCounts } from "../store/records/delivery_counts.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { TriggerRegistry } from "../triggers/registry.ts";
import { shownPayload } from "../triggers/shown_body.ts";

/** The runs of a trigger among which the newest delivery is looked for. */
const RUNS_MAX = 50;
/** The beginning of a payload that a message holds. */
const PAYLOAD_LENGTH_MAX = 1_000;
/** A longer payload is not told: all of it is read to mask its credentials. */
const PAYLOAD_BYTES_MAX = 256 * 1024;

/** The parts of a service that notifications use. */
interface Source extends ServiceCauseParts {
  store: Store;
  clock: Clock;
  network: Network;
  triggers: TriggerRegistry;
  deliveryCounts: Pick<DeliveryCounts, "read">;
  notifierSecrets: NotifierSecrets;
  metrics: Pick<Metrics, "notification">;
  worker: Pick<Worker, "pendingOf">;
  runWork: RunWork;
  valuesOf(of: { run: Run }): EvaluateValues;
  baseUrl: string;
}

/** Makes the notifications of a service. Its parts are looked up when they are first needed. */
export function newNotifications(parts: () => Source): Notifications {
  return new Notifications(() => {
    const { store, clock, network, triggers, deliveryCounts, notifierSecrets, metrics } = parts();
    const { runWork, valuesOf } = parts();
    return {
      store,
      clock,
      network,
      runWork,
      valuesOf,
      nameInMemory: (id) => triggers.inMemory(id)?.name,
      baseUrl: () => parts().baseUrl,
      labelsOf: (id) => triggers.labelsOf(id),
      payloadOf: (id) => payloadOf(id, parts()),
      reveal: (secret, notifier) => notifierSecrets.reveal(secret, notifier),
      onSent: ({ status }) => metrics.notification(status),
      serviceCauses: () => serviceCauses(parts()),
      triggers: () => triggers.all(),
      hoursOf: async (id) => (await deliveryCounts.read(id)).hours,
      newestDelivery: (id, after) => newestDelivery(id, after, parts()),
    };
  });
}

async function payloadOf(runId: string, { store, triggers }: Source): Promise<string | undefined> {
  const run = await getRun(store, runId);
  if (run === undefined || run.payload.removed_at !== undefined) return undefined;
  if (run.payload.size > PAYLOAD_BYTES_MAX) return `(${run.payload.size} bytes)`;
  try {
    const body = await readWholePayload(store, runId, run.payload);
    const shown = await shownPayload({ triggers }, run, body);
    return new TextDecoder().decode(shown).slice(0, PAYLOAD_LENGTH_MAX);
  } catch (error) {
    return `(It cannot be read: ${messageOf(error)})`;
  }
}

/** Finds the newest run that a sender has launched: neither an operator again, nor a schedule. */
async function newestDelivery(
  triggerId: string,
  after: string,
  { store, worker }: Source,
): Promise<string> {
  const ended = await endedIdsOf(store, triggerId, { limit: RUNS_MAX });
  const ids = new Set([...worker.pendingOf(triggerId), ...ended]);
  for (const id of [...ids].sort().reverse().slice(0, RUNS_MAX)) {
    if (id <= after) break;
    const run = await getRun(store, id);
    if (run && run.replay_of === undefined && run.source === undefined) return id;
  }
  return after;
}
