/**
 * The causes of one notifier: what was told of each, and what is due.
 *
 * @module
 */
import { timeText } from "../platform/clock.ts";
import { timeSpan_ms } from "../platform/text/time_span.ts";
import type { NotifiedCause } from "../store/records/notifications.ts";
import type { NotifierState, StoredNotifier, ToldCause } from "../store/records/notifiers.ts";

/** The time in which what comes is told together, unless the notifier has another. */
const GROUP = "1m";
/** A cause that goes on is told again after this time, and one that is over is kept for so long. */
const DAY_MS = 24 * 60 * 60_000;
/** The number of times that a cause comes and goes after which it is told no more rarely. */
const RECOVERIES_MAX = 10;

/** The facts of a failure. */
type Facts = Pick<
  ToldCause,
  "id" | "code" | "subject" | "text" | "run_id" | "execution_id" | "pipeline_id"
>;

/** The causes of a notifier. */
export class Book {
  readonly notifier: StoredNotifier;
  state: NotifierState;
  causes: Map<string, ToldCause>;
  readonly #group_ms: number;

  constructor(notifier: StoredNotifier, state: NotifierState, causes: readonly ToldCause[]) {
    this.notifier = notifier;
    this.state = state;
    this.causes = new Map(causes.map((cause) => [cause.id, cause]));
    this.#group_ms = timeSpan_ms(notifier.group ?? GROUP);
  }

  /** Notes failures of a cause. Returns the cause as it is then. */
  fail(facts: Facts, count: number, now_ms: number): ToldCause {
    const before = this.causes.get(facts.id);
    const isNew = before === undefined || before.is_over === true;
    const { is_over: _over, ended_at: _end, ...open } = before ?? {
      since: "",
      count: 0,
      told: 0,
      tellings: 0,
      recoveries: 0,
    };
    const cause: ToldCause = {
      ...open,
      ...facts,
      ...(isNew && { since: timeText(now_ms), told: 0, tellings: 0 }),
      count: isNew ? count : open.count + count,
    };
    this.causes.set(cause.id, cause);
    return cause;
  }

  /** Notes that a cause is over. Returns the cause as it is then; undefined when it was over before. */
  end(id: string, now_ms: number): ToldCause | undefined {
    const before = this.causes.get(id);
    if (before === undefined || before.ended_at !== undefined) return undefined;
    // Where ends are not told, nothing is left to tell of it.
    const isTold = before.tellings > 0 && !this.#tellsEnds;
    const cause: ToldCause = {
      ...before,
      ended_at: timeText(now_ms),
      ...(isTold && { is_over: true, recoveries: before.recoveries + 1 }),
    };
    this.causes.set(id, cause);
    return cause;
  }

  /** Puts causes back as they were. */
  restore(causes: Map<string, ToldCause>): void {
    this.causes = causes;
  }

  /** The time at which something is to be told; Infinity when there is nothing. */
  nextDue_ms(now_ms: number): number {
    let next = Infinity;
    for (const cause of this.causes.values()) next = Math.min(next, this.#due_ms(cause, now_ms));
    return Math.max(next, this.#since(this.state.told_at, this.#group_ms, now_ms));
  }

  /** The causes that are to be told now. */
  due(now_ms: number): ToldCause[] {
    return [...this.causes.values()].filter((cause) => this.#due_ms(cause, now_ms) <= now_ms);
  }

  /** Returns a cause as it is once it has been told. */
  told(cause: ToldCause, now_ms: number): ToldCause {
    const isOver = cause.ended_at !== undefined;
    return {
      ...cause,
      told: cause.count,
      told_at: timeText(now_ms),
      tellings: cause.tellings + 1,
      ...(isOver && { is_over: true, recoveries: cause.recoveries + 1 }),
    };
  }

  /** The causes that need not be kept any more. */
  forgettable(now_ms: number): ToldCause[] {
    const tellsEnds = this.#tellsEnds;
    return [...this.causes.values()].filter(({ is_over, ended_at, tellings, told_at }) => {
      const isOver = is_over || (ended_at !== undefined && tellings > 0 && !tellsEnds);
      return isOver && this.#since(told_at, DAY_MS, now_ms) <= now_ms;
    });
  }

  /** The state in which a cause is told. */
  stateOf({ ended_at, tellings }: ToldCause): NotifiedCause["state"] {
    if (ended_at !== undefined && this.#tellsEnds) return "recovered";
    return tellings === 0 ? "began" : "continues";
  }

  get #tellsEnds(): boolean {
    return this.notifier.on.includes("recovered");
  }

  #due_ms(cause: ToldCause, now_ms: number): number {
    const { ended_at, tellings, told_at, told, count, recoveries, is_over } = cause;
    if (is_over) return Infinity;
    // A cause that comes and goes is told less and less often.
    const again_ms = this.#group_ms * 2 ** Math.min(recoveries, RECOVERIES_MAX);
    const pause_ms = recoveries === 0 ? 0 : Math.min(again_ms, DAY_MS);
    if (tellings === 0) return this.#since(told_at, pause_ms, now_ms);
    if (ended_at !== undefined) return this.#tellsEnds ? 0 : Infinity;
    const hasMore = count > told;
    if (tellings === 1 && hasMore) return this.#since(told_at, this.#group_ms, now_ms);
    const isSeen = cause.run_id === undefined;
    return hasMore || isSeen ? this.#since(told_at, DAY_MS, now_ms) : Infinity;
  }

  /** Returns a time behind another. A clock that was set back makes nobody wait. */
  #since(time: string | undefined, span_ms: number, now_ms: number): number {
    const from_ms = time === undefined ? 0 : Date.parse(time);
    return time === undefined || from_ms > now_ms ? 0 : from_ms + span_ms;
  }
}
