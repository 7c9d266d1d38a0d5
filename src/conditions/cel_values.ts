/**
 * A request as the variables of a payload filter.
 *
 * @module
 */
import type { CelInput } from "@bufbuild/cel";
import { type Bindings, conversion, type VariableType } from "./cel.ts";
import { fieldMap, fromJson, textMap } from "./cel_json.ts";
import { tick } from "./cel_meter.ts";
import type { LaunchRequest } from "./request.ts";

const toTimestamp = conversion("timestamp");

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

type Reader = (request: LaunchRequest) => CelInput;

const readers: Record<keyof typeof filterVariables, Reader> = {
  body: readBody,
  raw: ({ body }) => decodeUtf8(body),
  headers: ({ headers }) => textMap(new Map(headers)),
  query: ({ query }) => readQuery(query),
  content_type: ({ headers }) => headers.get("content-type") ?? "",
  remote_ip: ({ remoteIp }) => remoteIp,
  now: ({ receivedAt_ms }) => toTimestamp(new Date(receivedAt_ms).toISOString()),
};

/** Makes what gives an expression the values of the variables that it reads. */
export function binder(variables: ReadonlySet<string>): (request: LaunchRequest) => Bindings {
  const read = Object.entries(readers).filter(([name]) => variables.has(name));
  return (request) => {
    // Without a prototype, since the evaluator looks names up as they are written.
    const bindings: Bindings = Object.create(null);
    for (const [name, reader] of read) {
      let value: CelInput | undefined;
      const get = () => {
        tick();
        return value ??= reader(request);
      };
      Object.defineProperty(bindings, name, { get });
    }
    return bindings;
  };
}

function readBody(request: LaunchRequest): CelInput {
  const body = request.parsedBody();
  switch (body.kind) {
    case "json":
      return fromJson(body.value);
    case "form":
      return fieldMap(body.fields);
    case "other":
      return null;
  }
}

function readQuery(query: URLSearchParams): CelInput {
  const fields = new Map<string, string[]>();
  for (const [name, value] of query) {
    const values = fields.get(name);
    if (values) values.push(value);
    else fields.set(name, [value]);
  }
  return fieldMap(fields);
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return "";
  }
}
