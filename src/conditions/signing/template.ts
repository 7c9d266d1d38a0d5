/**
 * Templates of what is signed: text with placeholders, cut up once and filled with bytes for each
 * request. Nothing is joined as text, so that a body need not be text.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { z } from "zod";
import { whyNotField } from "../field.ts";

/** As in RFC 3339; of a number nothing tells where it begins behind an id. */
const DATE_AND_TIME = /\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d/;

const PLACEHOLDER = /\{([^{}]*)\}/;

/** Placeholders that stand alone. */
const PLAIN = ["body", "timestamp", "id", "method", "url", "path"] as const;

/** Placeholders that name what they stand for, as `{header:NAME}` does. */
const NAMED = ["header", "query", "body"] as const;

/** What no template can say, and a function makes. The part before the colon is who signs so. */
const BUILT = [
  "contentful:headers",
  "contentful:path",
  "hubspot:url",
  "twilio:parameters",
  "twilio:url_with_port",
  "twilio:url_without_port",
] as const;

/** The name of a function that makes a part of what is signed. */
export type Builder = typeof BUILT[number];

/** A part of a template. */
export type TemplatePart =
  | Uint8Array
  | { readonly kind: typeof PLAIN[number] }
  | { readonly kind: "named"; readonly in: typeof NAMED[number]; readonly name: string }
  | { readonly kind: "built"; readonly builder: Builder };

/** Cuts a template at its placeholders; the text between them is signed as UTF-8. */
export function parseTemplate(template: string): TemplatePart[] {
  return template.split(PLACEHOLDER).flatMap((text, index): TemplatePart[] => {
    // Splitting at a pattern with one group puts what the group matched at every odd place.
    if (index % 2 === 0) return text === "" ? [] : [new TextEncoder().encode(text)];
    const part = parsePlaceholder(text);
    if (part === undefined) throw new TypeError(`Unknown placeholder {${text}}`);
    return [part];
  });
}

/** Whether every placeholder of a template is one that there is. */
export function isTemplate(template: string): boolean {
  return unknownPlaceholder(template) === undefined;
}

/** Refuses, in a schema's `superRefine`, a template with a placeholder that there is not. */
export function checkTemplate(template: string, context: z.RefinementCtx): void {
  const unknown = unknownPlaceholder(template);
  if (unknown === undefined) {
    for (const part of parseTemplate(template)) {
      const message = "kind" in part && part.kind === "named" ? whyNotField(part) : undefined;
      if (message !== undefined) context.addIssue({ code: "custom", message });
    }
    return;
  }
  const known = [...PLAIN, ...NAMED.map((place) => `${place}:NAME`)];
  const listed = known.map((name) => `{${name}}`).join(", ");
  const message = `Unknown placeholder {${unknown}}: there are ${listed}`;
  context.addIssue({ code: "custom", message });
}

/** Whether a part makes every byte of the body count, or of a form every parameter. */
export function coversBody(part: TemplatePart): boolean {
  return isPlain(part, "body") || isBuilt(part, "twilio:parameters");
}

/** Whether a part makes the query count. */
export function coversQuery(part: TemplatePart): boolean {
  return isPlain(part, "url") || ("kind" in part && part.kind === "built" &&
    part.builder !== "contentful:headers" && part.builder !== "twilio:parameters");
}

/** Whether a part is a placeholder that stands alone, of this name. */
export function isPlain(part: TemplatePart, kind: typeof PLAIN[number]): boolean {
  return "kind" in part && part.kind === kind;
}

/** By what it is seen where an id ends. */
export interface EndOfId {
  /** What it is, in words. */
  readonly what: string;
  isIn(id: Uint8Array): boolean;
}

/**
 * What tells where `{id}` ends and the `{timestamp}` behind it begins: the text between them, or the time
 * itself where there is none. Undefined where no time is behind it.
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

/** Whether a part is made by this function. */
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
