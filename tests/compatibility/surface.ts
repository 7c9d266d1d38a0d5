/**
 * The public surface: the operators' API, the configuration file, the command line, and the names of metrics, one
 * line for each thing that may not go away within a major version.
 *
 * @module
 */
import type { Command } from "commander";
import { configJsonSchema } from "../../src/config/json_schema.ts";
import { defineProgram } from "../../src/commands/program.ts";
import { openApiDocument } from "../../src/http/api/openapi.ts";

/** Fields of the API that have the same schema as in the configuration file, which is written out. */
const OF_FILE = ["conditions", "actions", "handshakes", "all", "any", "not"];
/** A list of a filter. Those within it are like it. */
const LIST = /\.(all|any|not)\b/;

/** A part of a JSON Schema or of the OpenAPI document. */
// deno-lint-ignore no-explicit-any
type Json = any;

/** Lines in their order, by what they are of. */
export type Surface = Record<"api" | "config" | "cli" | "metrics", string[]>;

/** The end of a line of a field that a request or a file may leave out. */
const OPTIONAL = "may be absent";
/** The end of a line of a field that every answer has. */
const ALWAYS = "is always there";

/**
 * Returns the lines of this version.
 *
 * @param metrics the text of `/metrics`
 */
export async function surfaceOf(metrics: string): Promise<Surface> {
  return {
    api: sorted(apiLines(openApiDocument(""))),
    config: sorted(configLines(configJsonSchema(""))),
    cli: sorted(cliLines(await defineProgram(() => true), [])),
    metrics: sorted([...metrics.matchAll(/^# TYPE (.*)$/gm)].map(([, line = ""]) => line)),
  };
}

/**
 * Finds what would break those who build on a release: lines that are gone, and fields of requests and of the
 * configuration file that were not there, or could be left out, and must be given now.
 */
export function breaksOf(release: readonly string[], now: readonly string[]): string[] {
  const [before, after] = [new Set(release), new Set(now)];
  const gone = release.filter((line) => !after.has(line)).map((line) => `gone: ${line}`);
  const fields = (lines: readonly string[]) => new Set(lines.map(fieldOf));
  const known = fields(release);
  const demanded = [...fields(now)].filter((field) => {
    const parent = field.replace(/\.[^.]*$/, "");
    const isNew = !known.has(field) && known.has(parent) && isInput(field);
    return isNew && !after.has(`${field} ${OPTIONAL}`) && !before.has(`${field} ${OPTIONAL}`);
  });
  return [...gone, ...demanded.map((field) => `must be given now: ${field}`)];
}

function fieldOf(line: string): string {
  return line.split(" ", 1)[0] ?? "";
}

/** Returns true for fields that others give. Names of schemas of requests end so; the file has no name. */
function isInput(field: string): boolean {
  return /^\.|Input[.[<]/.test(field);
}

function sorted(lines: Iterable<string>): string[] {
  return [...new Set(lines)].sort();
}

function* apiLines({ paths, components }: Json): Generator<string> {
  for (const [path, item] of Object.entries<Json>(paths)) {
    for (const [method, { parameters, requestBody, responses }] of Object.entries<Json>(item)) {
      const operation = `${method.toUpperCase()} ${path}`;
      yield operation;
      for (const { name, in: place, required } of parameters ?? []) {
        yield `${operation} ${place} ${name}${required ? "" : ` ${OPTIONAL}`}`;
      }
      for (const { schema } of Object.values<Json>(requestBody?.content ?? {})) {
        yield `${operation} takes ${nameOf(schema)}`;
      }
      for (const [status, { content }] of Object.entries<Json>(responses)) {
        for (const [type, { schema }] of Object.entries<Json>(content ?? {})) {
          yield `${operation} answers ${status} ${type} ${nameOf(schema)}`;
        }
      }
    }
  }
  for (const [name, schema] of Object.entries<Json>(components.schemas)) {
    const how = { isInput: name.endsWith("Input"), leftOut: OF_FILE, defs: {}, within: [] };
    yield* schemaLines(schema, name, how);
  }
}

function nameOf(schema: Json): string {
  return String(schema?.$ref ?? schema?.type ?? "").replace(/^.*\//, "");
}

function configLines(schema: Json): Iterable<string> {
  const how = { isInput: true, leftOut: [], defs: schema.$defs ?? {}, within: [] };
  return schemaLines(schema, "", how);
}

interface Within {
  isInput: boolean;
  /** Fields that are not written out. */
  leftOut: readonly string[];
  /** The schemas that have names within the document, and are written out. */
  defs: Record<string, Json>;
  /** The names of those that are being written out. */
  within: readonly string[];
}

/** Writes a schema out. Limits of lengths and numbers are left out: they may grow. */
function* schemaLines(schema: Json, at: string, how: Within): Generator<string> {
  const { $ref, type, enum: values, const: value, properties, required = [], items } = schema;
  const named = $ref?.replace(/^.*\//, "");
  if (named !== undefined && how.defs[named] === undefined) yield `${at} is ${named}`;
  else if (named !== undefined && !how.within.includes(named)) {
    yield* schemaLines(how.defs[named], at, { ...how, within: [...how.within, named] });
  }
  const oneOf = values ?? (value === undefined ? [] : [value]);
  for (const each of oneOf) yield `${at} is ${JSON.stringify(each)}`;
  for (const each of oneOf.length > 0 || type === undefined ? [] : [type].flat()) {
    yield `${at} is ${each}`;
  }
  for (const [name, field] of Object.entries<Json>(properties ?? {})) {
    const path = `${at}.${name}`;
    const isRequired = required.includes(name);
    if (how.isInput && !isRequired) yield `${path} ${OPTIONAL}`;
    if (!how.isInput && isRequired) yield `${path} ${ALWAYS}`;
    const isLeftOut = how.leftOut.includes(name) ||
      LIST.test(at) && LIST.test(path.slice(at.length));
    if (!isLeftOut) yield* schemaLines(field, path, how);
  }
  if (items) yield* schemaLines(items, `${at}[]`, how);
  if (typeof schema.additionalProperties === "object") {
    yield* schemaLines(schema.additionalProperties, `${at}.*`, how);
  }
  for (const variant of [schema.anyOf, schema.oneOf, schema.allOf].flatMap((each) => each ?? [])) {
    const kind = variant.properties?.type?.const;
    yield* schemaLines(variant, kind === undefined ? at : `${at}<${kind}>`, how);
  }
}

function* cliLines(command: Command, path: readonly string[]): Generator<string> {
  const help = command.createHelp();
  const name = ["hooklaunch", ...path].join(" ");
  for (const option of help.visibleOptions(command)) {
    yield `${name} ${option.flags}${option.envVar === undefined ? "" : ` ${option.envVar}`}`;
  }
  for (const argument of command.registeredArguments) {
    const shown = `${argument.name()}${argument.variadic ? "…" : ""}`;
    yield `${name} ${argument.required ? `<${shown}>` : `[${shown}]`}`;
  }
  for (const inner of help.visibleCommands(command)) {
    if (inner.name() !== "help") yield* cliLines(inner, [...path, inner.name()]);
  }
}
