/**
 * Providers of payments and shops that sign with a shared secret.
 *
 * @module
 */
import type { SigningPreset } from "../preset.ts";

/** The rows. */
export const commerce = {
  stripe: {
    title: "Stripe",
    source: "https://github.com/stripe/stripe-node/blob/master/src/Webhooks.ts",
    setup:
      "Open Developers > Webhooks > Add endpoint. Choose the events, and copy the signing secret.",
    vector: "library",
    event: { in: "body", name: "type" },
    disablesEndpoints: true,
    scheme: {
      // The key is the whole text `whsec_…`. Test events carry `v0` as a decoy.
      algorithm: "sha256",
      header: "Stripe-Signature",
      list_separator: ",",
      field_separator: "=",
      field: "v1",
      signed_content: "{timestamp}.{body}",
      timestamp: { in: "signature", name: "t", format: "unix_s" },
      delivery_id: { in: "body", name: "id" },
    },
  },
  paddle: {
    title: "Paddle",
    source: "https://developer.paddle.com/webhooks/signature-verification",
    setup: "Open Developer tools > Notifications > New destination. Copy the secret key.",
    vector: "published",
    event: { in: "body", name: "event_type" },
    scheme: {
      algorithm: "sha256",
      header: "Paddle-Signature",
      list_separator: ";",
      field_separator: "=",
      field: "h1",
      signed_content: "{timestamp}:{body}",
      timestamp: { in: "signature", name: "ts", format: "unix_s" },
      tolerance: 5,
      delivery_id: { in: "body", name: "event_id" },
    },
  },
  square: {
    title: "Square",
    source: "https://developer.squareup.com/docs/webhooks/step3validate",
    setup: "Open the application's Webhooks > Subscriptions > Add. Copy the signature key.",
    vector: "published",
    event: { in: "body", name: "type" },
    note: "Signs the notification URL as it is registered",
    scheme: {
      algorithm: "sha256",
      encoding: "base64",
      header: "X-Square-HmacSha256-Signature",
      signed_content: "{url}{body}",
      delivery_id: { in: "body", name: "event_id" },
    },
  },
  shopify: {
    title: "Shopify",
    source: "https://shopify.dev/docs/apps/build/webhooks/verify-deliveries",
    setup:
      "Open Settings > Notifications > Webhooks > Create webhook. Copy the secret below the list; that of an app is its client secret.",
    vector: "library",
    event: { in: "header", name: "X-Shopify-Topic", other_name: "Shopify-Topic" },
    disablesEndpoints: true,
    // shopify.dev/docs/apps/build/compliance/privacy-law-compliance
    note:
      "Of an app's compliance webhooks it asks for 401 where a signature is wrong: add `refused: { authentication: 401 }`",
    scheme: {
      algorithm: "sha256",
      encoding: "base64",
      // Its Events, which follow its webhooks, have the second.
      header: ["X-Shopify-Hmac-Sha256", "Shopify-Hmac-Sha256"],
      delivery_id: {
        in: "header",
        name: "X-Shopify-Webhook-Id",
        other_name: "Shopify-Webhook-Id",
      },
    },
  },
  woocommerce: {
    title: "WooCommerce",
    source:
      "https://github.com/woocommerce/woocommerce/blob/trunk/plugins/woocommerce/includes/class-wc-webhook.php",
    setup: "Open WooCommerce > Settings > Advanced > Webhooks > Add webhook. Enter a secret.",
    vector: "independent",
    event: { in: "header", name: "X-WC-Webhook-Topic" },
    disablesEndpoints: true,
    // The ping on saving the webhook is a form, and is not signed.
    handshakes: [{
      method: "POST",
      when: "has(body.webhook_id) && size(body) == 1",
      response: { type: "text", text: "" },
    }],
    scheme: {
      algorithm: "sha256",
      encoding: "base64",
      header: "X-WC-Webhook-Signature",
      // X-WC-Webhook-Delivery-ID is a hash of the webhook and the second: two events can share it.
    },
  },
} as const satisfies Record<string, SigningPreset>;
