/**
 * The steps of an HTTP request: an attempt, a poll, a callback. What is known is in the database before anything goes
 * on, so that a restart continues it.
 *
 * A request is marked as being sent before it is sent. Where a process ends in between, nobody knows whether it has
 * arrived: it is sent again, with the same `Idempotency-Key`. So it arrives at least once, one attempt at a time.
 *
 * @module
 */
import type { EvaluateValues } from "../conditions/values/evaluate.ts";
import { pause } from "../platform/waiting/timers.ts";
import {
  getHttpRequest,
  getHttpRequestPlan,
  type HttpRequest,
  type HttpRequestPlan,
  type HttpWaitPlan,
  readAnswerBody,
} from "../store/records/http_requests.ts";
import { getRun, type Run } from "../store/records/runs.ts";
import type { Store } from "../store/store.ts";
import type { Changes } from "./changes.ts";
import {
  type Answered,
  type ExchangeParts,
  type Failed,
  maskOf,
  noAnswer,
  poll,
  send,
} from "./exchange.ts";
import { type Came, judge, pollUrl } from "./judge.ts";
import { maskedBody } from "./masked_answer.ts";
import { answered, end, isSuccess, keep, notAnswered, polled, timedOut } from "./transitions.ts";
import { literalOrigin } from "./url_values.ts";

/** The pause before an answer is judged again that could not be. */
const JUDGE_AGAIN_MS = 1_000;

/** The parts of the service that the steps use. */
export interface StepParts extends ExchangeParts {
  store: Store;
  /** Names this process in the records of the requests that it sends. */
  id: string;
  /** Sends a request. Default: over the network. */
  send?: typeof send;
  /** Returns what evaluates expressions over the request that launched a run. */
  valuesOf(of: { run: Run }): EvaluateValues;
}

/** The steps of HTTP requests. */
export class Steps {
  readonly #parts: StepParts;
  readonly #changes: Changes;
  readonly #signal: AbortSignal;

  /** @param signal aborted when what is under way must end: its outcome is then not stored */
  constructor(parts: StepParts, changes: Changes, signal: AbortSignal) {
    this.#parts = parts;
    this.#changes = changes;
    this.#signal = signal;
  }

