/**
 * Conditions as the project configuration file writes them: `metadata.accuracy < .8`,
 * `parameter.mode == "full" and not metadata.skip`. They have names, literals, comparisons, `and`,
 * `or`, `not` and parentheses, with the precedence of Python. They compute and call nothing.
 *
 * @module
 */
import { HooklaunchError } from "../../platform/errors.ts";

/** The longest expression, in characters. */
export const EXPRESSION_LENGTH_MAX = 1024;
/** The depth to which parentheses and `not` are nested. */
export const EXPRESSION_DEPTH_MAX = 32;

const COMPARISONS = ["<=", ">=", "==", "!=", "<", ">"] as const;
const WORDS: ReadonlyMap<string, Literal> = new Map([
  ["True", true],
  ["true", true],
  ["False", false],
  ["false", false],
  ["None", null],
]);
const RESERVED: readonly string[] = ["and", "or", "not"];
const TOKEN = new RegExp(
  [
    String.raw`(?<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)`,
    // A dash without spaces belongs to a name, as in `metadata.val-loss`.
    String.raw`(?<name>[\p{L}_][\p{L}\p{N}_]*(?:[-.][\p{L}\p{N}_]+)*)`,
    String.raw`(?<text>"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*')`,
    String.raw`(?<sign>[<>=!]=|[<>()+-])`,
  ].join("|"),
  "uy",
);
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };
const NUMERIC = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i;

/** An integer that a number does not hold: metadata and parameters have its digits as text. */
const LONG_INTEGER = /^-?[1-9]\d{15,}$/;

/** A value that is written in an expression. */
type Literal = string | number | boolean | null;

/** An operator that compares two values. */
export type Comparison = typeof COMPARISONS[number];

/** An expression that was read. */
export type Expression =
  | { kind: "literal"; value: Literal }
  | { kind: "name"; path: string[] }
  | { kind: "comparison"; operator: Comparison; left: Expression; right: Expression }
  | { kind: "not"; operand: Expression }
  | { kind: "and" | "or"; operands: Expression[] };

/**
 * The values of the names in an expression. A name that begins with neither field is one of
 * metadata.
 */
export interface Scope {
  metadata: Readonly<Record<string, unknown>>;
  parameter: Readonly<Record<string, unknown>>;
}

/** A text that is no expression. */
export class ExpressionError extends HooklaunchError {
  override readonly code = "invalid_condition";

  /**
   * @param position the first character that does not fit, counted from 1
   * @param expected what would fit there, such as "a value"
   * @param found the text that is there
   */
  constructor(readonly position: number, readonly expected: string, readonly found: string) {
    super(
      `Cannot read the expression: expected ${expected} at character ${position}, found ${found}`,
    );
  }
}

/**
 * Reads an expression.
 *
 * @throws {ExpressionError} and nothing else
 */
export function parseExpression(text: string): Expression {
  if (text.length > EXPRESSION_LENGTH_MAX) {
    const expected = `the end after at most ${EXPRESSION_LENGTH_MAX} characters`;
    throw new ExpressionError(EXPRESSION_LENGTH_MAX + 1, expected, `${text.length} characters`);
  }
  return new Parser(tokensOf(text)).expression();
}

/** Returns true if an expression holds. A comparison with an unknown name never does. */
export function evaluate(expression: Expression, scope: Scope): boolean {
  switch (expression.kind) {
    case "and":
      return expression.operands.every((operand) => evaluate(operand, scope));
    case "or":
      return expression.operands.some((operand) => evaluate(operand, scope));
    case "not":
      return !evaluate(expression.operand, scope);
    case "comparison": {
      const { operator, left, right } = expression;
      return compare(operator, valueOf(left, scope), valueOf(right, scope));
    }
    default: {
      const value = valueOf(expression, scope);
      return Boolean(value) && !(Array.isArray(value) && value.length === 0);
    }
  }
}

function valueOf(expression: Expression, scope: Scope): unknown {
  if (expression.kind === "literal") return expression.value;
  return expression.kind === "name" ? lookUp(expression.path, scope) : evaluate(expression, scope);
}

function lookUp(path: readonly string[], scope: Scope): unknown {
  const [space, ...rest] = path;
  const isSpace = (space === "metadata" || space === "parameter") && rest.length > 0;
  return isSpace ? valueAt(scope[space], rest.join(".")) : valueAt(scope.metadata, path.join("."));
}

/**
 * Returns the value of a key: of a field with this name, or of a path into objects, parted by dots.
 */
export function valueAt(values: Readonly<Record<string, unknown>>, key: string): unknown {
  const whole = own(values, key);
  return whole === undefined ? key.split(".").reduce<unknown>(own, values) : whole;
}

function own(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  // The line above has found the field.
  return (value as Record<string, unknown>)[name];
}

