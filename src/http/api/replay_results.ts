/**
 * The deliveries of a bulk replay beside what came of them this time.
 *
 * @module
 */
import { readDelivery } from "../../store/records/deliveries.ts";
import { type Replay, replayedDeliveries } from "../../store/records/replays.ts";
import { listReplaysOf } from "../../store/records/run_lists.ts";
import { type DeliveryParts, type ShownDelivery, shownDelivery } from "./delivery_views.ts";
import { TriggerLabels } from "./trigger_labels.ts";
import { type OutcomeDifference, outcomeDifferencesOf } from "./outcomes.ts";

/** Replays of one delivery among which the one that is asked for is looked for. */
const REPLAYS_LOOKED_AT_MAX = 100;

/** A delivery, its launch by a replay, and how the outcomes differ. */
export interface ReplayResult {
  before: ShownDelivery;
  /** Absent where the replay has not launched it. */
  after?: ShownDelivery;
  differences: OutcomeDifference[];
}

/** Some results, oldest delivery first. */
interface ResultsPage {
  results: ReplayResult[];
  /** The id behind which to go on; undefined when there are no more. */
  next: string | undefined;
}

/** Reads a page of what came of a replay, as far as it is. */
export async function replayResults(
  parts: DeliveryParts,
  replay: Replay,
  { after = "", limit }: { after?: string | undefined; limit: number },
): Promise<ResultsPage> {
  const labels = new TriggerLabels(parts);
  const results: ReplayResult[] = [];
  let left = replay.done;
  let last = "";
  for await (const id of replayedDeliveries(parts.store, { ...replay, done: 0 })) {
    if (left-- <= 0) break;
    if (id <= after) continue;
    if (results.length === limit) return { results, next: last };
    const result = await resultOf(parts, { id, replayId: replay.id }, labels);
    if (result !== undefined) results.push(result);
    last = id;
  }
  return { results, next: undefined };
}

/** Reads one result; undefined when the delivery was removed. */
async function resultOf(
  { store }: DeliveryParts,
  { id, replayId }: { id: string; replayId: string },
  labels: TriggerLabels,
): Promise<ReplayResult | undefined> {
  const found = await readDelivery(store, id);
  if (found === undefined) return undefined;
  const before = await shownDelivery(store, found, labels);
  const runs = await listReplaysOf(store, id, { limit: REPLAYS_LOOKED_AT_MAX });
  const run = runs.find(({ replay_id }) => replay_id === replayId);
  if (run === undefined) return { before, differences: [] };
  return {
    before,
    after: await shownDelivery(store, { run }, labels),
    differences: await outcomeDifferencesOf(store, found, run),
  };
}
