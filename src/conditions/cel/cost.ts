/**
 * A bound of the work of an evaluation, from the syntax tree of an expression and the size of a request: it
 * decides which filters are evaluated at once and which in the Worker.
 *
 * @module
 */
import { GROWING } from "./extensions.ts";
import { KEPT_PARTS_MAX, parsePattern } from "./pattern.ts";
import { childrenOf, constantOf, type Expr, stringOf } from "./syntax.ts";

/** Within these limits an evaluation takes 5 ms at most, also where each step is an error of CEL. */
const STEPS_MAX = 5_000;
const CHARACTERS_READ_MAX = 500_000;
const PATTERN_STEPS_MAX = 100_000;
/** To look for a text in another may take the product of their lengths. */
const SEARCH_STEPS_MAX = 5_000_000;

const COMPARISONS = new Set(["_<_", "_<=_", "_>_", "_>=_", "startsWith", "endsWith"]);
const READS_TEXT = new Set([
  "bytes",
  "contains",
  "indexOf",
  "lowerAscii",
  "size",
  "string",
  "substring",
  "trim",
  "upperAscii",
]);
const EQUALITY = new Set(["_==_", "_!=_"]);
/** Functions whose results are compared in one step. */
const MAKES_SCALAR = new Set(["type", "size", "int", "uint", "double"]);
/** Calendars and time zones take this many steps. */
const TIME_STEPS = 50;
/** To compare a value of a list with a scalar takes a part of a step. */
const LOOK_STEPS = 0.2;
const TIME_FUNCTION = /^(?:get[A-Z]|timestamp$|duration$)/;

/** The work of one round of the macros around. */
interface Round {
  steps: number;
  /** Functions that read a whole text. */
  texts: number;
  /** Searches of a text for another one that the owner has not written. */
  searches: number;
  /** Parts of the patterns that are looked for. */
  patternParts: number;
}

const NOTHING: Round = { steps: 0, texts: 0, searches: 0, patternParts: 0 };

/** The work of an expression; the request tells how many rounds its macros have. */
export interface Cost {
  /** By how many macros stand around, 0 first: each goes through at most all values of the request. */
  readonly rounds: readonly Round[];
  /** The texts and lists that it makes are at most this many times larger than those of the request. */
  readonly growth: number;
  /** There is no useful bound: its rounds make larger and larger values, or it makes a pattern. */
  readonly isUnbounded: boolean;
}

/** The size of the part of a request that an expression reads. */
export interface InputSize {
  /** The values of the body, the headers and the parameters of the query together. */
  values: number;
  /** The characters of the longest text. */
  text: number;
}

/** Tells whether an evaluation is sure to take a few milliseconds at most. */
export function isShortWork({ rounds, growth, isUnbounded }: Cost, size: InputSize): boolean {
  if (isUnbounded) return false;
  const [values, text] = [size.values * growth, size.text * growth];
  const sum = (work: keyof Round) =>
    rounds.reduce((total, round, depth) => total + round[work] * values ** depth, 0);
  return sum("steps") <= STEPS_MAX &&
    sum("texts") * text <= CHARACTERS_READ_MAX &&
    sum("searches") * text ** 2 <= SEARCH_STEPS_MAX &&
    sum("patternParts") * text <= PATTERN_STEPS_MAX;
}

/** Returns the work of several expressions together. */
export function sumOf(costs: readonly Cost[]): Cost {
  const rounds: Round[] = [];
  for (const cost of costs) {
    for (const [depth, round] of cost.rounds.entries()) {
      const { steps, texts, searches, patternParts } = rounds[depth] ?? NOTHING;
      rounds[depth] = {
        steps: steps + round.steps,
        texts: texts + round.texts,
        searches: searches + round.searches,
        patternParts: patternParts + round.patternParts,
      };
    }
  }
  return {
    rounds,
    growth: Math.max(1, ...costs.map(({ growth }) => growth)),
    isUnbounded: costs.some(({ isUnbounded }) => isUnbounded),
  };
}

/** Returns the work of an expression. */
export function costOf(expr: Expr): Cost {
  const tally = new Tally();
  tally.add(expr, { depth: 0, times: 1, results: [], owned: [], bound: [] });
  return tally.cost();
}

/** The macros around a node. */
interface Place {
  /** Number of nested macros over lists of any length. */
  depth: number;
  /** Number of evaluations by macros over literal lists. */
  times: number;
  /** The variables in which they collect their results. */
  results: readonly string[];
  /** All variables that they make. */
  bound: readonly string[];
  /** Those of them that stand for one part of the request after the other. */
  owned: readonly string[];
}

/** Adds up the work of a syntax tree. */
class Tally {
  readonly #rounds: Round[] = [];
  #additions = 0;
  #literals = 0;
  #comparesValues = false;
  #makesPatterns = false;
  #makesLarger = false;
  #hasMacros = false;

