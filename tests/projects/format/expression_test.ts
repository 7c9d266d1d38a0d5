/**
 * Conditions: what they are taken to mean, where they are refused, and, for any expression at all, that
 * it is read as it is printed and holds when a plain reading of it says so.
 *
 * @module
 */
import { assert, assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  type Comparison,
  evaluate,
  type Expression,
  EXPRESSION_DEPTH_MAX,
  EXPRESSION_LENGTH_MAX,
  ExpressionError,
  parseExpression,
  type Scope,
} from "../../../src/projects/format/expression.ts";
import { unicode } from "../../arbitraries.ts";

const scope: Scope = {
  metadata: {
    accuracy: 0.75,
    text: "0.75",
    word: "abc",
    done: true,
    none: null,
    zero: 0,
    empty: [],
    "val-loss": 2,
    "a.b": 1,
    nested: { deep: { value: 3 } },
    // The digits of an integer beyond 2^53.
    id: "9007199254740993",
  },
  parameter: { mode: "full", layers: [1, 2], accuracy: 9, dry: false },
};

const holds = [
  "metadata.accuracy < .8",
  "metadata.accuracy<0.8 and metadata.accuracy>=.75",
  "metadata.accuracy == 7.5e-1",
  "accuracy != 1",
  "metadata.text == 0.75",
  ".8 > metadata.text",
  'metadata.text == "0.75"',
  'metadata.accuracy == "0.75"',
  "metadata.id == 9007199254740993",
  "metadata.id == '9007199254740993'",
  "metadata.id != 9007199254740992",
  "metadata.id > 9007199254740992 and metadata.id >= 9007199254740993",
  "metadata.id < 10000000000000000 and -9007199254740993 < metadata.id",
  "metadata.id > 1.5 and metadata.zero < metadata.id",
  "metadata.word == 'abc'",
  "metadata.word > 'abb'",
  'metadata.word != "it\'s"',
  "metadata.val-loss == 2",
  "metadata.a.b == 1",
  "metadata.nested.deep.value == +3",
  "-1 < metadata.zero",
  "metadata.zero <= -0",
  "metadata.done",
  "metadata.done == true",
  "metadata.none == None",
  "not metadata.none",
  "not metadata.zero",
  "not metadata.missing",
  "not metadata.empty",
  "parameter.layers",
  "parameter.mode == 'full' and not parameter.dry",
  "not parameter.dry == True",
  "not not metadata.done",
  "false or true",
  "true or false and false",
  "not false and true",
  "(true or false) and (not (false))",
  "(metadata.accuracy < 1) == true",
  "\tmetadata.done\n",
  String.raw`"a\"\\\n\d" == 'a"\\` + "\n" + String.raw`\d'`,
];

const fails = [
  "metadata.accuracy < .7",
  "metadata.missing < 1",
  "metadata.missing == metadata.missing",
  "metadata.missing != 1",
  "metadata.missing == None",
  "metadata.word < 1",
  "metadata.word == 1",
  "metadata.done == 1",
  "metadata.done > 0",
  "metadata.none < 1",
  "metadata.empty == metadata.nested",
  "parameter.missing",
  "metadata.toString",
  "metadata.nested.constructor",
  "metadata.nested.deep.value.x == 3",
  '"" or 0 or None or False',
  "(true or false) and false",
  "parameter == 1",
];

Deno.test("expressions: what holds and what does not", () => {
  for (const text of holds) assert(evaluate(parseExpression(text), scope), text);
  for (const text of fails) assert(!evaluate(parseExpression(text), scope), text);
});

const VALUE = 'a name, a number, a text in quotes or "("';
const OPERATOR = 'an operator, "and", "or" or the end';

