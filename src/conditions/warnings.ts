/**
 * What is allowed, and weaker than it looks: a time that anyone can change, a body that nobody
 * signed. A trigger with a warning can be saved; its owner is told.
 *
 * @module
 */
import { messageOf, prefixed, type Problem } from "../platform/errors.ts";
import type { ConditionSettings } from "./condition.ts";
import { deliveryField, isDeduplication, nowhere } from "./deduplication.ts";
import { type Field, isSameField } from "./field.ts";
import { compileFilter, isPayloadFilter } from "./payload_filter.ts";
import { type Scheme, signedContents, type TimestampSource } from "./signing/scheme.ts";
import {
  coversBody,
  coversQuery,
  isBuilt,
  isPlain,
  parseTemplate,
  type TemplatePart,
} from "./signing/template.ts";
import { signingScheme } from "./signing/signing_scheme.ts";
import { isTimestamp, type TimestampSettings } from "./timestamp.ts";

/** What an earlier version has stored may be of no use to this one. */
const REFUSES_ALL = "Refuses every request: ";

/**
 * Looks at a trigger's conditions together when it is saved, and when it is shown.
 *
 * @returns what its owner should know, each with a pointer relative to the list (`/0/timestamp`)
 */
export function conditionWarnings(conditions: readonly ConditionSettings[]): Problem[] {
  const schemes = conditions.map(signingScheme);
  const signing = schemes.filter((scheme) => scheme !== undefined);
  return conditions.flatMap((settings, index) => {
    const scheme = schemes[index];
    const warnings = scheme
      ? [...warnOfScheme(scheme, signing), ...warnOfTolerance(scheme, settings)]
      : [
        ...warnOfTimestamp(settings, signing),
        ...warnOfDelivery(settings, conditions, signing),
        ...warnOfFilter(settings, signing),
      ];
    return prefixed(`/${index}`, warnings);
  });
}

/** What one scheme leaves out, another one of the trigger may sign: both must pass. */
function warnOfScheme(scheme: Scheme, signing: readonly Scheme[]): Problem[] {
  const warnings: Problem[] = [];
  if (scheme.timestamp && !signing.some((other) => signsTimeOf(other, scheme))) {
    const detail =
      "The timestamp lies outside what is signed: who overheard a request can send it again with a new one";
    warnings.push({ pointer: "/timestamp", detail });
  }
  if (!signing.some((other) => everyTemplate(other, coversBody))) {
    const detail =
      "The body lies outside what is signed: who overheard a request can send the signature with another body";
    warnings.push({ pointer: "", detail });
  }
  return warnings;
}

/** A tolerance of no timestamp lets every request through, however old. */
function warnOfTolerance({ timestamp }: Scheme, settings: ConditionSettings): Problem[] {
  const isIdle = timestamp === undefined && "tolerance" in settings &&
    settings.tolerance !== undefined;
  const detail =
    "This has no effect: the scheme names no timestamp, and a timestamp condition has a tolerance of its own";
  return isIdle ? [{ pointer: "/tolerance", detail }] : [];
}

function warnOfTimestamp(settings: ConditionSettings, signing: readonly Scheme[]): Problem[] {
  if (!isTimestamp(settings) || isTimeSigned(settings, signing)) return [];
  const detail =
    "No signature covers the timestamp: who overheard a request can send it again with a new one";
  return [{ pointer: "", detail }];
}

/** Without a time that is signed, only the delivery's id could tell a request that is sent again. */
function warnOfDelivery(
  settings: ConditionSettings,
  siblings: readonly ConditionSettings[],
  signing: readonly Scheme[],
): Problem[] {
  if (!isDeduplication(settings)) return [];
  const field = deliveryField(settings, siblings);
  if (field === undefined) return [{ pointer: "", detail: REFUSES_ALL + nowhere() }];
  if (signing.length === 0) return [];
  const hasSignedTime =
    signing.some((scheme) => signing.some((other) => signsTimeOf(other, scheme))) ||
    siblings.some((other) => isTimestamp(other) && isTimeSigned(other, signing));
  if (hasSignedTime || signing.some((scheme) => signsId(scheme, field))) return [];
  const detail =
    "No signature covers the delivery's id: who overheard a request can send it again with another one";
  return [{ pointer: "", detail }];
}

/** A filter that decides by what is not signed decides by what whoever sends it again chose. */
function warnOfFilter(settings: ConditionSettings, signing: readonly Scheme[]): Problem[] {
  if (!isPayloadFilter(settings)) return [];
  const pointer = settings.expression === undefined ? "" : "/expression";
  let variables: ReadonlySet<string>;
  try {
    ({ variables } = compileFilter(settings));
  } catch (error) {
    return [{ pointer, detail: REFUSES_ALL + messageOf(error) }];
  }
  if (signing.length === 0) return [];
  const isSigned: Record<string, boolean> = {
    headers: false,
    content_type: false,
    query: signing.some((scheme) => everyTemplate(scheme, coversQuery)),
  };
  const open = [...variables].filter((name) => isSigned[name] === false);
  if (open.length === 0) return [];
  const detail = `The filter looks at ${open.join(" and ")}, which no signature covers`;
  return [{ pointer, detail }];
}

/** Whether a change of a condition's time would break a signature. */
function isTimeSigned(settings: TimestampSettings, signing: readonly Scheme[]): boolean {
  return signing.some((scheme) =>
    signsTime(scheme, settings) ||
    (scheme.timestamp === undefined && everyTemplate(scheme, (part) => isPlain(part, "timestamp")))
  );
}

/** Whether a change of the delivery's id would break the signature. */
function signsId(scheme: Scheme, field: Field): boolean {
  const isOwn = scheme.id !== undefined && isSameField(scheme.id, field);
  return everyTemplate(
    scheme,
    (part) => covers(part, field) || (isOwn && isPlain(part, "id")),
  );
}

/** Whether one scheme signs the time of another, or its own. A time in a signature is that one's alone. */
function signsTimeOf(scheme: Scheme, other: Scheme): boolean {
  const { timestamp } = other;
  if (timestamp === undefined) return false;
  return (scheme === other || timestamp.in !== "signature") && signsTime(scheme, timestamp);
}

/** Whether a change of the time would break the signature. */
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

/** Whether a signature that passes covers it, whichever of the templates it was made of. */
function everyTemplate(scheme: Scheme, holds: (part: TemplatePart) => boolean): boolean {
  return signedContents(scheme).every((template) => parseTemplate(template).some(holds));
}
