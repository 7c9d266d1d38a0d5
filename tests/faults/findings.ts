/**
 * What a part of the fault tests did and found, and the random numbers that it draws.
 *
 * @module
 */

/** Collects what was done and what must not have been. */
export class Findings {
  /** Everything that was not as it must be. */
  readonly violations: string[] = [];
  readonly #print: (line: string) => void;

  /** @param print is given each line at once */
  constructor(print: (line: string) => void = () => {}) {
    this.#print = print;
  }

  /** Notes a figure, or what was done. */
  say(line: string): void {
    this.#print(`  ${line}`);
  }

  /** Notes a violation unless something holds. */
  check(holds: boolean, otherwise: string): void {
    if (holds) return;
    this.violations.push(otherwise);
    // The first of many tell enough.
    if (this.violations.length <= 20) this.#print(`  VIOLATION: ${otherwise}`);
  }

  /** @throws {Error} when there is a violation */
  assertNone(): void {
    if (this.violations.length === 0) return;
    const [first = "", ...others] = this.violations;
    throw new Error(others.length === 0 ? first : `${first} (and ${others.length} more)`);
  }
}

/** Draws numbers that a seed decides, so that what was drawn once can be drawn again. */
export class Random {
  #state: number;

  constructor(readonly seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to below 1 (mulberry32). */
  float(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to below `end`. */
  int(end: number): number {
    return Math.floor(this.float() * end);
  }

  /** Whether something of this probability happens. */
  chance(probability: number): boolean {
    return this.float() < probability;
  }

  /** One of several. */
  pick<T>(from: readonly [T, ...T[]]): T {
    return from[this.int(from.length)] ?? from[0];
  }

  /** So many bytes. */
  bytes(count: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length: count }, () => this.int(256));
  }

  /** Others, that do not depend on how many are drawn here later. */
  fork(): Random {
    return new Random(this.int(2 ** 32));
  }
}

/** Waits. */
export function pause(time_ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time_ms));
}
