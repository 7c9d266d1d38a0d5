/**
 * The queue of Deno KV, which wakes the worker. A message says that a run is pending, and no more. The
 * pending run is the truth, so a message that is lost, late or delivered twice does no harm.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { type Clock, systemClock } from "../../platform/clock.ts";
import { messageOf } from "../../platform/errors.ts";
import type { Committer, MessageSender } from "./committer.ts";
import type { Space } from "../file/space.ts";

/** Time that a message counts as on its way. Deno KV delivers one within 100 ms. */
const ON_ITS_WAY_MS = 2_000;
/**
 * When a message whose delivery failed comes again. Each crash of the process uses up one of these. The
 * sweep finds what the last of them would have woken.
 */
const BACKOFF_MS = [1_000, 5_000];

const log = getLogger(["hooklaunch", "store"]);

/** A message, as it is stored. */
interface WakeUp {
  /** Milliseconds since the epoch. */
  sent_at_ms: number;
}

/** The parts that {@linkcode WakeUpQueue.listen} works with. */
export interface ListenOptions {
  committer: Pick<Committer, "settled">;
  /** Keeps messages back while the disk has little room: Deno KV ends the process when it cannot store. */
  space: Pick<Space, "hasRoomForMessage" | "untilRoom">;
  /** Wakes the worker. */
  onMessage(): void;
  /** Called for each message that a commit has stored. */
  onSent?(): void;
  /** Called for each delivery, with the time since the message was sent. */
  onDelivered?(delay_ms: number): void;
}

/** Sends wake-ups in commits, and receives them. */
export class WakeUpQueue implements MessageSender {
  readonly #kv: Deno.Kv;
  readonly #clock: Clock;
  #options: ListenOptions | undefined;
  #listening: Promise<void> | undefined;
  #isClosed = false;
  /** When the message was sent that is on its way, by the steady clock. */
  #sent_ms = -Infinity;

  constructor(kv: Deno.Kv, clock: Clock = systemClock) {
    this.#kv = kv;
    this.#clock = clock;
  }

  /** Receives messages until the database is closed. Begins when the disk has room. */
  listen(options: ListenOptions): void {
    this.#options = options;
    void options.space.untilRoom().then(() => {
      if (!this.#isClosed) this.#listening = this.#receive(options);
    });
  }

  /**
   * Adds a message to a commit. Adds none while one is on its way, while the disk has little room, and
   * before messages are received.
   *
   * @returns whether it added one
   */
  send(operation: Deno.AtomicOperation): boolean {
    if (this.#listening === undefined || this.#options === undefined) return false;
    const now_ms = this.#clock.steady();
    if (now_ms - this.#sent_ms < ON_ITS_WAY_MS) return false;
    if (!this.#options.space.hasRoomForMessage()) return false;
    this.#sent_ms = now_ms;
    const message: WakeUp = { sent_at_ms: this.#clock.now() };
    operation.enqueue(message, { backoffSchedule: BACKOFF_MS });
    return true;
  }

  /** Notes the end of a commit that carries a message. */
  settle(isStored: boolean): void {
    if (isStored) this.#options?.onSent?.();
    else this.#sent_ms = -Infinity;
  }

  /** Stops sending. Call it before the database is closed. */
  close(): void {
    this.#isClosed = true;
    this.#options = undefined;
  }

  /** Resolves when the last message is handled. Call it after the database is closed. */
  async ended(): Promise<void> {
    await this.#listening;
  }

  async #receive({ committer, onMessage, onDelivered }: ListenOptions): Promise<void> {
    try {
      await this.#kv.listenQueue(async (message: unknown) => {
        this.#sent_ms = -Infinity;
        try {
          onDelivered?.(delayOf(message, this.#clock.now()));
          // A message can arrive before the acceptor learns that its commit is stored.
          await committer.settled();
          onMessage();
        } catch (error) {
          // A handler that throws gets the message again.
          log.error("Cannot wake the worker: {error}", { error: messageOf(error) });
        }
      });
    } catch (error) {
      log.error("Cannot listen to the queue, the sweep finds pending runs each minute: {error}", {
        error: messageOf(error),
      });
    }
  }
}

function delayOf(message: unknown, now_ms: number): number {
  const sent_at_ms = Number(Object(message).sent_at_ms);
  return Number.isFinite(sent_at_ms) ? Math.max(0, now_ms - sent_at_ms) : 0;
}
