/**
 * A look at whether the bodies of a trigger's deliveries begin to differ from those before them. It reads stored
 * deliveries, so it costs a launch nothing.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { SchemaWork } from "../conditions/json_schema/job.ts";
import type { ShapeWork } from "../conditions/json_schema/shape_job.ts";
import { messageOf } from "../platform/errors.ts";
import { withPause } from "../store/commit/chunked.ts";
import type { DeliveryCounts } from "../store/records/delivery_counts.ts";
import { readDelivery } from "../store/records/deliveries.ts";
import { getShapeSample, putShapeSample } from "../store/records/shape_samples.ts";
import type { TriggerLog } from "../store/records/trigger_log.ts";
import { differenceFrom, shapesOf } from "./infer_schema.ts";
import { type RecentRequest, recentRequests, storedRequest } from "./recent_requests.ts";
import type { TriggerRegistry } from "./registry.ts";

/** The newest deliveries that one look compares with the sample. */
const NEWEST_MAX = 20;
/** A sample of fewer deliveries says too little to compare with. */
const COMPARED_MIN = 10;
/** A sample grows by deliveries that are alike up to this size, and by others up to the next. */
const ALIKE_MAX = 20;
const SAMPLE_MAX = 40;

const log = getLogger(["hooklaunch"]);

/** The parts of a service that the look needs. */
interface ShapeParts extends Omit<Parameters<typeof recentRequests>[0], "pending" | "outcomes"> {
  triggers: Pick<TriggerRegistry, "labelsOf" | "prepared">;
  triggerLog: Pick<TriggerLog, "add">;
  deliveryCounts: Pick<DeliveryCounts, "read" | "triggersOfLastDay">;
  heavyWork: ShapeWork & SchemaWork;
  pendingOf(triggerId: string): string[];
  /** Aborted when the service stops. */
  signal: AbortSignal;
}

/**
 * Compares the newest deliveries of each trigger that had one in the last day with a sample of those before, and
 * writes a line in the trigger's log for each that differs. That one joins the sample, so the same change is told
 * once.
 */
export async function noteShapeChanges(parts: ShapeParts): Promise<void> {
  for await (const id of parts.deliveryCounts.triggersOfLastDay()) {
    if (parts.signal.aborted) return;
    try {
      await withPause(() => compare(id, parts));
    } catch (error) {
      log.warn("Cannot compare the deliveries of trigger {trigger_id}: {error}", {
        trigger_id: id,
        error: messageOf(error),
      });
    }
  }
}

async function compare(id: string, parts: ShapeParts): Promise<void> {
  const { store, heavyWork, triggerLog, triggers, deliveryCounts, signal } = parts;
  const { last_ms } = await deliveryCounts.read(id);
  if (last_ms === undefined) return;
  const sample = await getShapeSample(store, id);
  if (last_ms <= sample.looked_ms) return;
  const labels = await triggers.labelsOf(id);
  if (labels === undefined) return;
  const { project } = labels;
  const newest = await newestOf(id, sample.last, parts);
  const known = await shapesOf(await sampleOf(id, sample.ids, parts), heavyWork);
  for (const one of await shapesOf(newest, heavyWork)) {
    if (signal.aborted) return;
    const difference = await differenceFrom(known, one, heavyWork);
    if (difference !== undefined && known.length >= COMPARED_MIN) {
      const event = { kind: "shape_changed" as const, run_id: one.stored.id, ...difference };
      triggerLog.add({ id, project }, event);
    }
    if (difference !== undefined || known.length < ALIKE_MAX) known.push(one);
  }
  await putShapeSample(store, id, {
    ids: known.map(({ stored }) => stored.id).slice(-SAMPLE_MAX),
    last: newest.at(-1)?.id ?? sample.last,
    looked_ms: last_ms,
  });
}

/** Reads the newest accepted deliveries since the last look, oldest first. */
async function newestOf(
  triggerId: string,
  last: string,
  parts: ShapeParts,
): Promise<RecentRequest[]> {
  const pending = parts.pendingOf(triggerId);
  const outcomes = ["accepted"] as const;
  const found = await recentRequests({ ...parts, pending, outcomes }, triggerId, NEWEST_MAX);
  return found.filter(({ id }) => id > last).toReversed();
}

/** Reads the deliveries of a sample that are still stored. */
async function sampleOf(
  triggerId: string,
  ids: readonly string[],
  parts: ShapeParts,
): Promise<RecentRequest[]> {
  const found = await Promise.all(ids.map((id) => readDelivery(parts.store, id)));
  return found.flatMap((each) => each && storedRequest(parts, triggerId, each) || []);
}
