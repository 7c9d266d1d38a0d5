/**
 * Every preset, by the type of condition that takes it. A new provider is one row in the file of its kind.
 *
 * @module
 */
import type { HandshakePreset, SigningPreset, TokenPreset } from "../preset.ts";
import { handshakeRows, signingRows, tokenRows } from "./groups.ts";

/** Presets of `hmac`: the sender and the receiver share a secret. */
export const hmacPresets: Readonly<Record<string, SigningPreset>> = signingRows("hmac");

/** Presets of `signature`: the receiver knows a public key. */
export const signaturePresets: Readonly<Record<string, SigningPreset>> = signingRows("signature");

/** Presets of `static_token`: the sender sends a secret. */
export const tokenPresets: Readonly<Record<string, TokenPreset>> = tokenRows();

/** All presets, by the type of condition that takes them. */
export const presetsByType = {
  hmac: hmacPresets,
  signature: signaturePresets,
  static_token: tokenPresets,
} as const;

/** Presets of a trigger's `handshakes`. */
export const handshakePresets: Readonly<Record<string, HandshakePreset>> = handshakeRows();

/** A type of condition that takes presets. */
export type PresetType = keyof typeof presetsByType;

/** Tells whether a provider puts its token into the body, which `redact: true` stores without it. */
export function sendsTokenInBody(type: string, name: string): boolean {
  return type === "static_token" && tokenPresets[name]?.token.in === "body";
}
