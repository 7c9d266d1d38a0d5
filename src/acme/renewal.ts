/**
 * The time of a renewal: at two thirds of the lifetime, or when the authority says so (RFC 9773).
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../platform/clock.ts";
import { messageOf } from "../platform/errors.ts";
import type { Answer } from "./client.ts";
import { retryAfter_ms } from "./error.ts";
import type { Leaf } from "./leaf.ts";

/** A server may ask for a later look than this one, up to a day. */
const LOOK_MS = 6 * 3_600_000;
const LOOK_MS_MAX = 24 * 3_600_000;

const log = getLogger(["hooklaunch", "acme"]);

/** A window that an authority suggests. */
interface Window {
  start_ms: number;
  end_ms: number;
}

/** Knows when a certificate is renewed. */
export class Renewal {
  readonly #clock: Clock;
  #id: string | undefined;
  #window: Window | undefined;
  #chosen_ms = Infinity;
  #look_ms = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns true when a certificate is to be renewed now. */
  async isDue(
    { id, due_ms }: Leaf,
    ask: (id: string) => Promise<Answer | undefined>,
  ): Promise<boolean> {
    const now_ms = this.#clock.now();
    if (now_ms >= due_ms) return true;
    if (id === undefined) return false;
    if (id !== this.#id) {
      this.#id = id;
      this.#window = undefined;
      this.#chosen_ms = Infinity;
      this.#look_ms = -Infinity;
    }
    if (this.#clock.steady() >= this.#look_ms) await this.#look(id, ask);
    return this.#clock.now() >= this.#chosen_ms;
  }

  async #look(id: string, ask: (id: string) => Promise<Answer | undefined>): Promise<void> {
    const now_ms = this.#clock.steady();
    this.#look_ms = now_ms + LOOK_MS;
    try {
      const answer = await ask(id);
      if (answer === undefined) return;
      const asked_ms = retryAfter_ms(answer.headers);
      if (asked_ms > 0) this.#look_ms = now_ms + Math.min(asked_ms, LOOK_MS_MAX);
      this.#choose(readWindow(answer.json));
    } catch (error) {
      // Two thirds of the lifetime are the time then.
      log.debug("Cannot ask for the time of the renewal: {error}", { error: messageOf(error) });
    }
  }

  /** Chooses a time in a window: all clients together spread the load of the authority. */
  #choose(window: Window | undefined): void {
    if (window === undefined) return;
    const { start_ms, end_ms } = window;
    const isSame = this.#window?.start_ms === start_ms && this.#window.end_ms === end_ms;
    if (isSame) return;
    this.#window = window;
    this.#chosen_ms = start_ms + Math.random() * (end_ms - start_ms);
  }
}

function readWindow(json: Answer["json"]): Window | undefined {
  const { start, end } = Object(json?.suggestedWindow);
  const start_ms = Date.parse(String(start));
  const end_ms = Date.parse(String(end));
  return start_ms < end_ms ? { start_ms, end_ms } : undefined;
}
