/**
 * Fields of the project configuration file that hold conditions.
 *
 * @module
 */
import { z } from "zod";
import { ExpressionError, parseExpression } from "./expression.ts";

/** A condition that can be read, as it is written. */
export const expressionSchema = z.string().superRefine((text, context) => {
  try {
    parseExpression(text);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const { expected, position, found } = error;
    const message = 'Expected a condition such as "metadata.accuracy < 0.8" ' +
      `(at character ${position}: expected ${expected}, found ${found})`;
    context.addIssue({ code: "custom", input: text, message });
  }
});

/** One condition or a list of them, as they are written, read as a list. */
export const expressionListSchema = z.union([expressionSchema, z.array(expressionSchema)])
  .transform((conditions) => [conditions].flat());
