/**
 * Looking for a pattern in a text, in a time that grows with the length of the text: all ways through
 * the pattern are gone at once, and sets of places in it that have been seen are kept (Thompson 1968,
 * as RE2 does). The clock is looked at for each set, so that no pattern and no text take longer
 * than an evaluation may.
 *
 * @module
 */
import { tick } from "./cel_meter.ts";
import { isWord, parsePattern } from "./cel_pattern.ts";
import type { Program } from "./cel_pattern_program.ts";

/** How many numbers the sets that are kept may hold, and what a set takes beside its places. */
const KEPT_MAX = 500_000;
const SET_SIZE = 160;
const ASCII = 128;
const STRIDE = 4096;

/** Programs that are small are kept, since a macro asks for the same one each time. */
const PROGRAMS_MAX = 64;
const KEPT_STEPS_MAX = 1000;
const programs = new Map<string, Program>();

/** Places that stand for all others of their kind before a character. */
const NEWLINE = 10;
const WORD = 0x61;
const OTHER = 0x20;
const NOTHING = -1;

/**
 * Whether a text holds something that a pattern matches.
 *
 * @throws {PatternError} when the pattern is none
 */
export function matches(text: string, pattern: string): boolean {
  return new Search(programOf(pattern)).run(text);
}

function programOf(pattern: string): Program {
  const kept = programs.get(pattern);
  if (kept) return kept;
  const program = parsePattern(pattern);
  if (program.steps.length <= KEPT_STEPS_MAX) {
    const [oldest] = programs.keys();
    if (programs.size >= PROGRAMS_MAX && oldest !== undefined) programs.delete(oldest);
    programs.set(pattern, program);
  }
  return program;
}

/** Where a search can be after some character, and where it goes from there. */
interface PlaceSet {
  readonly places: readonly number[];
  /** What stood before, as one of its kind. */
  readonly before: number;
  readonly ascii: (PlaceSet | "match" | undefined)[];
  readonly others: Map<number, PlaceSet | "match">;
}

class Search {
  readonly #program: Program;
  /** Whether what stands before a place can matter. */
  readonly #hasPlaceTests: boolean;
  readonly #sets = new Map<string, PlaceSet>();
  #kept = 0;
  /** Which places were visited in this closure. */
  readonly #visited: Uint32Array;
  #closures = 0;

  constructor(program: Program) {
    this.#program = program;
    this.#hasPlaceTests = program.steps.some(({ kind }) => kind === "place");
    this.#visited = new Uint32Array(program.steps.length);
  }

  run(text: string): boolean {
    let set = this.#keep([], NOTHING);
    for (let i = 0; i < text.length; i++) {
      if (i % STRIDE === 0) tick();
      const codePoint = text.codePointAt(i) ?? 0;
      if (codePoint > 0xffff) i += 1;
      const next = (codePoint < ASCII ? set.ascii[codePoint] : set.others.get(codePoint)) ??
        this.#step(set, codePoint);
      if (next === "match") return true;
      set = next;
    }
    return this.#reach(set, NOTHING) === undefined;
  }

  #step(set: PlaceSet, codePoint: number): PlaceSet | "match" {
    tick();
    const reached = this.#reach(set, codePoint);
    const next = reached === undefined
      ? "match"
      : this.#keep(this.#take(reached, codePoint), this.#hasPlaceTests ? kindOf(codePoint) : OTHER);
    this.#kept += 1;
    if (codePoint < ASCII) set.ascii[codePoint] = next;
    else set.others.set(codePoint, next);
    return next;
  }

  /**
   * The steps that take a character and can be reached before `after` without taking one, the
   * pattern's first among them; undefined when the match is.
   */
  #reach(set: PlaceSet, after: number): number[] | undefined {
    const { steps, start } = this.#program;
    const reached: number[] = [];
    const todo = [...set.places, start];
    this.#closures += 1;
    for (let place = todo.pop(); place !== undefined; place = todo.pop()) {
      if (this.#visited[place] === this.#closures) continue;
      this.#visited[place] = this.#closures;
      const step = steps[place];
      if (step === undefined || step.kind === "match") return undefined;
      if (step.kind === "character") reached.push(place);
      else if (step.kind === "either") todo.push(step.next, step.other);
      else if (step.test(set.before, after)) todo.push(step.next);
    }
    return reached;
  }

  #take(reached: readonly number[], codePoint: number): number[] {
    const places = new Set<number>();
    for (const place of reached) {
      const step = this.#program.steps[place];
      if (step?.kind === "character" && step.test(codePoint)) places.add(step.next);
    }
    return [...places].sort((a, b) => a - b);
  }

  #keep(places: readonly number[], before: number): PlaceSet {
    const key = `${before}:${places.join()}`;
    const known = this.#sets.get(key);
    if (known) return known;
    this.#kept += places.length + SET_SIZE;
    if (this.#kept > KEPT_MAX) {
      this.#sets.clear();
      this.#kept = places.length + SET_SIZE;
    }
    const set: PlaceSet = { places, before, ascii: new Array(ASCII), others: new Map() };
    this.#sets.set(key, set);
    return set;
  }
}

function kindOf(codePoint: number): number {
  if (codePoint === NEWLINE) return NEWLINE;
  return isWord(codePoint) ? WORD : OTHER;
}
