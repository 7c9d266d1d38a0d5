/**
 * The senders of a simulation, and what they are told.
 *
 * @module
 */
import { messageOf, UnavailableError } from "../../src/platform/errors.ts";
import { UndecidedError } from "../../src/store/commit/commit_chain.ts";
import type { Instance } from "./instance.ts";
import { type PlannedLaunch, type SimTrigger, TRIGGERS } from "./plan.ts";
import type { SimProcess, World } from "./world.ts";

const TRIES_MAX = 4;
const RETRY_MS = 400;
/** How often a sender looks for an instance that serves, and how long. */
const LOOK_MS = 500;
const LOOKS_MAX = 200;

/** One request of a sender. */
export interface Attempt {
  /** In its run's record, as the sender's address. */
  name: string;
  trigger: SimTrigger;
  delivery?: string;
  /** When its acceptance was decided last. */
  decided_ms?: number;
  hasLeft: boolean;
  /** The process that was asked. */
  process: SimProcess;
  /**
   * `cut off` when the process died before it answered; `kept` when it was accepted though its sender had
   * left.
   */
  outcome?: "accepted" | "kept" | "repeat" | "exhausted" | "unavailable" | "cut off" | "failed";
  /** True when the process stopped, or was taken for gone, before it knew whether the launch was stored. */
  isUndecided?: boolean;
  /** The run that the sender was told of. */
  runId?: string;
  error?: unknown;
}

/** All senders. */
export class Senders {
  readonly attempts: Attempt[] = [];
  readonly #world: World;
  readonly #serving: () => readonly Instance[];
  readonly #triggers: readonly SimTrigger[];
  #sending = 0;

  /** @param serving the instances that accept launches now */
  constructor(
    world: World,
    serving: () => readonly Instance[],
    triggers: readonly SimTrigger[] = TRIGGERS,
  ) {
    this.#world = world;
    this.#triggers = triggers;
    this.#serving = serving;
  }

  /** True when each sender has its answer, or has given up. */
  get areDone(): boolean {
    return this.#sending === 0;
  }

  /** Sends a launch at its time, and again while the answer is 503 or none. */
  send(launch: PlannedLaunch, index: number): void {
    this.#sending++;
    this.#world.after(launch.at_ms, () => {
      this.#sendAll(launch, index).finally(() => this.#sending--);
    });
  }

  async #sendAll(launch: PlannedLaunch, index: number): Promise<void> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const instance = await this.#find(index + tries);
      if (instance === undefined) return;
      const attempt = newAttempt(this.#triggers, launch, `${index}.${tries}`, instance.process);
      this.attempts.push(attempt);
      if (launch.leaves_ms !== null) {
        this.#world.after(launch.leaves_ms, () => attempt.hasLeft = true);
      }
      await Promise.race([
        this.#ask(instance, attempt, launch),
        instance.process.died.then(() => attempt.outcome ??= "cut off"),
      ]);
      const wantsMore = attempt.outcome === "unavailable" || attempt.outcome === "cut off";
      if (!wantsMore || attempt.hasLeft) return;
      await this.#world.delay(RETRY_MS);
    }
  }

  async #ask({ acceptor, process }: Instance, attempt: Attempt, launch: PlannedLaunch) {
    const { trigger: { id: triggerId, quotas, actions, window_s, pace }, delivery } = attempt;
    try {
      const acceptance = await acceptor.accept({
        triggerId,
        quotas,
        actions,
        project: "digits",
        body: new Uint8Array(launch.size),
        remoteIp: attempt.name,
        pace: pace?.(`key ${launch.delivery}`, process.clock.now()),
        delivery: delivery === undefined ? undefined : { id: delivery, window_s: window_s ?? 0 },
        isAbandoned: () => attempt.hasLeft,
        isCurrent: () => {
          attempt.decided_ms = this.#world.now_ms;
          return true;
        },
      });
      if (attempt.outcome !== undefined) return;
      if ("run" in acceptance) {
        attempt.outcome = attempt.hasLeft ? "kept" : "accepted";
        attempt.runId = acceptance.run.id;
      } else if ("repeatOf" in acceptance) {
        attempt.outcome = "repeat";
        attempt.runId = acceptance.repeatOf;
      } else attempt.outcome = "exhausted";
    } catch (error) {
      attempt.outcome ??= error instanceof UnavailableError ? "unavailable" : "failed";
      attempt.error = error;
      attempt.isUndecided = error instanceof UndecidedError || /for gone/.test(messageOf(error));
    }
  }

  async #find(preferred: number): Promise<Instance | undefined> {
    for (let looks = 0; looks < LOOKS_MAX; looks++) {
      const serving = this.#serving();
      const instance = serving[preferred % serving.length];
      if (instance) return instance;
      await this.#world.delay(LOOK_MS);
    }
    return undefined;
  }
}

function newAttempt(
  triggers: readonly SimTrigger[],
  { trigger: index, delivery }: PlannedLaunch,
  name: string,
  process: SimProcess,
): Attempt {
  const trigger = triggers[index % triggers.length];
  if (trigger === undefined) throw new RangeError(`Cannot find trigger ${index}`);
  const isDelivery = trigger.window_s !== undefined;
  const id = isDelivery ? { delivery: `delivery-${delivery}` } : {};
  return { name, trigger, process, hasLeft: false, ...id };
}
