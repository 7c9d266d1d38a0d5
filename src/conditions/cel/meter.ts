/**
 * What an evaluation may cost: how long it takes, and how much text and lists it makes.
 *
 * @module
 */
import type { Clock } from "../../platform/clock.ts";

const EVALUATION_MS_MAX = 1000;
/** A body of the default limit fits twice; what lists take is counted in characters, too. */
const MADE_CHARACTERS_MAX = 32 * 1024 * 1024;
/** A second at worst: one takes some ten nanoseconds. */
const SEARCH_STEPS_MAX = 100_000_000;

/** What several evaluations share their time for. */
export interface TimeShare {
  /** What is left of that time once one has taken some, in milliseconds. */
  evaluationLeft_ms?: number;
}

/**
 * Measures one evaluation. What has cost too much stays ended: whatever it asks next throws, since
 * an expression such as `a || true` passes over an error.
 */
export class Meter {
  readonly #clock: Clock;
  readonly #end_ms: number;
  #madeCharacters = 0;
  #ended: Error | undefined;

  /** Starts to measure. */
  constructor(clock: Clock, duration_ms_max: number = EVALUATION_MS_MAX) {
    this.#clock = clock;
    this.#end_ms = clock.steady() + duration_ms_max;
  }

  /** How much of its time is left. */
  get left_ms(): number {
    return Math.max(0, this.#end_ms - this.#clock.steady());
  }

  /** Whether the evaluation has cost too much. */
  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Throws when the time is up, or when the evaluation has ended before. */
  tick(): void {
    if (this.#ended === undefined && this.#clock.steady() > this.#end_ms) {
      this.#ended = new Error(`it took longer than ${EVALUATION_MS_MAX} ms`);
    }
    if (this.#ended) throw this.#ended;
  }

  /** Counts what is about to be made, and throws when it is too much. */
  make(characters: number): void {
    this.#madeCharacters += characters;
    if (this.#madeCharacters > MADE_CHARACTERS_MAX) {
      this.#ended ??= new Error(
        `it made texts and lists of more than ${MADE_CHARACTERS_MAX} characters`,
      );
    }
    this.tick();
  }

  /** Looks at how large a search is that could not be stopped, and throws when it is too large. */
  search(parts: number, characters: number): void {
    if (parts * characters > SEARCH_STEPS_MAX) {
      this.#ended ??= new Error(
        `a pattern of ${parts} parts would be looked for in ${characters} characters`,
      );
    }
    this.tick();
  }
}

/** Measures an evaluation that shares its time with all others for the same object. */
export function sharingTime<Result>(
  whose: TimeShare,
  clock: Clock,
  evaluate: (meter: Meter) => Result,
): Result {
  const meter = new Meter(clock, whose.evaluationLeft_ms);
  try {
    return evaluate(meter);
  } finally {
    whose.evaluationLeft_ms = meter.left_ms;
  }
}

/** An evaluation never waits, so there is one at a time. */
let running: Meter | undefined;

/** Does what {@linkcode tick} and {@linkcode make} measure. */
export function metered<Result>(meter: Meter, evaluate: () => Result): Result {
  const before = running;
  running = meter;
  try {
    return evaluate();
  } finally {
    running = before;
  }
}

/** Throws when the evaluation that is running has cost too much. */
export function tick(): void {
  running?.tick();
}

/** Counts what the evaluation that is running is about to make. */
export function make(characters: number): void {
  running?.make(characters);
}

/** Throws when the evaluation that is running must not look for a pattern in so much text. */
export function search(parts: number, characters: number): void {
  running?.search(parts, characters);
}