const refused: [text: string, position: number, expected: string, found: string][] = [
  ["", 1, VALUE, "the end"],
  ["  ", 3, VALUE, "the end"],
  ["stop me if you can", 6, OPERATOR, '"me"'],
  ["can't stop", 11, "the closing '", "the end"],
  ["a = 1", 3, "a value or an operator", '"="'],
  ["a < b < c", 7, OPERATOR, '"<"'],
  ["a == ", 6, VALUE, "the end"],
  ["a == not b", 6, VALUE, '"not"'],
  ["a and", 6, VALUE, "the end"],
  ["and a", 1, VALUE, '"and"'],
  ["(a", 3, 'an operator, "and", "or" or ")"', "the end"],
  ["a)", 2, OPERATOR, '")"'],
  ["()", 2, VALUE, '")"'],
  ["- a", 3, "a number", '"a"'],
  ["a + 1", 3, OPERATOR, '"+"'],
  ["abs(a) > 1", 4, OPERATOR, '"("'],
  ["a[0]", 2, "a value or an operator", '"["'],
  ["a..b", 2, "a value or an operator", '"."'],
  ["💥", 1, "a value or an operator", '"💥"'],
  ["a".repeat(1025), 1025, "the end after at most 1024 characters", "1025 characters"],
  ["(".repeat(33), 34, "nesting of at most 32 levels", "the end"],
  [`${"not ".repeat(33)}a`, 133, "nesting of at most 32 levels", '"a"'],
];

Deno.test("expressions: what is none is refused, with place and expectation", () => {
  for (const [text, position, expected, found] of refused) {
    const error = assertThrows(() => parseExpression(text), ExpressionError);
    assertEquals([error.position, error.expected, error.found], [position, expected, found], text);
  }
});

Deno.test("expressions: as long and as deep as they may be", () => {
  const deep = "(".repeat(EXPRESSION_DEPTH_MAX) + "a" + ")".repeat(EXPRESSION_DEPTH_MAX);
  assertEquals(parseExpression(deep), { kind: "name", path: ["a"] });
  const long = "a or ".repeat(204) + "true";
  assertEquals(long.length, EXPRESSION_LENGTH_MAX);
  assert(evaluate(parseExpression(long), scope));
});

Deno.test("expressions: long values are compared in a time that grows with their length", () => {
  const metadata = { x: `${"1".repeat(1_000_000)}x`, y: `${" ".repeat(1_000_000)}x` };
  const long = { metadata, parameter: {} };
  assert(evaluate(parseExpression("x != 1 and y != 1 and not x < 1"), long));
});

const name = fc.constantFrom(
  ...["metadata.x", "metadata.y-z", "parameter.x", "y", "metadata.not", "parameter.a.b", "x.y"],
);
const literal = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom("", "1", "-2", "1e0", "x", 'say "it\'s"', "back\\slash", "a\nb\tc"),
  fc.string(),
  fc.constantFrom(true, false, null),
);
const comparison = fc.constantFrom<Comparison>("<", "<=", "==", "!=", ">", ">=");

const { expression } = fc.letrec<{ expression: Expression }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    name.map((path): Expression => ({ kind: "name", path: path.split(".") })),
    // There is no sign of zero to print.
    literal.map((value): Expression => ({ kind: "literal", value: value === 0 ? 0 : value })),
    fc.tuple(comparison, tie("expression"), tie("expression")).map(
      ([operator, left, right]): Expression => ({ kind: "comparison", operator, left, right }),
    ),
    tie("expression").map((operand): Expression => ({ kind: "not", operand })),
    fc.tuple(
      fc.constantFrom("and" as const, "or" as const),
      fc.array(tie("expression"), { minLength: 2, maxLength: 3 }),
    ).map(([kind, operands]): Expression => ({ kind, operands })),
  ),
}));

const value = fc.oneof(literal, fc.jsonValue({ maxDepth: 1 }));
const values = fc.dictionary(fc.constantFrom("x", "y-z", "y", "not", "a.b", "x.y"), value);
const scopes: fc.Arbitrary<Scope> = fc.record({ metadata: values, parameter: values });

