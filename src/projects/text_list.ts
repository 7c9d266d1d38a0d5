/**
 * One text or a list of texts, where the project configuration file takes either.
 *
 * @module
 */
import { z } from "zod";

/** One text or a list of texts, read as a list. */
export const textListSchema = z.unknown().transform((value, context): string[] => {
  const texts: string[] = [];
  for (const [index, item] of (Array.isArray(value) ? value : [value]).entries()) {
    if (typeof item === "string") texts.push(item);
    else {
      context.issues.push({
        code: "custom",
        input: item,
        path: Array.isArray(value) ? [index] : [],
        message: Array.isArray(value)
          ? "Expected a string"
          : "Expected a string or a list of strings",
      });
    }
  }
  return texts;
});
