/**
 * The newest requests of a trigger whose bodies are stored: those that it accepted, and those that its filters
 * refused and that are kept.
 *
 * @module
 */
import type { LaunchRequest } from "../conditions/request.ts";
import {
  type DeliveryOutcome,
  type FoundDelivery,
  searchDeliveries,
  type SearchOptions,
} from "../store/records/deliveries.ts";
import type { DeliveryEntry } from "../store/records/trigger_log_entries.ts";
import type { PendingIds } from "../store/records/run_lists.ts";
import type { Run } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";
import type { KeptRequests } from "./kept_requests.ts";
import { requestOfKept, requestOfRun, wholePayload } from "./replay.ts";
import { type MaskParts, shownKeptBody, shownPayload } from "./shown_body.ts";

/** The time after which no further deliveries are looked at. */
const SEARCH_MS = 200;
/** The deliveries that are read at a time where the newest are not enough. */
const FURTHER_RECORDS = 200;

/** A stored request. */
export interface RecentRequest {
  id: string;
  time: string;
  outcome: DeliveryOutcome;
  /** Bytes of its body. */
  size: number;
  /** Reads it; undefined when it was removed meanwhile, or is damaged. */
  load(): Promise<LaunchRequest | undefined>;
}

/** The parts of a service from which a request is read. */
interface StoredParts {
  store: Store;
  keptRequests: Pick<KeptRequests, "read">;
  /** Returns the address of the service as senders reach it, without a slash at the end. */
  baseUrl(): string;
  triggers: MaskParts["triggers"];
}

/** The parts of a service from which requests are listed. */
interface RecentRequestsParts extends StoredParts {
  /** The ids of the trigger's pending runs. */
  pending: PendingIds;
  /** The outcomes of those that are listed; by default, all of which requests are stored. */
  outcomes?: readonly DeliveryOutcome[];
  /** Tells whether a delivery may be read. */
  isVisible(found: FoundDelivery): Promise<boolean>;
}

/** Lists the newest stored requests of a trigger, newest first. A replay is none: its request is there already. */
export async function recentRequests(
  parts: RecentRequestsParts,
  triggerId: string,
  limit: number,
): Promise<RecentRequest[]> {
  const { store, pending, outcomes = ["accepted", "filtered"] } = parts;
  const found: RecentRequest[] = [];
  for (const outcome of outcomes) {
    const filter = { trigger_id: triggerId, outcome };
    const wanted = found.length + limit;
    const until_ms = performance.now() + SEARCH_MS;
    let page: SearchOptions = { filter, limit, pending };
    // Thousands of replays may stand before the newest request.
    for (;;) {
      const { records, next } = await searchDeliveries(store, page);
      for (const record of records) {
        if (!await parts.isVisible(record)) continue;
        const request = storedRequest(parts, triggerId, record);
        if (request !== undefined) found.push(request);
      }
      if (outcome !== "accepted" || next === undefined) break;
      if (found.length >= wanted || performance.now() > until_ms) break;
      page = { filter, limit: FURTHER_RECORDS, pending, before: next };
    }
  }
  return found.toSorted((one, other) => one.id < other.id ? 1 : -1).slice(0, limit);
}

/** Returns the stored request of a delivery of a trigger; undefined for a replay, and where it is not kept. */
export function storedRequest(
  parts: StoredParts,
  triggerId: string,
  found: FoundDelivery,
): RecentRequest | undefined {
  return "run" in found ? ofRun(parts, found.run) : ofEntry(parts, triggerId, found.entry);
}

function ofRun(parts: StoredParts, run: Run): RecentRequest | undefined {
  const { store, baseUrl } = parts;
  const { id, created_at: time, payload: { size } } = run;
  if (run.replay_of !== undefined) return undefined;
  const read = async () => {
    const body = await shownPayload(parts, run, await wholePayload(store, run));
    return await requestOfRun(store, run, baseUrl(), body);
  };
  const load = () => read().catch(() => undefined);
  return { id, time, outcome: "accepted", size, load };
}

function ofEntry(
  { keptRequests, triggers, baseUrl }: StoredParts,
  triggerId: string,
  entry: DeliveryEntry,
): RecentRequest | undefined {
  const { id: entryId, time, request: { size } } = entry;
  const isKept = entry.kind === "refused" && entry.kept_until !== undefined;
  if (!isKept || size === undefined) return undefined;
  const load = async () => {
    const kept = await keptRequests.read({ triggerId, entryId });
    if (kept === undefined) return undefined;
    const prepared = await triggers.prepared(triggerId);
    const sent = requestOfKept(kept, baseUrl());
    const found = await prepared?.decode(sent);
    const { body, headers } = found && "decoded" in found ? found.decoded : sent;
    const shown = await shownKeptBody({ triggers }, triggerId, { ...kept, body, headers });
    return sent.withBody(shown, headers);
  };
  return { id: entryId, time, outcome: "filtered", size, load };
}
