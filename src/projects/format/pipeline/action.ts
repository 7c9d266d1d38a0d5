/**
 * The actions of a pipeline's nodes.
 *
 * @module
 */
import { z } from "zod";
import type { Problem } from "../../../platform/errors.ts";
import type { NodeAction, NodeEffect } from "./pipeline.ts";
import { quotedList } from "../../../platform/text/display.ts";
import { expressionListSchema, textListSchema } from "../fields.ts";

const MOMENTS: readonly NodeAction["when"][] = ["node-starting", "node-complete", "node-error"];
const EFFECTS: readonly NodeEffect[] = [
  "noop",
  "stop-pipeline",
  "error-pipeline",
  "require-approval",
];

interface ReadAction {
  /** One for each of its moments and effects. */
  actions: NodeAction[];
  /** Unknown moments and effects. */
  problems: string[];
  /** The same, with pointers into the action. */
  warnings: Problem[];
}

export const nodeActionSchema = z.strictObject({
  when: textListSchema,
  if: expressionListSchema.optional(),
  then: textListSchema,
}).transform((written): ReadAction => {
  const moments = known("when", written.when.map((when) => when.toLowerCase()), MOMENTS);
  const effects = known("then", written.then, EFFECTS);
  const problems = [...moments.problems, ...effects.problems];
  return {
    actions: moments.found.flatMap((when) =>
      effects.found.map((then) => ({ when, if: written.if ?? [], then }))
    ),
    problems: problems.map(({ detail }) => detail),
    warnings: problems.map(({ pointer, detail }) => {
      return { pointer, detail: `Cannot be launched: ${detail}` };
    }),
  };
});

function known<T extends string>(
  field: string,
  written: readonly string[],
  values: readonly T[],
): { found: T[]; problems: Problem[] } {
  const found = values.filter((value) => written.includes(value));
  const names = quotedList(values);
  const problems = written.filter((text) => !values.some((value) => value === text)).map((
    text,
  ) => ({
    pointer: `/${field}`,
    detail: `unknown value "${text}" in \`${field}\`; known are ${names}`,
  }));
  return { found, problems };
}
