/**
 * The answer to a handshake, with the values of the request in it.
 *
 * @module
 */
import type { CelResult } from "@bufbuild/cel";
import { rawJson } from "../../platform/text/raw_json.ts";
import { type Answer, contentTypeOf } from "../answer.ts";
import type { Bindings } from "../cel/expression.ts";
import { parseTemplate } from "../cel/template.ts";
import { compileHandshake, type HandshakeExpression, textOf } from "./expression.ts";
import { isSigning } from "./nodes.ts";
import type { HandshakeResponse } from "./row.ts";

/** A longer text, or one of several lines, is echoed by no handshake. */
const ECHO = /^[^\p{Cc}\p{Cs}]{1,512}$/u;
const HEADER_ECHO = /^[\x20-\x7e]*$/;

/** A text with expressions in it. */
interface Template {
  readonly parts: readonly (string | HandshakeExpression)[];
  readonly expressions: readonly HandshakeExpression[];
}

/** A response that is ready for requests. */
interface CompiledResponse {
  readonly variables: ReadonlySet<string>;
  /** It signs with the secret. */
  readonly isSigning: boolean;
  readonly templates: readonly Template[];
  /** Makes the answer; undefined where a value is missing, or none that an answer may hold. */
  render(bindings: Bindings): Answer | undefined;
}

/** A value could not be put in. */
const NONE = Symbol();

/**
 * Compiles a template.
 *
 * @throws {ExpressionError} when an expression cannot be used, or has no end
 */
export function templateOf(text: string): Template {
  const parts = parseTemplate(text).map((part) =>
    typeof part === "string" ? part : compileHandshake(part.source, false)
  );
  return { parts, expressions: parts.filter((part) => typeof part !== "string") };
}

/**
 * Compiles a response.
 *
 * @throws {ExpressionError} when an expression cannot be used, or has no end
 */
export function compileResponse(settings: HandshakeResponse): CompiledResponse {
  const { status = 200, headers = {}, content_type } = settings;
  const templates: Template[] = [];
  const compiled = (text: string) => {
    const template = templateOf(text);
    templates.push(template);
    return template;
  };
  const named = Object.entries(headers).map(([name, value]) => [name, compiled(value)] as const);
  const renderBody = settings.type === "text"
    ? textRenderer(compiled(settings.text))
    : jsonRenderer(settings.json, compiled);
  const contentType = content_type ?? contentTypeOf(settings.type);
  const expressions = templates.flatMap((template) => template.expressions);
  return {
    variables: new Set(expressions.flatMap(({ variables }) => [...variables])),
    isSigning: expressions.some(({ expr }) => isSigning(expr)),
    templates,
    render(bindings) {
      const body = renderBody(bindings);
      if (body === undefined) return undefined;
      const sent: Record<string, string> = {};
      for (const [name, template] of named) {
        const value = renderText(template, bindings);
        if (value === undefined || !HEADER_ECHO.test(value)) return undefined;
        sent[name] = value;
      }
      return { status, contentType, body, headers: sent };
    },
  };
}

/** Returns a text with its values; undefined where one is missing, or none that an answer may hold. */
export function renderText(template: Template, bindings: Bindings): string | undefined {
  const texts = template.parts.map((part) =>
    typeof part === "string" ? part : echoOf(part.evaluate(bindings))
  );
  return texts.includes(undefined) ? undefined : texts.join("");
}

function textRenderer(template: Template): (bindings: Bindings) => string | undefined {
  return (bindings) => renderText(template, bindings);
}

/** A string that is one expression keeps the type of its value. Keys are left alone. */
function jsonRenderer(
  json: unknown,
  compile: (text: string) => Template,
): (bindings: Bindings) => string | undefined {
  const templates = new Map<string, Template>();
  const collect = (value: unknown): void => {
    if (typeof value === "string") templates.set(value, compile(value));
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(collect);
  };
  collect(json);
  return (bindings) => {
    try {
      return JSON.stringify(json, (_key, value) => {
        const template = typeof value === "string" ? templates.get(value) : undefined;
        return template ? valueOf(template, bindings) : value;
      });
    } catch (error) {
      if (error === NONE) return undefined;
      throw error;
    }
  };
}

function valueOf(template: Template, bindings: Bindings): unknown {
  const [only, ...others] = template.parts;
  if (only !== undefined && typeof only !== "string" && others.length === 0) {
    const value = only.evaluate(bindings);
    if (typeof value === "boolean" || typeof value === "number") return value;
    if (typeof value === "bigint") return rawJson(String(value));
  }
  const text = renderText(template, bindings);
  if (text === undefined) throw NONE;
  return text;
}

function echoOf(value: CelResult): string | undefined {
  const text = textOf(value);
  return text !== undefined && ECHO.test(text) ? text : undefined;
}
