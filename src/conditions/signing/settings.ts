/**
 * What the settings of `hmac` and `signature` have in common: a preset, or a scheme of its own, or
 * a preset with some fields in the place of its own.
 *
 * @module
 */
import { z } from "zod";
import type { Problem } from "../../platform/errors.ts";
import { refuseField } from "../../platform/schema.ts";
import type { Field } from "../field.ts";
import { isOwnTimeSigned, signsBody } from "./coverage.ts";
import type { SigningPreset } from "./preset.ts";
import { presetsByType, type PresetType } from "./presets/mod.ts";
import { resolveScheme, type Scheme, type SchemeSettings, signedContents } from "./scheme.ts";
import { coversBody, isPlain, isTemplate, parseTemplate } from "./template.ts";

/** The settings of a condition that a request is signed. */
export interface SigningSettings extends SchemeSettings {
  preset?: string | undefined;
}

type Presets = Readonly<Record<string, SigningPreset>>;

/** Makes the schema of a preset's name. Its error says of which other type a preset is. */
export function presetSchema(type: PresetType) {
  return z.enum(Object.keys(presetsByType[type]), {
    error: ({ input }) => {
      const [other] = Object.entries(presetsByType).find(([, presets]) =>
        typeof input === "string" && Object.hasOwn(presets, input)
      ) ?? [];
      return other && `Must be a preset of ${type}: this is one of ${other}`;
    },
  }).optional().describe(
    "A provider that is known; any other field stands in the place of the provider's own",
  );
}

/** The whole scheme of a condition's settings. */
export function schemeOf(settings: SigningSettings, presets: Presets): Scheme {
  const { preset } = settings;
  const row = preset === undefined ? undefined : presets[preset]?.scheme;
  // The schema knows all presets, but those of a later version.
  if (preset !== undefined && row === undefined) throw new TypeError(`Unknown preset: ${preset}`);
  return resolveScheme(row, settings);
}

/** Fills in, in a schema's `overwrite`, what the general form has without being told. */
export function fillGeneralForm<T extends SigningSettings>(
  settings: T,
  encoding: Scheme["encoding"],
): T {
  if (settings.preset !== undefined) return settings;
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  // The defaults are of the same fields, and those that are given stand.
  return { encoding, prefix: "", signed_content: "{body}", ...Object.fromEntries(given) } as T;
}

/** Refuses, in a schema's `superRefine`, settings that make no whole scheme. */
export function checkScheme(
  settings: SigningSettings,
  context: z.RefinementCtx,
  presets: Presets,
  algorithms: readonly string[],
): void {
  const refuse = (name: string, message: string) => refuseField(context, [name], message);
  if (settings.header !== undefined && settings.body_field !== undefined) {
    refuse("body_field", "Must not stand beside 'header': a signature is in one place");
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
    refuse("field_separator", "Expected what stands between a field's name and its value");
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
      refuse("signed_content", "Must contain {body}: what is not signed is open");
    }
    if (scheme.body_field !== undefined && parts.some(coversBody)) {
      refuse("signed_content", "Must not contain {body}: the signature is a part of it");
    }
    if (scheme.id === undefined && parts.some((part) => isPlain(part, "id"))) {
      refuse("id", "Expected where {id} is");
    }
  }
}

/** Refuses a scheme that signs `{timestamp}` where nothing says in which one place that is. */
export function reviewTimestamp(scheme: Scheme, times: readonly Field[]): Problem[] {
  const signsTimestamp = signedContents(scheme).flatMap(parseTemplate)
    .some((part) => isPlain(part, "timestamp"));
  if (!signsTimestamp || scheme.timestamp !== undefined || times.length === 1) return [];
  const detail =
    `Cannot sign {timestamp} without exactly one timestamp condition that says where it is: the trigger has ${times.length}`;
  return [{ pointer: "/signed_content", detail }];
}

/** Warns of what the scheme leaves unsigned, unless another scheme of the trigger signs it: both must pass. */
export function warnOfScheme(
  scheme: Scheme,
  settings: SigningSettings,
  schemes: readonly Scheme[],
): Problem[] {
  const warnings: Problem[] = [];
  if (scheme.timestamp && !isOwnTimeSigned(scheme, schemes)) {
    const detail =
      "The timestamp lies outside what is signed: who overheard a request can send it again with a new one";
    warnings.push({ pointer: "/timestamp", detail });
  }
  if (!schemes.some(signsBody)) {
    const detail =
      "The body lies outside what is signed: who overheard a request can send the signature with another body";
    warnings.push({ pointer: "", detail });
  }
  if (scheme.timestamp === undefined && settings.tolerance !== undefined) {
    const detail =
      "This has no effect: the scheme names no timestamp, and a timestamp condition has a tolerance of its own";
    warnings.push({ pointer: "/tolerance", detail });
  }
  return warnings;
}
