/**
 * The size of a form of the test of several instances.
 *
 * @module
 */

import type { Stage } from "./instance_faults.ts";
import type { Network } from "./network_stage.ts";

/** What happens. */
export type InstanceFault =
  | "kill"
  | "freeze"
  | "stop"
  /** Its connections to the database stay open and pass on nothing, until the others take it for gone. */
  | "partition"
  | "database freeze"
  | "database kill"
  | "upgrade"
  | "connections"
  /** An instance is killed while another one's connections fail and the database is frozen, and is killed then. */
  | "several"
  /** A fault of the network, drawn from the seed. */
  | "network";

/** A period in seconds, and the launches that are accepted in it. */
export type Quota = readonly [period: number, quota: number];

/** The size of a form of the test. */
export interface InstancesSize {
  faults: readonly InstanceFault[];
  /** The longest time without an accepted launch while an instance is gone. */
  gap_ms: number;
  /** After so long a sender asks another instance. */
  answer_ms: number;
  /** The pause of a sender between two launches. */
  pause_ms: number;
  /** The factor of the pause before a launch with a pace. When absent, no launch has a pace. */
  paced?: number;
  /** Whether a trigger is changed meanwhile. */
  changed?: boolean;
  /** The time with load before and after a fault. */
  settle_ms: number;
  /** The numbers of instances and senders, and the least number of launches that are accepted. */
  instances?: number;
  senders?: number;
  least?: number;
  /** The limit of a trigger, the number of deliveries that are sent again, and how often connections fail. */
  quota?: Quota;
  deliveries?: number;
  rounds?: number;
  /** True where the instances share an artifact store, so that steps run on every machine. */
  shares?: boolean;
  /** A network of namespaces, and its faults. */
  network?: { place: Network; suffer(stage: Stage): Promise<void> };
  /** The checkout of an earlier version, with which all begin; an upgrade puts this version in its place. */
  earlier?: string;
}
