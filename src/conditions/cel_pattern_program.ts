/**
 * What a pattern is made into: steps that `cel_match.ts` takes through a text, all at once.
 *
 * @module
 */
import { HooklaunchError } from "../errors.ts";

const PARTS_MAX = 10_000;

/** A pattern that cannot be used, and why. */
export class PatternError extends HooklaunchError {
  override readonly code = "invalid_pattern";

  /** @param detail what is wrong, in lower case */
  constructor(detail: string) {
    super(`Invalid pattern: ${detail}`);
  }
}

/** Whether a code point is one that a pattern takes at some place. */
export type CharacterTest = (codePoint: number) => boolean;

/** Whether a place between two code points is one such as `^` means; -1 is before and after a text. */
export type PlaceTest = (before: number, after: number) => boolean;

/** One step; `next` and `other` are places in the program. */
export type Step =
  | { kind: "character"; test: CharacterTest; next: number }
  | { kind: "place"; test: PlaceTest; next: number }
  | { kind: "either"; next: number; other: number }
  | { kind: "match" };

/** The steps of a pattern, and with which it begins. */
export interface Program {
  steps: readonly Step[];
  start: number;
}

/** A part of a pattern: adds its steps before the step `next`, and answers with which it begins. */
export type Part = (next: number) => number;

/** Makes the parts of one pattern, and the program from the part that is all of it. */
export class ProgramBuilder {
  readonly #steps: Step[] = [{ kind: "match" }];
  #parts = 0;

  /** A part that takes one character. */
  character(test: CharacterTest): Part {
    return (next) => this.#add({ kind: "character", test, next });
  }

  /** A part that takes nothing, and holds in some places. */
  place(test: PlaceTest): Part {
    return (next) => this.#add({ kind: "place", test, next });
  }

  /** Parts one after the other. */
  sequence(parts: readonly Part[]): Part {
    return (next) => parts.reduceRight((after, part) => part(after), next);
  }

  /** One of several parts, at least one. */
  either(parts: readonly Part[]): Part {
    return (next) =>
      parts.map((part) => part(next)).reduceRight((other, first) =>
        this.#add({ kind: "either", next: first, other })
      );
  }

  /** A part as often as from `min` to `max` times. */
  repeat(part: Part, min: number, max: number): Part {
    return (next) => {
      let start = max === Infinity ? this.#loop(part, next) : next;
      for (let i = min; i < max && max !== Infinity; i++) {
        start = this.#add({ kind: "either", next: part(start), other: next });
      }
      for (let i = 0; i < min; i++) {
        this.#count();
        start = part(start);
      }
      return start;
    };
  }

  /** The program of a whole pattern. */
  finish(whole: Part): Program {
    return { start: whole(0), steps: this.#steps };
  }

  #loop(part: Part, next: number): number {
    const loop = this.#add({ kind: "either", next, other: next });
    this.#steps[loop] = { kind: "either", next: part(loop), other: next };
    return loop;
  }

  #add(step: Step): number {
    this.#count();
    return this.#steps.push(step) - 1;
  }

  /** To repeat a part that has no steps takes time as well. */
  #count(): void {
    this.#parts += 1;
    if (this.#parts > PARTS_MAX) {
      throw new PatternError(`has repeats that make more than ${PARTS_MAX} parts`);
    }
  }
}
