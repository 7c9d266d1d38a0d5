/**
 * The causes of instances that share a database: those that are gone, accept no launches, or differ.
 *
 * @module
 */
import { GONE_MS } from "../store/commit/instance_limits.ts";
import type { Instances } from "../store/commit/instances.ts";
import { differencesOf, type SeenInstance } from "../store/commit/instance_record.ts";
import { type Cause, newCause, type Subject } from "./cause.ts";

/** An instance that starts, or waits for the leader's clock, accepts no launches for a moment. */
const OBSTRUCTED_MS = GONE_MS;
/** Instances are replaced one by one: they differ for some time. */
const DIFFERING_MS = 10 * 60_000;

/** Lists what is wrong with instances. The leader alone knows. */
export function instanceCauses(
  instances: Pick<Instances, "all" | "gone" | "isLeader"> | undefined,
): Cause[] {
  if (instances?.isLeader !== true) return [];
  const { all, gone } = instances;
  const leader = all.find(({ isLeader }) => isLeader);
  return [
    ...gone.all.map(({ gone_at, ...identity }) => {
      const text = `It has shown no sign of life for ${GONE_MS / 1_000} s, and is not back`;
      return newCause("instance_gone", subjectOf(identity), {
        text,
        since_ms: Date.parse(gone_at) - GONE_MS,
      });
    }),
    ...all.flatMap((each) => obstacleCauses(each)),
    ...all.flatMap((each) => leader === undefined ? [] : differenceCauses(each, leader)),
  ];
}

function obstacleCauses(instance: SeenInstance): Cause[] {
  const { obstacle, obstructed } = instance;
  if (obstacle === undefined || obstructed === undefined) return [];
  const { since_ms, lasts_ms } = obstructed;
  if (lasts_ms < OBSTRUCTED_MS) return [];
  const text = `It accepts no launches: ${obstacle}`;
  return [newCause("instance_not_serving", subjectOf(instance), { text, since_ms })];
}

function differenceCauses(instance: SeenInstance, leader: SeenInstance): Cause[] {
  const { differing, version = "an earlier one" } = instance;
  if (differing === undefined || differing.lasts_ms < DIFFERING_MS) return [];
  const { since_ms } = differing;
  const differences = differencesOf(instance, leader);
  const text = differences.includes("version")
    ? `Its version is ${version}, and the leader's ${leader.version}`
    : `It has other settings than the leader: ${differences.join(", ")}`;
  return [newCause("instance_differs", subjectOf(instance), { text, since_ms })];
}

/** Names an instance by its address, which stays the same when it starts again. */
function subjectOf({ machine_id, url }: Pick<SeenInstance, "machine_id" | "url">): Subject {
  return { kind: "instance", name: url ?? machine_id };
}
