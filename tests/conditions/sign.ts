/**
 * What a sender does that signs its body and a timestamp with an HMAC.
 *
 * @module
 */
import { hmacScheme, type HmacSettings } from "../../src/conditions/hmac.ts";
import { macMaker } from "../../src/conditions/signing/algorithms.ts";
import { writeSignatures } from "../../src/conditions/signing/candidates.ts";
import { contentOf } from "../../src/conditions/signing/content.ts";
import { decodeSecret } from "../../src/conditions/signing/keys.ts";
import { signedContents } from "../../src/conditions/signing/scheme.ts";
import { parseTemplate } from "../../src/conditions/signing/template.ts";
import { request } from "./fixture.ts";

/** What a sender signs. */
export interface SignedParts {
  body: Uint8Array;
  /** The timestamp as it is sent; needed when `signed_content` names it. */
  timestamp?: string;
}

/** Makes the value of the signature's header, with the secret itself, not `{env:NAME}`. */
export function sign(settings: HmacSettings, secret: string, parts: SignedParts): string {
  const scheme = hmacScheme(settings);
  const { body, timestamp = "" } = parts;
  const key = decodeSecret(secret, scheme);
  const [template = ""] = signedContents(scheme);
  const facts = {
    timestamp: new TextEncoder().encode(timestamp),
    id: new Uint8Array(),
    url: () => "",
    built: new Map(),
  };
  const content = contentOf(parseTemplate(template), request({ body }), facts);
  if (!Array.isArray(content) || key === undefined) {
    throw new TypeError("Cannot sign a body and a timestamp alone as this scheme does");
  }
  return writeSignatures([macMaker(scheme.algorithm, key)(content)], scheme, timestamp);
}
