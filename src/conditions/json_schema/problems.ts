/**
 * The mistakes in a schema, found when its condition is saved.
 *
 * @module
 */
import { messageOf, type Problem } from "../../platform/errors.ts";
import { isObject } from "../../platform/objects.ts";
import { pointer } from "../../platform/schema/pointer.ts";
import { truncate } from "../../platform/text/display.ts";
import { parsePattern } from "../cel/pattern.ts";
import { FORMATS } from "./formats.ts";
import {
  anchorsOf,
  formOf,
  IN_PLACE,
  localReference,
  referencesOf,
  schemasIn,
} from "./keywords.ts";

const BYTES_MAX = 64 * 1024;
const SCHEMAS_MAX = 2_000;
const DEPTH_MAX = 32;
const SHOWN_MAX = 100;

const DRAFT = "https://json-schema.org/draft/2020-12/schema";
const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"];
/** The places that the prepared schema does not have. */
const NOT_REFERRED = /\/(?:patternProperties|contentSchema)(?:\/|$)/;
/** Keywords of other drafts, and what takes their place. */
const OTHERS: Readonly<Record<string, string>> = {
  $recursiveAnchor: "$dynamicAnchor",
  $recursiveRef: "$dynamicRef",
  additionalItems: "items beside prefixItems",
  dependencies: "dependentRequired or dependentSchemas",
};

/** Returns the mistakes in a schema, with pointers into it. */
export function schemaProblems(schema: unknown): Problem[] {
  const bytes = new TextEncoder().encode(JSON.stringify(schema)).length;
  if (bytes > BYTES_MAX) {
    return [{ pointer: "", detail: `Expected at most ${BYTES_MAX} bytes, found ${bytes}` }];
  }
  const check = new SchemaCheck(schema);
  check.visit(schema, "", 1);
  check.checkReferences();
  return check.problems;
}

/** Returns what is allowed in a schema, and does nothing, with pointers into it. */
export function schemaWarnings(schema: unknown, at = ""): Problem[] {
  if (!isObject(schema)) return [];
  const own = Object.keys(schema).filter((name) => formOf(name) === undefined).map((name) => {
    return {
      pointer: at + pointer(name),
      detail: `Not a keyword of JSON Schema 2020-12: it checks nothing`,
    };
  });
  const { format } = schema;
  if (typeof format === "string" && !FORMATS.includes(format)) {
    const detail = `The format "${format}" is not checked: those that are, are ${
      FORMATS.join(", ")
    }`;
    own.push({ pointer: `${at}/format`, detail });
  }
  return [
    ...own,
    ...schemasIn(schema).flatMap((place) => schemaWarnings(place.schema, at + place.at)),
  ];
}

class SchemaCheck {
  readonly problems: Problem[] = [];
  /** All schemas, by their pointers. */
  readonly #schemas = new Map<string, Readonly<Record<string, unknown>> | boolean>();
  readonly #anchors = new Map<string, string>();
  readonly #rootId: unknown;

  constructor(root: unknown) {
    this.#rootId = isObject(root) ? root.$id : undefined;
  }

