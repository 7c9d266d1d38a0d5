/**
 * Providers of files, forms and documents that sign with a shared secret.
 *
 * @module
 */
import type { SigningPreset } from "../preset.ts";

/** DocuSign signs with each key of the account, in a header for each, up to 100 times. */
const DOCUSIGN_HEADERS = Array.from({ length: 16 }, (_, at) => `X-DocuSign-Signature-${at + 1}`);

/** The rows. */
export const documents = {
  box: {
    title: "Box",
    source: "https://developer.box.com/guides/webhooks/v2/signatures-v2/",
    setup:
      "Open the app's Webhooks > Create webhook. Generate the keys under Manage signature keys.",
    note:
      "Has no handshake, by its pages on webhooks V2 and their signatures: nothing is sent before the first event",
    vector: "published",
    event: { in: "body", name: "trigger" },
    scheme: {
      algorithm: "sha256",
      encoding: "base64",
      header: ["Box-Signature-Primary", "Box-Signature-Secondary"],
      signed_content: "{body}{timestamp}",
      timestamp: { in: "header", name: "Box-Delivery-Timestamp", format: "rfc3339" },
      tolerance: 600,
      // The header Box-Delivery-Id changes when a delivery is repeated.
      delivery_id: { in: "body", name: "id" },
    },
  },
  dropbox: {
    title: "Dropbox",
    source: "https://www.dropbox.com/developers/reference/webhooks",
    setup: "Open the app's Settings > Webhooks. The secret is the app secret.",
    vector: "independent",
    scheme: { algorithm: "sha256", header: "X-Dropbox-Signature" },
    handshakes: [{
      method: "GET",
      response: { type: "text", text: "{query.challenge}" },
    }],
  },
  docusign: {
    title: "DocuSign Connect",
    source: "https://developers.docusign.com/platform/webhooks/connect/validate/",
    setup:
      "Open Settings > Connect > Add configuration. Add a key under Connect keys, and include the HMAC signature.",
    vector: "independent",
    event: { in: "body", name: "event" },
    note: "Signs with every key of the account: the first 16 are tried",
    scheme: { algorithm: "sha256", encoding: "base64", header: DOCUSIGN_HEADERS },
  },
  notion: {
    title: "Notion",
    source: "https://developers.notion.com/reference/webhooks",
    setup: "Open the integration's Webhooks > Create a subscription.",
    vector: "library",
    event: { in: "body", name: "type" },
    note:
      "The secret is the verification token that Notion posts, unsigned, when the URL is set: take any word first, find the token in the trigger log, as an admin, and enter it both there and here",
    handshakes: [{
      method: "POST",
      // Every event has a type.
      when: "has(body.verification_token) && !has(body.type)",
      tells: "{body.verification_token}",
      response: { type: "text", text: "" },
    }],
    scheme: {
      algorithm: "sha256",
      header: "X-Notion-Signature",
      prefix: "sha256=",
      delivery_id: { in: "body", name: "id" },
    },
  },
  contentful: {
    title: "Contentful",
    source:
      "https://github.com/contentful/node-apps-toolkit/blob/master/src/requests/sign-request.ts",
    setup:
      "Open Settings > Webhooks > Settings > Enable request verification. Then add the webhook.",
    vector: "library",
    event: { in: "header", name: "X-Contentful-Topic" },
    scheme: {
      algorithm: "sha256",
      header: "X-Contentful-Signature",
      signed_content: "{method}\n{contentful:path}\n{contentful:headers}\n{body}",
      timestamp: { in: "header", name: "X-Contentful-Timestamp", format: "unix_ms" },
      tolerance: 30,
      delivery_id: { in: "header", name: "X-Contentful-Idempotency-Key" },
    },
  },
  typeform: {
    title: "Typeform",
    source: "https://www.typeform.com/developers/webhooks/secure-your-webhooks/",
    setup: "Open the form's Connect > Webhooks > Add a webhook. Edit it, and enter a secret.",
    disablesEndpoints: true,
    vector: "independent",
    event: { in: "body", name: "event_type" },
    scheme: {
      algorithm: "sha256",
      encoding: "base64",
      header: "Typeform-Signature",
      prefix: "sha256=",
      delivery_id: { in: "body", name: "event_id" },
    },
  },
  calendly: {
    title: "Calendly",
    source: "https://developer.calendly.com/api-docs/overview/webhooks/webhook-signatures",
    setup: "Create the subscription by the API, with a `signing_key`.",
    vector: "independent",
    event: { in: "body", name: "event" },
    disablesEndpoints: true,
    scheme: {
      algorithm: "sha256",
      header: "Calendly-Webhook-Signature",
      list_separator: ",",
      field_separator: "=",
      field: "v1",
      signed_content: "{timestamp}.{body}",
      timestamp: { in: "signature", name: "t", format: "unix_s" },
      tolerance: 180,
    },
  },
  hubspot_v3: {
    title: "HubSpot, version 3",
    source:
      "https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation",
    setup: "Open the app's Webhooks > Create subscription. The secret is the client secret.",
    vector: "library",
    event: { in: "body", name: "/0/subscriptionType" },
    scheme: {
      algorithm: "sha256",
      encoding: "base64",
      header: "X-HubSpot-Signature-v3",
      // The documentation decodes some codes of the URL, HubSpot's own library decodes none.
      signed_content: [
        "{method}{hubspot:url}{body}{timestamp}",
        "{method}{url}{body}{timestamp}",
      ],
      timestamp: { in: "header", name: "X-HubSpot-Request-Timestamp", format: "unix_ms" },
      // A delivery is a batch, and HubSpot does not promise that an eventId is unique.
    },
  },
} as const satisfies Record<string, SigningPreset>;
