/**
 * A replay: the payload of an earlier delivery, launched again by an operator with its trigger's actions and
 * rate limits as they are now. Of an accepted delivery, the conditions are not checked: they held when it
 * came. Of a refused one that was kept, the trigger's conditions as they are now judge the request as it came,
 * at the time at which it came.
 *
 * @module
 */
import { maskBody } from "../conditions/masked_body.ts";
import { type LaunchRequest, launchRequest } from "../conditions/request.ts";
import type { Author } from "../store/records/audit.ts";
import type { ActionSettings, Run } from "../store/records/runs.ts";
import { readWholePayload } from "../store/records/payloads.ts";
import type { KeptPlace } from "../store/records/kept_requests.ts";
import type { Store } from "../store/store.ts";
import type { Clock } from "../platform/clock.ts";
import { ConflictError, RemovedError } from "../platform/errors.ts";
import { headerValue } from "../platform/network/header_text.ts";
import type { Acceptor, Launch } from "../runs/accept.ts";
import { type Delivery, keptId } from "../runs/delivery_ids.ts";
import type { Quota } from "../runs/rate_window.ts";
import { refusalText } from "./explain.ts";
import { type KeptRequest, type KeptRequests, whyNotKept } from "./kept_requests.ts";
import { inspect } from "./order.ts";
import type { PreparedTrigger } from "./prepare.ts";
import type { TriggerRegistry } from "./registry.ts";
import { launchFacts } from "./request_facts.ts";

/** The parts of a service that a replay uses. */
export interface ReplayParts {
  store: Store;
  clock: Clock;
  triggers: Pick<TriggerRegistry, "prepared" | "isCurrent">;
  keptRequests: Pick<KeptRequests, "read">;
  acceptor: Acceptor;
  /** Returns the address of the service as senders reach it, without a slash at the end. */
  baseUrl(): string;
}

/** Changes of what is launched again. */
interface ReplayChanges {
  /** The payload in place of the delivery's own. */
  body?: Uint8Array | undefined;
  /** The commit that the actions run at, in place of their own. */
  commit?: string | undefined;
  /** By which a repeat of this replay is found, so that it launches once. */
  delivery?: Delivery | undefined;
  /** The bulk replay that it belongs to. */
  replayId?: string;
  /** The operator who asked for it; undefined where an earlier version did not store it. */
  author?: Author | undefined;
}

/**
 * The result of a replay: the new run, the run of an earlier request of the same delivery, or the quota that
 * refused it.
 */
export type Replayed = { run: Run } | { repeatOf: string } | { exhausted: Quota };

/** A launch, and how its trigger was when it was prepared. */
interface PreparedLaunch {
  prepared: PreparedTrigger;
  launch: Pick<Launch, "body" | "contentType" | "remoteIp" | "facts" | "delivery" | "deliveryId">;
  /** Reads the request, where its trigger has a pace. */
  request(): Promise<LaunchRequest>;
}

/**
 * Launches a run's payload again.
 *
 * @throws {ConflictError} when its trigger was deleted
 * @throws {UnavailableError} when no launch is accepted now
 */
export async function replay(
  parts: ReplayParts,
  run: Run,
  changes: ReplayChanges = {},
): Promise<Replayed> {
  const body = changes.body ?? await wholePayload(parts.store, run);
  return await launchAgain(parts, run.id, changes, async () => ({
    prepared: await currentTrigger(parts, run.trigger_id, run.id),
    request: () => requestOfRun(parts.store, run, parts.baseUrl(), body),
    launch: {
      body,
      contentType: run.payload.content_type,
      remoteIp: run.remote_ip,
      ...(run.request !== undefined && { facts: run.request }),
      delivery: changes.delivery,
    },
  }));
}

/**
 * Launches a refused request that was kept, if its trigger lets it pass now.
 *
 * @throws {ConflictError} when it is not kept, is refused again, or its trigger was deleted
 * @throws {UnavailableError} when no launch is accepted now, or a condition cannot decide now
 */
export async function replayKept(
  parts: ReplayParts,
  place: KeptPlace,
  changes: ReplayChanges = {},
): Promise<Replayed> {
  const { triggerId, entryId } = place;
  const kept = await parts.keptRequests.read(place);
  if (kept === undefined) {
    const { trigger } = await currentTrigger(parts, triggerId, entryId);
    throw new ConflictError(
      `Cannot replay delivery ${entryId}: its request is not kept. ${whyNotKept(trigger)}`,
    );
  }
  return await launchAgain(parts, entryId, changes, async () => {
    const prepared = await currentTrigger(parts, triggerId, entryId);
    const { delivery, request } = await passed(prepared, kept, {
      entryId,
      baseUrl: parts.baseUrl(),
    });
    const seen = { headers: request.headers, queryText: queryOf(kept).slice(1) };
    const { facts, deliveryId, contentType } = launchFacts(seen, prepared);
    return {
      prepared,
      request: () => Promise.resolve(request),
      launch: {
        body: changes.body ?? request.body,
        contentType,
        remoteIp: kept.remoteIp,
        ...(facts && { facts }),
        delivery: delivery ?? changes.delivery,
        deliveryId: delivery === undefined ? deliveryId : keptId(delivery),
      },
    };
  });
}

