/**
 * Providers of shops and shipping.
 *
 * @module
 */
import type { PresetGroup } from "../preset.ts";
import { standardPreset } from "./standard.ts";

/** The rows. */
export const shops = {
  title: "Shops and shipping",
  hmac: {
    squarespace: {
      title: "Squarespace",
      source: "https://developers.squarespace.com/commerce-apis/webhook-subscriptions-overview",
      setup: "Create the webhook subscription by the API, and copy `secret` of the answer.",
      vector: { none: "its page; public code that names its header" },
      event: { in: "body", name: "topic" },
      scheme: {
        algorithm: "sha256",
        header: "Squarespace-Signature",
        key_encoding: "hex",
        delivery_id: { in: "body", name: "id" },
      },
    },
    aftership: {
      title: "AfterShip",
      source: "https://www.aftership.com/docs/tracking/webhook/webhook-overview",
      setup: "Open Settings > Notifications > Webhooks. Copy the webhook secret.",
      vector: {
        none: "its page; @aftership/tracking-sdk 17.0.0, which signs requests to it alone",
      },
      event: { in: "body", name: "event" },
      scheme: {
        algorithm: "sha256",
        encoding: "base64",
        // Returns and warranties have the second.
        header: ["aftership-hmac-sha256", "as-signature-hmac-sha256"],
        delivery_id: { in: "body", name: "event_id" },
      },
    },
    shippo: {
      title: "Shippo",
      source: "https://docs.goshippo.com/docs/tracking/webhooksecurity/",
      setup: "Open Settings > API > Webhooks. Ask Shippo for an HMAC secret.",
      vector: {
        none:
          "its page; shippo 2.18.0, which reads webhooks and checks no signature; public code that names its header",
      },
      event: { in: "body", name: "event" },
      scheme: {
        algorithm: "sha256",
        header: "Shippo-Auth-Signature",
        list_separator: ",",
        field_separator: "=",
        field: "v1",
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "signature", name: "t", format: "unix_s" },
      },
    },
    easypost: {
      title: "EasyPost",
      source: "https://github.com/EasyPost/easypost-node/blob/master/src/utils/util.js",
      setup: "Open Account Settings > Webhooks > Add webhook. Enter a webhook secret.",
      note: "The secret is of ASCII: others are signed in the form NFKD",
      vector: "library",
      event: { in: "body", name: "description" },
      scheme: {
        algorithm: "sha256",
        header: "X-Hmac-Signature",
        prefix: "hmac-sha256-hex=",
        delivery_id: { in: "body", name: "id" },
      },
    },
    lob: {
      title: "Lob",
      source: "https://docs.lob.com/#tag/Webhooks",
      setup: "Open Webhooks > Create. Copy the secret of the webhook.",
      vector: { none: "its page; public code that names its header" },
      event: { in: "body", name: "/event_type/id" },
      scheme: {
        algorithm: "sha256",
        header: "Lob-Signature",
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "header", name: "Lob-Signature-Timestamp", format: "unix_ms" },
        delivery_id: { in: "body", name: "id" },
      },
      unconfirmed: "that the timestamp is in milliseconds",
    },
    bigcommerce_signed: standardPreset({
      title: "BigCommerce, signed",
      source: "https://docs.bigcommerce.com/developer/docs/integrations/webhooks/https",
      setup: "Create the webhook by the API. The secret is the client secret of the API account.",
      disablesEndpoints: true,
      vector: "library",
      event: { in: "body", name: "scope" },
    }, { key_encoding: "utf8", key_prefix: "" }),
    etsy: standardPreset({
      title: "Etsy",
      source: "https://developers.etsy.com/documentation/essentials/webhooks/",
      setup: "Create the webhook in the app's settings, and copy the signing secret.",
    }),
  },
  static_token: {
    bigcommerce: {
      title: "BigCommerce, header",
      source: "https://docs.bigcommerce.com/developer/docs/integrations/webhooks/https",
      setup:
        "Create the webhook by the API, with `headers` of `Authorization` and the value `Bearer SECRET`.",
      note:
        "The secret is a header that the webhook is given. It signs, too: see `bigcommerce_signed` of hmac",
      disablesEndpoints: true,
      event: { in: "body", name: "scope" },
      token: { in: "header", name: "Authorization", prefix: "Bearer " },
    },
  },
} as const satisfies PresetGroup;
