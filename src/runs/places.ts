/**
 * The places at which runs are performed, and the runs that wait for one in memory.
 *
 * @module
 */
import type { Clock } from "../platform/clock.ts";
import { NextCall, within } from "../platform/waiting/timers.ts";
import { inTrace } from "../telemetry/spans.ts";
import type { WaitingRun } from "./outcome.ts";
import type { WorkShare } from "./work_share.ts";

/** The interval at which runs that hold back look for a place. */
const LOOK_MS = 25;

/** The parts of a worker that its places use. */
interface PlacesParts {
  clock: Clock;
  /** Runs that are performed at a time. */
  concurrency: number;
  share: WorkShare;
  /** Performs a run and stores its end. Never rejects. */
  perform(waiting: WaitingRun): Promise<void>;
  /** Begins further runs: called when a place is free, or may be. */
  next(): void;
}

/** Performs the runs that wait, in their order. */
export class Places {
  readonly #parts: PlacesParts;
  readonly #waiting: WaitingRun[] = [];
  readonly #performing = new Set<Promise<void>>();
  /** The next look for a place. */
  readonly #nextLook: NextCall;
  #isClosing = false;

  constructor(parts: PlacesParts) {
    this.#parts = parts;
    this.#nextLook = new NextCall(parts.clock);
  }

  /** Number of runs that wait for a place. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Adds a run that waits. */
  add(waiting: WaitingRun): void {
    this.#waiting.push(waiting);
  }

  /** Starts as many runs as there are places. */
  begin(): void {
    const { concurrency, share, perform, next } = this.#parts;
    while (!this.#isClosing && this.#performing.size < share.places()) {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) break;
      const { traceparent } = waiting;
      const freePlace = share.begin();
      const performed = inTrace(traceparent, () => perform(waiting));
      const work: Promise<void> = performed.finally(() => {
        this.#performing.delete(work);
        freePlace();
        next();
      });
      this.#performing.add(work);
    }
    if (this.#waiting.length > 0 && this.#performing.size < concurrency && !this.#isClosing) {
      // Launches go first, and the runs under way may take long: look again soon.
      this.#nextLook.after(LOOK_MS, next);
    }
  }

  /** Begins nothing more. */
  close(): void {
    this.#isClosing = true;
    this.#nextLook.close();
  }

  /** Waits until the runs under way have ended, or the deadline has passed. */
  async ended(deadline_ms: number): Promise<void> {
    await within(this.#parts.clock, deadline_ms, Promise.all(this.#performing));
  }
}
