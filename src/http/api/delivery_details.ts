/**
 * One delivery with all that is known of it: the request, the verdict on each condition, the run.
 *
 * @module
 */
import { readWholePayload } from "../../store/records/payloads.ts";
import type { FoundDelivery } from "../../store/records/deliveries.ts";
import { getHttpRequest } from "../../store/records/http_requests.ts";
import type { Run } from "../../store/records/runs.ts";
import type { DeliveryEntry, KnownVerdict } from "../../store/records/trigger_log_entries.ts";
import { callbackId } from "../../triggers/callback_id.ts";
import { NO_CONDITION } from "../../triggers/order.ts";
import { shownKeptBody, shownPayload } from "../../triggers/shown_body.ts";
import { knownVerdicts } from "../../triggers/verdicts.ts";
import { type DeliveryParts, type ShownDelivery, shownDelivery } from "./delivery_views.ts";

import { type ShownHttpRequest, shownHttpRequest } from "./http_requests.ts";
import type { Operator } from "./operator.ts";
import type { Records } from "./records.ts";
import { shownRun } from "./shown_run.ts";
import { TriggerLabels } from "./trigger_labels.ts";
import { type OutcomeDifference, outcomeDifferencesOf } from "./outcomes.ts";
import type { ShownRun } from "./shown_run.ts";
import type { WorkStates } from "./work_states.ts";

/** The newest ones are shown. */
const REPLAYS_MAX = 20;
/** A longer body is left out. */
const BODY_BYTES_MAX = 1024 * 1024;

/** The result of one condition, with what the condition said. */
export interface DeliveryVerdict extends KnownVerdict {
  reason?: string;
  found?: string;
  expected?: string;
}

/** A delivery with its request, its verdicts and its run. */
export interface DeliveryDetails extends Omit<ShownDelivery, keyof WorkStates>, WorkStates {
  method: string;
  headers: Record<string, string>;
  /** Empty where there was none. */
  query: string;
  /** The names of headers and parameters that were too long to keep. */
  left_out?: { headers: string[]; query: string[] };
  /** In base64. Absent when it is not kept, or longer than 1 MiB. */
  body?: string;
  /** The time up to which a request that made no run is kept as it came; absent when it is not. */
  kept_until?: string;
  /** Absent when they are not known: the trigger has changed since, or it is a replay. */
  verdicts?: DeliveryVerdict[];
  /** The newest deliveries that launched this one again. */
  replays?: ShownReplayOf[];
  /** The HTTP requests of the run, and what came back. */
  sent?: ShownHttpRequest[];
  /** The run that it made, or that it is a repeat of; absent when it was removed. */
  run?: ShownRun;
}

/** A delivery that launched another one again, and how its outcome differs from that one's. */
export interface ShownReplayOf extends ShownDelivery {
  differences: OutcomeDifference[];
}

/** Reads a delivery with all that is known of it; undefined when there is none of this id. */
export async function deliveryDetails(
  parts: DeliveryParts & Pick<Operator, "keptRequests">,
  records: Records,
  id: string,
): Promise<DeliveryDetails | undefined> {
  const delivery = await records.delivery(id);
  if (delivery === undefined) return undefined;
  const shown = await records.withoutForeignName(
    await shownDelivery(parts.store, delivery, new TriggerLabels(parts)),
  );
  const run = await runOf(records, delivery);
  const replays = await replaysOf(parts, records, delivery);
  const request = "run" in delivery
    ? await acceptedRequest(parts, delivery.run)
    : { ...refusedRequest(delivery.entry), ...await keptBody(parts, delivery) };
  const details = run && await runDetails(parts, records, run);
  // Read once: states of two moments could say both that the work runs and that it has ended.
  const states = "run" in delivery ? details?.run : undefined;
  return {
    ...shown,
    executions: states?.executions ?? [],
    pipelines: states?.pipelines ?? [],
    http_requests: states?.http_requests ?? [],
    ...request,
    ...(replays.length > 0 && { replays }),
    ...details,
  };
}

async function runDetails(
  parts: DeliveryParts,
  records: Records,
  run: Run,
): Promise<{ run: ShownRun; sent?: ShownHttpRequest[] }> {
  const { store } = parts;
  const labels = new TriggerLabels(parts);
  const shown = await records.withoutForeignName(await shownRun(parts, labels, run));
  const ids = shown.http_requests.map(({ id }) => id);
  if (run.callback) ids.push(callbackId(run.id));
  const requests = await Promise.all(ids.map((id) => getHttpRequest(store, id)));
  const sent = await Promise.all(
    requests.filter((request) => request !== undefined)
      .map(async (request) =>
        await records.withoutForeignName(await shownHttpRequest(store, labels, request))
      ),
  );
  return { run: shown, ...(sent.length > 0 && { sent }) };
}

