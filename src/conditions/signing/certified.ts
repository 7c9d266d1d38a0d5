/**
 * The verifier of schemes whose requests name the certificate of the key that has signed them.
 *
 * @module
 */
import type { KeyObject } from "node:crypto";
import type { Check, Refusal } from "../check.ts";
import { describeField, readField, readText } from "../field.ts";
import type { LaunchRequest } from "../request.ts";
import { signatureMatcher } from "./algorithms.ts";
import type { Certificates } from "./certificates.ts";
import type { CertificateSource, Scheme, SignatureAlgorithm } from "./scheme.ts";
import { prepareVerifier, type VerifierParts } from "./verify.ts";

/** Makes the check of a scheme with a certificate. */
export function prepareCertified(
  scheme: Scheme & { algorithm: SignatureAlgorithm },
  source: CertificateSource,
  certificates: Certificates,
  parts: Omit<VerifierParts, "matcher" | "hint">,
): Check {
  const { other } = source;
  const verifierOf = (algorithm: SignatureAlgorithm, key: KeyObject): Check => {
    const own = { ...scheme, algorithm };
    return prepareVerifier(own, { ...parts, matcher: signatureMatcher(own, [key]), hint: "" });
  };
  return async (request) => {
    const url = urlOf(request, source);
    if (!(url instanceof URL)) return url;
    const key = await certificates.keyOf(url, request.receivedAt_ms);
    if (typeof key === "string") {
      return {
        reason: `The certificate that ${describeField(source)} names cannot be used: ${key}`,
      };
    }
    const isOther = other !== undefined && readField(request, other.where) === other.equals;
    return await verifierOf(isOther ? other.algorithm : scheme.algorithm, key)(request);
  };
}

/** Reads the URL of the certificate, which must be the provider's: anyone may publish one elsewhere. */
function urlOf(request: LaunchRequest, source: CertificateSource): URL | Refusal {
  const text = readText(request, source);
  if (typeof text !== "string") return text;
  const url = source.url.test(text) ? URL.parse(text) : null;
  return url ?? {
    reason: `${describeField(source)} is no URL of the provider's certificates`,
    found: text.slice(0, 128),
  };
}
