/**
 * HTTP requests of actions under way: when which step is due.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { hash, timingSafeEqual } from "node:crypto";
import { messageOf } from "../platform/errors.ts";
import { within } from "../platform/waiting/timers.ts";
import {
  getHttpRequest,
  getHttpRequestPlan,
  hasHttpRequestEnded,
  type HttpRequest,
} from "../store/records/http_requests.ts";
import { inTrace } from "../telemetry/spans.ts";
import { Changes } from "./changes.ts";
import type { Came } from "./judge.ts";
import { type StepParts, Steps } from "./steps.ts";
import { dueAt_ms, end } from "./transitions.ts";
import { Turns } from "./turns.ts";

/** Requests that are under way at once, and those of one trigger. */
const UNDER_WAY_MAX = 64;
const OF_TRIGGER_MAX = 16;
/** The pause after an error of the service's own, such as one of the database. */
const TROUBLE_MS = 1_000;
/** The longest time of a timer. */
const TIMER_MAX_MS = 24 * 60 * 60_000;

const log = getLogger(["hooklaunch", "http_requests"]);

/** The parts of the service that HTTP requests use. */
export interface RunnerParts extends StepParts {
  /** Called for each request that has ended, once that is on disk. */
  onEnd?(request: HttpRequest): void;
}

/** The fate of a callback: `over` when its request has ended. */
export type CallResult = "taken" | "over" | "unknown";

/** Goes on with HTTP requests. */
export class Runner {
  readonly #parts: RunnerParts;
  readonly #turns = new Turns(UNDER_WAY_MAX, OF_TRIGGER_MAX);
  readonly #stop = new AbortController();
  readonly #changes: Changes;
  readonly #steps: Steps;
  /** Cancel the timers of requests that wait. */
  readonly #timers = new Map<string, () => void>();
  /** The requests that are looked at, or under way. */
  readonly #active = new Map<string, Promise<void>>();
  #isClosing = false;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    this.#changes = new Changes(parts, (request) => {
      this.#cancel(request.id);
      parts.onEnd?.(request);
    });
    this.#steps = new Steps(parts, this.#changes, this.#stop.signal);
  }

  /** True while a request is looked at, or under way. */
  get isSending(): boolean {
    return this.#active.size > 0;
  }

  /** Goes on with a request that is on disk. Returns at once. */
  begin(id: string): void {
    if (this.#isClosing || this.#active.has(id)) return;
    this.#cancel(id);
    const work: Promise<void> = this.#advance(id).catch((error) => {
      if (this.#stop.signal.aborted) return TROUBLE_MS;
      log.error("Cannot continue HTTP request {http_request_id}, trying again: {error}", {
        http_request_id: id,
        error: messageOf(error),
      });
      return TROUBLE_MS;
    }).then((wait_ms) => {
      this.#active.delete(id);
      if (wait_ms !== undefined) this.#later(id, wait_ms);
    });
    this.#active.set(id, work);
  }

  /** Goes on with a request that nobody here knows of. Returns at once. */
  takeUp(id: string): void {
    if (!this.#timers.has(id)) this.begin(id);
  }

  /** Tells whether a token is that of a request. */
  async knows(id: string, token: string): Promise<boolean> {
    const request = await getHttpRequest(this.#parts.store, id);
    return request !== undefined && isTokenOf(request, token);
  }

  /** Takes a callback, if its token is that of the request. Resolves when it is on disk. */
  async call(id: string, token: string, came: Came): Promise<CallResult> {
    const request = await getHttpRequest(this.#parts.store, id);
    if (request === undefined || !isTokenOf(request, token)) return "unknown";
    return await this.#steps.call(request, came) ? "taken" : "over";
  }

  /** Stops a request: it is not sent again, and waits no more. Returns false when it has ended, or is not known. */
  stop(id: string): Promise<boolean> {
    return this.#changes.makeOpen(id, (each, now_ms) => {
      end(each, now_ms, "Stopped by request", "stopped");
      return undefined;
    });
  }

  /** Begins nothing more. What is under way may end until the deadline; the next start continues the rest. */
  async close(deadline_ms: number): Promise<void> {
    this.#isClosing = true;
    for (const cancel of this.#timers.values()) cancel();
    await within(this.#parts.clock, deadline_ms, Promise.all(this.#active.values()));
    this.#stop.abort();
    await Promise.all(this.#active.values());
    await this.#changes.settled();
  }

  /**
   * Does what is due for a request.
   *
   * @returns the time until the next step, in milliseconds; undefined when there is none
   */
  async #advance(id: string): Promise<number | undefined> {
    const { store, clock } = this.#parts;
    while (!this.#isClosing) {
      const request = await getHttpRequest(store, id);
      if (request === undefined || hasHttpRequestEnded(request.status)) return undefined;
      const plan = await getHttpRequestPlan(store, id);
      if (plan === undefined) {
        await this.#steps.fail(id, "Its plan is damaged: it cannot be sent");
        return undefined;
      }
      const wait_ms = dueAt_ms(request) - clock.now();
      if (wait_ms > 0) return wait_ms;
      await this.#steps.awaitOther(request, plan);
      const endTurn = await this.#turns.take(request.trigger_id);
      try {
        if (this.#isClosing) break;
        await inTrace(request.traceparent, () => this.#steps.act(request, plan));
      } finally {
        endTurn();
      }
    }
    return undefined;
  }

  #later(id: string, delay_ms: number): void {
    if (this.#isClosing) return;
    const cancel = this.#parts.clock.after(Math.min(delay_ms, TIMER_MAX_MS), () => {
      this.#timers.delete(id);
      this.begin(id);
    });
    this.#timers.set(id, cancel);
  }

  #cancel(id: string): void {
    this.#timers.get(id)?.();
    this.#timers.delete(id);
  }
}

function isTokenOf({ callback_hash }: HttpRequest, token: string): boolean {
  if (callback_hash === undefined) return false;
  const [expected, found] = [callback_hash, hash("sha256", token)].map((text) =>
    new TextEncoder().encode(text)
  );
  return expected !== undefined && found !== undefined && timingSafeEqual(expected, found);
}