async function runOf(records: Records, delivery: FoundDelivery): Promise<Run | undefined> {
  if ("run" in delivery) return delivery.run;
  const { entry } = delivery;
  return entry.kind === "repeat" ? await records.run(entry.run_id) : undefined;
}

async function replaysOf(
  parts: DeliveryParts,
  records: Records,
  found: FoundDelivery,
): Promise<ShownReplayOf[]> {
  const { store } = parts;
  const { id } = "run" in found ? found.run : found.entry;
  const runs = await records.replaysOf(id, REPLAYS_MAX);
  const labels = new TriggerLabels(parts);
  return await Promise.all(runs.map(async (run) => ({
    ...await records.withoutForeignName(await shownDelivery(store, { run }, labels)),
    differences: await outcomeDifferencesOf(store, found, run),
  })));
}

type RequestDetails = Pick<
  DeliveryDetails,
  "method" | "headers" | "query" | "left_out" | "body" | "verdicts"
>;

async function acceptedRequest(parts: DeliveryParts, run: Run): Promise<RequestDetails> {
  const { request: { headers = {}, query = "", left_out } = {}, payload } = run;
  const type = payload.content_type === undefined ? {} : { "content-type": payload.content_type };
  const body = payload.size > BODY_BYTES_MAX ? undefined : await bodyOf(parts, run);
  const verdicts = await acceptedVerdicts(parts, run);
  return {
    method: "POST",
    headers: { ...type, ...headers },
    query,
    ...(left_out && { left_out }),
    ...(body === undefined ? {} : { body }),
    ...(verdicts && { verdicts }),
  };
}

async function bodyOf(parts: DeliveryParts, run: Run): Promise<string | undefined> {
  // A damaged payload is told of where it is asked for by itself.
  const body = await readWholePayload(parts.store, run.id, run.payload).catch(() => undefined);
  return body && (await shownPayload(parts, run, body)).toBase64();
}

/** Returns that all conditions have passed, where they are still those that the request met. */
async function acceptedVerdicts(
  { triggers }: DeliveryParts,
  { trigger_id, created_at, replay_of, source }: Run,
): Promise<DeliveryVerdict[] | undefined> {
  if (replay_of !== undefined || source !== undefined) return undefined;
  const prepared = await triggers.prepared(trigger_id);
  if (prepared === undefined || prepared.trigger.updated_at > created_at) return undefined;
  return knownVerdicts(prepared.launch);
}

async function keptBody(
  { keptRequests, triggers }: Pick<Operator, "keptRequests" | "triggers">,
  { trigger_id, entry: { id: entryId } }: Exclude<FoundDelivery, { run: Run }>,
): Promise<Pick<DeliveryDetails, "body" | "kept_until">> {
  const kept = await keptRequests.read({ triggerId: trigger_id, entryId });
  if (kept === undefined) return {};
  const body = await shownKeptBody({ triggers }, trigger_id, kept);
  return { body: body.toBase64(), kept_until: new Date(kept.until_ms).toISOString() };
}

function refusedRequest(entry: DeliveryEntry): RequestDetails {
  const { request: { method, headers, query = "" }, verdicts } = entry;
  return {
    method,
    headers,
    query,
    ...(verdicts && { verdicts: explained(entry, verdicts) }),
  };
}

/** Adds what the condition that ended the checks said, or the cause that is no condition. */
function explained(entry: DeliveryEntry, verdicts: readonly KnownVerdict[]): DeliveryVerdict[] {
  if (entry.kind === "repeat") {
    const reason = `A repeat of what made run ${entry.run_id}`;
    return verdicts.map((each) => each.condition === "deduplication" ? { ...each, reason } : each);
  }
  const { condition, condition_index: index = NO_CONDITION, reason, found, expected } = entry;
  const said = {
    reason,
    ...(found === undefined ? {} : { found }),
    ...(expected === undefined ? {} : { expected }),
  };
  if (index !== NO_CONDITION) {
    return verdicts.map((each) => each.verdict === "failed" ? { ...each, ...said } : each);
  }
  const place = verdicts.findIndex(({ verdict }) => verdict === "not reached");
  const cause: DeliveryVerdict = { condition, index, verdict: "failed", ...said };
  return verdicts.toSpliced(place === -1 ? verdicts.length : place, 0, cause);
}
