/**
 * The operators of a filter list: the values that each takes, and the expression that it stands for.
 *
 * @module
 */
import { messageOf } from "../../platform/errors.ts";
import { isInt64Value } from "../../platform/text/exact_integers.ts";
import { parsePattern } from "../cel/pattern.ts";
import { isOfKind, type Kind, kindOf, literal, literals, type Scalar, show } from "./literal.ts";

/** A value that a clause compares with. */
export type ClauseValue = Scalar | readonly Scalar[] | undefined;

/** The meaning of an operator with its value. */
export interface Test {
  /** The kinds of value for which it can be true; any when absent. */
  kinds?: readonly Kind[];
  /** Writes the expression that tests `value`, which is an expression too. */
  expression(value: string): string;
}

/** Makes the test of an operator with its value; returns a message where it takes no such value. */
type Operator = (value: ClauseValue) => Test | string;

const equal: Operator = scalar((wanted) => ({
  ...kindsOf([wanted]),
  expression: (value) => `${value} == ${literal(wanted)}`,
}));

const unequal: Operator = scalar((wanted) =>
  ofKind(kindsOf([wanted]), (value) => `${value} != ${literal(wanted)}`)
);

const isIn: Operator = list((wanted) => ({
  ...kindsOf(wanted),
  expression: (value) => `${value} in ${literals(wanted)}`,
}));

const isNotIn: Operator = list((wanted) =>
  ofKind(kindsOf(wanted), (value) => `!(${value} in ${literals(wanted)})`)
);

const contains: Operator = scalar((wanted) => {
  const inList = (value: string) => `${literal(wanted)} in ${value}`;
  if (typeof wanted !== "string") return ofKind({ kinds: ["list"] }, inList);
  return ofKind(
    { kinds: ["string", "list"] },
    (value) =>
      `(${isOfKind(value, ["list"])} ? ${inList(value)} : ${value}.contains(${literal(wanted)}))`,
  );
});

/** Every operator, by its name. */
export const operators = {
  eq: equal,
  ne: unequal,
  lt: order("<"),
  le: order("<="),
  gt: order(">"),
  ge: order(">="),
  in: isIn,
  not_in: isNotIn,
  contains,
  starts_with: ofString("startsWith"),
  ends_with: ofString("endsWith"),
  matches: ofPattern(ofString("matches")),
} satisfies Record<string, Operator>;

function scalar(make: (wanted: Scalar) => Test): Operator {
  return (wanted) =>
    isScalar(wanted) ? make(wanted) : wrong("a string, a number, true, false or null", wanted);
}

function list(make: (wanted: readonly Scalar[]) => Test): Operator {
  return (wanted) =>
    Array.isArray(wanted) && wanted.length > 0
      ? make(wanted)
      : wrong("a list of strings, numbers, true, false or null, with one at least", wanted);
}

function order(sign: string): Operator {
  return (wanted) =>
    typeof wanted === "string" || typeof wanted === "number" || isInt64Value(wanted)
      ? ofKind(kindsOf([wanted]), (value) => `${value} ${sign} ${literal(wanted)}`)
      : wrong("a string or a number", wanted);
}

function ofString(method: string): Operator {
  return (wanted) =>
    typeof wanted === "string"
      ? ofKind({ kinds: ["string"] }, (value) => `${value}.${method}(${literal(wanted)})`)
      : wrong("a string", wanted);
}

function ofPattern(operator: Operator): Operator {
  return (wanted) => {
    try {
      if (typeof wanted === "string") parsePattern(wanted);
    } catch (error) {
      return messageOf(error);
    }
    return operator(wanted);
  };
}

/** A value of any kind can be compared with null. */
function kindsOf(values: readonly Scalar[]): Pick<Test, "kinds"> {
  const kinds = [...new Set(values.map(kindOf))];
  return kinds.includes("null") ? {} : { kinds };
}

function ofKind({ kinds }: Pick<Test, "kinds">, expression: (value: string) => string): Test {
  if (!kinds) return { expression };
  return { kinds, expression: (value) => `${isOfKind(value, kinds)} && ${expression(value)}` };
}

function isScalar(value: ClauseValue): value is Scalar {
  return value !== undefined && !Array.isArray(value);
}

function wrong(expected: string, found: ClauseValue): string {
  return `Must be ${expected}: found ${show(found)}`;
}
