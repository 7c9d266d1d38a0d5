/**
 * The signer of all schemes: the inverse of the verifier, from the same row.
 *
 * @module
 */
import { bytesOf, describeField, type Field, isSameField, readField } from "../field.ts";
import { formatTimestamp } from "../freshness.ts";
import type { Maker } from "./algorithms.ts";
import { additionsFor } from "./builders.ts";
import { writeSignatures } from "./candidates.ts";
import { contentOf, publicUrl } from "./content.ts";
import {
  CannotSignError,
  type Draft,
  type SigningContext,
  type SigningStep,
  STEP_ORDER,
} from "./draft.ts";
import { type Scheme, signatureFields, signatureHeaders, signedContents } from "./scheme.ts";
import { isPlain, parseTemplate } from "./template.ts";

/**
 * Returns the steps that sign a request by a scheme.
 *
 * @param makers makes a signer for each key; it throws when no key can sign
 */
export function signingSteps(
  scheme: Scheme,
  makers: () => Maker[],
  { draft, times }: SigningContext,
): SigningStep[] {
  const places = signatureFields(scheme).map(describeField).join(", ");
  const [content = ""] = signedContents(scheme);
  return [
    {
      order: STEP_ORDER.beforeSigning,
      run: () => {
        stamp(scheme, draft);
        return undefined;
      },
    },
    {
      order: scheme.body_field === undefined
        ? STEP_ORDER.signatureOverBody
        : STEP_ORDER.signatureInBody,
      run: () => {
        addSignatures(scheme, makers(), draft, times[0]);
        return `${places}: ${scheme.algorithm} of ${content}`;
      },
    },
  ];
}

/** Adds the signed parts beside the body: the time, an id, the additions of a builder. */
function stamp(scheme: Scheme, draft: Draft): void {
  const { timestamp, id, delivery_id } = scheme;
  const parts = parseTemplate(signedContents(scheme)[0] ?? "");
  if (timestamp && timestamp.in !== "signature") {
    const text = formatTimestamp(draft.now_ms, timestamp.format);
    const isNumber = timestamp.in === "body" && timestamp.format.startsWith("unix");
    draft.put({ in: timestamp.in, name: timestamp.name }, isNumber ? Number(text) : text);
  }
  const ids = [parts.some((part) => isPlain(part, "id")) ? id : undefined, delivery_id];
  const named = parts.flatMap((part) => "kind" in part && part.kind === "named" ? [part] : []);
  for (const field of [...ids, ...named]) {
    if (field === undefined || typeof readField(draft.request(), field) !== "object") continue;
    // A signed field must be there; an unsigned id is only added to headers.
    const isSigned = field !== delivery_id || field === id ||
      named.some((part) => isSameField(part, field));
    if (isSigned || field.in === "header") draft.put(field, crypto.randomUUID());
  }
  for (const part of parts) {
    if (!("kind" in part) || part.kind !== "built") continue;
    const { headers = {}, query = {} } = additionsFor(part.builder, draft.request());
    for (const [name, value] of Object.entries(headers)) draft.put({ in: "header", name }, value);
    for (const [name, value] of Object.entries(query)) draft.put({ in: "query", name }, value);
  }
}

/**
 * Signs a request, with each maker once where the scheme has room for several signatures.
 *
 * @param timeField the place of `{timestamp}` where the scheme names none
 * @throws {CannotSignError} when a signed part is not in the request
 */
function addSignatures(
  scheme: Scheme,
  makers: readonly Maker[],
  draft: Draft,
  timeField: Field | undefined,
): void {
  const request = draft.request();
  const read = (field: Field | undefined): string => {
    const value = field ? readField(request, field) : "";
    if (typeof value !== "object") return String(value);
    throw new CannotSignError(`Cannot sign: ${value.reason}`);
  };
  const template = parseTemplate(signedContents(scheme)[0] ?? "");
  const source = scheme.timestamp;
  const field = source === undefined
    ? timeField
    : source.in === "signature"
    ? undefined
    : { in: source.in, name: source.name };
  const time = source?.in === "signature"
    ? formatTimestamp(draft.now_ms, source.format)
    : template.some((part) => isPlain(part, "timestamp"))
    ? read(field)
    : "";
  const id = template.some((part) => isPlain(part, "id")) ? read(scheme.id) : "";
  const content = contentOf(template, request, {
    timestamp: bytesOf(field ?? { in: "header", name: "" }, time),
    id: bytesOf(scheme.id ?? { in: "header", name: "" }, id),
    url: () => publicUrl(scheme, request),
    identity: scheme.identity,
    built: new Map(),
  });
  if (!Array.isArray(content)) throw new CannotSignError(`Cannot sign: ${content.reason}`);
  const signatures = makers.map((make) => make(content));
  if (scheme.body_field !== undefined) {
    draft.put({ in: "body", name: scheme.body_field }, writeSignatures(signatures, scheme, time));
    return;
  }
  const [first = "", ...others] = signatureHeaders(scheme);
  if (others.length === 0 || scheme.list_separator !== undefined) {
    draft.put({ in: "header", name: first }, writeSignatures(signatures, scheme, time));
    return;
  }
  // Each key has a header of its own.
  [first, ...others].slice(0, signatures.length).forEach((name, index) => {
    const own = signatures.slice(index, index + 1);
    draft.put({ in: "header", name }, writeSignatures(own, scheme, time));
  });
}
