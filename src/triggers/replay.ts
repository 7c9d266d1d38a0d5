/**
 * A replay: the payload of a run, launched again by an operator with its trigger's actions and rate limits as
 * they are now. The sender's conditions are not checked: they held when the run was accepted.
 *
 * @module
 */
import type { ActionSettings, Run } from "../store/records/runs.ts";
import { readPayload } from "../store/records/payloads.ts";
import type { Store } from "../store/store.ts";
import { ConflictError } from "../platform/errors.ts";
import type { Acceptor } from "../runs/accept.ts";
import type { Delivery } from "../runs/delivery_ids.ts";
import type { Quota } from "../runs/rate_window.ts";
import type { TriggerRegistry } from "./registry.ts";

/** The parts of a service that a replay uses. */
export interface ReplayParts {
  store: Store;
  triggers: Pick<TriggerRegistry, "prepared" | "isCurrent">;
  acceptor: Acceptor;
}

/** Changes of what is launched again. */
export interface ReplayChanges {
  /** The payload in place of the run's own. */
  body?: Uint8Array | undefined;
  /** The commit that the actions run at, in place of their own. */
  commit?: string | undefined;
  /** By which a repeat of this replay is found, so that it launches once. */
  delivery?: Delivery | undefined;
}

/** The result of a replay: the new run, or the quota that refused it. */
export type Replayed = { run: Run } | { repeatOf: string } | { exhausted: Quota };

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
  for (;;) {
    // After the payload: the trigger may change, or be deleted, while that is read.
    const prepared = await parts.triggers.prepared(run.trigger_id);
    if (prepared === undefined) {
      throw new ConflictError(`Cannot replay run ${run.id}: its trigger was deleted`);
    }
    const { trigger, quotas } = prepared;
    const acceptance = await parts.acceptor.accept({
      triggerId: trigger.id,
      project: trigger.project,
      actions: changes.commit === undefined
        ? trigger.actions
        : trigger.actions.map((action) => atCommit(action, changes.commit)),
      quotas,
      body,
      contentType: run.payload.content_type,
      remoteIp: run.remote_ip,
      replayOf: run.id,
      ...(run.request !== undefined && { facts: run.request }),
      ...(changes.delivery && { delivery: changes.delivery }),
      isCurrent: () => parts.triggers.isCurrent(prepared),
    });
    if (!("outdated" in acceptance)) return acceptance;
  }
}

/** An action at another commit. An action that names no commit, such as a fetch, stays as it is. */
function atCommit(action: ActionSettings, commit: string | undefined): ActionSettings {
  if (!("commit" in action)) return action;
  const changed = { ...action, commit };
  return changed;
}

async function wholePayload(
  store: Store,
  { id, payload: { size, sha256 } }: Run,
): Promise<Uint8Array> {
  const body = new Uint8Array(size);
  let offset = 0;
  for await (const chunk of readPayload(store, id, size, sha256)) {
    body.set(chunk, offset);
    offset += chunk.length;
  }
  return body;
}
