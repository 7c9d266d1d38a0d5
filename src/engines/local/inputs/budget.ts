/**
 * What the files of one execution may take together: how much, and for how long they may be brought.
 *
 * @module
 */
import type { LocalSettings } from "../settings.ts";

const MAX_MB = 10 * 1_024;
const TIMEOUT_S = 60 * 60;
const MIB = 1_024 * 1_024;

/** Counts what files take. Disposing of it ends the time. */
export class Allowance implements Disposable {
  readonly #max_mb: number;
  readonly #timeout_s: number;
  readonly #signal: AbortSignal;
  #left: number;
  #time: { signal: AbortSignal; timer: ReturnType<typeof setTimeout> } | undefined;

  /** @param signal aborted when the files are not wanted any more */
  constructor({ max_mb, timeout }: NonNullable<LocalSettings["inputs"]>, signal: AbortSignal) {
    this.#max_mb = max_mb ?? MAX_MB;
    this.#timeout_s = timeout ?? TIMEOUT_S;
    this.#left = this.#max_mb * MIB;
    this.#signal = signal;
  }

  /** Aborted when the time is up, which begins when this is first read, or when nothing is wanted. */
  get signal(): AbortSignal {
    if (this.#time === undefined) {
      const over = new AbortController();
      const timer = setTimeout(() =>
        over.abort(
          new Error(
            `the inputs were not there after ${this.#timeout_s} s, which is all the time that the ` +
              "setting inputs.timeout of the project's engine gives them",
          ),
        ), this.#timeout_s * 1_000);
      this.#time = { signal: AbortSignal.any([over.signal, this.#signal]), timer };
    }
    return this.#time.signal;
  }

  /**
   * Checks that a file of so many bytes may still come.
   *
   * @throws when it may not
   */
  check(bytes: number): void {
    if (bytes <= this.#left) return;
    throw new Error(
      `the inputs have more than ${this.#max_mb} MiB, which is all that the setting inputs.max_mb ` +
        "of the project's engine gives them",
    );
  }

  /**
   * Takes so many bytes.
   *
   * @throws when there are not as many left
   */
  take(bytes: number): void {
    this.check(bytes);
    this.#left -= bytes;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#time?.timer);
  }
}
