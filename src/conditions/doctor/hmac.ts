/**
 * The diagnosis of the condition `hmac`.
 *
 * @module
 */
import { hmacScheme, type HmacSettings } from "../hmac.ts";
import { isMac, macMatcher } from "../signing/algorithms.ts";
import type { KeyForm } from "../signing/keys.ts";
import type { Scheme } from "../signing/scheme.ts";
import { type DiagnosisContext, type KnownSecret, knownSecrets } from "./context.ts";
import type { Clue } from "./finding.ts";
import { differenceOf, type Reading, readingsOf } from "./secret_readings.ts";
import { diagnoseSigned, type SigningKey, type SigningKeys } from "./signed.ts";

interface MacKey extends SigningKey {
  key: Uint8Array;
}

/** Diagnoses an HMAC that is refused. */
export async function diagnoseHmac(
  settings: HmacSettings,
  context: DiagnosisContext,
): Promise<Clue[]> {
  return await diagnoseSigned({
    scheme: hmacScheme(settings),
    preset: settings.preset,
    canSign: ({ algorithm }) => isMac(algorithm),
    keys: macKeys(settings, context),
    keyWord: "secret",
  }, context);
}

function macKeys(settings: HmacSettings, context: DiagnosisContext): SigningKeys<MacKey> {
  const secrets = knownSecrets(settings.secrets, context);
  const own = byKeyForm((form) => readings(secrets, form));
  let others: Promise<(scheme: Scheme) => readonly MacKey[]> | undefined;
  return {
    own: (scheme) => own(scheme).filter(({ difference }) => difference === undefined),
    all: own,
    async others(scheme) {
      others ??= context.otherSecrets().then((secrets) =>
        byKeyForm((form) =>
          // Other readings of other secrets would be too many.
          readings(secrets, form).filter(({ isOwnReading }) => isOwnReading)
        )
      );
      return (await others)(scheme);
    },
    matcher({ algorithm }, keys) {
      if (!isMac(algorithm)) throw new TypeError(`No algorithm of an HMAC: ${algorithm}`);
      return macMatcher(algorithm, keys.map(({ key }) => key));
    },
  };
}

function readings(
  secrets: readonly KnownSecret[],
  form: KeyForm,
): (MacKey & { isOwnReading: boolean })[] {
  return secrets.flatMap((secret) => readingsOf(secret, form, true)).map(macKey);
}

function macKey(reading: Reading): MacKey & { isOwnReading: boolean } {
  const difference = differenceOf(reading, "Signed with");
  return {
    key: reading.bytes,
    isOwnReading: reading.what === undefined,
    ...(difference !== undefined && { difference }),
  };
}

/** Remembers what depends on the form of keys alone, which many schemes have in common. */
function byKeyForm<T>(make: (form: KeyForm) => T): (scheme: Scheme) => T {
  const made = new Map<string, T>();
  return ({ algorithm, key_encoding, key_prefix }) => {
    const name = `${key_encoding} ${key_prefix}`;
    return made.getOrInsertComputed(name, () => make({ algorithm, key_encoding, key_prefix }));
  };
}
