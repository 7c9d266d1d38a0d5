/**
 * A parameter that a step declares, and the values that it may have.
 *
 * @module
 */
import { z } from "zod";
import type { Problem } from "../../../platform/errors.ts";
import { refuseField } from "../../../platform/schema/schema.ts";
import { isInt64 } from "../../../platform/text/exact_json.ts";
import { booleanOfWord, booleanSchema, FLAG_WORDS } from "../fields.ts";
import { PendingValue } from "./pending_value.ts";
import { plainDefault } from "./secret_reference.ts";

const KINDS = { flag: "true or false", float: "a number", integer: "an integer", string: "text" };

/** One value of a parameter. */
export type ParameterAtom = string | number | boolean;
/** A parameter's value: several if it is `multiple`. */
export type ParameterValue = ParameterAtom | ParameterAtom[];

export interface Parameter {
  name: string;
  type: "flag" | "float" | "integer" | "string";
  /** A command does not get the default of a flag: a flag is passed only if a launch sets it. */
  default: ParameterValue | undefined;
  /** It may have no value. Flags are always optional. */
  optional: boolean;
  min: number | undefined;
  max: number | undefined;
  choices: ParameterAtom[] | undefined;
  /** The template of its arguments, with `{name}` and `{value}` or `{v}`. */
  passAs: string | undefined;
  passTrueAs: string | undefined;
  passFalseAs: string | undefined;
  /** The way in which several values are passed; undefined if it has a single value. */
  multiple: "repeat" | "separate" | undefined;
  multipleSeparator: string;
}

/** Formats a value for a command: true and false as in Python, where the format comes from. */
export function formatAtom(atom: ParameterAtom): string {
  return typeof atom === "boolean" ? (atom ? "True" : "False") : String(atom);
}

