/**
 * The records of an instance's lanes.
 *
 * @module
 */
import type { Write } from "./change.ts";
import { keys } from "../keys.ts";

const LANES = 4;

/** The record of a lane, a link of its chain of commits. */
export interface LaneRecord {
  /** Number of its changes that leave work for the worker. */
  accepted: number;
}

/** Returns the writes that make the lanes of an instance. */
export function laneWrites(instanceId: string): Write[] {
  const value: LaneRecord = { accepted: 0 };
  return Array.from({ length: LANES }, (_, index) => ({
    key: keys.lane(instanceId, index),
    value,
  }));
}

/** Returns the writes that remove them. */
export function removeLaneWrites(instanceId: string): Write[] {
  return laneWrites(instanceId).map(({ key }) => ({ key }));
}

/** Removes the lanes of some instances. */
export async function removeLanes(
  kv: Deno.Kv,
  instances: readonly { id: string }[],
): Promise<void> {
  const operation = kv.atomic();
  for (const { key } of instances.flatMap(({ id }) => removeLaneWrites(id))) operation.delete(key);
  if (instances.length > 0) await operation.commit();
}

/** Counts what the lanes of other instances accept. */
export class AcceptedByOthers {
  readonly #kv: Deno.Kv;
  readonly #instanceId: string;
  #last: ReadonlyMap<string, number> | undefined;

  constructor(kv: Deno.Kv, instanceId: string) {
    this.#kv = kv;
    this.#instanceId = instanceId;
  }

  /** Returns the number accepted since the last time; 0 at the first time. */
  async sinceLast(): Promise<number> {
    const lanes = await Array.fromAsync(this.#kv.list<LaneRecord>({ prefix: ["lane"] }));
    // Another call may have counted meanwhile.
    const last = this.#last;
    const accepted = new Map<string, number>();
    let count = 0;
    for (const { key, value } of lanes) {
      if (key[1] === this.#instanceId) continue;
      const lane = key.join(" ");
      const before = last?.get(lane) ?? 0;
      accepted.set(lane, Math.max(before, value.accepted));
      count += Math.max(0, value.accepted - before);
    }
    this.#last = accepted;
    return last === undefined ? 0 : count;
  }
}

/** Returns the writes that keep an instance from storing anything more. */
export function removeInstanceWrites(id: string): Write[] {
  return [...removeLaneWrites(id), { key: keys.claimed(id) }, { key: keys.instance(id) }];
}