  cost(): Cost {
    const compared = this.#comparesValues ? this.#literals : 0;
    return {
      rounds: this.#rounds,
      growth: 1 + this.#additions + compared,
      // Each round may double a list, or a value that is then compared part by part.
      isUnbounded: this.#makesPatterns || this.#makesLarger ||
        (this.#hasMacros && this.#additions + compared > 0),
    };
  }

  add(expr: Expr, place: Place): void {
    this.#count("steps", place);
    const { case: kind, value } = expr.exprKind;
    if (kind === "callExpr") return this.#addCall(expr, value.function, place);
    if (kind === "comprehensionExpr") this.#hasMacros = true;
    const children = childrenOf(expr);
    const isLiteral = kind === "listExpr" || kind === "structExpr";
    if (isLiteral && !children.every(isScalar)) this.#literals++;
    for (const child of children) {
      const isInside = kind === "comprehensionExpr" &&
        (child === value.loopCondition || child === value.loopStep);
      this.add(child, isInside ? placeInside(value, place) : place);
    }
  }

  #count(work: keyof Round, { depth, times }: Place, by = 1): void {
    for (let d = this.#rounds.length; d <= depth; d++) {
      this.#rounds.push({ ...NOTHING });
    }
    const round = this.#rounds[depth];
    if (round) round[work] += times * by;
  }

  #addCall(call: Expr, name: string, place: Place): void {
    const operands = childrenOf(call);
    const [first, second] = operands;
    const appended = name === "_+_" && appendedTo(place.results, operands);
    if (appended) return this.add(appended, place);
    operands.forEach((operand) => this.add(operand, place));
    if (TIME_FUNCTION.test(name)) this.#count("steps", place, TIME_STEPS);
    if (GROWING.has(name)) this.#makesLarger = true;
    if (READS_TEXT.has(name)) this.#count("texts", place);
    if (name === "contains" && !isScalar(second)) this.#count("searches", place);
    if (COMPARISONS.has(name) && !operands.some(isScalar)) this.#count("texts", place);
    if (name === "matches") this.#addPattern(operands.at(-1), place);
    const comparesValues = EQUALITY.has(name) && !operands.some(isScalar);
    const adds = name === "_+_" && !operands.some(isNumber);
    const looksIntoList = name === "@in" && !isListOfScalars(second);
    if (adds) this.#additions++;
    if (comparesValues || (looksIntoList && !isScalar(first))) this.#comparesValues = true;
    if (comparesValues || adds) this.#count("texts", place);
    if (comparesValues || adds || looksIntoList || name === "size") {
      // These go through all values.
      const through = { ...place, depth: place.depth + 1 };
      this.#count("steps", through, comparesValues ? 1 : LOOK_STEPS);
    }
  }

  #addPattern(pattern: Expr | undefined, place: Place): void {
    const text = stringOf(pattern);
    const parts = text === undefined ? Infinity : parsePattern(text).programSize();
    if (parts > KEPT_PARTS_MAX) this.#makesPatterns = true;
    else this.#count("patternParts", place, parts);
  }
}

type Comprehension = Extract<Expr["exprKind"], { case: "comprehensionExpr" }>["value"];

function placeInside({ iterRange, iterVar, accuVar }: Comprehension, place: Place): Place {
  const { depth, times, results, bound } = place;
  const owned = place.owned.filter((name) => name !== iterVar);
  const inner = { results: [...results, accuVar], bound: [...bound, iterVar, accuVar] };
  const length = literalLength(iterRange);
  if (length !== undefined) return { ...inner, depth, times: times * length, owned };
  const root = rootOf(iterRange);
  // All rounds over parts of an element together are at most as many as the request has values.
  if (root !== undefined && place.owned.includes(root)) {
    return { ...inner, depth, times, owned: [...owned, iterVar] };
  }
  const isRequest = root !== undefined && !bound.includes(root);
  return { ...inner, depth: depth + 1, times, owned: isRequest ? [...owned, iterVar] : owned };
}

/** Returns the variable that a path such as `body.commits[0]` begins with. */
function rootOf(expr: Expr | undefined): string | undefined {
  switch (expr?.exprKind.case) {
    case "identExpr":
      return expr.exprKind.value.name;
    case "selectExpr":
      return rootOf(expr.exprKind.value.operand);
    case "callExpr":
      return expr.exprKind.value.function === "_[_]"
        ? rootOf(expr.exprKind.value.args[0])
        : undefined;
  }
}

/** Returns the length of a literal list, also one that is mapped or filtered. */
function literalLength(range: Expr | undefined): number | undefined {
  switch (range?.exprKind.case) {
    case "listExpr":
      return range.exprKind.value.elements.length;
    case "comprehensionExpr":
      return literalLength(range.exprKind.value.iterRange);
  }
}

/** Returns the element that a macro such as `map` adds to its results. */
function appendedTo(
  results: readonly string[],
  [first, second]: readonly Expr[],
): Expr | undefined {
  const isResult = first?.exprKind.case === "identExpr" &&
    results.includes(first.exprKind.value.name);
  return isResult && second?.exprKind.case === "listExpr"
    ? second.exprKind.value.elements[0]
    : undefined;
}

/** Tells whether a value is compared in one step. */
function isScalar(expr: Expr | undefined): boolean {
  return constantOf(expr) !== undefined ||
    (expr?.exprKind.case === "callExpr" && MAKES_SCALAR.has(expr.exprKind.value.function));
}

function isListOfScalars(expr: Expr | undefined): boolean {
  return expr?.exprKind.case === "listExpr" && expr.exprKind.value.elements.every(isScalar);
}

function isNumber(expr: Expr): boolean {
  return /^(?:int64|uint64|double)Value$/.test(constantOf(expr)?.case ?? "");
}
