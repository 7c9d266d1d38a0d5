/**
 * Lines and columns in a YAML text.
 *
 * @module
 */
import { type Alias, type Document, isAlias, isMap, isScalar, isSeq, type Node } from "yaml";
import type { Scalar, YAMLMap } from "yaml";
import type { Problem } from "../errors.ts";
import { pointerParts } from "../schema/pointer.ts";

/** The key that brings the fields of another map, or of a list of maps. */
export const MERGE_KEY = "<<";

/** A place in a text; both are counted from 1. */
export interface Position {
  line: number;
  column: number;
}

/** A problem at a place in a text. Its detail begins with the place. */
export interface LocatedProblem extends Problem, Position {}

/** The nodes that aliases stand for. */
export type Targets = ReadonlyMap<Alias, Node>;

/**
 * Returns the function from offsets to places. The parser's own misses line breaks behind some
 * errors.
 */
export function positionsIn(text: string): (offset: number) => Position {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
    starts.push(at + 1);
  }
  return (offset) => {
    const place = Math.min(offset, text.length);
    let line = 0;
    for (let end = starts.length; end - line > 1;) {
      const middle = (line + end) >> 1;
      if ((starts[middle] ?? 0) <= place) line = middle;
      else end = middle;
    }
    return { line: line + 1, column: place - (starts[line] ?? 0) + 1 };
  };
}

/** Makes a problem whose detail begins with its place. */
export function problemAt(
  { line, column }: Position,
  pointer: string,
  detail: string,
): LocatedProblem {
  return { pointer, detail: `line ${line}, column ${column}: ${detail}`, line, column };
}

/** The places of the values of a document. */
export class Places {
  readonly #document: Document;
  readonly #targets: Targets;
  /** The fields of the maps that were visited, by their names. */
  readonly #fields = new Map<YAMLMap, Map<string, { key: Scalar; value: unknown }>>();

  constructor(document: Document, targets: Targets) {
    this.#document = document;
    this.#targets = targets;
  }

  /**
   * Returns the offset of a value, or of the deepest value on its path that exists. A field is at
   * its key.
   */
  offsetOf(pointer: string): number {
    let node = this.#resolve(this.#document.contents);
    let offset = node?.range?.[0] ?? 0;
    for (const name of pointerParts(pointer)) {
      if (isMap(node)) {
        const field = this.#fieldsOf(node).get(name);
        if (field === undefined) return offset;
        offset = field.key.range?.[0] ?? offset;
        node = this.#resolve(field.value);
      } else if (isSeq(node)) {
        node = this.#resolve(node.items[Number(name)]);
        offset = node?.range?.[0] ?? offset;
      } else return offset;
    }
    return offset;
  }

  #fieldsOf(map: YAMLMap): Map<string, { key: Scalar; value: unknown }> {
    const known = this.#fields.get(map);
    if (known) return known;
    const fields = new Map<string, { key: Scalar; value: unknown }>();
    for (const { key, value } of map.items) {
      if (isScalar(key)) fields.set(String(key.value), { key, value });
    }
    this.#fields.set(map, fields);
    const merged = this.#resolve(fields.get(MERGE_KEY)?.value);
    for (const item of isSeq(merged) ? merged.items : [merged]) {
      const source = this.#resolve(item);
      if (!isMap(source)) continue;
      for (const [name, field] of this.#fieldsOf(source)) {
        if (!fields.has(name)) fields.set(name, field);
      }
    }
    return fields;
  }

  #resolve(node: unknown): Node | undefined {
    if (isAlias(node)) return this.#targets.get(node);
    return isMap(node) || isSeq(node) || isScalar(node) ? node : undefined;
  }
}
