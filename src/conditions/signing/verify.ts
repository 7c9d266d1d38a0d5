/**
 * The one verifier of all signing schemes.
 *
 * @module
 */
import type { Check, Refusal } from "../check.ts";
import { bytesOf, describeField, type Field, readBytes, readField } from "../field.ts";
import type { LaunchRequest } from "../request.ts";
import { checkFreshness } from "../freshness.ts";
import type { Matcher } from "./algorithms.ts";
import { candidatesReader, describePlace, describeSignature } from "./candidates.ts";
import { type ContentFacts, contentOf, publicUrl } from "./content.ts";
import { type Scheme, signatureFields, signedContents } from "./scheme.ts";
import { type EndOfId, endOfId, isPlain, parseTemplate } from "./template.ts";

const NO_BYTES = new Uint8Array();

/** What a verifier works with beside its scheme. */
export interface VerifierParts {
  matches: Matcher;
  /** Where `{timestamp}` is when the scheme does not say: what a timestamp condition names. */
  siblingTimestamp?: Field | undefined;
  /** What to add to the reason of a wrong signature, such as a secret that is missing. */
  hint: string;
}

/** Makes the check of a scheme. It tells which part was missing or wrong, never what would pass. */
export function prepareVerifier(scheme: Scheme, parts: VerifierParts): Check {
  const templates = signedContents(scheme).map(parseTemplate);
  const signs = (kind: "timestamp" | "id") => templates.flat().some((part) => isPlain(part, kind));
  const timestampField = signs("timestamp") ? parts.siblingTimestamp : undefined;
  const idField = signs("id") ? scheme.id : undefined;
  const endsOfId = templates.map(endOfId).filter((end) => end !== undefined);
  const place = describePlace(signatureFields(scheme));
  const readCandidates = candidatesReader(scheme);
  const expected = describeSignature(scheme);
  const wrong: Refusal = { reason: `${place} holds a wrong signature${parts.hint}`, expected };

  return (request) => {
    const candidates = readCandidates(request);
    if ("reason" in candidates) return { ...candidates, expected };
    const time = readTime(scheme, candidates.timestamp, request) ??
      (timestampField ? readBytes(request, timestampField) : NO_BYTES);
    if (!(time instanceof Uint8Array)) return time;
    const id = idField ? readBytes(request, idField) : NO_BYTES;
    if (!(id instanceof Uint8Array)) return id;
    const end = endsOfId.find((end) => end.isIn(id));
    if (end) return ambiguousId(scheme, end);
    const facts = new RequestFacts(scheme, request, time, id);
    let refusal: Refusal | undefined;
    for (const template of templates) {
      const content = contentOf(template, request, facts);
      if (!Array.isArray(content)) refusal = content;
      else if (parts.matches(content, candidates.signatures)) return undefined;
    }
    return refusal ?? wrong;
  };
}

/**
 * The URL is read when it is asked for, as few schemes sign it. It is a getter of a class: V8 keeps one of
 * an object's own, and the request with it, until a full collection of garbage.
 */
class RequestFacts implements ContentFacts {
  constructor(
    readonly scheme: Scheme,
    readonly request: LaunchRequest,
    readonly timestamp: Uint8Array,
    readonly id: Uint8Array,
  ) {}

  get url(): string {
    return publicUrl(this.scheme, this.request);
  }
}

/** The scheme's own timestamp, when it is fresh; undefined when the scheme has none. */
function readTime(
  scheme: Scheme,
  item: string | undefined,
  request: LaunchRequest,
): Uint8Array | Refusal | undefined {
  const { timestamp: source, tolerance } = scheme;
  if (source === undefined) return undefined;
  const { in: part, name, format } = source;
  const field: Field | undefined = part === "signature" ? undefined : { ...source, in: part };
  const value = field ? readField(request, field) : item ?? "";
  if (typeof value === "object") return value;
  const text = String(value);
  const place = field ? describeField(field) : `Field ${name} of the signature`;
  const refusal = checkFreshness(text, { format, tolerance, place }, request.receivedAt_ms);
  return refusal ?? bytesOf(field ?? { in: "header", name }, text);
}

/** With two places at which the id can end, a signed body could be cut into a new id, time and body. */
function ambiguousId({ id = { in: "header", name: "" } }: Scheme, { what }: EndOfId): Refusal {
  return { reason: `${describeField(id)} is ambiguous: it holds ${what}` };
}
