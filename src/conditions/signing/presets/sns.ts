/**
 * The scheme of Amazon SNS, by whose topics other services of AWS send, too.
 *
 * @module
 */
import type { HandshakePreset, SigningPreset } from "../preset.ts";

const scheme = {
  algorithm: "rsa_sha256",
  encoding: "base64",
  body_field: "Signature",
  signed_content: "{sns:message}",
  certificate: {
    in: "body",
    name: "SigningCertURL",
    url:
      /^https:\/\/sns\.[a-z0-9-]{3,32}\.amazonaws\.com(?:\.cn)?\/SimpleNotificationService-[0-9a-zA-Z]{1,64}\.pem$/,
    other: {
      where: { in: "body", name: "SignatureVersion" },
      equals: "1",
      algorithm: "rsa_sha1",
    },
  },
  delivery_id: { in: "body", name: "MessageId" },
} as const satisfies SigningPreset["scheme"];

/** The beginning and the end of a subscription. */
const handshakes = [{
  method: "POST",
  when: "body.Type == 'SubscriptionConfirmation'",
  verified: true,
  confirm: {
    url: "{body.SubscribeURL}",
    host: /^sns\.[a-z0-9-]{3,32}\.amazonaws\.com(?:\.cn)?$/,
  },
  response: { type: "text", text: "" },
}, {
  method: "POST",
  when: "body.Type == 'UnsubscribeConfirmation'",
  verified: true,
  response: { type: "text", text: "" },
}] as const satisfies HandshakePreset["handshakes"];

/** Makes the row of a provider that sends by a topic of SNS. */
export function snsPreset<Own extends Pick<SigningPreset, "title" | "source" | "setup">>(own: Own) {
  return { vector: "library", ...own, scheme, handshakes } as const;
}
