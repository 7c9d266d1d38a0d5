/**
 * The schema of a payload filter that is a list: `all`, `any` and `not` of clauses such as
 * `{"path": "body.action", "op": "in", "value": ["opened"]}`. `compile.ts` makes an expression of it.
 *
 * A clause on a missing value is false whatever its operator, `ne` and `not_in` included, and so is one on a
 * value of another kind. So `ne` is not the opposite of `eq`: that is `not` around it.
 *
 * @module
 */
import { z } from "zod";
import { refuseField } from "../../platform/schema/schema.ts";
import { isInt64 } from "../../platform/text/exact_json.ts";
import { show } from "./literal.ts";
import { type ClauseValue, operators } from "./operators.ts";
import { readPath } from "./path.ts";

/** Deeper groups are easier to read as an expression. */
const GROUPS_DEEP_MAX = 3;

// Sound: the operators are an object literal, which has no other keys than its type.
const names = Object.keys(operators) as (keyof typeof operators)[];
const opSchema = z.enum([...names, "exists"], {
  error: ({ input, ...issue }) =>
    issue.code === "invalid_value"
      ? `Must be one of ${issue.values.join(", ")}: found ${show(input)}`
      : undefined,
});

const int64Schema = z.strictObject({
  int64: z.string().regex(/^-?\d{1,19}$/).refine((digits) => isInt64(BigInt(digits)), {
    error: "Expected an integer of at most 64 bits",
  }),
}).describe("An integer beyond 2^53, as it is kept: in a file it is written as a number");
const scalarSchema = z.union([z.string(), z.number(), z.boolean(), z.null(), int64Schema]);
const valueSchema = z.union([scalarSchema, z.array(scalarSchema)], {
  error: ({ input }) =>
    `Must be a string, a number, true, false, null, or a list of such: found ${show(input)}`,
});

const plainShape = {
  path: z.string().optional().describe("Where the value is, such as body.commits.0.id"),
  op: opSchema.optional().describe("How the value is compared"),
  value: valueSchema.optional().describe("What the value is compared with"),
};

/** A clause on one value, or a group of clauses: {@linkcode checkList} refuses a mixture. */
export interface FilterClause {
  path?: string | undefined;
  op?: z.infer<typeof opSchema> | undefined;
  value?: z.infer<typeof valueSchema> | undefined;
  all?: FilterClause[] | undefined;
  any?: FilterClause[] | undefined;
  not?: FilterClause | undefined;
}

/** The names of groups, in a payload filter and in its clauses. */
export const groupNames = ["all", "any", "not"] as const;

/** The fields of a payload filter that is a list. */
export const listShape = groupShape(clauseSchema(GROUPS_DEEP_MAX - 1));

/** Checks that a list is a group of clauses, in a schema's `superRefine`. */
export function checkList(list: FilterClause, context: z.RefinementCtx): void {
  checkGroup(list, [], (path, message) => refuseField(context, path, message));
}

type Refuse = (path: (string | number)[], message: string) => void;

function groupShape(clause: z.ZodType<FilterClause, FilterClause>) {
  return {
    all: z.array(clause).min(1).optional().describe("Clauses that must all hold"),
    any: z.array(clause).min(1).optional().describe("Clauses of which one must hold"),
    not: clause.optional().describe("A clause that must not hold"),
  };
}

function clauseSchema(groupsDeep: number): z.ZodType<FilterClause, FilterClause> {
  if (groupsDeep > 0) {
    return z.strictObject({ ...plainShape, ...groupShape(clauseSchema(groupsDeep - 1)) });
  }
  return z.strictObject(plainShape, {
    error: (issue) =>
      issue.code === "unrecognized_keys" && groupNames.some((name) => issue.keys.includes(name))
        ? `Has groups nested deeper than ${GROUPS_DEEP_MAX} levels: write an expression instead`
        : undefined,
  });
}

function checkGroup(group: FilterClause, path: (string | number)[], refuse: Refuse): void {
  for (const name of ["all", "any"] as const) {
    group[name]?.forEach((clause, i) => checkClause(clause, [...path, name, i], refuse));
  }
  if (group.not) checkClause(group.not, [...path, "not"], refuse);
}

function checkClause(clause: FilterClause, path: (string | number)[], refuse: Refuse): void {
  const groups = groupNames.filter((name) => clause[name] !== undefined);
  const isPlain = groups.length === 0 && clause.path !== undefined && clause.op !== undefined;
  const isGroup = groups.length === 1 &&
    (clause.path ?? clause.op) === undefined && clause.value === undefined;
  if (isGroup) return checkGroup(clause, path, refuse);
  if (!isPlain) {
    const found = Object.keys(clause).join(", ") || "nothing";
    return refuse(path, `Must have path and op, or one of all, any and not: found ${found}`);
  }
  const place = readPath(clause.path ?? "");
  if (typeof place === "string") refuse([...path, "path"], place);
  const problem = valueProblem(clause.op, clause.value);
  if (problem !== undefined) refuse([...path, "value"], problem);
}

function valueProblem(op: FilterClause["op"], value: ClauseValue): string | undefined {
  const isWellFormed = [value].flat().every((part) =>
    typeof part !== "string" || part.isWellFormed()
  );
  if (!isWellFormed) return "Must be well-formed Unicode: found half of a surrogate pair";
  if (op !== "exists") {
    const test = op && operators[op](value);
    return typeof test === "string" ? test : undefined;
  }
  return value === undefined || typeof value === "boolean"
    ? undefined
    : `Must be true, false or left out: found ${show(value)}`;
}

/** Lists the expressions of the values that the clauses of a list look at. */
export function listPaths({ path, all = [], any = [], not }: FilterClause): string[] {
  const own = path === undefined ? undefined : readPath(path);
  return [
    ...typeof own === "object" ? [own.value] : [],
    ...[...all, ...any, ...not ? [not] : []].flatMap(listPaths),
  ];
}
