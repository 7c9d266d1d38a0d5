/**
 * The limits of staging one execution's inputs: bytes and time, for all files together.
 *
 * @module
 */
import type { InputSettings } from "./settings.ts";
import { StagingError } from "./errors.ts";

const MAX_MB = 10 * 1_024;
const TIMEOUT_S = 60 * 60;
const MIB = 1_024 * 1_024;

/** Counts bytes and time. Disposing of it stops the clock. */
export class InputBudget implements Disposable {
  readonly #max_mb: number;
  readonly #timeout_s: number;
  readonly #signal: AbortSignal;
  #left: number;
  #time: { signal: AbortSignal; timer: ReturnType<typeof setTimeout> } | undefined;

  /** @param signal aborted when the files are not needed any more */
  constructor({ max_mb, timeout }: InputSettings, signal: AbortSignal) {
    this.#max_mb = max_mb ?? MAX_MB;
    this.#timeout_s = timeout ?? TIMEOUT_S;
    this.#left = this.#max_mb * MIB;
    this.#signal = signal;
  }

  /** Aborted when the time is up or the files are not needed. The time begins with the first read of this. */
  get signal(): AbortSignal {
    if (this.#time === undefined) {
      const over = new AbortController();
      const timer = setTimeout(() =>
        over.abort(
          new StagingError(
            `the inputs were not complete after ${this.#timeout_s} s, the limit of the setting ` +
              "inputs.timeout of the project's engine",
          ),
        ), this.#timeout_s * 1_000);
      this.#time = { signal: AbortSignal.any([over.signal, this.#signal]), timer };
    }
    return this.#time.signal;
  }

  /**
   * Checks that a number of bytes are left.
   *
   * @throws {StagingError} when they are not
   */
  check(bytes: number): void {
    if (bytes <= this.#left) return;
    throw new StagingError(
      `the inputs have more than ${this.#max_mb} MiB, the limit of the setting inputs.max_mb ` +
        "of the project's engine",
    );
  }

  /**
   * Takes a number of bytes.
   *
   * @throws {StagingError} when fewer are left
   */
  take(bytes: number): void {
    this.check(bytes);
    this.#left -= bytes;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#time?.timer);
  }
}