  /** Does what is due. */
  async act(request: HttpRequest, plan: HttpRequestPlan): Promise<void> {
    if (request.status === "sending") return await this.#attempt(request, plan);
    const isOver = request.until !== undefined &&
      Date.parse(request.until) <= this.#parts.clock.now();
    if (!isOver && plan.wait.for === "poll") return await this.#poll(request, plan, plan.wait);
    await this.#changes.makeOpen(request.id, (each, now_ms) => {
      timedOut(each, plan, now_ms);
      return undefined;
    });
  }

  /** Waits until nobody else sends a request: another instance may be frozen, and its attempt ends by itself. */
  async awaitOther({ sender }: HttpRequest, { timeout_ms }: HttpRequestPlan): Promise<void> {
    const { store, id, clock } = this.#parts;
    if (sender === undefined || sender === id || store.shared === undefined) return;
    await pause(clock, timeout_ms, this.#signal);
  }

  /** Ends a request with a reason. */
  async fail(id: string, reason: string): Promise<void> {
    await this.#changes.makeOpen(id, (each, now_ms) => {
      end(each, now_ms, reason);
      return undefined;
    });
  }

  /**
   * Takes a callback to a request. Resolves when it is on disk.
   *
   * @returns false when the request has ended
   */
  async call(request: HttpRequest, came: Came): Promise<boolean> {
    const plan = await getHttpRequestPlan(this.#parts.store, request.id);
    const mask = plan && await maskOf(request, plan, this.#parts);
    const shown = mask ? { ...came, body: maskedBody(came.body, mask) } : came;
    const failed = plan && await this.#failed(request, plan, shown);
    return await this.#changes.makeOpen(request.id, (each, now_ms) => {
      const part = keep(each, "result", now_ms, shown);
      end(each, now_ms, failed);
      return part;
    });
  }

  async #attempt(request: HttpRequest, plan: HttpRequestPlan): Promise<void> {
    const { clock, id: sender, send: sends = send } = this.#parts;
    const began_ms = clock.steady();
    const isBegun = await this.#changes.makeOpen(request.id, (each) => {
      // Another instance sends it since.
      if (each.attempts !== request.attempts) return false;
      each.sender = sender;
      each.attempts++;
      delete each.next_at;
      return undefined;
    });
    if (!isBegun) return;
    // A process that was frozen meanwhile may not be the only one that sends it.
    const left_ms = plan.timeout_ms - (clock.steady() - began_ms);
    const outcome: Answered | Failed = left_ms <= 0
      ? noAnswer(plan)
      : await sends(request, plan, this.#parts, { left_ms, signal: this.#signal });
    // Without a wait, the answer says how the work went.
    const failed = plan.wait.for === "none" && isSuccess(outcome)
      ? await this.#failedAtLast(request, plan, outcome)
      : undefined;
    await this.#changes.make(request.id, (each, now_ms) => {
      delete each.sender;
      each.tried++;
      const part = "status" in outcome ? keep(each, "answer", now_ms, outcome) : undefined;
      // A callback may come before the answer, and a stop at any time.
      if (each.status !== "sending") return part;
      if (isSuccess(outcome)) answered(each, plan, now_ms, failed);
      else notAnswered(each, plan, now_ms, outcome);
      return part;
    });
  }

  async #poll(
    request: HttpRequest,
    plan: HttpRequestPlan,
    wait: Extract<HttpWaitPlan, { for: "poll" }>,
  ): Promise<void> {
    const evaluate = await this.#evaluate(request);
    if (evaluate === undefined) return await this.fail(request.id, "Its run was removed");
    const found = await pollUrl(evaluate, await this.#kept(request), wait.url);
    if ("problem" in found) return await this.fail(request.id, found.problem);
    const { origin, href: url } = found.url;
    // The answer may name any host: it gets no secrets, and is a public one.
    const isKnown = origin === URL.parse(plan.url)?.origin || origin === literalOrigin(wait.url);
    const asked = { ...plan, url, ...(!isKnown && { headers: {}, private_networks: false }) };
    const mask = await maskOf(request, plan, this.#parts);
    const outcome = await poll(request, asked, this.#parts, { mask, signal: this.#signal });
    const verdict = "status" in outcome && !outcome.mayPass
      ? await judge(evaluate, outcome, { name: "wait/poll/until", source: wait.until })
      : false;
    const failed = verdict === true && "status" in outcome
      ? await this.#failed(request, plan, outcome)
      : undefined;
    await this.#changes.makeOpen(request.id, (each, now_ms) => {
      const part = "status" in outcome ? keep(each, "result", now_ms, outcome) : undefined;
      polled(each, wait, now_ms, { outcome, verdict, failed });
      return part;
    });
  }

  /**
   * Does what {@linkcode #failed} does, once that is possible: what has been sent is not sent again for it. Of a request
   * that is stopped meanwhile, nobody asks any more.
   */
  async #failedAtLast(
    request: HttpRequest,
    ...of: [plan: HttpRequestPlan, came: Came]
  ): Promise<string | undefined> {
    const { store, clock } = this.#parts;
    for (let isAgain = false;; isAgain = true) {
      try {
        const now = isAgain ? await getHttpRequest(store, request.id) : request;
        return now?.status === "sending" ? await this.#failed(request, ...of) : undefined;
      } catch (error) {
        if (this.#signal.aborted) throw error;
        await pause(clock, JUDGE_AGAIN_MS, this.#signal);
      }
    }
  }

  /** Returns why what came back says that the work has failed; undefined where it does not. */
  async #failed(
    request: HttpRequest,
    { failed: source }: HttpRequestPlan,
    came: Came,
  ): Promise<string | undefined> {
    if (source === undefined) return undefined;
    const evaluate = await this.#evaluate(request);
    if (evaluate === undefined) return "Its run was removed";
    const verdict = await judge(evaluate, came, { name: "failed", source });
    if (typeof verdict === "object") return verdict.problem;
    return verdict ? `The work has failed: ${source}` : undefined;
  }

  async #evaluate({ run_id }: HttpRequest): Promise<EvaluateValues | undefined> {
    const run = await getRun(this.#parts.store, run_id);
    return run && this.#parts.valuesOf({ run });
  }

  /** The answer to a request, as far as it is kept. */
  async #kept({ id }: HttpRequest): Promise<Came> {
    const { store } = this.#parts;
    const [request, body] = await Promise.all([
      getHttpRequest(store, id),
      readAnswerBody(store, id, "answer"),
    ]);
    const { status, headers = {} } = request?.answer ?? {};
    return { ...(status !== undefined && { status }), headers, body };
  }
}
