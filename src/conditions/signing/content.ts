/**
 * The signed content of a request.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { Refusal } from "../check.ts";
import { readBytes } from "../field.ts";
import type { LaunchRequest } from "../request.ts";
import { BUILDERS } from "./builders.ts";
import type { Scheme } from "./scheme.ts";
import type { Builder, TemplatePart } from "./template.ts";

/** Values of placeholders that all templates of a scheme share. */
export interface ContentFacts {
  /** The timestamp's bytes as they were sent. */
  timestamp: Uint8Array;
  /** The id's bytes as they were sent. */
  id: Uint8Array;
  /** The provider's name for what sends. */
  identity?: string | undefined;
  /** Makes the public URL, which few schemes sign. */
  url(): string;
  /** The parts that a function has made. One may hash the body: each is made once for all templates. */
  built: Map<Builder, string | Refusal>;
}

/** Fills a template in: the pieces that are signed, in order, as bytes and never as text. */
export function contentOf(
  template: readonly TemplatePart[],
  request: LaunchRequest,
  facts: ContentFacts,
): Uint8Array[] | Refusal {
  const pieces: Uint8Array[] = [];
  for (const part of template) {
    const piece = pieceOf(part, request, facts);
    if (!(piece instanceof Uint8Array)) return piece;
    pieces.push(piece);
  }
  return pieces;
}

/** Returns the public URL of a request: the scheme's own, with the request's query where it has none. */
export function publicUrl(scheme: Scheme, request: LaunchRequest): string {
  if (scheme.url === undefined) return request.url;
  const question = request.url.indexOf("?");
  if (question === -1 || scheme.url.includes("?")) return scheme.url;
  return scheme.url + request.url.slice(question);
}

function pieceOf(
  part: TemplatePart,
  request: LaunchRequest,
  facts: ContentFacts,
): Uint8Array | Refusal {
  if (part instanceof Uint8Array) return part;
  switch (part.kind) {
    case "body":
      return request.body;
    case "timestamp":
      return facts.timestamp;
    case "id":
      return facts.id;
    case "method":
      return Buffer.from(request.method);
    case "url":
      return Buffer.from(facts.url());
    case "path":
      return Buffer.from(new URL(facts.url()).pathname);
    case "named":
      return readBytes(request, part);
    case "built": {
      const { builder } = part;
      const text = facts.built.get(builder) ??
        BUILDERS[builder](request, facts.url(), facts.identity);
      facts.built.set(builder, text);
      return typeof text === "string" ? Buffer.from(text) : text;
    }
  }
}
