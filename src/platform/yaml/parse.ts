/**
 * YAML that people write: a text gives a plain value, and the line and column of every JSON Pointer
 * into it.
 *
 * YAML 1.2, core schema: `yes` and `on` are text, and tags that the schema does not have are
 * errors. Of YAML 1.1 there are merge keys.
 *
 * @module
 */
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  type Node,
  parseDocument,
  type Scalar,
  visit,
  type YAMLError,
  type YAMLMap,
} from "yaml";
import { InvalidInputError, messageOf, type Problem } from "../errors.ts";
import { describeValue } from "../schema/describe.ts";
import { readNumber, settleIntegers } from "../text/exact_integers.ts";
import { findExcess } from "./limits.ts";
import { replaceMergeKeys } from "./merge_keys.ts";
import {
  type LocatedProblem,
  Places,
  type Position,
  positionsIn,
  problemAt,
  type Targets,
} from "./positions.ts";

/** The longest text that is read, in bytes. */
export const YAML_BYTES_MAX = 1024 * 1024;
/** The number of copies that all aliases make together, against texts that explode. */
const REPEATS_MAX = 100;
/** The number of aliases: each is looked up among all anchors. */
const ALIASES_MAX = 1_000;
const SYNTAX_PROBLEMS_MAX = 20;

/** YAML that was read. */
export interface YamlSource {
  /** The plain value: null, text, number, boolean, list or object. */
  value: unknown;
  /**
   * Returns the place of a value: that of its key if it is a field, and that of its parent if it is
   * missing.
   */
  locate(pointer: string): Position;
  /** Adds their places to problems. */
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
  const excess = findExcess(text);
  if (excess) {
    throw new InvalidInputError(what, [problemAt(positionAt(excess.offset), "", excess.detail)]);
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

/** Decodes the text of a file: UTF-8, without the byte order mark that some editors add. */
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

function read(
  text: string,
  what: string,
  positionAt: (offset: number) => Position,
): { document: Document; targets: Targets; value: unknown } {
  try {
    const document = parseDocument(text, {
      version: "1.2",
      schema: "core",
      // The survey finds repeated keys: the parser takes the square of their number.
      uniqueKeys: false,
      stringKeys: true,
      prettyErrors: false,
      logLevel: "error",
    });
    const syntax = [...document.errors, ...document.warnings].map((problem) =>
      problemAt(positionAt(problem.pos[0]), "", syntaxDetail(problem))
    );
    const { found, targets, hasIntegers } = survey(document, positionAt);
    const problems = [...syntax, ...found];
    if (problems.length > 0) {
      throw new InvalidInputError(what, problems.slice(0, SYNTAX_PROBLEMS_MAX));
    }
    const value = document.toJS({ maxAliasCount: REPEATS_MAX });
    replaceMergeKeys(value);
    if (!hasIntegers) return { document, targets, value };
    const settled = settleIntegers(value);
    if (settled.problems.length > 0) {
      const places = new Places(document, targets);
      throw new InvalidInputError(
        what,
        settled.problems.map(({ pointer, detail }) =>
          problemAt(positionAt(places.offsetOf(pointer)), pointer, detail)
        ),
      );
    }
    return { document, targets, value: settled.value };
  } catch (error) {
    if (error instanceof InvalidInputError) throw error;
    // Aliases repeat too much, or merge keys bring too many fields.
    throw new InvalidInputError(what, [
      problemAt({ line: 1, column: 1 }, "", `Cannot be read: ${messageOf(error)}`),
    ]);
  }
}

function syntaxDetail({ code, message }: YAMLError): string {
  if (code === "MULTIPLE_DOCS") return "Expected one document, found another";
  if (code === "NON_STRING_KEY") {
    return "Expected text for a key, found a list or a map: text that begins with a brace is put in quotes";
  }
  return message.replace(/\.$/, "");
}

/**
 * Visits a document once: finds problems beyond its syntax, and the nodes that aliases stand
 * for.
 */
function survey(
  document: Document,
  positionAt: (offset: number) => Position,
): { found: LocatedProblem[]; targets: Targets; hasIntegers: boolean } {
  const found: LocatedProblem[] = [];
  const anchors = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  let aliases = 0;
  let hasIntegers = false;
  const report = (node: Node, detail: string) =>
    found.push(problemAt(positionAt(node.range?.[0] ?? 0), "", detail));
  visit(document, {
    Node(_key, node, ancestors) {
      if (isAlias(node)) {
        const target = anchors.get(node.source);
        if (target) targets.set(node, target);
        else report(node, `Expected an alias of an anchor above, found *${node.source}`);
        if (target && ancestors.includes(target)) {
          report(node, `Expected no alias inside of what it stands for, found *${node.source}`);
        }
        aliases += 1;
        if (aliases === ALIASES_MAX + 1) report(node, `Expected at most ${ALIASES_MAX} aliases`);
        return;
      }
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
      if (isMap(node)) {
        for (const key of repeatedKeys(node)) {
          report(key, `Map keys must be unique, found ${describeValue(String(key.value))} again`);
        }
      } else if (isScalar(node) && typeof node.value === "number") {
        const read = readNumber(node.value, node.source ?? "");
        if (typeof read === "object") report(node, read.problem);
        else if (typeof read === "bigint") {
          node.value = read;
          hasIntegers = true;
        }
      }
    },
  });
  return { found, targets, hasIntegers };
}

function* repeatedKeys({ items }: YAMLMap): Generator<Scalar> {
  const names = new Set<string>();
  for (const { key } of items) {
    if (!isScalar(key)) continue;
    if (names.has(String(key.value))) yield key;
    names.add(String(key.value));
  }
}
