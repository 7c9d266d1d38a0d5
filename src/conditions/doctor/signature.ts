/**
 * The diagnosis of the condition `signature`.
 *
 * @module
 */
import type { KeyObject } from "node:crypto";
import { signatureScheme, type SignatureSettings } from "../signature.ts";
import { signatureMatcher } from "../signing/algorithms.ts";
import { readVerificationKey } from "../signing/keys.ts";
import type { DiagnosisContext } from "./context.ts";
import type { Clue } from "./finding.ts";
import { diagnoseSigned, type SigningKey } from "./signed.ts";

interface PublicKey extends SigningKey {
  key: KeyObject;
}

/** Diagnoses a signature by a private key that is refused. */
export async function diagnoseSignature(
  settings: SignatureSettings,
  context: DiagnosisContext,
): Promise<Clue[]> {
  const own = signatureScheme(settings);
  const { algorithm } = own;
  const keys = (settings.public_keys ?? []).flatMap((setting): PublicKey[] => {
    const key = readVerificationKey(setting, own);
    return typeof key === "string" ? [] : [{ key }];
  });
  return await diagnoseSigned({
    scheme: own,
    preset: settings.preset,
    // A key of another algorithm verifies nothing.
    canSign: (scheme) => scheme.algorithm === algorithm,
    keys: {
      own: () => keys,
      // A public key has one reading.
      all: () => [],
      others: () => Promise.resolve([]),
      matcher: (scheme, some) =>
        signatureMatcher({ ...scheme, algorithm }, some.map(({ key }) => key)),
    },
    keyWord: "public key",
  }, context);
}
