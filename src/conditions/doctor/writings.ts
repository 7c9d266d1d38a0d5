/**
 * The other schemes by which a request may be signed: those of other providers, and the condition's own with
 * one part changed.
 *
 * @module
 */
import type { Field } from "../field.ts";
import { isInHead } from "../field.ts";
import { parseTimestamp, TIMESTAMP_FORMATS } from "../freshness.ts";
import type { LaunchRequest } from "../request.ts";
import { presetsByType } from "../signing/presets/mod.ts";
import {
  resolveScheme,
  type Scheme,
  signatureHeaders,
  signedContents,
  type TimestampSource,
} from "../signing/scheme.ts";
import { coversBody, isPlain, parseTemplate, type TemplatePart } from "../signing/template.ts";
import { signatureTexts } from "./signature_texts.ts";

/** The most schemes of each kind that are tried. */
const SCHEMES_MAX = 64;
const SOURCES_MAX = 4;
const TITLES_SHOWN_MAX = 3;
/** Prefixes that are shown; another one may be anything. */
const SHOWN_PREFIX = /^(?:(?:sha(?:1|256|384|512)|v\d|hmac)[=,: ]|hmac-sha\d+ |bearer )?$/i;

/** A scheme by which a request may be signed, and a sentence about how it differs from the condition's. */
export interface Writing {
  scheme: Scheme;
  difference?: string;
}

/** The scheme of a provider. */
export interface KnownScheme {
  scheme: Scheme;
  /** The type of condition that takes the preset. */
  type: "hmac" | "signature";
  /** The name of the preset, the first of those with this scheme. */
  preset: string;
  /** The titles of the providers with this scheme. */
  titles: string;
}

/** Lists the schemes of all providers, without those that sign as a scheme does. */
export function otherPresets(own: Scheme): KnownScheme[] {
  const known = new Map<string, Omit<KnownScheme, "titles"> & { titles: string[] }>();
  for (const type of ["hmac", "signature"] as const) {
    for (const [preset, { title, scheme: row }] of Object.entries(presetsByType[type])) {
      const scheme = resolveScheme(row, {});
      const key = identityOf(scheme);
      if (key === identityOf(own)) continue;
      const before = known.get(key);
      if (before === undefined) known.set(key, { scheme, type, preset, titles: [title] });
      else before.titles.push(title);
    }
  }
  return [...known.values()].map((one) => ({ ...one, titles: alternatives(one.titles) }));
}

function alternatives(titles: readonly string[]): string {
  const shown = titles.slice(0, TITLES_SHOWN_MAX);
  return [...shown, ...shown.length < titles.length ? ["another provider"] : []].join(" or ");
}

/** Tells whether two schemes have a signature in a header of the same name. */
export function sharesHeader(one: Scheme, other: Scheme): boolean {
  const names = signatureHeaders(one).map((name) => name.toLowerCase());
  return signatureHeaders(other).some((name) => names.includes(name.toLowerCase()));
}

/** Returns the text that two schemes have in common when they sign alike. */
function identityOf(scheme: Scheme): string {
  const { tolerance: _tolerance, delivery_id: _id, url: _url, identity: _identity, ...signing } =
    scheme;
  const header = signatureHeaders(scheme);
  const entries = Object.entries({ ...signing, header })
    .filter(([, value]) => value !== undefined).sort(([a], [b]) => a < b ? -1 : 1);
  return JSON.stringify(entries).toLowerCase();
}

/** Lists the condition's own scheme with the time in another format. */
export function* otherTimeFormats(scheme: Scheme): Generator<Writing> {
  const { timestamp } = scheme;
  if (timestamp === undefined) return;
  for (const format of TIMESTAMP_FORMATS) {
    if (format === timestamp.format) continue;
    const difference = formatDifference(format);
    yield { scheme: { ...scheme, timestamp: { ...timestamp, format } }, difference };
  }
}

/** Says that a time is written in another format. */
export function formatDifference(format: TimestampSource["format"]): string {
  const forms = {
    unix_s: "in seconds since 1970",
    unix_ms: "in milliseconds since 1970",
    rfc3339: "as a date and time",
    rfc1123: "as a date and time of HTTP",
  };
  return `The time is written ${
    forms[format]
  }: set \`format: ${format}\` of \`timestamp\`, or let the sender change it.`;
}

/** Lists the condition's own scheme with signatures in other headers, and written in other ways. */
export function* otherPlaces(scheme: Scheme, { headers }: LaunchRequest): Generator<Writing> {
  const own = signatureHeaders(scheme).map((name) => name.toLowerCase());
  const names = [...headers.keys()];
  names.sort((a, b) => Number(own.includes(b)) - Number(own.includes(a)));
  let count = 0;
  for (const name of names) {
    const isOwn = own.includes(name);
    const place = isOwn ? {} : { header: name, body_field: undefined };
    const what = isOwn
      ? `The signature in header ${name} is written in another way`
      : `The signature is in header ${name}`;
    for (const text of [{}, ...signatureTexts(headers.get(name) ?? "", scheme)]) {
      const changes = changesOf(scheme, { ...place, ...text });
      if (changes.length === 0) continue;
      if (++count > SCHEMES_MAX) return;
      const difference = `${what}: set ${changes.join(", ")}, or let the sender change it.`;
      yield { scheme: { ...scheme, ...place, ...text }, difference };
    }
  }
}

