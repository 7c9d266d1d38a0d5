/**
 * YAML that people write: text in, a plain value out, and for every JSON Pointer into that value the
 * line and column it came from.
 *
 * YAML 1.2, core schema: `yes` and `on` are text, tags beyond the schema's own are errors. Of YAML 1.1
 * there are merge keys (https://yaml.org/type/merge.html), as project configuration files have them.
 *
 * @module
 */
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  parseDocument,
  type Scalar,
  visit,
  type YAMLError,
  type YAMLMap,
} from "yaml";
import { InvalidInputError, messageOf, type Problem } from "./errors.ts";
import { whyNotKept } from "./text/exact_number.ts";
import { describeValue, pointerParts } from "./schema.ts";
import { findTooMuch } from "./yaml_size.ts";

/** The longest text that is read, in bytes. */
export const YAML_BYTES_MAX = 1024 * 1024;
/** How often all aliases together may repeat what they point to, against texts that explode. */
const REPEATS_MAX = 100;
/** How many aliases there may be: each is looked for among all anchors. */
const ALIASES_MAX = 1_000;
const SYNTAX_PROBLEMS_MAX = 20;
/** The key of what brings the fields of another map, or of a list of them. */
const MERGE_KEY = "<<";
/** How many fields merge keys may bring in all: each is there once more. */
const MERGED_MAX = 100_000;

/** A place in a text, both counted from 1. */
export interface Position {
  line: number;
  column: number;
}

/** A problem, and where it is in the text. Its detail begins with the place. */
export interface LocatedProblem extends Problem, Position {}

/** YAML that was read. */
export interface YamlSource {
  /** The plain value: null, text, number, boolean, list or object. */
  value: unknown;
  /** Where what a JSON Pointer points to begins: a field at its name. What is missing is where its parent is. */
  locate(pointer: string): Position;
  /** The same problems, each with its place. */
  located(problems: readonly Problem[]): LocatedProblem[];
}

/**
 * Reads YAML.
 *
 * @param written one document, as text or as the bytes of a file
 * @param what what is being read, for the first words of the error
 * @throws {InvalidInputError} whose problems are {@linkcode LocatedProblem}s, when it is not YAML
 */
export function parseYaml(written: string | Uint8Array, what: string): YamlSource {
  const text = typeof written === "string" ? written : decode(written, what);
  if (new TextEncoder().encode(text).length > YAML_BYTES_MAX) {
    const detail = `Expected at most ${YAML_BYTES_MAX} bytes, found ${text.length} characters`;
    throw new InvalidInputError(what, [problemAt({ line: 1, column: 1 }, "", detail)]);
  }
  const positionAt = positionsIn(text);
  const tooMuch = findTooMuch(text);
  if (tooMuch) {
    throw new InvalidInputError(what, [problemAt(positionAt(tooMuch.offset), "", tooMuch.detail)]);
  }
  const { document, targets, value } = read(text, what, positionAt);
  const places = new Places(document, targets);
  const locate = (pointer: string) => positionAt(places.offsetOf(pointer));
  return {
    value,
    locate,
    located: (problems) =>
      problems.map(({ pointer, detail }) => problemAt(locate(pointer), pointer, detail)),
  };
}

/** The text of a file: UTF-8, without the mark that some editors put before it. */
function decode(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const text = new TextDecoder().decode(bytes);
    const position = positionsIn(text)(text.indexOf("\uFFFD"));
    const detail = "Expected text in UTF-8, found bytes that are none";
    throw new InvalidInputError(what, [problemAt(position, "", detail)]);
  }
}

