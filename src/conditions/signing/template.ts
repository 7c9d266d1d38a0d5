/**
 * Templates of signed content: text with placeholders, parsed once and filled with bytes for each request.
 * Nothing is joined as text, since a body need not be text.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { z } from "zod";
import { fieldError } from "../field.ts";

/** A time as in RFC 3339. A number behind an id could not be told from it. */
const DATE_AND_TIME = /\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d/;

const PLACEHOLDER = /\{([^{}]*)\}/;

/** Placeholders that stand alone. */
const PLAIN = ["body", "timestamp", "id", "method", "url", "path"] as const;

/** Placeholders with a name, such as `{header:NAME}`. */
const NAMED = ["header", "query", "body"] as const;

/** Parts that a function makes. The provider's name stands before the colon. */
const BUILT = [
  "adyen:item",
  "contentful:headers",
  "contentful:path",
  "hubspot:url",
  "paypal:webhook",
  "sns:message",
  "twilio:parameters",
  "twilio:url_with_port",
  "twilio:url_without_port",
] as const;

/** The name of a part that a function makes. */
export type Builder = typeof BUILT[number];

/** Those that hold the query. */
const BUILT_OF_QUERY: readonly Builder[] = [
  "contentful:path",
  "hubspot:url",
  "twilio:url_with_port",
  "twilio:url_without_port",
];

/** A part of a template. */
export type TemplatePart =
  | Uint8Array
  | { readonly kind: typeof PLAIN[number] }
  | { readonly kind: "named"; readonly in: typeof NAMED[number]; readonly name: string }
  | { readonly kind: "built"; readonly builder: Builder };

/** Splits a template at its placeholders. The text between them is signed as UTF-8. */
export function parseTemplate(template: string): TemplatePart[] {
  return template.split(PLACEHOLDER).flatMap((text, index): TemplatePart[] => {
    // Splitting at a pattern with one group puts the matches of the group at odd places.
    if (index % 2 === 0) return text === "" ? [] : [new TextEncoder().encode(text)];
    const part = parsePlaceholder(text);
    if (part === undefined) throw new TypeError(`Unknown placeholder {${text}}`);
    return [part];
  });
}

/** Tells whether every placeholder of a template is known. */
export function isTemplate(template: string): boolean {
  return unknownPlaceholder(template) === undefined;
}

/** Refuses a template with an unknown placeholder, in a schema's `superRefine`. */
export function checkTemplate(template: string, context: z.RefinementCtx): void {
  const unknown = unknownPlaceholder(template);
  if (unknown === undefined) {
    for (const part of parseTemplate(template)) {
      const message = "kind" in part && part.kind === "named" ? fieldError(part) : undefined;
      if (message !== undefined) context.addIssue({ code: "custom", message });
    }
    return;
  }
  const known = [...PLAIN, ...NAMED.map((place) => `${place}:NAME`)];
  const listed = known.map((name) => `{${name}}`).join(", ");
  const message = `Unknown placeholder {${unknown}}: there are ${listed}`;
  context.addIssue({ code: "custom", message });
}

/** Tells whether a part covers every byte of the body, every parameter of a form, or every field of a message. */
export function coversBody(part: TemplatePart): boolean {
  return isPlain(part, "body") || isBuilt(part, "twilio:parameters") ||
    isBuilt(part, "sns:message");
}

/** Tells whether a part covers the query. */
export function coversQuery(part: TemplatePart): boolean {
  return isPlain(part, "url") ||
    ("kind" in part && part.kind === "built" && BUILT_OF_QUERY.includes(part.builder));
}

/** Tells whether a part is the placeholder of this name. */
export function isPlain(part: TemplatePart, kind: typeof PLAIN[number]): boolean {
  return "kind" in part && part.kind === kind;
}

/** The mark of an id's end. */
export interface EndOfId {
  /** Its name in a refusal. */
  readonly what: string;
  isIn(id: Uint8Array): boolean;
}

/**
 * Finds the mark between `{id}` and the `{timestamp}` behind it: the text between them, or the time itself
 * where there is none.
 *
 * @returns undefined where no time follows the id
 */
export function endOfId(parts: readonly TemplatePart[]): EndOfId | undefined {
  const at = parts.findIndex((part) => isPlain(part, "id"));
  const [, text, next] = at === -1 ? [] : parts.slice(at);
  if (text === undefined) return undefined;
  if (isPlain(text, "timestamp")) {
    return { what: "a time", isIn: (id) => DATE_AND_TIME.test(Buffer.from(id).toString("latin1")) };
  }
  if (!(text instanceof Uint8Array) || next === undefined || !isPlain(next, "timestamp")) {
    return undefined;
  }
  const what = "what stands between it and the time";
  const end = Buffer.from(text);
  return { what, isIn: (id) => Buffer.from(id).includes(end) };
}

/** Tells whether a part is made by this function. */
export function isBuilt(part: TemplatePart, builder: Builder): boolean {
  return "kind" in part && part.kind === "built" && part.builder === builder;
}

function unknownPlaceholder(template: string): string | undefined {
  const names = template.split(PLACEHOLDER).filter((_, index) => index % 2 === 1);
  return names.find((name) => parsePlaceholder(name) === undefined);
}

function parsePlaceholder(text: string): TemplatePart | undefined {
  const kind = PLAIN.find((plain) => plain === text);
  if (kind !== undefined) return { kind };
  const builder = BUILT.find((built) => built === text);
  if (builder !== undefined) return { kind: "built", builder };
  const place = NAMED.find((place) => text.startsWith(`${place}:`));
  if (place === undefined || text.length === place.length + 1) return undefined;
  return { kind: "named", in: place, name: text.slice(place.length + 1) };
}
