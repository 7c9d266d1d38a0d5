/**
 * The variables of a payload filter.
 *
 * @module
 */
import type { CelInput } from "@bufbuild/cel";
import { headerText } from "../../platform/network/header_text.ts";
import type { VariableType } from "./check.ts";
import { type Bindings, conversion } from "./expression.ts";
import { fieldMap, fromJson, isTooLarge, partMap, textMap, TOO_LARGE } from "./json.ts";
import { claimsOf } from "../jwt/claims.ts";
import { type LaunchRequest, valuesByName } from "../request.ts";

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
  jwt: "map",
} satisfies Record<string, VariableType>;

type Reader = (request: LaunchRequest) => CelInput;

const readers: Record<keyof typeof filterVariables, Reader> = {
  body: readBody,
  raw: ({ body }) => decodeUtf8(body),
  headers: ({ headers }) =>
    textMap(new Map(Array.from(headers, ([name, value]) => [name, headerText(value)]))),
  query: ({ query }) => fieldMap(valuesByName(query)),
  content_type: ({ headers }) => headerText(headers.get("content-type") ?? ""),
  remote_ip: ({ remoteIp }) => remoteIp,
  now: ({ receivedAt_ms }) => toTimestamp(new Date(receivedAt_ms).toISOString()),
  jwt: (request) => textMap(new Map([["claims", fromJson(claimsOf(request))]])),
};

/** Returns the values of the variables that an expression reads. */
export function bind(variables: ReadonlySet<string>, request: LaunchRequest): Bindings {
  // Without JavaScript's own names, since the evaluator looks names up as they are written.
  const bindings: Bindings = Object.create(null);
  for (const [name, reader] of Object.entries(readers)) {
    if (variables.has(name)) bindings[name] = reader(request);
  }
  return bindings;
}

/** Says why an expression with these variables cannot read the body; undefined where it can, or reads none. */
export function whyBodyUnread(
  variables: ReadonlySet<string>,
  request: LaunchRequest,
): string | undefined {
  if (!variables.has("body")) return undefined;
  const body = request.parsedBody();
  if (body.kind === "other") return body.refused;
  // A number in a body is an error where it is used. A body that is one is used by every expression.
  return body.kind === "json" && isTooLarge(body.value) ? TOO_LARGE : undefined;
}

function readBody(request: LaunchRequest): CelInput {
  const body = request.parsedBody();
  switch (body.kind) {
    case "json":
      return fromJson(body.value);
    case "form":
      return fieldMap(body.fields);
    case "multipart":
      return partMap(body.fields);
    case "other":
      return null;
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return "";
  }
}
