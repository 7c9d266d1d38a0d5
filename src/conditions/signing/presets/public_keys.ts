/**
 * Providers that sign with a private key of their own.
 *
 * @module
 */
import type { SigningPreset } from "../preset.ts";

/** The rows. */
export const publicKeys = {
  discord: {
    title: "Discord",
    source: "https://discord.com/developers/docs/interactions/overview",
    // Discord tries out a wrong signature when the URL is set and wants 401 for an answer. Every
    // refusal here is a 400, so that Discord does not take the URL: a proxy must change the status.
    note: "Wants 401 for a wrong signature when the URL is set: a proxy must make it of the 400",
    scheme: {
      algorithm: "ed25519",
      header: "X-Signature-Ed25519",
      encoding: "hex",
      signed_content: "{timestamp}{body}",
      timestamp: { in: "header", name: "X-Signature-Timestamp", format: "unix_s" },
      delivery_id: { in: "body", name: "id" },
      key_encoding: "hex",
    },
    handshake: {
      when: { in: "body", name: "type", equals: 1 },
      answer: { json: { type: 1 } },
    },
  },
  sendgrid: {
    title: "SendGrid Event Webhook",
    source:
      "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
    scheme: {
      algorithm: "ecdsa_p256",
      signature_format: "der",
      encoding: "base64",
      header: "X-Twilio-Email-Event-Webhook-Signature",
      signed_content: "{timestamp}{body}",
      timestamp: {
        in: "header",
        name: "X-Twilio-Email-Event-Webhook-Timestamp",
        format: "unix_s",
      },
      delivery_id: { in: "body", name: "/0/sg_event_id" },
      key_encoding: "base64",
    },
  },
} as const satisfies Record<string, SigningPreset>;