function changesOf(scheme: Scheme, other: Partial<Scheme>): string[] {
  return Object.entries(other).flatMap(([name, value]) => {
    const before = Object.entries(scheme).find(([own]) => own === name)?.[1];
    if (before === value || name === "body_field") return [];
    if (name === "prefix" && !SHOWN_PREFIX.test(String(value))) {
      return ["`prefix` to the text before it"];
    }
    if (value === undefined) return [`no \`${name}\``];
    return [`\`${name}: ${name === "header" ? value : JSON.stringify(value)}\``];
  });
}

/** The places in which the parts of other contents may be. */
interface ContentSources {
  /** The schemes of all providers that sign alike. */
  schemes: readonly Scheme[];
  /** The fields in which timestamp conditions read the time. */
  times: readonly Field[];
}

/** Lists the condition's own scheme with other signed content. */
export function* otherContents(
  scheme: Scheme,
  request: LaunchRequest,
  { schemes, times }: ContentSources,
): Generator<Writing> {
  const own = signedContents(scheme);
  const signsTime = own.flatMap(parseTemplate).some((part) => isPlain(part, "timestamp"));
  const templates = new Set(schemes.flatMap(signedContents));
  let count = 0;
  for (const template of templates) {
    const parts = parseTemplate(template);
    if (own.includes(template) || !parts.some(coversBody) || parts.some(isNamed)) continue;
    const isWeaker = signsTime && !parts.some((part) => isPlain(part, "timestamp"));
    const timestamps = timeSources(scheme, parts, request, { schemes, times });
    const ids = idSources(scheme, parts, request, schemes);
    for (const timestamp of timestamps) {
      for (const id of ids) {
        if (++count > SCHEMES_MAX) return;
        const settings = [
          `\`signed_content: ${JSON.stringify(template)}\``,
          ...timestamp === scheme.timestamp ? [] : ["`timestamp` to the place of its time"],
          ...id === scheme.id ? [] : ["`id` to the place of its id"],
        ];
        const difference = isWeaker
          ? `Signed is other content, without the time: let the sender sign ${own.join(" or ")}. ` +
            `With ${
              settings.join(", ")
            } it would match, and whoever has seen a request could send it again ` +
            "with a new time."
          : `Signed is other content: set ${settings.join(", ")}.`;
        yield { scheme: { ...scheme, signed_content: template, timestamp, id }, difference };
      }
    }
  }
}

function isNamed(part: TemplatePart): boolean {
  return "kind" in part && part.kind === "named";
}

/** The places of the time that a content needs; the scheme's own where it has one, or needs none. */
function timeSources(
  scheme: Scheme,
  parts: readonly TemplatePart[],
  { headers }: LaunchRequest,
  { schemes, times }: ContentSources,
): (TimestampSource | undefined)[] {
  const isNeeded = parts.some((part) => isPlain(part, "timestamp"));
  if (!isNeeded || scheme.timestamp !== undefined || times.length === 1) return [scheme.timestamp];
  const names = new Set(
    schemes.flatMap(({ timestamp }) =>
      timestamp?.in === "header" ? [timestamp.name.toLowerCase()] : []
    ),
  );
  for (const name of headers.keys()) if (/time|date|stamp/.test(name)) names.add(name);
  const found = [...names].flatMap((name): TimestampSource[] => {
    const text = headers.get(name);
    const format = TIMESTAMP_FORMATS.find((format) =>
      text !== null && parseTimestamp(text, format) !== undefined
    );
    return format === undefined ? [] : [{ in: "header", name, format }];
  });
  const isList = scheme.field !== undefined && scheme.list_separator !== undefined;
  const items = isList
    ? ["t", "ts"].map((name): TimestampSource => ({ in: "signature", name, format: "unix_s" }))
    : [];
  return [...items, ...found].slice(0, SOURCES_MAX);
}

function idSources(
  scheme: Scheme,
  parts: readonly TemplatePart[],
  { headers }: LaunchRequest,
  schemes: readonly Scheme[],
): (Field | undefined)[] {
  if (!parts.some((part) => isPlain(part, "id")) || scheme.id !== undefined) return [scheme.id];
  const known = schemes.flatMap(({ id, delivery_id }) =>
    [id, delivery_id].flatMap((field) => field && isInHead(field) ? [field.name.toLowerCase()] : [])
  );
  const names = [...headers.keys()].filter((name) => known.includes(name) || /\bid$/.test(name));
  return names.slice(0, SOURCES_MAX).map((name) => ({ in: "header", name }));
}
