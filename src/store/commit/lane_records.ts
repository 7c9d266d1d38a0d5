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
