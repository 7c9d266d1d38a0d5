/**
 * Requests as they came, for operators who listen to a trigger. They are in memory alone, and only while someone
 * listens: nothing here is stored.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import type { SentRequest } from "./kept_requests.ts";

/** The time for which requests are held after the last listener has gone: one that reconnects finds them. */
const LINGER_MS = 60_000;
/** Limit of the bytes that are held in all. The oldest requests make room. */
const BYTES_MAX = 64 * 1024 * 1024;
/** The bytes that a request counts for beside its body. */
const HEAD_BYTES = 8 * 1024;

/** A request with all of its headers, credentials included, and the bytes of its body. */
export type HeldRequest = Omit<SentRequest, "masked" | "remoteIp" | "receivedAt_ms">;

/** A trigger that someone listens to. */
interface Listened {
  listeners: Set<() => void>;
  /** The launches that are being answered. */
  underWay: Set<Promise<void>>;
  /** The ids of the deliveries whose requests are held. */
  held: Set<string>;
  /** Cancels the end of the time after the last listener. */
  cancelEnd: () => void;
}

/** Holds the requests of triggers that someone listens to. */
export class Listeners implements Disposable {
  readonly #clock: Pick<Clock, "after">;
  readonly #bytesMax: number;
  readonly #triggers = new Map<string, Listened>();
  /** By the id of the delivery, oldest first. */
  readonly #held = new Map<string, { triggerId: string; request: HeldRequest }>();
  #bytes = 0;

  constructor(clock: Pick<Clock, "after">, bytes_max = BYTES_MAX) {
    this.#clock = clock;
    this.#bytesMax = bytes_max;
  }

  /** Returns true while requests of a trigger are held. */
  has(triggerId: string): boolean {
    return this.#triggers.has(triggerId);
  }

  /**
   * Listens to a trigger.
   *
   * @param onHeld called when a request is held
   * @returns ends it
   */
  listen(triggerId: string, onHeld: () => void): () => void {
    let listened = this.#triggers.get(triggerId);
    if (listened === undefined) {
      listened = {
        listeners: new Set(),
        underWay: new Set(),
        held: new Set(),
        cancelEnd: () => {},
      };
      this.#triggers.set(triggerId, listened);
    }
    listened.cancelEnd();
    listened.listeners.add(onHeld);
    const { listeners } = listened;
    return () => {
      if (!listeners.delete(onHeld) || listeners.size > 0) return;
      listened.cancelEnd = this.#clock.after(LINGER_MS, () => this.#forget(triggerId));
    };
  }

  /** Answers a launch. What it holds is known to whoever waits by {@linkcode settled} from now on. */
  async during<T>(triggerId: string, answer: () => Promise<T>): Promise<T> {
    const underWay = this.#triggers.get(triggerId)?.underWay;
    const { promise, resolve } = Promise.withResolvers<void>();
    underWay?.add(promise);
    try {
      return await answer();
    } finally {
      underWay?.delete(promise);
      resolve();
    }
  }

  /** Waits for the launches of a trigger that are being answered now. */
  async settled(triggerId: string): Promise<void> {
    await Promise.all(this.#triggers.get(triggerId)?.underWay ?? []);
  }

  /**
   * Takes a copy of a request whose body is reused once it is answered.
   *
   * @returns holds it by the id of its delivery; undefined when nobody listens to the trigger
   */
  copy(triggerId: string, request: HeldRequest): ((deliveryId: string) => void) | undefined {
    if (!this.has(triggerId) || bytesOf(request) > this.#bytesMax) return undefined;
    const { method, target, headers, body } = request;
    const copied = { method, target, headers: new Headers(headers), body: body.slice() };
    return (deliveryId) => this.#hold(triggerId, deliveryId, copied);
  }

  /** Returns the request of a delivery as it came; undefined when it is not held. */
  held(deliveryId: string): HeldRequest | undefined {
    return this.#held.get(deliveryId)?.request;
  }

  #hold(triggerId: string, deliveryId: string, request: HeldRequest): void {
    const listened = this.#triggers.get(triggerId);
    if (listened === undefined) return;
    this.#bytes += bytesOf(request);
    this.#held.set(deliveryId, { triggerId, request });
    listened.held.add(deliveryId);
    for (const [oldest] of this.#held) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#drop(oldest);
    }
    for (const onHeld of listened.listeners) onHeld();
  }

  #drop(deliveryId: string): void {
    const held = this.#held.get(deliveryId);
    if (held === undefined) return;
    this.#held.delete(deliveryId);
    this.#triggers.get(held.triggerId)?.held.delete(deliveryId);
    this.#bytes -= bytesOf(held.request);
  }

  /** Drops everything, when the service ends. */
  [Symbol.dispose](): void {
    for (const [triggerId, { cancelEnd }] of this.#triggers) {
      cancelEnd();
      this.#forget(triggerId);
    }
  }

  #forget(triggerId: string): void {
    for (const deliveryId of this.#triggers.get(triggerId)?.held ?? []) this.#drop(deliveryId);
    this.#triggers.delete(triggerId);
  }
}

function bytesOf({ body }: HeldRequest): number {
  return body.length + HEAD_BYTES;
}
