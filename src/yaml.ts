/**
 * YAML that people write: text in, a plain value out, and for every JSON Pointer into that value the
 * line and column it came from.
 *
 * YAML 1.2, core schema: `yes` and `on` are text, there are no merge keys, tags beyond the schema's own
 * are errors.
 *
 * @module
 */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
  type YAMLError,
} from "yaml";
import { InvalidInputError, messageOf, type Problem } from "./errors.ts";

/** The longest text that is read, in bytes. */
export const YAML_BYTES_MAX = 1024 * 1024;
/** How often all aliases together may repeat what they point to, against texts that explode. */
const ALIASES_MAX = 100;
const SYNTAX_PROBLEMS_MAX = 20;

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
 * @param text one document
 * @param what what is being read, for the first words of the error
 * @throws {InvalidInputError} whose problems are {@linkcode LocatedProblem}s, when it is not YAML
 */
export function parseYaml(text: string, what: string): YamlSource {
  if (new TextEncoder().encode(text).length > YAML_BYTES_MAX) {
    const detail = `Expected at most ${YAML_BYTES_MAX} bytes, found ${text.length} characters`;
    throw new InvalidInputError(what, [problemAt({ line: 1, column: 1 }, "", detail)]);
  }
  const lines = new LineCounter();
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const { document, value } = read(text, what, lines, positionAt);
  const locate = (pointer: string) => positionAt(offsetOf(document, pointer));
  return {
    value,
    locate,
    located: (problems) =>
      problems.map(({ pointer, detail }) => problemAt(locate(pointer), pointer, detail)),
  };
}

function read(
  text: string,
  what: string,
  lineCounter: LineCounter,
  positionAt: (offset: number) => Position,
): { document: Document; value: unknown } {
  try {
    const document = parseDocument(text, {
      lineCounter,
      version: "1.2",
      schema: "core",
      uniqueKeys: true,
      stringKeys: true,
      prettyErrors: false,
      logLevel: "error",
    });
    const syntax = [...document.errors, ...document.warnings].map((problem) =>
      problemAt(positionAt(problem.pos[0]), "", syntaxDetail(problem))
    );
    const problems = [...syntax, ...inexactNumbers(document, positionAt)];
    if (problems.length > 0) {
      throw new InvalidInputError(what, problems.slice(0, SYNTAX_PROBLEMS_MAX));
    }
    return { document, value: document.toJS({ maxAliasCount: ALIASES_MAX }) };
  } catch (error) {
    if (error instanceof InvalidInputError) throw error;
    // Aliases that are unknown or repeat too much, and nesting that is too deep for the stack.
    throw new InvalidInputError(what, [
      problemAt({ line: 1, column: 1 }, "", `Cannot be read: ${messageOf(error)}`),
    ]);
  }
}

function syntaxDetail({ code, message }: YAMLError): string {
  if (code === "MULTIPLE_DOCS") return "Expected one document, found another";
  // The parser recurses, and reports the end of the stack once for each level.
  if (message.includes("call stack")) return "Nested too deeply";
  return message.replace(/\.$/, "");
}

/** Numbers that would silently become another number, and those that JSON cannot hold. */
function inexactNumbers(
  document: Document,
  positionAt: (offset: number) => Position,
): LocatedProblem[] {
  const found: LocatedProblem[] = [];
  visit(document, {
    Scalar(_key, { value, source, range }) {
      if (typeof value !== "number" || Number.isSafeInteger(value)) return;
      const isWhole = /^[-+]?(\d+|0[ox][\da-f]+)$/i.test(source ?? "");
      if (Number.isFinite(value) && !isWhole) return;
      const detail = `Expected a number that can be kept as it is, found ${source}: ` +
        "put it in quotes to make it text";
      found.push(problemAt(positionAt(range?.[0] ?? 0), "", detail));
    },
  });
  return found;
}

function problemAt({ line, column }: Position, pointer: string, detail: string): LocatedProblem {
  return { pointer, detail: `line ${line}, column ${column}: ${detail}`, line, column };
}

/** Walks down as far as the pointer's parts exist. A field is where its key is. */
function offsetOf(document: Document, pointer: string): number {
  let node = resolve(document.contents, document);
  let offset = node?.range?.[0] ?? 0;
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === name);
      if (pair === undefined) return offset;
      offset = (isScalar(pair.key) ? pair.key.range?.[0] : undefined) ?? offset;
      node = resolve(pair.value, document);
    } else if (isSeq(node)) {
      node = resolve(node.items[Number(name)], document);
      offset = node?.range?.[0] ?? offset;
    } else return offset;
  }
  return offset;
}

function resolve(node: unknown, document: Document): Node | undefined {
  if (isAlias(node)) return node.resolve(document);
  if (isMap(node) || isSeq(node) || isScalar(node)) return node;
  return undefined;
}
