/**
 * How requests are signed, whichever kind of condition says so.
 *
 * @module
 */
import type { ConditionSettings } from "../condition.ts";
import { hmac, hmacScheme, type HmacSettings } from "../hmac.ts";
import { signature, signatureScheme, type SignatureSettings } from "../signature.ts";
import type { Scheme } from "./scheme.ts";

/** The scheme of a condition that a request is signed; undefined for any other. */
export function signingScheme(settings: ConditionSettings): Scheme | undefined {
  // The type of a condition says what its settings are.
  if (settings.type === hmac.type) return hmacScheme(settings as HmacSettings);
  if (settings.type === signature.type) return signatureScheme(settings as SignatureSettings);
  return undefined;
}
