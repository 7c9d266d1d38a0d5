/**
 * Values of a request: as hooks of adnanh/webhook refer to them, and as CEL reads them.
 *
 * webhook takes every value as a text, and one that is missing as an empty one
 * (https://github.com/adnanh/webhook/blob/master/docs/Referencing-Request-Values.md).
 *
 * @module
 */
import type { Reference } from "./hook_file.ts";

/** Thrown for what a hook asks for and a trigger cannot do, named by the message. */
export class NotConvertible extends Error {}

/** The place of an expression: filters see more of a request than values of actions do. */
type Place = "filter" | "value";

/**
 * Returns the CEL expression of a value, as a text.
 *
 * @param parsed the names of the payload's values that are JSON within a text
 * @throws {NotConvertible} if CEL has no such value at this place
 */
export function expressionOf(
  { source, name = "" }: Reference,
  parsed: readonly string[],
  place: Place,
): string {
  switch (source) {
    case "payload":
      return payloadValue(name, parsed);
    case "header":
      return entry("headers", name.toLowerCase());
    case "url":
    case "query":
      return `string(${entry("query", name)})`;
    case "string":
      return celText(name);
    case "request":
      if (name.toLowerCase() === "method") return "'POST'";
      if (name.toLowerCase() === "remote-addr" && place === "filter") return "remote_ip";
      break;
    case "entire-payload":
    case "raw-request-body":
      if (place === "filter") return "raw";
  }
  throw new NotConvertible(`the source ${source}${name && ` with ${JSON.stringify(name)}`}`);
}

/** Writes a text as CEL does. */
export function celText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`;
}

/** Returns the parts of a payload's name. `root` is what webhook calls a list that is the whole body. */
export function payloadPath(name: string): string[] {
  const parts = name.split(".");
  return parts[0] === "root" && /^\d+$/.test(parts[1] ?? "") ? parts.slice(1) : parts;
}

function payloadValue(name: string, parsed: readonly string[]): string {
  if (/(^|\.)[-#]/.test(name)) throw new NotConvertible(`the value of XML ${JSON.stringify(name)}`);
  const text = parsed.find((each) => name.startsWith(`${each}.`));
  if (text === undefined) return textOf(read("body", payloadPath(name)));
  const inner = `${orElse(read("body", payloadPath(text)), "null")}.parseJSON()`;
  return textOf(read(inner, name.slice(text.length + 1).split(".")));
}

function textOf(value: string): string {
  return `string(${orElse(value, "")})`;
}

/** Gives a default to a value with optional fields. An element of a list that is missing is an error. */
function orElse(value: string, text: string): string {
  return value.includes(".?") ? `${value}.orValue(${celText(text)})` : value;
}

function read(start: string, parts: readonly string[]): string {
  return start + parts.map((part) => {
    if (/^\d+$/.test(part)) return `[${Number(part)}]`;
    return /^[A-Za-z_]\w*$/.test(part) ? `.?${part}` : `[${celText(part)}]`;
  }).join("");
}

function entry(map: string, name: string): string {
  return `(${celText(name)} in ${map} ? ${map}[${celText(name)}] : '')`;
}