/** Every part in parentheses, so that precedence has no say. */
function print(expression: Expression): string {
  const inner = (part: Expression) => `(${print(part)})`;
  switch (expression.kind) {
    case "name":
      return expression.path.join(".");
    case "literal":
      if (expression.value === null) return "None";
      if (typeof expression.value !== "string") return String(expression.value);
      return `'${expression.value.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
    case "comparison":
      return `${inner(expression.left)} ${expression.operator} ${inner(expression.right)}`;
    case "not":
      return `not ${inner(expression.operand)}`;
    default:
      return expression.operands.map(inner).join(` ${expression.kind} `);
  }
}

Deno.test("expressions: are read as they are printed", () => {
  fc.assert(fc.property(expression, (expression) => {
    const text = print(expression);
    fc.pre(text.length <= EXPRESSION_LENGTH_MAX);
    assertEquals(parseExpression(text), expression, text);
  }));
});

/** The meaning of an expression in the fewest words: missing is undefined. */
function oracle(expression: Expression, scope: Scope): unknown {
  const truth = (part: Expression) => {
    const value = oracle(part, scope);
    return Array.isArray(value) ? value.length > 0 : !!value;
  };
  switch (expression.kind) {
    case "literal":
      return expression.value;
    case "name": {
      const text = expression.path.join(".");
      const [, space = "metadata", key = text] = text.match(/^(metadata|parameter)\.(.*)$/) ?? [];
      const values = new Map(
        Object.entries(space === "parameter" ? scope.parameter : scope.metadata),
      );
      if (values.has(key)) return values.get(key);
      return key.split(".").reduce<unknown>(
        (found, part) => new Map(Object.entries(found ?? {})).get(part),
        Object.fromEntries(values),
      );
    }
    case "not":
      return !truth(expression.operand);
    case "and":
      return !expression.operands.some((part) => !truth(part));
    case "or":
      return expression.operands.filter(truth).length > 0;
    case "comparison":
      return compared(expression, oracle(expression.left, scope), oracle(expression.right, scope));
  }
}

function compared({ operator }: { operator: Comparison }, left: unknown, right: unknown): boolean {
  if (left === undefined || right === undefined) return false;
  const isNumeric = (text: unknown) =>
    typeof text === "string" && /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i.test(text);
  if (typeof left === "number" && isNumeric(right)) right = Number(right);
  if (typeof right === "number" && isNumeric(left)) left = Number(left);
  const isAlike = typeof left === typeof right && ["number", "string"].includes(typeof left);
  const order = !isAlike
    ? NaN
    : left === right
    ? 0
    : String(left) === ""
    ? -1
    : orderOf(left, right);
  const results: Record<Comparison, boolean> = {
    "==": left === right,
    "!=": left !== right,
    "<": order < 0,
    "<=": order <= 0,
    ">": order > 0,
    ">=": order >= 0,
  };
  return results[operator];
}

function orderOf(left: unknown, right: unknown): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  const [first] = [String(left), String(right)].sort();
  return first === left ? -1 : 1;
}

Deno.test("expressions: hold when a plain reading of them says so", () => {
  fc.assert(
    fc.property(expression, scopes, (expression, scope) => {
      const value = oracle(expression, scope);
      const expected = Array.isArray(value) ? value.length > 0 : !!value;
      assertEquals(evaluate(expression, scope), expected, print(expression));
    }),
    { numRuns: 500 },
  );
});

Deno.test("expressions: any text is read or refused, and what is read can be evaluated", () => {
  const pieces = fc.array(
    fc.constantFrom(...[
      "metadata.x",
      "and",
      "or",
      "not",
      "(",
      ")",
      "<",
      "==",
      "-",
      "'",
      '"a"',
      ".5",
    ]),
  ).map((parts) => parts.join(" "));
  fc.assert(
    fc.property(fc.oneof(unicode(), pieces), scopes, (text, scope) => {
      try {
        assertEquals(typeof evaluate(parseExpression(text), scope), "boolean");
      } catch (error) {
        assertInstanceOf(error, ExpressionError);
        assert(error.position >= 1 && error.position <= text.length + 1);
      }
    }),
    { numRuns: 1000 },
  );
});