  visit(schema: unknown, at: string, depth: number): void {
    if (depth > DEPTH_MAX) {
      return this.#refuse(at, `Expected at most ${DEPTH_MAX} levels of schemas, found more`);
    }
    if (this.#schemas.size >= SCHEMAS_MAX) {
      if (this.#schemas.size === SCHEMAS_MAX) {
        this.#refuse(at, `Expected at most ${SCHEMAS_MAX} schemas, found more`);
        this.#schemas.set(" ", true);
      }
      return;
    }
    if (typeof schema === "boolean") return void this.#schemas.set(at, schema);
    if (!isObject(schema)) {
      return this.#refuse(at, `Expected a schema: an object, true or false, found ${show(schema)}`);
    }
    this.#schemas.set(at, schema);
    for (const [keyword, value] of Object.entries(schema)) this.#check(keyword, value, at);
    for (const name of anchorsOf(schema)) {
      if ((this.#anchors.get(name) ?? at) !== at) {
        this.#refuse(at, `Expected each anchor once, found another ${show(name)}`);
      }
      this.#anchors.set(name, at);
    }
    for (const place of schemasIn(schema)) this.visit(place.schema, at + place.at, depth + 1);
  }

  /** Refuses references to what is not there, and those that come back without going into the value. */
  checkReferences(): void {
    const targets = new Map<string, string[]>();
    for (const [at, schema] of this.#schemas) {
      if (typeof schema !== "object") continue;
      const found = referencesOf(schema).flatMap(([keyword, reference]) =>
        this.#targetOf(reference, `${at}/${keyword}`) ?? []
      );
      if (found.length > 0) targets.set(at, found);
    }
    if (this.problems.length === 0) this.#checkCycles(targets);
  }

  /** Returns the place that a reference names; undefined where there is none. */
  #targetOf(reference: string, place: string): string | undefined {
    const found = localReference(reference, this.#rootId);
    if (found === undefined) {
      this.#refuse(place, `Expected a reference within this schema, such as #/$defs/name`);
      return undefined;
    }
    const target = "anchor" in found ? this.#anchors.get(found.anchor) : found.pointer;
    if (target !== undefined && NOT_REFERRED.test(target)) {
      this.#refuse(place, "Expected a reference to a schema in $defs");
      return undefined;
    }
    if (target !== undefined && this.#schemas.has(target)) return target;
    this.#refuse(place, `There is no schema at ${show(reference)}`);
    return undefined;
  }

  #checkCycles(targets: ReadonlyMap<string, readonly string[]>): void {
    const done = new Set<string>();
    const open = new Set<string>();
    const visit = (at: string): void => {
      if (done.has(at)) return;
      if (open.has(at)) {
        return this.#refuse(at, "Refers to itself without going into the value: it has no end");
      }
      open.add(at);
      const schema = this.#schemas.get(at);
      if (typeof schema === "object") {
        for (const place of schemasIn(schema)) {
          if (IN_PLACE.has(place.keyword)) visit(at + place.at);
        }
      }
      targets.get(at)?.forEach(visit);
      open.delete(at);
      done.add(at);
    };
    for (const at of this.#schemas.keys()) visit(at);
  }

  #check(keyword: string, value: unknown, at: string): void {
    const place = at + pointer(keyword);
    const expected = expectedOf(keyword, value);
    if (expected !== undefined) {
      return this.#refuse(place, `Expected ${expected}, found ${show(value)}`);
    }
    if (keyword === "$schema" && String(value).replace(/#$/, "") !== DRAFT) {
      return this.#refuse(place, `Expected ${DRAFT}, found ${show(value)}`);
    }
    if (keyword === "$id" && at !== "") {
      return this.#refuse(place, "Expected $id in the whole schema alone: use $anchor here");
    }
    const replacement = Object.hasOwn(OTHERS, keyword) ? OTHERS[keyword] : undefined;
    if (replacement !== undefined) {
      return this.#refuse(place, `Expected ${replacement} in place of ${keyword}`);
    }
    if (keyword === "pattern") this.#checkPattern(String(value), place);
    if (keyword === "patternProperties") {
      for (const name of Object.keys(Object(value))) {
        this.#checkPattern(name, place + pointer(name));
      }
    }
  }

  #checkPattern(pattern: string, at: string): void {
    try {
      parsePattern(pattern);
    } catch (error) {
      this.#refuse(at, `${messageOf(error)}. Patterns are those of RE2`);
    }
  }

  #refuse(pointer: string, detail: string): void {
    this.problems.push({ pointer, detail });
  }
}

/** Returns what a keyword's value should be; undefined where it is. */
function expectedOf(keyword: string, value: unknown): string | undefined {
  const isText = (each: unknown) => typeof each === "string";
  const isNames = (each: unknown) => Array.isArray(each) && each.every(isText);
  const isNumber = typeof value === "number";
  switch (formOf(keyword)) {
    case "schemas":
      if (Array.isArray(value) && value.length > 0) return undefined;
      return "a list of schemas that is not empty";
    case "schemas by name":
      return isObject(value) ? undefined : "schemas by name";
    case "schema":
      if (!Array.isArray(value)) return undefined;
      return keyword === "items" ? "one schema (prefixItems takes a list)" : "one schema";
    case "number":
      if (keyword !== "multipleOf") return isNumber ? undefined : "a number";
      return isNumber && value > 0 ? undefined : "a number above 0";
    case "count":
      return isNumber && Number.isSafeInteger(value) && value >= 0
        ? undefined
        : "a whole number of at least 0";
    case "text":
      return isText(value) ? undefined : "a text";
    case "flag":
      return typeof value === "boolean" ? undefined : "true or false";
    case "names":
      return isNames(value) ? undefined : "a list of names";
    case "names by name":
      return isObject(value) && Object.values(value).every(isNames)
        ? undefined
        : "lists of names by name";
    case "list":
      return Array.isArray(value) ? undefined : "a list";
    case "types":
      return [value].flat().every((each) => isText(each) && TYPES.includes(each))
        ? undefined
        : `one or some of ${TYPES.join(", ")}`;
    default:
      return undefined;
  }
}

function show(value: unknown): string {
  return truncate(JSON.stringify(value) ?? "nothing", SHOWN_MAX);
}
