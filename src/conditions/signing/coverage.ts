/**
 * The parts of a request that signatures cover: changing them breaks the signature.
 *
 * @module
 */
import { type Field, isSameField } from "../field.ts";
import { type Scheme, signedContents, type TimestampSource } from "./scheme.ts";
import {
  coversBody,
  coversQuery,
  isBuilt,
  isPlain,
  parseTemplate,
  type TemplatePart,
} from "./template.ts";

/** Tells whether some scheme covers the field of a timestamp condition. */
export function isTimeSigned(time: Field, schemes: readonly Scheme[]): boolean {
  return schemes.some((scheme) =>
    signsTime(scheme, time) ||
    (scheme.timestamp === undefined && everyTemplate(scheme, (part) => isPlain(part, "timestamp")))
  );
}

/** Tells whether a scheme covers the id of a delivery. */
export function signsId(scheme: Scheme, field: Field): boolean {
  const isOwn = scheme.id !== undefined && isSameField(scheme.id, field);
  return everyTemplate(
    scheme,
    (part) => covers(part, field) || (isOwn && isPlain(part, "id")),
  );
}

/** Tells whether the scheme's own time is covered, by itself or by another scheme of the trigger. */
export function isOwnTimeSigned(scheme: Scheme, schemes: readonly Scheme[]): boolean {
  const { timestamp } = scheme;
  if (timestamp === undefined) return false;
  // A time that is a field of the signature belongs to this scheme alone.
  const others = timestamp.in === "signature" ? [] : schemes;
  return [scheme, ...others].some((one) => signsTime(one, timestamp));
}

/** Tells whether the scheme covers the whole body. */
export function signsBody(scheme: Scheme): boolean {
  return everyTemplate(scheme, coversBody);
}

/** Tells whether the scheme covers the query. */
export function signsQuery(scheme: Scheme): boolean {
  return everyTemplate(scheme, coversQuery);
}

function signsTime(scheme: Scheme, source: Pick<TimestampSource, "in" | "name">): boolean {
  const { in: place, name } = source;
  const own = scheme.timestamp;
  const isOwn = own !== undefined && isSameField(own, source);
  if (isOwn && everyTemplate(scheme, (part) => isPlain(part, "timestamp"))) return true;
  return place !== "signature" &&
    everyTemplate(scheme, (part) => covers(part, { in: place, name }));
}

function covers(part: TemplatePart, field: Field): boolean {
  if ("kind" in part && part.kind === "named" && part.in === field.in) {
    return isSameField(part, field);
  }
  switch (field.in) {
    case "body":
      return coversBody(part);
    case "query":
      return coversQuery(part);
    case "header":
      return isBuilt(part, "contentful:headers") &&
        field.name.toLowerCase() === "x-contentful-timestamp";
  }
}

/** A signature that passes was made of any one of the templates. */
function everyTemplate(scheme: Scheme, holds: (part: TemplatePart) => boolean): boolean {
  return signedContents(scheme).every((template) => parseTemplate(template).some(holds));
}

/**
 * Tells whether a scheme's time may have a fraction: behind `{timestamp}` stands nothing that could go on with it.
 * With `{timestamp}.{body}` a body that begins with digits could become a part of the time.
 */
export function takesFraction(scheme: Scheme): boolean {
  return signedContents(scheme).every((content) => !/\{timestamp\}[.\d{]/.test(content));
}