/** Returns a kept request as conditions see it. */
export function requestOfKept(kept: KeptRequest, baseUrl: string): LaunchRequest {
  const { method, target, headers, body, remoteIp, receivedAt_ms } = kept;
  return launchRequest({
    method,
    url: baseUrl + target,
    query: new URLSearchParams(queryOf(kept)),
    headers,
    body,
    remoteIp,
    receivedAt_ms,
  });
}

/** Returns the request of a run as conditions see it, without the credentials, which are not kept. */
export async function requestOfRun(
  store: Store,
  run: Run,
  baseUrl: string,
  body?: Uint8Array,
): Promise<LaunchRequest> {
  const { trigger_id, remote_ip, created_at, payload, request: { headers = {}, query = "" } = {} } =
    run;
  const type = payload.content_type;
  return launchRequest({
    method: "POST",
    url: `${baseUrl}/api/v0/launch/${trigger_id}/${query === "" ? "" : `?${query}`}`,
    query: new URLSearchParams(query),
    headers: new Headers(
      Object.entries({ ...headers, ...(type === undefined ? {} : { "content-type": type }) })
        .map(([name, value]) => [name, headerValue(value)]),
    ),
    body: body ?? await wholePayload(store, run),
    remoteIp: remote_ip,
    receivedAt_ms: Date.parse(created_at),
  });
}

/** Returns the query of a kept request as it was sent, with its `?`; empty when it had none. */
function queryOf({ target }: KeptRequest): string {
  const question = target.indexOf("?");
  return question === -1 ? "" : target.slice(question);
}

/**
 * Checks a kept request against its trigger as it is now.
 *
 * @returns the request with its body as the sender meant it, and the sender's id, where the trigger recognises
 * repeats by it
 * @throws {ConflictError} when it is refused
 */
async function passed(
  { launch, trigger }: PreparedTrigger,
  kept: KeptRequest,
  { entryId, baseUrl }: { entryId: string; baseUrl: string },
): Promise<{ delivery?: Delivery; request: LaunchRequest }> {
  const sent = requestOfKept(kept, baseUrl);
  const inspection = await inspect(launch, sent);
  if ("passed" in inspection) {
    const { delivery, decoded: request = sent } = inspection;
    return { request, ...(delivery && { delivery }) };
  }
  const why = "refused" in inspection
    ? refusalText(inspection.refused)
    : "it is a handshake, which launches nothing";
  throw new ConflictError(
    `Cannot replay delivery ${entryId}: trigger "${trigger.name}" refuses it: ${why}`,
  );
}

/** @throws {ConflictError} when the trigger was deleted */
async function currentTrigger(
  { triggers }: ReplayParts,
  triggerId: string,
  deliveryId: string,
): Promise<PreparedTrigger> {
  const prepared = await triggers.prepared(triggerId);
  if (prepared !== undefined) return prepared;
  throw new ConflictError(`Cannot replay delivery ${deliveryId}: its trigger was deleted`);
}

/** Launches by the trigger as it is when the launch is stored. */
async function launchAgain(
  { triggers, acceptor, clock }: ReplayParts,
  deliveryId: string,
  { commit, replayId, author }: ReplayChanges,
  prepare: () => Promise<PreparedLaunch>,
): Promise<Replayed> {
  for (;;) {
    const { prepared, launch, request } = await prepare();
    const { trigger, quotas, redacted } = prepared;
    // A delay counts from now.
    const pace = await prepared.pace?.({ ...await request(), receivedAt_ms: clock.now() });
    const acceptance = await acceptor.accept({
      ...launch,
      body: await maskBody(launch.body, launch.contentType ?? "", redacted),
      triggerId: trigger.id,
      project: trigger.project,
      actions: commit === undefined
        ? trigger.actions
        : trigger.actions.map((action) => atCommit(action, commit)),
      quotas,
      ...pace,
      ...(trigger.callback && { callback: true as const }),
      replayOf: deliveryId,
      replayId,
      launchedBy: { kind: "replay", ...author },
      isCurrent: () => triggers.isCurrent(prepared),
    });
    if (!("outdated" in acceptance)) return acceptance;
  }
}

/** An action at another commit. An action that names no commit, such as a fetch, stays as it is. */
function atCommit(action: ActionSettings, commit: string): ActionSettings {
  if (!("commit" in action)) return action;
  const changed = { ...action, commit };
  return changed;
}

/**
 * Checks that the payload of a run is still kept.
 *
 * @throws {RemovedError} when its retention has removed it
 */
export function expectPayload({ payload: { removed_at } }: Run): void {
  if (removed_at === undefined) return;
  throw new RemovedError(`The payload was removed at ${removed_at}, as its retention says`);
}

/**
 * Reads the payload of a run.
 *
 * @throws {RemovedError} when its retention has removed it
 */
export async function wholePayload(store: Store, run: Run): Promise<Uint8Array> {
  expectPayload(run);
  return await readWholePayload(store, run.id, run.payload);
}
