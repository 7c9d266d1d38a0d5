/**
 * Providers of content, pages and forms.
 *
 * @module
 */
import type { PresetGroup } from "../preset.ts";

/** The rows. */
export const content = {
  title: "Content, pages and forms",
  hmac: {
    sanity: {
      title: "Sanity",
      source: "https://www.sanity.io/docs/webhooks",
      setup: "Open the project's API > Webhooks > Create. Enter a secret.",
      vector: "library",
      event: { in: "header", name: "sanity-operation" },
      scheme: {
        algorithm: "sha256",
        encoding: "base64url",
        header: "sanity-webhook-signature",
        list_separator: ",",
        field_separator: "=",
        field: "v1",
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "signature", name: "t", format: "unix_ms" },
        delivery_id: { in: "header", name: "idempotency-key" },
      },
    },
    storyblok: {
      title: "Storyblok",
      source: "https://www.storyblok.com/docs/concepts/webhooks",
      setup: "Open the space's Settings > Webhooks > New. Enter a webhook secret.",
      vector: {
        none:
          "its page; storyblok-js-client 7.7.6, which has nothing for webhooks; public code that names its header",
      },
      event: { in: "body", name: "action" },
      scheme: { algorithm: "sha1", header: "webhook-signature" },
    },
    ghost: {
      title: "Ghost",
      source:
        "https://github.com/TryGhost/Ghost/blob/main/ghost/core/core/server/services/webhooks/WebhookTrigger.js",
      setup: "Open Settings > Integrations > Add custom integration > Add webhook. Enter a secret.",
      note: 'Versions before 5.87 sign the body alone: add `signed_content: "{body}"`',
      vector: { none: "its page; public code that names its header" },
      scheme: {
        algorithm: "sha256",
        header: "X-Ghost-Signature",
        list_separator: ",",
        field_separator: "=",
        field: "sha256",
        signed_content: "{body}{timestamp}",
        timestamp: { in: "signature", name: "t", format: "unix_ms" },
      },
    },
    webflow: {
      title: "Webflow",
      source: "https://developers.webflow.com/data/docs/working-with-webhooks",
      setup:
        "Create the webhook by the API. The secret is the client secret of the app, or the `secretKey` of the webhook.",
      vector: "library",
      event: { in: "body", name: "triggerType" },
      scheme: {
        algorithm: "sha256",
        header: "x-webflow-signature",
        signed_content: "{timestamp}:{body}",
        timestamp: { in: "header", name: "x-webflow-timestamp", format: "unix_ms" },
      },
    },
    kontent_ai: {
      title: "Kontent.ai",
      source: "https://kontent.ai/learn/docs/webhooks/javascript",
      setup: "Open Environment settings > Webhooks > Create. Copy the secret.",
      vector: "library",
      scheme: {
        algorithm: "sha256",
        encoding: "base64",
        header: "X-Kontent-ai-Signature",
      },
    },
    tally: {
      title: "Tally",
      source: "https://tally.so/help/webhooks",
      setup: "Open the form's Integrations > Webhooks > Connect. Add a signing secret.",
      vector: { none: "its page; public code that names its header" },
      event: { in: "body", name: "eventType" },
      scheme: {
        algorithm: "sha256",
        encoding: "base64",
        header: "Tally-Signature",
        delivery_id: { in: "body", name: "eventId" },
      },
    },
  },
  static_token: {
    strapi: {
      title: "Strapi",
      source: "https://docs.strapi.io/cms/backend-customization/webhooks",
      setup:
        "Open Settings > Webhooks > Create. Add the header Authorization with the value `Bearer SECRET`.",
      note: "Signs nothing: the secret is a header that the webhook is given",
      event: { in: "header", name: "X-Strapi-Event" },
      token: { in: "header", name: "Authorization", prefix: "Bearer " },
    },
    prismic: {
      title: "Prismic",
      source: "https://prismic.io/docs/webhooks",
      setup: "Open Settings > Webhooks > Create. Enter a secret.",
      event: { in: "body", name: "type" },
      token: { in: "body", name: "secret" },
    },
    datocms: {
      title: "DatoCMS",
      source: "https://www.datocms.com/docs/general-concepts/webhooks",
      setup: "Open Settings > Webhooks > New. Enter the secret as the password of HTTP basic auth.",
      event: { in: "body", name: "event_type" },
      token: { in: "header", name: "Authorization", basic: {} },
      delivery_id: { in: "body", name: "webhook_call_id" },
    },
  },
} as const satisfies PresetGroup;
