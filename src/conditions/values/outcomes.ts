/**
 * The known facts about the value of an expression before there is a request: its type, or the value itself. Who
 * saves an action learns of values that can never be taken.
 *
 * @module
 */
import type { CelType } from "@bufbuild/cel";
import { environment } from "../cel/functions.ts";
import { parseExpression } from "../cel/expression.ts";
import { constantOf, type Expr, type ParsedExpression } from "../cel/syntax.ts";
import { parseTemplate } from "../cel/template.ts";
import type { KnownValue, Outcome } from "../../projects/mod.ts";
import { httpRequestVariables, type Variables } from "./compile.ts";
import { toJson } from "./json.ts";

const KINDS: Readonly<Record<string, KnownValue["kind"]>> = {
  bool: "true or false",
  bytes: "nothing",
  double: "number",
  int: "number",
  list: "list",
  map: "map",
  null_type: "null",
  string: "text",
  type: "nothing",
  uint: "number",
};
/** Values that look like those of variables. */
const EXAMPLES: Readonly<Record<string, string>> = {
  callback_url: "https://hooks.example.com/api/v0/callbacks/0190a000-0000-7000-8000-000000000000/",
  received_at: "2026-01-31T12:00:00Z",
  run_id: "0190a000-0000-7000-8000-000000000000",
};
const TIMES = ["google.protobuf.Timestamp", "google.protobuf.Duration"];
const LOGIC = new Set(["_&&_", "_||_", "!_", "@not_strictly_false"]);
const MACROS: Readonly<Record<string, string>> = {
  all: "bool",
  exists: "bool",
  exists_one: "bool",
  filter: "list",
  map: "list",
};

/** A type of CEL by its name; undefined for any. */
type TypeName = string | undefined;

/** The outcome of a part of an expression as a type of CEL, and its value where that is known. */
interface Typed {
  type: TypeName;
  like?: unknown;
}

/** Returns the outcomes of a text with expressions that have no mistakes. */
export function outcomesOfText(text: string): Outcome[] {
  const parts = parseTemplate(text);
  const [first, second] = parts;
  if (first !== undefined && second === undefined) {
    return typeof first === "object" ? outcomesOf(first.source) : [[{ kind: "text", like: first }]];
  }
  const last = parts.at(-1);
  const start = typeof first === "string" ? first : "";
  const end = typeof last === "string" ? last : "";
  return [[{ kind: "text", ends: { start, end } }]];
}

/**
 * Finds the expressions of a text whose values can never be a part of a text.
 *
 * @param isWhole a text that is one expression is a text, too
 */
export function neverTexts(
  text: string,
  { isWhole }: { isWhole: boolean },
): { source: string; value: KnownValue }[] {
  const parts = parseTemplate(text);
  if (parts.length === 1 && !isWhole) return [];
  return parts.flatMap((part) => {
    if (typeof part === "string") return [];
    const never = outcomesOf(part.source).find((outcome) => outcome?.every(isNoText));
    return never?.[0] ? [{ source: part.source, value: never[0] }] : [];
  });
}

function isNoText({ kind }: KnownValue): boolean {
  return kind === "list" || kind === "map" || kind === "null" || kind === "nothing";
}

/** Returns the outcomes of an expression that has no mistakes. */
function outcomesOf(source: string): Outcome[] {
  const parsed = parseExpression(source);
  return waysOf(parsed.expr, parsed, httpRequestVariables).map(knownOf);
}

function knownOf(types: readonly Typed[]): Outcome {
  if (types.some(({ type }) => type === undefined)) return undefined;
  return types.map(({ type = "", like }) => ({
    kind: TIMES.includes(type) ? "text" : KINDS[type] ?? "nothing",
    ...(like !== undefined && { like }),
  }));
}

/** Returns the types that an expression may have, for each way through it. */
function waysOf(expr: Expr, parsed: ParsedExpression, variables: Variables): Typed[][] {
  const { case: kind, value } = expr.exprKind;
  if (kind !== "callExpr" || value.function !== "_?_:_") return [typesOf(expr, parsed, variables)];
  return value.args.slice(1).flatMap((arg) => waysOf(arg, parsed, variables));
}

function typesOf(expr: Expr, parsed: ParsedExpression, variables: Variables): Typed[] {
  const { case: kind, value } = expr.exprKind;
  switch (kind) {
    case "constExpr":
      return [constantType(expr)];
    case "listExpr":
      return [{ type: "list" }];
    case "structExpr":
      return [{ type: "map" }];
    case "selectExpr":
      return [{ type: value.testOnly ? "bool" : fieldType(value.operand) }];
    case "identExpr":
      return [variableType(value.name, variables)];
    case "comprehensionExpr": {
      const macro = parsed.sourceInfo?.macroCalls[String(expr.id)]?.exprKind;
      const name = macro?.case === "callExpr" ? macro.value.function : "";
      return [{ type: MACROS[name] }];
    }
    case "callExpr":
      return resultTypes(value, parsed, variables);
    default:
      return [{ type: undefined }];
  }
}

function constantType(expr: Expr): Typed {
  const constant = constantOf(expr);
  const type = constant?.case?.replace(/(?:64)?Value$/, "");
  if (type === "null") return { type: "null_type", like: null };
  // A number of 64 bits becomes a text, as its value does.
  const json = constant?.value === undefined ? undefined : toJson(plainOf(constant.value));
  return { type, ...(json && "json" in json && { like: json.json }) };
}

/** Constants of other types are no values of JSON. */
function plainOf(value: unknown): Parameters<typeof toJson>[0] {
  return ["string", "number", "boolean", "bigint"].includes(typeof value)
    ? value as string | number | boolean | bigint
    : null;
}

function variableType(written: string, variables: Variables): Typed {
  const name = written.replace(/^\./, "");
  const declared = Object.hasOwn(variables, name) ? variables[name] : undefined;
  const type = declared === "dyn" ? undefined : declared;
  const like = EXAMPLES[name];
  return {
    type: type === "timestamp" ? "google.protobuf.Timestamp" : type,
    ...(like !== undefined && { like }),
  };
}

/** The fields of headers are texts. */
function fieldType(operand: Expr | undefined): TypeName {
  const isHeaders = operand?.exprKind.case === "identExpr" &&
    operand.exprKind.value.name === "headers";
  return isHeaders ? "string" : undefined;
}

type Call = Extract<Expr["exprKind"], { case: "callExpr" }>["value"];

function resultTypes(call: Call, parsed: ParsedExpression, variables: Variables): Typed[] {
  const { function: name, target, args } = call;
  if (LOGIC.has(name)) return [{ type: "bool" }];
  if (name === "_[_]") return [{ type: fieldType(args[0]) }];
  const typesAt = (expr: Expr) => waysOf(expr, parsed, variables).flat();
  const targets = target && typesAt(target);
  const given = args.map(typesAt);
  const overloads = [...environment.funcs.find(name) ?? []].filter((func) =>
    func.arguments.length === given.length &&
    (targets === undefined) === (func.target === undefined) &&
    (targets === undefined || targets.some((each) => takes(func.target, each))) &&
    given.every((types, index) => types.some((each) => takes(func.arguments[index], each)))
  );
  // One that fits none is an error at the request, which says it best.
  if (overloads.length === 0) return [{ type: undefined }];
  return overloads.map(({ result }) => ({
    type: result.name === "dyn" ? undefined : result.name,
  }));
}

function takes(parameter: CelType | undefined, { type }: Typed): boolean {
  return parameter === undefined || parameter.name === "dyn" || type === undefined ||
    parameter.name === type;
}
