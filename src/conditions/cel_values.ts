/**
 * A request as values of CEL. Nothing is converted before an expression reads it, so that a large
 * body costs no more than what is looked at.
 *
 * @module
 */
import { type CelInput, celList, type CelMap, celMap } from "@bufbuild/cel";
import { type Bindings, conversion, type VariableType } from "./cel.ts";
import type { LaunchRequest } from "./request.ts";

const BODY_DEPTH_MAX = 64;
const toTimestamp = conversion("timestamp");

/** Called whenever an expression reads something; it throws to end the evaluation. */
export type Tick = () => void;

/** The variables of a payload filter. */
export const filterVariables = {
  body: "dyn",
  raw: "string",
  headers: "map",
  query: "map",
  content_type: "string",
  remote_ip: "string",
  now: "timestamp",
} satisfies Record<string, VariableType>;

type Reader = (request: LaunchRequest, tick: Tick) => CelInput;

const readers: Record<keyof typeof filterVariables, Reader> = {
  body: readBody,
  raw: ({ body }) => decodeUtf8(body),
  headers: ({ headers }) => nullSafe(celMap(new Map(headers))),
  query: ({ query }) => readQuery(query),
  content_type: ({ headers }) => headers.get("content-type") ?? "",
  remote_ip: ({ remoteIp }) => remoteIp,
  now: ({ receivedAt_ms }) => toTimestamp(new Date(receivedAt_ms).toISOString()),
};

/** The values of the variables that an expression reads. */
export function bind(
  request: LaunchRequest,
  variables: ReadonlySet<string>,
  tick: Tick,
): Bindings {
  // Without a prototype, since the evaluator looks names up as they are written.
  const bindings: Bindings = Object.create(null);
  for (const [name, read] of Object.entries(readers)) {
    if (!variables.has(name)) continue;
    let value: CelInput | undefined;
    const get = () => {
      tick();
      return value ??= read(request, tick);
    };
    Object.defineProperty(bindings, name, { get });
  }
  return bindings;
}

/** Whether the body is nested so deep that to compare two such values could overflow the stack. */
export function isBodyTooDeep(request: LaunchRequest): boolean {
  const body = request.parsedBody();
  return body.kind === "json" && isDeeper(body.value, BODY_DEPTH_MAX);
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (depth === 0) return true;
  for (const child of Object.values(value)) {
    if (isDeeper(child, depth - 1)) return true;
  }
  return false;
}

function readBody(request: LaunchRequest, tick: Tick): CelInput {
  const body = request.parsedBody();
  switch (body.kind) {
    case "json":
      return fromJson(body.value, tick);
    case "form":
      return fieldMap(body.fields);
    case "other":
      return null;
  }
}

function readQuery(query: URLSearchParams): CelInput {
  const names = [...new Set(query.keys())];
  return fieldMap(new Map(names.map((name) => [name, query.getAll(name)])));
}

/** A field that comes once is a string; one that comes more often is the list of its strings. */
function fieldMap(fields: ReadonlyMap<string, readonly string[]>): CelMap {
  const values = new Map<string, CelInput>();
  for (const [name, [first = "", ...others]] of fields) {
    values.set(name, others.length === 0 ? first : celList([first, ...others]));
  }
  return nullSafe(celMap(values));
}

/**
 * A JSON value as CEL sees it. A whole number is an int as far as JSON's numbers are exact, since
 * CEL adds no int to a double.
 */
function fromJson(value: unknown, tick: Tick): CelInput {
  tick();
  switch (typeof value) {
    case "number":
      return Number.isSafeInteger(value) ? BigInt(value) : value;
    case "string":
    case "boolean":
      return value;
    default:
      if (Array.isArray(value)) return celList(listView(value, tick));
      return typeof value === "object" && value !== null
        ? nullSafe(celMap(new ObjectView(value, tick)))
        : null;
  }
}

/** An array whose elements are converted each time they are read. */
function listView(array: readonly unknown[], tick: Tick): readonly CelInput[] {
  // Whatever reads an element through the proxy gets what fromJson makes of it.
  return new Proxy(array, {
    get(target, key) {
      const value = Reflect.get(target, key);
      const isElement = key !== "length" && typeof key === "string" && typeof value !== "function";
      return isElement ? fromJson(value, tick) : value;
    },
  }) as readonly CelInput[];
}

/** An object's own properties as a map whose values are converted each time they are read. */
class ObjectView implements ReadonlyMap<string, CelInput> {
  readonly #object: object;
  readonly #tick: Tick;
  #keys: readonly string[] | undefined;

  constructor(object: object, tick: Tick) {
    this.#object = object;
    this.#tick = tick;
  }

  get size(): number {
    return this.#ownKeys().length;
  }

  get(key: unknown): CelInput | undefined {
    const property = typeof key === "string"
      ? Object.getOwnPropertyDescriptor(this.#object, key)
      : undefined;
    return property && fromJson(property.value, this.#tick);
  }

  has(key: unknown): boolean {
    return typeof key === "string" && Object.hasOwn(this.#object, key);
  }

  keys(): MapIterator<string> {
    return this.#ownKeys().values();
  }

  *values(): MapIterator<CelInput> {
    for (const value of Object.values(this.#object)) yield fromJson(value, this.#tick);
  }

  *entries(): MapIterator<[string, CelInput]> {
    for (const [key, value] of Object.entries(this.#object)) {
      yield [key, fromJson(value, this.#tick)];
    }
  }

  [Symbol.iterator](): MapIterator<[string, CelInput]> {
    return this.entries();
  }

  forEach(callback: (value: CelInput, key: string, map: this) => void): void {
    for (const [key, value] of this) callback(value, key, this);
  }

  #ownKeys(): readonly string[] {
    return this.#keys ??= Object.keys(this.#object);
  }
}

/** The package's map takes a key whose value is null for one that is not there; CEL does not. */
function nullSafe(map: CelMap): CelMap {
  map.has = (key) => map.get(key) !== undefined;
  return map;
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return "";
  }
}
