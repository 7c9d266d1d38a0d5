/**
 * The settings that `hmac` and `signature` share: a preset, or a scheme of its own, or a preset with some
 * fields overridden.
 *
 * @module
 */
import { z } from "zod";
import type { Problem } from "../../platform/errors.ts";
import { refuseField } from "../../platform/schema/schema.ts";
import type { Field } from "../field.ts";
import { isOwnTimeSigned, signsBody } from "./coverage.ts";
import type { SigningPreset } from "./preset.ts";
import { presetsByType, type PresetType } from "./presets/mod.ts";
import { resolveScheme, type Scheme, type SchemeSettings, signedContents } from "./scheme.ts";
import { coversBody, isPlain, isTemplate, parseTemplate } from "./template.ts";

/** The settings that define a scheme. */
interface SigningSettings extends SchemeSettings {
  preset?: string | undefined;
}

type Presets = Readonly<Record<string, SigningPreset>>;

/** Makes the schema of a preset's name. Its error names the type that has the preset. */
export function presetSchema(type: PresetType) {
  return z.enum(Object.keys(presetsByType[type]), {
    error: ({ input }) => {
      const [other] = Object.entries(presetsByType).find(([, presets]) =>
        typeof input === "string" && Object.hasOwn(presets, input)
      ) ?? [];
      return other && `Must be a preset of ${type}: this is one of ${other}`;
    },
  }).optional().describe(
    "A known provider; any other field overrides the provider's own",
  );
}

/** Returns the whole scheme of a condition's settings. */
export function schemeOf(settings: SigningSettings, presets: Presets): Scheme {
  const { preset } = settings;
  const row = preset === undefined ? undefined : presets[preset]?.scheme;
  // A later version may have stored a preset that this one does not know.
  if (preset !== undefined && row === undefined) throw new TypeError(`Unknown preset: ${preset}`);
  return resolveScheme(row, settings);
}

/** Fills in the defaults of a scheme without a preset, in a schema's `overwrite`. */
export function fillGeneralForm<T extends SigningSettings>(
  settings: T,
  encoding: Scheme["encoding"],
): T {
  if (settings.preset !== undefined) return settings;
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  // The defaults belong to T, and given fields override them.
  return { encoding, prefix: "", signed_content: "{body}", ...Object.fromEntries(given) } as T;
}

/** Refuses settings that make no whole scheme, in a schema's `superRefine`. */
export function checkScheme(
  settings: SigningSettings,
  context: z.RefinementCtx,
  presets: Presets,
  algorithms: readonly string[],
): void {
  const refuse = (name: string, message: string) => refuseField(context, [name], message);
  if (settings.header !== undefined && settings.body_field !== undefined) {
    refuse("body_field", "Must not stand beside 'header': a signature has one place");
  }
  if (settings.preset === undefined) {
    if (settings.algorithm === undefined) {
      const listed = algorithms.map((algorithm) => JSON.stringify(algorithm)).join(", ");
      refuse("algorithm", `Expected one of ${listed}, or a preset`);
    }
    if (settings.header === undefined && settings.body_field === undefined) {
      refuse("header", "Expected the header that carries the signature, or a preset");
    }
  }
  const scheme = schemeOf(settings, presets);
  checkContent(settings, scheme, refuse);
  if (scheme.field !== undefined && scheme.field_separator === undefined) {
    refuse("field_separator", "Expected the text between a field's name and its value");
  }
  const inSignature = scheme.timestamp?.in === "signature";
  if (inSignature && (scheme.field === undefined || scheme.list_separator === undefined)) {
    refuse("timestamp", "Must not be in the signature: it has no 'field' and 'list_separator'");
  }
}

function checkContent(
  settings: SigningSettings,
  scheme: Scheme,
  refuse: (name: string, message: string) => void,
): void {
  for (const template of signedContents(scheme).filter(isTemplate)) {
    const parts = parseTemplate(template);
    const own = settings.preset === undefined || settings.signed_content !== undefined;
    if (own && scheme.body_field === undefined && !parts.some(coversBody)) {
      refuse("signed_content", "Must contain {body}: anyone can change what is not signed");
    }
    if (scheme.body_field !== undefined && parts.some((part) => isPlain(part, "body"))) {
      refuse("signed_content", "Must not contain {body}: the signature is a part of it");
    }
    if (scheme.id === undefined && parts.some((part) => isPlain(part, "id"))) {
      refuse("id", "Expected the place of {id}");
    }
  }
}

/** Refuses a scheme that signs `{timestamp}` where not exactly one place of it is known. */
export function reviewTimestamp(scheme: Scheme, times: readonly Field[]): Problem[] {
  const signsTimestamp = signedContents(scheme).flatMap(parseTemplate)
    .some((part) => isPlain(part, "timestamp"));
  if (!signsTimestamp || scheme.timestamp !== undefined || times.length === 1) return [];
  const detail =
    `Cannot sign {timestamp} without exactly one timestamp condition that says where it is: the trigger has ${times.length}`;
  return [{ pointer: "/signed_content", detail }];
}

/**
 * Warns of a time or a body that neither this scheme nor another of the trigger signs. Of a provider that signs no body
 * the page of providers tells: its owner can change nothing.
 */
export function warnOfScheme(
  scheme: Scheme,
  settings: SigningSettings,
  schemes: readonly Scheme[],
): Problem[] {
  const warnings: Problem[] = [];
  if (scheme.timestamp && !isOwnTimeSigned(scheme, schemes)) {
    const detail =
      "No signature covers this timestamp: anyone who has seen a request can send it again with a new one";
    warnings.push({ pointer: "/timestamp", detail });
  }
  const isProviders = settings.preset !== undefined && settings.signed_content === undefined;
  if (!isProviders && !schemes.some(signsBody)) {
    const detail =
      "No signature covers the body: anyone who has seen a request can send its signature with another body";
    warnings.push({ pointer: "", detail });
  }
  if (scheme.timestamp === undefined && settings.tolerance !== undefined) {
    const detail =
      "This has no effect: the scheme names no timestamp, and a timestamp condition has a tolerance of its own";
    warnings.push({ pointer: "/tolerance", detail });
  }
  return warnings;
}
