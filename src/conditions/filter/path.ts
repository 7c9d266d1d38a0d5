/**
 * Paths of a filter list, such as `body.commits.0.id`, as expressions of CEL.
 *
 * @module
 */
import { filterVariables } from "../cel/variables.ts";
import { literal } from "./literal.ts";

const PATH_CHARACTERS_MAX = 256;
const INDEX = /^(0|[1-9][0-9]{0,8})$/;
/** A part: a dot and a backslash have a backslash before them, and a digit may have one. */
const PART = /(?:[^.\\]|\\[.\\0-9])+/gs;

/** The variables that a path can begin with: JSON has no value that compares with a time. */
const variables = Object.entries(filterVariables).filter(([, type]) => type !== "timestamp");

/** The place of a value in a request, as the two expressions that read it. */
export interface Path {
  /** The path as it was written. */
  text: string;
  /** An expression of the value; an error where it is missing. */
  value: string;
  /** An expression of a list with the value; an empty list where it is missing. */
  found: string;
}

/**
 * Reads a path: parts between dots, the first of them a variable. A number is an index into a list;
 * a backslash before it makes it a key, and one before a dot makes the dot a part of the key.
 *
 * @returns the path, or a message
 */
export function readPath(text: string): Path | string {
  if (text.length > PATH_CHARACTERS_MAX) {
    return `Must have at most ${PATH_CHARACTERS_MAX} characters`;
  }
  const all = text.match(PART) ?? [];
  if (all.join(".") !== text || !text.isWellFormed()) {
    return `Must be parts between dots, with a backslash before a dot or a backslash in a part: ` +
      `found ${JSON.stringify(text)}`;
  }
  const [name = "", ...parts] = all;
  const [, type] = variables.find(([variable]) => variable === name) ?? [];
  if (type === undefined) {
    const known = variables.map(([variable]) => variable).join(", ");
    return `Must begin with one of ${known}: found ${JSON.stringify(name)}`;
  }
  if (type === "string" && parts.length > 0) return `Must end here: '${name}' is a string`;
  return parts.reduce((path, part, i) => within(path, part, isIndex(part, i, name), name), {
    text,
    value: name,
    found: `[${name}]`,
  });
}

function isIndex(part: string, place: number, name: string): boolean {
  return INDEX.test(part) && (name === "body" || place > 0);
}

function within(path: Path, part: string, isIndex: boolean, name: string): Path {
  if (isIndex) {
    return {
      text: path.text,
      value: `${path.value}[${part}]`,
      found: `${path.found}.map(v, type(v) == list && size(v) > ${part}, v[${part}])`,
    };
  }
  const plain = part.replace(/\\(.)/gs, "$1");
  // A list may write the names of headers in any case.
  const key = literal(name === "headers" ? plain.toLowerCase() : plain);
  return {
    text: path.text,
    value: `${path.value}[${key}]`,
    found: `${path.found}.map(v, type(v) == map && ${key} in v, v[${key}])`,
  };
}
