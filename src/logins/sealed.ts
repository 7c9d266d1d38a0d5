/**
 * Encrypted values that a browser keeps for a while: nothing is stored for people who are not known yet.
 *
 * @module
 */
import { LockedSecretError, type SecretBox } from "../triggers/secrets.ts";

/** The time for which a value can be opened. */
export const SEALED_MS = 10 * 60_000;
/** By so much the clock of the instance that opens a value may be behind that of the one that has sealed it. */
export const BEHIND_MS = 30_000;

const ENCODING = { alphabet: "base64url", omitPadding: true } as const;

/**
 * Seals a value.
 *
 * @param purpose its use: it can be opened for this one alone
 */
export function sealTimed(
  value: object,
  { box, purpose, now_ms }: { box: SecretBox; purpose: string; now_ms: number },
): string {
  const text = JSON.stringify({ value, sealed_ms: now_ms });
  return new TextEncoder().encode(box.seal(text, purpose)).toBase64(ENCODING);
}

/** Opens a sealed value; undefined when it is not one of this service and purpose, or too old. */
export function openTimed(
  sealed: string,
  { box, purpose, now_ms }: { box: SecretBox; purpose: string; now_ms: number },
): unknown {
  try {
    const bytes = Uint8Array.fromBase64(sealed, { alphabet: "base64url" });
    const { value, sealed_ms } = JSON.parse(box.open(new TextDecoder().decode(bytes), purpose));
    const age_ms = now_ms - sealed_ms;
    return age_ms >= -BEHIND_MS && age_ms < SEALED_MS ? value : undefined;
  } catch (error) {
    if (error instanceof LockedSecretError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