function compare(operator: Comparison, left: unknown, right: unknown): boolean {
  if (left === undefined || right === undefined) return false;
  const [one, other] = [alike(left, right), alike(right, left)];
  if (isNumber(one) && isNumber(other)) return inOrder(operator, one, other);
  if (operator === "==") return one === other;
  if (operator === "!=") return one !== other;
  if (typeof one === "string" && typeof other === "string") return inOrder(operator, one, other);
  return false;
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/** Converts a text that holds a number to one if it is compared with a number. */
function alike(value: unknown, other: unknown): unknown {
  if (typeof value !== "string") return value;
  if (LONG_INTEGER.test(value)) return BigInt(value);
  const isBesideNumber = typeof other === "number" || LONG_INTEGER.test(String(other));
  return isBesideNumber && NUMERIC.test(value) ? Number(value) : value;
}

/** Compares two values of one kind: a number and an integer of any length are compared exactly. */
function inOrder<T extends string | number | bigint>(
  operator: Comparison,
  one: T,
  other: T,
): boolean {
  const isLess = one < other;
  const isMore = one > other;
  const isSame = one >= other && one <= other;
  switch (operator) {
    case "<":
      return isLess;
    case "<=":
      return isLess || isSame;
    case ">":
      return isMore;
    case ">=":
      return isMore || isSame;
    case "==":
      return isSame;
    case "!=":
      return !isSame;
  }
}

interface Token {
  kind: "number" | "name" | "text" | "sign" | "end";
  text: string;
  /** Counted from 1. */
  position: number;
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let index = 0;
  for (;;) {
    while (/\s/.test(text.charAt(index))) index++;
    const position = index + 1;
    if (index === text.length) return [...tokens, { kind: "end", text: "", position }];
    TOKEN.lastIndex = index;
    const { number, name, text: quoted, sign } = TOKEN.exec(text)?.groups ?? {};
    if (number !== undefined) tokens.push({ kind: "number", text: number, position });
    else if (name !== undefined) tokens.push({ kind: "name", text: name, position });
    else if (quoted !== undefined) tokens.push({ kind: "text", text: quoted, position });
    else if (sign !== undefined) tokens.push({ kind: "sign", text: sign, position });
    else if (/["']/.test(text.charAt(index))) {
      throw new ExpressionError(text.length + 1, `the closing ${text.charAt(index)}`, "the end");
    } else {
      const found = String.fromCodePoint(text.codePointAt(index) ?? 0);
      throw new ExpressionError(position, "a value or an operator", JSON.stringify(found));
    }
    index = TOKEN.lastIndex;
  }
}

/** A parser with a method for each level of precedence. */
class Parser {
  readonly #tokens: readonly Token[];
  #index = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  expression(): Expression {
    const expression = this.#choice();
    if (this.#next.kind === "end") return expression;
    throw this.#unexpected('an operator, "and", "or" or the end');
  }

  get #next(): Token {
    return this.#tokens[this.#index] ?? { kind: "end", text: "", position: 1 };
  }

  #choice(): Expression {
    return this.#joined("or", () => this.#joined("and", () => this.#negation()));
  }

  #joined(kind: "and" | "or", operand: () => Expression): Expression {
    const first = operand();
    const operands = [first];
    while (this.#takes("name", kind)) operands.push(operand());
    return operands.length === 1 ? first : { kind, operands };
  }

  #negation(): Expression {
    if (!this.#takes("name", "not")) return this.#comparison();
    return { kind: "not", operand: this.#nested(() => this.#negation()) };
  }

  #comparison(): Expression {
    const left = this.#operand();
    const operator = COMPARISONS.find((sign) => this.#takes("sign", sign));
    return operator ? { kind: "comparison", operator, left, right: this.#operand() } : left;
  }

  #operand(): Expression {
    if (this.#takes("sign", "(")) {
      const inner = this.#nested(() => this.#choice());
      if (this.#takes("sign", ")")) return inner;
      throw this.#unexpected('an operator, "and", "or" or ")"');
    }
    const isNegative = this.#takes("sign", "-");
    const isSigned = isNegative || this.#takes("sign", "+");
    const { kind, text } = this.#next;
    if (kind === "number") {
      this.#index++;
      const digits = isNegative ? `-${text}` : text;
      return { kind: "literal", value: LONG_INTEGER.test(digits) ? digits : Number(digits) };
    }
    if (isSigned) throw this.#unexpected("a number");
    if (kind === "text") {
      this.#index++;
      return { kind: "literal", value: unquote(text) };
    }
    if (kind !== "name" || RESERVED.includes(text)) {
      throw this.#unexpected('a name, a number, a text in quotes or "("');
    }
    this.#index++;
    const value = WORDS.get(text);
    if (value !== undefined) return { kind: "literal", value };
    return { kind: "name", path: text.split(".") };
  }

  #nested(read: () => Expression): Expression {
    if (this.#depth === EXPRESSION_DEPTH_MAX) {
      throw this.#unexpected(`nesting of at most ${EXPRESSION_DEPTH_MAX} levels`);
    }
    this.#depth++;
    const expression = read();
    this.#depth--;
    return expression;
  }

  #takes(kind: Token["kind"], text: string): boolean {
    const isNext = this.#next.kind === kind && this.#next.text === text;
    if (isNext) this.#index++;
    return isNext;
  }

  #unexpected(expected: string): ExpressionError {
    const { kind, text, position } = this.#next;
    return new ExpressionError(position, expected, kind === "end" ? "the end" : `"${text}"`);
  }
}

/** Removes quotes and escapes. A backslash before any other character stands for itself. */
function unquote(quoted: string): string {
  return quoted.slice(1, -1).replace(/\\([^])/g, (whole, escaped: string) => {
    return ESCAPES[escaped] ?? (/["'\\]/.test(escaped) ? escaped : whole);
  });
}
