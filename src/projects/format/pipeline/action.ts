/**
 * The actions of a pipeline's nodes.
 *
 * @module
 */
import { z } from "zod";
import type { Problem } from "../../../platform/errors.ts";
import { expressionListSchema } from "../expression_schema.ts";
import type { NodeAction, NodeEffect } from "./pipeline.ts";
import { quoted } from "../quoted.ts";
import { textListSchema } from "../text_list.ts";

const MOMENTS: readonly NodeAction["when"][] = ["node-starting", "node-complete", "node-error"];
const EFFECTS: readonly NodeEffect[] = [
  "noop",
  "stop-pipeline",
  "error-pipeline",
  "require-approval",
];

/** What was read of one action. */
export interface ReadAction {
  /** One for each moment and effect that it names. */
  actions: NodeAction[];
  /** Moments and effects that there are not, with pointers relative to the action. */
  warnings: Problem[];
}

/** An action as the project configuration file writes it. */
export const nodeActionSchema = z.strictObject({
  when: textListSchema,
  if: expressionListSchema.optional(),
  then: textListSchema,
}).transform((written): ReadAction => {
  const moments = known("when", written.when.map((when) => when.toLowerCase()), MOMENTS);
  const effects = known("then", written.then, EFFECTS);
  return {
    actions: moments.found.flatMap((when) =>
      effects.found.map((then) => ({ when, if: written.if ?? [], then }))
    ),
    warnings: [...moments.warnings, ...effects.warnings],
  };
});

function known<T extends string>(
  field: string,
  written: readonly string[],
  values: readonly T[],
): { found: T[]; warnings: Problem[] } {
  const found = values.filter((value) => written.includes(value));
  const names = quoted(values);
  const warnings = written.filter((text) => !values.some((value) => value === text)).map((
    text,
  ) => ({
    pointer: `/${field}`,
    detail: `Unknown value "${text}": it is passed over; known are ${names}`,
  }));
  return { found, warnings };
}
