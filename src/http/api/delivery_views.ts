/**
 * Deliveries as operators see them.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { lengthIn } from "../../conditions/request.ts";
import { idTime } from "../../platform/ids.ts";
import {
  type DeliveryFilter,
  type DeliveryOutcome,
  type FoundDelivery,
  type OmittedDeliveries,
  searchDeliveries,
} from "../../store/records/deliveries.ts";
import type { Run, RunStatus } from "../../store/records/runs.ts";
import {
  type DeliveryEntry,
  type NoRunOutcome,
  outcomeOf,
} from "../../store/records/trigger_log_entries.ts";
import { searchable } from "../../triggers/shown_body.ts";
import type { Operator } from "./operator.ts";
import { launcherFields } from "../../store/records/launchers.ts";
import { type Origin, shownLauncher } from "./origins.ts";
import { TriggerLabels, type TriggerRecord } from "./trigger_labels.ts";
import { pendingOf } from "./unended_runs.ts";
import { statesOf, type WorkStates } from "./work_states.ts";

/** A delivery as a list shows it. */
export interface ShownDelivery extends Partial<WorkStates> {
  id: string;
  time: string;
  trigger_id: string;
  /** The trigger's name; absent when the trigger was deleted. */
  trigger?: string;
  /** The project of its trigger when it came; absent where that is not known. */
  project?: string;
  outcome: DeliveryOutcome;
  /** The status that the sender got. */
  status: number;
  /** The type of the condition that refused it, or another cause. */
  condition?: string;
  reason?: string;
  /** The sender's id. */
  delivery_id?: string;
  remote_ip: string;
  /** Length of the body: of one that was not read, what Content-Length says; absent without it. */
  size?: number;
  /** Absent when the body was not read. */
  sha256?: string;
  run_id?: string;
  /** The status of the run that it made. */
  run_status?: RunStatus;
  /** The delivery whose payload was launched again: this one was no request. */
  replay_of?: string;
  /** The operator or the sender who has launched its run; absent where it made none. */
  launched_by?: Origin["launched_by"];
  source?: "schedule";
  scheduled_for?: string;
  /** The body was stored without its credentials. */
  redacted?: true;
}

/** The number of deliveries of one trigger and minute that have no entries of their own. */
export interface ShownOmission {
  time: string;
  trigger_id: string;
  trigger?: string;
  project?: string;
  deliveries: Partial<Record<NoRunOutcome, number>>;
}

/** Some deliveries, newest first. */
export interface DeliveryList {
  results: ShownDelivery[];
  omitted: ShownOmission[];
  next: string | undefined;
  /** The time that the search has come to; absent when it was not cut short. */
  scanned_to?: string;
}

/** The parts of the service that deliveries are read from. */
export type DeliveryParts = Pick<
  Operator,
  "store" | "triggers" | "triggerLog" | "worker" | "clock"
>;

/** Searches the deliveries, newest first. */
export async function listDeliveries(
  parts: DeliveryParts,
  { filter, limit, cursor }: { filter: DeliveryFilter; limit: number; cursor: string | undefined },
): Promise<DeliveryList> {
  const { store, triggerLog } = parts;
  // What cannot be stored keeps nobody from reading what is.
  await triggerLog.flush().catch(() => {});
  const { trigger_id } = filter;
  const { records, omitted, next, scannedTo_ms } = await searchDeliveries(store, {
    shown: searchable(parts),
    filter,
    limit,
    before: cursor,
    ...(trigger_id === undefined ? {} : { pending: pendingOf(parts, trigger_id) }),
  });
  const labels = new TriggerLabels(parts);
  return {
    results: await Promise.all(records.map((delivery) => shownDelivery(store, delivery, labels))),
    omitted: await Promise.all(omitted.map((each) => shownOmission(each, labels))),
    next,
    ...(scannedTo_ms === undefined ? {} : { scanned_to: new Date(scannedTo_ms).toISOString() }),
  };
}

/** Returns a delivery as a list shows it. */
export async function shownDelivery(
  store: DeliveryParts["store"],
  delivery: FoundDelivery,
  labels: TriggerLabels,
): Promise<ShownDelivery> {
  if ("run" in delivery) {
    const { run } = delivery;
    const [ofTrigger, states] = await Promise.all([
      fieldsOf(labels, run.trigger_id, run),
      statesOf(store, run),
    ]);
    return { ...ofRun(run), ...ofTrigger, ...states };
  }
  const { trigger_id, entry } = delivery;
  return { ...ofEntry(trigger_id, entry), ...await fieldsOf(labels, trigger_id, entry) };
}

/** Returns the fields that name the trigger and the project of a record, as far as they are known. */
async function fieldsOf(
  labels: TriggerLabels,
  triggerId: string,
  record: TriggerRecord,
): Promise<Pick<ShownDelivery, "trigger" | "project">> {
  const [trigger, project] = await Promise.all([
    labels.ofRecord(record, triggerId),
    labels.projectOf(record, triggerId),
  ]);
  return {
    ...(trigger !== undefined && { trigger: trigger.name }),
    ...(project !== undefined && { project }),
  };
}

function ofRun({ id, trigger_id, created_at, remote_ip, payload, ...run }: Run): ShownDelivery {
  const { source, scheduled_for } = run;
  const { delivery_id, replay_of, request: { status = STATUS_CODE.OK, redacted } = {} } = run;
  return {
    id,
    time: created_at,
    trigger_id,
    outcome: "accepted",
    status,
    ...(delivery_id === undefined ? {} : { delivery_id }),
    remote_ip,
    size: payload.size,
    sha256: payload.sha256,
    run_id: id,
    run_status: run.status,
    ...(replay_of === undefined ? {} : { replay_of }),
    launched_by: shownLauncher({ ...launcherFields(run), ...(replay_of && { replay_of }) }),
    ...(source && { source }),
    ...(scheduled_for !== undefined && { scheduled_for }),
    ...(redacted && { redacted }),
  };
}

function ofEntry(trigger_id: string, entry: DeliveryEntry): ShownDelivery {
  const { id, time, delivery_id, request: { remote_ip, headers, sha256 } } = entry;
  const size = entry.request.size ?? lengthIn(headers["content-length"]);
  return {
    id,
    time,
    trigger_id,
    outcome: outcomeOf(entry),
    status: entry.status ?? statusOf(entry),
    ...(entry.kind === "refused" ? { condition: entry.condition, reason: entry.reason } : {}),
    ...(delivery_id === undefined ? {} : { delivery_id }),
    remote_ip,
    ...(size === undefined ? {} : { size }),
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(entry.kind === "repeat" ? { run_id: entry.run_id } : {}),
  };
}

/** The status of an entry of an earlier version, which does not hold it. */
function statusOf(entry: DeliveryEntry): number {
  return entry.kind === "refused" && entry.condition === "body_size"
    ? STATUS_CODE.ContentTooLarge
    : STATUS_CODE.BadRequest;
}

async function shownOmission(
  { id, trigger_id, project, deliveries }: OmittedDeliveries,
  labels: TriggerLabels,
): Promise<ShownOmission> {
  const time = new Date(idTime(id)).toISOString();
  return { time, trigger_id, ...await fieldsOf(labels, trigger_id, { id, project }), deliveries };
}
