/**
 * Every preset, by the type of condition that takes it. A new provider is one row in one of these files.
 *
 * @module
 */
import type { SigningPreset, TokenPreset } from "../preset.ts";
import { commerce } from "./commerce.ts";
import { development } from "./development.ts";
import { documents } from "./documents.ts";
import { labelling } from "./labelling.ts";
import { messaging } from "./messaging.ts";
import { publicKeys } from "./public_keys.ts";
import { standardKeys, standardSecrets } from "./standard.ts";
import { tokens } from "./tokens.ts";

/** Presets of `hmac`: the sender and the receiver share a secret. */
export const hmacPresets: Readonly<Record<string, SigningPreset>> = {
  ...development,
  ...commerce,
  ...messaging,
  ...documents,
  ...labelling,
  ...standardSecrets,
};

/** Presets of `signature`: the receiver knows a public key. */
export const signaturePresets: Readonly<Record<string, SigningPreset>> = {
  ...publicKeys,
  ...standardKeys,
};

/** Presets of `static_token`: the sender sends a secret. */
export const tokenPresets: Readonly<Record<string, TokenPreset>> = tokens;

/** All presets, by the type of condition that takes them. */
export const presetsByType = {
  hmac: hmacPresets,
  signature: signaturePresets,
  static_token: tokenPresets,
} as const;

/** A type of condition that takes presets. */
export type PresetType = keyof typeof presetsByType;
