/**
 * Providers that sign with a private key of their own.
 *
 * @module
 */
import type { SigningPreset } from "../preset.ts";

/** Discord tries a wrong signature when the URL is set. */
const DISCORD_NEEDS = { refused: { authentication: 401 } } as const;

/** The scheme of everything that Discord sends. */
const discordScheme = {
  algorithm: "ed25519",
  header: "X-Signature-Ed25519",
  encoding: "hex",
  signed_content: "{timestamp}{body}",
  timestamp: { in: "header", name: "X-Signature-Timestamp", format: "unix_s" },
  key_encoding: "hex",
} as const satisfies SigningPreset["scheme"];

/** The rows. */
export const publicKeys = {
  discord: {
    title: "Discord, interactions",
    source: "https://discord.com/developers/docs/interactions/overview",
    needs: DISCORD_NEEDS,
    setup:
      "Open the application's General Information. Copy the public key, and paste the URL as Interactions Endpoint URL.",
    vector: "library",
    // discord.com/developers/docs/interactions/receiving-and-responding
    note:
      'Waits three seconds for an answer such as `{"type":4,"data":{"content":"…"}}`: give the trigger such a response',
    scheme: { ...discordScheme, delivery_id: { in: "body", name: "id" } },
    handshakes: [{
      method: "POST",
      // Webhook events have the type 1 too.
      when: "body.type == 1 && !has(body.event)",
      verified: true,
      response: { type: "json", json: { type: 1 } },
    }],
  },
  discord_events: {
    title: "Discord, webhook events",
    source: "https://discord.com/developers/docs/events/webhook-events",
    needs: { ...DISCORD_NEEDS, response: { status: 204 } },
    setup:
      "Open the application's Webhooks. Paste the URL, and choose the events. Copy the public key.",
    vector: "library",
    event: { in: "body", name: "/event/type" },
    scheme: discordScheme,
    handshakes: [{
      method: "POST",
      when: "body.type == 0",
      verified: true,
      response: { status: 204, type: "text", text: "", content_type: "application/json" },
    }],
  },
  sendgrid: {
    title: "SendGrid Event Webhook",
    source:
      "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
    setup:
      "Open Settings > Mail Settings > Event Webhook > Create. Enable Signed Event Webhook, and copy the verification key.",
    vector: "published",
    event: { in: "body", name: "/0/event" },
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
