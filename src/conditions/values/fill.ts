/**
 * Values in the place of the expressions of texts.
 *
 * @module
 */
import { mapValues } from "../../platform/objects.ts";
import { parseTemplate } from "../cel/template.ts";
import type { JsonOrProblem } from "./json.ts";

/** A text whose expression has no value that it can take. */
interface FillProblem {
  /** The keys that lead to the text. */
  path: string[];
  /** The expression. */
  source: string;
  detail: string;
}

/**
 * Puts values in the place of the expressions in the texts of a value, at any depth. A text that is one
 * expression becomes its value and keeps the type of that; a part of a text must be a text, a number, true or
 * false.
 *
 * @param values the values, in the order of the expressions
 */
export function fill(
  template: unknown,
  values: readonly JsonOrProblem[],
): { value: unknown; problems: FillProblem[] } {
  const filling = new Filling(values);
  return { value: filling.fill(template, []), problems: filling.problems };
}

class Filling {
  readonly problems: FillProblem[] = [];
  #next = 0;

  constructor(readonly values: readonly JsonOrProblem[]) {}

  fill(template: unknown, path: string[]): unknown {
    if (typeof template === "string") return this.#fillText(template, path);
    if (Array.isArray(template)) {
      return template.map((inner, index) => this.fill(inner, [...path, String(index)]));
    }
    if (typeof template !== "object" || template === null) return template;
    return mapValues({ ...template }, (inner, key) => this.fill(inner, [...path, key]));
  }

  #fillText(template: string, path: string[]): unknown {
    if (!template.includes("{")) return template;
    const parts = parseTemplate(template);
    const isWhole = parts.length === 1;
    const filled = parts.map((part) => {
      if (typeof part === "string") return part;
      const found = this.values[this.#next++];
      if (found === undefined || "problem" in found) {
        const why = found === undefined ? "it was not evaluated" : found.problem;
        return this.#refuse(path, part, `expected a value of {${part.source}}, found none: ${why}`);
      }
      if (isWhole || isScalar(found.json)) return found.json;
      const kind = Array.isArray(found.json) ? "a list" : found.json === null ? "null" : "a map";
      const expected = "a text, a number, true or false";
      return this.#refuse(path, part, `expected ${expected} of {${part.source}}, found ${kind}`);
    });
    return isWhole ? filled[0] : filled.join("");
  }

  #refuse(path: string[], { source }: { source: string }, detail: string): undefined {
    this.problems.push({ path, source, detail });
  }
}

function isScalar(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}