function isAtom(value: unknown): value is ParameterAtom {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

const atomSchema = z.custom<ParameterAtom>(isAtom, {
  error: "Expected a string, a number, true or false",
});

const defaultSchema = z.custom<ParameterValue | null>(
  (value) => value === null || isAtom(value) || (Array.isArray(value) && value.every(isAtom)),
  { error: "Expected a string, a number, true, false or a list of these" },
);

const widgetSchema = z.custom(
  (value) => typeof value === "string" || typeof Object(value).type === "string",
  { error: "Expected a string or an object with a type" },
);

/** The schema of the fields of a parameter, each by itself. */
export const parameterFieldsSchema = z.strictObject({
  name: z.string().min(1),
  type: z.enum(["flag", "float", "integer", "string"]).default("string"),
  default: defaultSchema.optional(),
  description: z.string().optional(),
  optional: booleanSchema.default(false),
  min: z.number().optional(),
  max: z.number().optional(),
  choices: z.array(atomSchema).optional(),
  "pass-as": z.string().optional(),
  "pass-true-as": z.string().optional(),
  "pass-false-as": z.string().optional(),
  multiple: z.enum(["none", "repeat", "separate"]).default("none"),
  "multiple-separator": z.string().default(","),
  category: z.string().optional(),
  widget: widgetSchema.optional(),
});

export const parameterSchema = parameterFieldsSchema.superRefine((declared, context) => {
  if (declared.type === "flag" && declared.multiple !== "none") {
    refuseField(context, ["multiple"], "Expected a flag to have no multiple values");
  }
  if (declared.multiple === "none" && Array.isArray(declared.default)) {
    const message = "Expected a single value, as the parameter is not declared multiple";
    refuseField(context, ["default"], message);
  }
}).transform((declared): Parameter => {
  const isFlag = declared.type === "flag";
  const multiple = declared.multiple === "none" ? undefined : declared.multiple;
  return {
    name: declared.name,
    type: declared.type,
    default: multiple
      ? listOf(plainDefault(declared.default))
      : plainDefault(declared.default) ?? undefined,
    optional: declared.optional || isFlag,
    min: declared.min,
    max: declared.max,
    choices: isFlag || !declared.choices?.length ? undefined : declared.choices,
    passAs: declared["pass-as"] || undefined,
    passTrueAs: isFlag ? declared["pass-true-as"] : undefined,
    passFalseAs: isFlag ? declared["pass-false-as"] : undefined,
    multiple,
    multipleSeparator: declared["multiple-separator"] || ",",
  };
});

/**
 * Returns warnings about a parameter, with pointers into it.
 *
 * @param written its fields, as in the file
 */
export function parameterWarnings(
  parameter: Parameter,
  written: Readonly<Record<string, unknown>>,
): Problem[] {
  const warnings: Problem[] = [];
  const warn = (field: string, detail: string) => warnings.push({ pointer: `/${field}`, detail });
  const has = (field: string) => Boolean(written[field]);
  const isFlag = parameter.type === "flag";
  if (isFlag && has("optional")) warn("optional", "Has no effect: a flag is always optional");
  if (isFlag && has("pass-as") && (has("pass-true-as") || has("pass-false-as"))) {
    warn("pass-as", "Has no effect beside pass-true-as and pass-false-as");
  }
  for (const field of ["pass-true-as", "pass-false-as"]) {
    if (!isFlag && has(field)) warn(field, "Has no effect: the parameter is not a flag");
  }
  for (const field of ["pass-as", "pass-true-as", "pass-false-as"]) {
    const unknown = unknownPlaceholder(String(written[field] ?? ""));
    if (unknown === undefined) continue;
    warn(
      field,
      `Not a placeholder, so it stays as it is: ${unknown}; known are {name}, {value}, {v}`,
    );
  }
  if (parameter.default === undefined) return warnings;
  for (const atom of [parameter.default].flat()) {
    const checked = checkAtom(parameter, atom);
    if ("problem" in checked) warn("default", `The default ${checked.problem}`);
    else if (parameter.type === "string" && typeof atom !== "string") {
      warn("default", `The default ${JSON.stringify(atom)} is not text: put it in quotes`);
    }
  }
  return warnings;
}

/** Returns the first unknown placeholder. A doubled brace stands for itself. */
function unknownPlaceholder(template: string): string | undefined {
  const found = template.matchAll(/\{\{|\{(?:name|value|v)\}|\{[^{}]*\}/g);
  return found.map(([text]) => text).find((text) => !/^\{(\{|(name|value|v)\}$)/.test(text));
}

/**
 * Checks a value of a parameter and converts it to the parameter's type.
 *
 * @returns the value, or a problem such as `1.5 is not an integer`
 */
export function checkValue(
  parameter: Parameter,
  value: unknown,
): { value: ParameterValue } | { problem: string } {
  if (value instanceof PendingValue) return checkPending(parameter, value);
  if (!parameter.multiple) {
    return Array.isArray(value)
      ? { problem: "it takes a single value, found a list" }
      : checkAtom(parameter, value);
  }
  const atoms: ParameterAtom[] = [];
  for (const item of Array.isArray(value) ? value : [value]) {
    const checked = checkAtom(parameter, item);
    if ("problem" in checked) return checked;
    atoms.push(checked.value);
  }
  return { value: atoms };
}

/** Returns a value that a parameter takes. */
function exampleOf({ type, min, max, choices, multiple }: Parameter): ParameterValue {
  const atom = choices?.[0] ?? (type === "flag" ? true : type === "string" ? "x" : min ?? max ?? 1);
  return multiple ? [atom] : atom;
}

function checkPending(
  parameter: Parameter,
  pending: PendingValue,
): { value: ParameterValue } | { problem: string } {
  const { choices } = parameter;
  const refused = pending.refusedBy({
    isOptional: parameter.optional,
    isMultiple: parameter.multiple !== undefined,
    isNumber: parameter.type === "integer" || parameter.type === "float",
    words: choices?.map(formatAtom) ?? (parameter.type === "flag" ? FLAG_WORDS : undefined),
    takes: (value) => value === null ? parameter.optional : "value" in checkValue(parameter, value),
  });
  if (refused === undefined) return { value: exampleOf(parameter) };
  const kind = parameter.multiple
    ? `values, each of them ${KINDS[parameter.type]}`
    : KINDS[parameter.type];
  const among = choices ? ` of ${JSON.stringify(choices)}` : "";
  return { problem: `expected ${kind}${among}, found ${refused}` };
}

function checkAtom(
  parameter: Parameter,
  given: unknown,
): { value: ParameterAtom } | { problem: string } {
  if (given instanceof PendingValue) {
    const checked = checkPending({ ...parameter, multiple: undefined }, given);
    return "problem" in checked ? checked : { value: [checked.value].flat()[0] ?? "" };
  }
  const { type, min, max, choices } = parameter;
  const shown = JSON.stringify(given);
  const value = cast(type, given);
  if (value === undefined) return { problem: `${shown} is not ${KINDS[type]}` };
  const number = type === "integer" || typeof value === "number" ? Number(value) : NaN;
  if (min !== undefined && number < min) {
    return { problem: `${shown} is less than the minimum ${min}` };
  }
  if (max !== undefined && number > max) {
    return { problem: `${shown} is greater than the maximum ${max}` };
  }
  const isChoice = (choice: ParameterAtom) =>
    formatAtom(choice) === formatAtom(value) || String(choice) === String(value);
  if (choices && !choices.some(isChoice)) {
    return { problem: `${shown} is not among the choices ${JSON.stringify(choices)}` };
  }
  return { value };
}

function cast(type: Parameter["type"], given: unknown): ParameterAtom | undefined {
  if (type === "flag") {
    const flag = booleanOfWord(given);
    return typeof flag === "boolean" ? flag : undefined;
  }
  if (type === "string") {
    // An argument of a process cannot have a NUL.
    const text = isAtom(given) ? formatAtom(given) : undefined;
    return text?.includes("\0") ? undefined : text;
  }
  const text = typeof given === "number" ? String(given) : given;
  if (typeof text !== "string" || text.trim() === "") return undefined;
  const number = Number(text);
  // Digits that a number does not hold stay text, as a command gets them.
  if (type === "integer" && isExactInteger(text)) return String(BigInt(text.trim()));
  const isWhole = Number.isSafeInteger(number);
  return (type === "integer" ? isWhole : Number.isFinite(number)) ? number : undefined;
}

/** Tells whether a text is an integer that only its digits hold, of at most 64 bits. */
function isExactInteger(text: string): boolean {
  return /^\s*-?\d{16,19}\s*$/.test(text) && !Number.isSafeInteger(Number(text)) &&
    isInt64(BigInt(text.trim()));
}

function listOf(value: ParameterValue | null | undefined): ParameterAtom[] | undefined {
  if (value === null || value === undefined) return undefined;
  return Array.isArray(value) ? value : [value];
}
