/**
 * The handshakes of a trigger: its own, and those of the presets of its conditions.
 *
 * @module
 */
import { messageOf } from "../../platform/errors.ts";
import type { ConditionContext } from "../condition.ts";
import type { KnownCondition } from "../facts.ts";
import { resolveSecret, type SecretSetting, secretText } from "../secret.ts";
import type { Preset } from "../signing/preset.ts";
import { type HandshakeOptions, type PreparedHandshake, prepareHandshake } from "./prepare.ts";
import type { HandshakeResponse, HandshakeRow } from "./row.ts";

/** A handshake as the owner of a trigger writes it: complete, or by a preset. */
export interface OwnHandshake {
  readonly preset?: string | undefined;
  readonly method?: HandshakeRow["method"] | undefined;
  readonly when?: string | undefined;
  readonly verified?: boolean | undefined;
  readonly response?: HandshakeResponse | undefined;
  readonly secret?: SecretSetting | undefined;
}

/** Prepares the handshakes of a trigger, its own first. */
export async function prepareHandshakes(
  own: readonly OwnHandshake[],
  conditions: readonly KnownCondition[],
  context: ConditionContext,
): Promise<PreparedHandshake[]> {
  const presets = own.some(({ preset }) => preset !== undefined)
    ? (await import("../signing/presets/mod.ts")).handshakePresets
    : {};
  const ofOwner = own.flatMap((settings, index) => {
    const preset = settings.preset === undefined ? undefined : presets[settings.preset];
    const options = ownOptions(settings, preset, { index, context });
    const rows = settings.preset === undefined ? rowOf(settings) : preset?.handshakes ?? [];
    return rows.map((row) => usable(row, options));
  });
  const ofConditions = conditions.flatMap(({ kind, settings }) => {
    const preset = kind.preset?.(settings);
    const secretOf = kind.handshakeKey?.(settings, context);
    const options = { name: preset?.title ?? settings.type, ...(secretOf && { secretOf }) };
    return (preset?.handshakes ?? []).map((row) => usable(row, options))
      // Such a secret is the owner's to set.
      .filter(({ readsSecret }) => !readsSecret);
  });
  return [...ofOwner, ...ofConditions];
}

function ownOptions(
  { preset: presetName, secret }: OwnHandshake,
  preset: Preset | undefined,
  { index, context }: { index: number; context: ConditionContext },
): HandshakeOptions {
  const name = presetName === undefined
    ? `handshakes/${index}`
    : `handshakes/${index} (${preset?.title ?? presetName})`;
  if (secret === undefined) return { name };
  const text = resolveSecret(secretText(secret), (variable) => context.env(variable));
  if (!text) return { name, problem: "its secret is not set" };
  const bytes = new TextEncoder().encode(text);
  return { name, secretText: text, secretOf: () => bytes };
}

function rowOf({ method, when, verified, response }: OwnHandshake): HandshakeRow[] {
  return method && response ? [{ method, when, verified, response }] : [];
}

/** Prepares a handshake. One that an earlier version stored and that cannot be used answers nothing. */
function usable(row: HandshakeRow, options: HandshakeOptions): PreparedHandshake {
  try {
    return prepareHandshake(row, options);
  } catch (error) {
    return {
      name: options.name,
      row,
      problem: messageOf(error),
      readsSecret: false,
      isSigning: false,
      credentials: [],
      answer: () => Promise.resolve(undefined),
      example: () => ({ query: new URLSearchParams(), headers: {}, body: undefined }),
    };
  }
}
