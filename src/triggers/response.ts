/**
 * The answer to an accepted request.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { z } from "zod";
import { type Answer, contentTypeOf } from "../conditions/answer.ts";
import {
  ANSWER_BYTES_MAX,
  answerHeadersSchema,
  answerJsonSchema,
  answerStatusSchema,
  contentTypeSchema,
} from "../conditions/answer_schema.ts";
import type { CredentialField } from "../conditions/field.ts";
import type { LaunchRequest } from "../conditions/request.ts";
import type { ValuesWork } from "../conditions/values/evaluate.ts";
import { messageOf } from "../platform/errors.ts";
import { mapValues } from "../platform/objects.ts";
import { refuseField } from "../platform/schema/schema.ts";

/** The time of the values in the Worker: the sender waits for them, and other triggers do for the Worker. */
const VALUES_MS_MAX = 500;
/** The characters of all values together. */
const VALUES_CHARACTERS_MAX = 64 * 1024;
const PLACEHOLDER = "{run_id}";

/** The entities of XML (XML 1.0 section 4.6). */
const XML_ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** The characters that XML cannot hold, not even by an entity (XML 1.0 section 2.2). */
const NOT_IN_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

const log = getLogger(["hooklaunch", "triggers"]);

/** A text that would be one but for its spaces. */
const SPACED = /\{\s+[a-z][\w.:-]*\s*\}/i;

const common = {
  status: answerStatusSchema,
  headers: answerHeadersSchema,
  content_type: contentTypeSchema,
};

/** The settings of a trigger's response. */
export const responseSchema = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.enum(["text", "xml"]),
    text: z.string().max(ANSWER_BYTES_MAX),
    ...common,
  }).superRefine(({ text }, context) => checkSpaces(text, ["text"], context)),
  z.strictObject({ type: z.literal("json"), json: answerJsonSchema, ...common })
    .superRefine(({ json }, context) => checkSpaces(json, ["json"], context)),
]);

/** Refuses placeholders with spaces in texts at any depth: they would be sent as they are. */
function checkSpaces(value: unknown, path: PropertyKey[], context: z.RefinementCtx): void {
  if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      checkSpaces(inner, [...path, Array.isArray(value) ? Number(key) : key], context);
    }
  } else if (typeof value === "string") {
    const [found] = SPACED.exec(value) ?? [];
    if (found === undefined) return;
    refuseField(context, path, `Expected a placeholder without spaces, found ${found}`);
  }
}

/** The settings of a trigger's response. */
type ResponseSettings = z.infer<typeof responseSchema>;

/** Makes the answer for a run, and the request that launched it. */
export type Responder = (runId: string, request: LaunchRequest) => Answer | Promise<Answer>;

/** The parts of a service that the values of a trigger need: those of its answers, keys and delays. */
export interface ValuesOwner {
  heavyWork: ValuesWork;
  /** The name of the trigger. */
  trigger: string;
  triggerId: string;
  /** The fields that carry credentials: no log shows their values. */
  credentials: readonly CredentialField[];
}

/** The answer of a trigger that does not set one. */
const DEFAULT_RESPONSE: ResponseSettings = { type: "json", json: { status: "accepted" } };

/** Returns the parts of a response whose texts hold values. Keys are left alone. */
export function responseTexts({ headers, ...settings }: ResponseSettings): Record<string, unknown> {
  const body = settings.type === "json" ? { json: settings.json } : { text: settings.text };
  return { ...body, ...(headers && { headers }) };
}

/** Prepares a trigger's response: one with the run's id alone is put together at once. */
export function prepareResponse(
  settings: ResponseSettings = DEFAULT_RESPONSE,
  context: ValuesOwner,
): Responder {
  const texts = JSON.stringify(responseTexts(settings));
  // A brace that no letter follows is text, and two are one.
  const hasValues = texts.includes("{{") || /\{[A-Za-z_]/.test(texts.replaceAll(PLACEHOLDER, ""));
  if (hasValues) return withValues(settings, context);
  const { status = 200, headers = {} } = settings;
  const answer = { status, contentType: settings.content_type ?? contentTypeOf(settings.type) };
  const parts = settings.type === "json"
    ? splitJson(settings.json)
    : settings.text.split(PLACEHOLDER);
  if (Object.keys(headers).length === 0) return (runId) => ({ ...answer, body: parts.join(runId) });
  return (runId) => ({
    ...answer,
    body: parts.join(runId),
    headers: mapValues(headers, (value) => value.replaceAll(PLACEHOLDER, runId)),
  });
}

/** Makes answers with values of requests. The launch is stored already: a value that is missing is left empty. */
function withValues(
  settings: ResponseSettings,
  { heavyWork, trigger, triggerId: owner, credentials }: ValuesOwner,
): Responder {
  const { status = 200 } = settings;
  const contentType = settings.content_type ?? contentTypeOf(settings.type);
  const templates = responseTexts(settings);
  return async (run_id, request) => {
    const [{ sourcesIn }, { evaluateValues }, { fill }] = await Promise.all([
      import("../conditions/values/compile.ts"),
      import("../conditions/values/evaluate.ts"),
      import("../conditions/values/fill.ts"),
    ]);
    const sources = sourcesIn(templates);
    const wanted = { sources, credentials, characters_max: VALUES_CHARACTERS_MAX };
    const context = { heavyWork, owner, timeout_ms: VALUES_MS_MAX };
    const values = await evaluateValues(request, { run_id, trigger }, wanted, context).then(
      (found) => found.values,
      (error) => sources.map(() => ({ problem: messageOf(error) })),
    );
    const known = values.map((value) => "problem" in value ? missing(value, trigger) : value);
    const isXml = settings.type === "xml";
    // The values of the text come before those of the headers.
    const inXml = isXml ? sourcesIn(templates.text).length : 0;
    const written = known.map((value, index) => index < inXml ? escapedForXml(value) : value);
    const { value: filled, problems } = fill(templates, written);
    for (const { path, detail } of problems) {
      missing({ problem: `${path.join("/")}: ${detail}` }, trigger);
    }
    const { json, text, headers = {} } = Object(filled);
    return {
      status,
      contentType,
      body: settings.type === "json"
        ? JSON.stringify(json)
        : isXml && typeof text !== "string"
        ? xmlText(textOf(text))
        : textOf(text),
      headers: mapValues(headers, headerText),
    };
  };
}

function missing({ problem }: { problem: string }, trigger: string): { json: unknown } {
  log.warn("A value of the response of trigger {trigger} is missing: {error}", {
    trigger,
    error: problem,
  });
  return { json: "" };
}

function escapedForXml(value: { json: unknown }): { json: unknown } {
  return typeof value.json === "string" ? { json: xmlText(value.json) } : value;
}

/** Returns a text as XML has it, without what it cannot hold. */
function xmlText(text: string): string {
  return text.replaceAll(NOT_IN_XML, "").replaceAll(
    /[&<>"']/g,
    (sign) => XML_ESCAPES[sign] ?? sign,
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/** Returns a value without what a header cannot hold. */
function headerText(value: unknown): string {
  return textOf(value).replaceAll(/[^\x20-\x7e]/g, "");
}

/** Returns the text of a JSON value, cut at the placeholders in its string values. */
function splitJson(value: unknown): string[] {
  // The marker tells placeholders in values from those in keys. A run's id needs no escaping in JSON, so
  // the pieces can be joined as text.
  const marker = crypto.randomUUID();
  const marked = JSON.stringify(
    value,
    (_key, inner) => typeof inner === "string" ? inner.replaceAll(PLACEHOLDER, marker) : inner,
  );
  return marked.split(marker);
}