/** Where offsets are. The parser's own counter misses the line breaks behind some errors. */
function positionsIn(text: string): (offset: number) => Position {
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

function read(
  text: string,
  what: string,
  positionAt: (offset: number) => Position,
): { document: Document; targets: Targets; value: unknown } {
  try {
    const document = parseDocument(text, {
      version: "1.2",
      schema: "core",
      // Looked at below: the parser takes the square of their number.
      uniqueKeys: false,
      stringKeys: true,
      prettyErrors: false,
      logLevel: "error",
    });
    const syntax = [...document.errors, ...document.warnings].map((problem) =>
      problemAt(positionAt(problem.pos[0]), "", syntaxDetail(problem))
    );
    const { found, targets } = survey(document, positionAt);
    const problems = [...syntax, ...found];
    if (problems.length > 0) {
      throw new InvalidInputError(what, problems.slice(0, SYNTAX_PROBLEMS_MAX));
    }
    const value = document.toJS({ maxAliasCount: REPEATS_MAX });
    mergeIn(value, { done: new Set(), merged: 0 });
    return { document, targets, value };
  } catch (error) {
    if (error instanceof InvalidInputError) throw error;
    // Aliases that repeat too much, and nesting that is too deep for the stack.
    throw new InvalidInputError(what, [
      problemAt({ line: 1, column: 1 }, "", `Cannot be read: ${messageOf(error)}`),
    ]);
  }
}

/**
 * Puts what merge keys bring in the place of these. A map's own fields stand, and of the others the first
 * of a name. What is no map is left for who reads the value to refuse.
 */
function mergeIn(value: unknown, merging: { done: Set<unknown>; merged: number }): void {
  // All aliases of a map stand for one object.
  if (typeof value !== "object" || value === null || merging.done.has(value)) return;
  merging.done.add(value);
  for (const inner of Object.values(value)) mergeIn(inner, merging);
  if (!Object.hasOwn(value, MERGE_KEY)) return;
  // It has been seen to have the field.
  const fields = value as Record<string, unknown>;
  const sources = [fields[MERGE_KEY]].flat();
  if (!sources.every((source) => Object(source) === source && !Array.isArray(source))) return;
  delete fields[MERGE_KEY];
  for (const [name, inner] of sources.flatMap((source) => Object.entries(Object(source)))) {
    if (Object.hasOwn(fields, name)) continue;
    if (++merging.merged > MERGED_MAX) {
      throw new Error(`Merge keys bring over ${MERGED_MAX} fields`);
    }
    const property = { value: inner, enumerable: true, configurable: true, writable: true };
    Object.defineProperty(fields, name, property);
  }
}

function syntaxDetail({ code, message }: YAMLError): string {
  if (code === "MULTIPLE_DOCS") return "Expected one document, found another";
  if (code === "NON_STRING_KEY") {
    return "Expected text for a key, found a list or a map: text that begins with a brace is put in quotes";
  }
  // The parser recurses, and reports the end of the stack once for each level.
  if (message.includes("call stack")) return "Nested too deeply";
  return message.replace(/\.$/, "");
}

/** What each alias stands for. */
type Targets = ReadonlyMap<Alias, Node>;

/** Goes through a document once: what is wrong with it beyond its syntax, and what its aliases are. */
function survey(
  document: Document,
  positionAt: (offset: number) => Position,
): { found: LocatedProblem[]; targets: Targets } {
  const found: LocatedProblem[] = [];
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  let aliases = 0;
  const tell = (node: Node, detail: string) =>
    found.push(problemAt(positionAt(node.range?.[0] ?? 0), "", detail));
  visit(document, {
    Node(_key, node, ancestors) {
      if (isAlias(node)) {
        const target = anchors.get(node.source);
        if (target) targets.set(node, target);
        else tell(node, `Expected an alias of an anchor above, found *${node.source}`);
        if (target && ancestors.includes(target)) {
          tell(node, `Expected no alias inside of what it stands for, found *${node.source}`);
        }
        aliases += 1;
        if (aliases === ALIASES_MAX + 1) tell(node, `Expected at most ${ALIASES_MAX} aliases`);
        return;
      }
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      if (isMap(node)) {
        for (const key of repeatedKeys(node)) {
          tell(key, `Map keys must be unique, found ${describeValue(String(key.value))} again`);
        }
      } else if (isScalar(node) && typeof node.value === "number") {
        const inexact = whyNotKept(node.value, node.source ?? "");
        if (inexact !== undefined) tell(node, inexact);
      }
    },
  });
  return { found, targets };
}

function* repeatedKeys({ items }: YAMLMap): Generator<Scalar> {
  const names = new Set<string>();
  for (const { key } of items) {
    if (!isScalar(key)) continue;
    if (names.has(String(key.value))) yield key;
    names.add(String(key.value));
  }
}

/** A problem that is at a place, with which its detail begins. */
function problemAt({ line, column }: Position, pointer: string, detail: string): LocatedProblem {
  return { pointer, detail: `line ${line}, column ${column}: ${detail}`, line, column };
}

/** Where things are in a document. */
class Places {
  readonly #document: Document;
  readonly #targets: Targets;
  /** The fields of each map that was walked through, by their names. */
  readonly #fields = new Map<YAMLMap, Map<string, { key: Scalar; value: unknown }>>();

  constructor(document: Document, targets: Targets) {
    this.#document = document;
    this.#targets = targets;
  }

  /** Walks down as far as the pointer's parts exist. A field is where its key is. */
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
