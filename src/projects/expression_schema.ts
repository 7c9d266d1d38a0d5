/**
 * Fields of the project configuration file that hold conditions.
 *
 * @module
 */
import { z } from "zod";
import { ExpressionError, parseExpression } from "./expression.ts";

/** A condition that can be read, as it is written. */
export const conditionSchema = z.string().superRefine((text, context) => {
  const message = problemWith(text);
  if (message !== undefined) context.addIssue({ code: "custom", input: text, message });
});

/** One condition or a list of them, as they are written, read as a list. */
export const conditionListSchema = z.unknown().transform((value, context): string[] => {
  const conditions: string[] = [];
  for (const [index, item] of (Array.isArray(value) ? value : [value]).entries()) {
    const message = typeof item === "string"
      ? problemWith(item)
      : "Expected a condition as a string";
    const path = Array.isArray(value) ? [index] : [];
    if (message === undefined) conditions.push(String(item));
    else context.issues.push({ code: "custom", input: item, path, message });
  }
  return conditions;
});

function problemWith(text: string): string | undefined {
  try {
    parseExpression(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const { expected, position, found } = error;
    return 'Expected a condition such as "metadata.accuracy < 0.8" ' +
      `(at character ${position}: expected ${expected}, found ${found})`;
  }
}
