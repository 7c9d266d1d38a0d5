/**
 * The bodies of deliveries as their owner sees them: credentials in them are masked, also those of conditions that the
 * trigger no longer has.
 *
 * @module
 */
import { maskBody, maskedFieldsOf } from "../conditions/masked_body.ts";
import type { SearchOptions } from "../store/records/deliveries.ts";
import { getKeptIndex } from "../store/records/kept_requests.ts";
import type { Run } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";
import type { SentRequest } from "./kept_requests.ts";
import type { TriggerRegistry } from "./registry.ts";

const NOTHING = new Uint8Array();

/** Knows which fields of bodies carry credentials. */
export type MaskParts = { triggers: Pick<TriggerRegistry, "prepared"> };

/** Returns JSON Pointers to the fields of a run's payload that carry credentials. */
export async function maskedFieldsOfRun(
  { triggers }: MaskParts,
  { trigger_id, request }: Pick<Run, "trigger_id" | "request">,
): Promise<readonly string[]> {
  // A run of an earlier version does not say it.
  return request?.masked ?? await currentFields(triggers, trigger_id);
}

/** Returns a run's payload, or the beginning of it, with its credentials masked. */
export async function shownPayload(
  parts: MaskParts,
  run: Pick<Run, "trigger_id" | "request" | "payload">,
  body: Uint8Array,
): Promise<Uint8Array> {
  const fields = await maskedFieldsOfRun(parts, run);
  return await maskBody(body, run.payload.content_type ?? "", fields);
}

/** Returns the body of a kept request with its credentials masked. */
export async function shownKeptBody(
  { triggers }: MaskParts,
  triggerId: string,
  { body, headers, masked = [] }: Pick<SentRequest, "body" | "headers" | "masked">,
): Promise<Uint8Array> {
  const fields = new Set([...masked, ...await currentFields(triggers, triggerId)]);
  return await maskBody(body, headers.get("content-type") ?? "", [...fields]);
}

/** Returns the fields that the conditions of a trigger read credentials in now. */
async function currentFields(
  triggers: MaskParts["triggers"],
  triggerId: string,
): Promise<string[]> {
  const prepared = await triggers.prepared(triggerId);
  return prepared === undefined ? [] : maskedFieldsOf(prepared.credentials);
}

/**
 * Makes the function that masks what is searched. The type of a kept body is encrypted with its other headers: one
 * with credentials that is no JSON is not searched.
 */
export function searchable(
  { triggers, store }: MaskParts & { store: Store },
): NonNullable<SearchOptions["shown"]> {
  return async ({ id: entryId, run, trigger_id: triggerId }, body) => {
    if (run !== undefined) return await shownPayload({ triggers }, run, body);
    const { masked } = await getKeptIndex(store, { triggerId, entryId }) ?? {};
    // Nothing that is read without decrypting it tells where an earlier version kept a credential.
    if (masked === undefined) return NOTHING;
    const fields = new Set([...masked, ...await currentFields(triggers, triggerId)]);
    return await maskBody(body, "", [...fields]);
  };
}
