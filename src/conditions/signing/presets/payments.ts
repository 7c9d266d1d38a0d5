/**
 * Providers of payments and banking.
 *
 * @module
 */
import type { PresetGroup } from "../preset.ts";
import { withoutEvents } from "./handshakes.ts";
import { standardPreset, svixPreset } from "./standard.ts";

/** The rows. */
export const payments = {
  title: "Payments and banking",
  hmac: {
    adyen: {
      title: "Adyen, payments",
      source: "https://docs.adyen.com/development-resources/webhooks/verify-hmac-signatures/",
      setup:
        "Open Developers > Webhooks > Standard webhook. Generate an HMAC key under Security, and save the webhook.",
      note: "Signs some fields of the item alone: a filter over others trusts anyone",
      vector: "published",
      event: { in: "body", name: "/notificationItems/0/NotificationRequestItem/eventCode" },
      scheme: {
        algorithm: "sha256",
        encoding: "base64",
        body_field: "/notificationItems/0/NotificationRequestItem/additionalData/hmacSignature",
        signed_content: "{adyen:item}",
        key_encoding: "hex",
      },
    },
    adyen_platform: {
      title: "Adyen, platforms and management",
      source: "https://docs.adyen.com/development-resources/webhooks/verify-hmac-signatures/",
      setup:
        "Open Developers > Webhooks, and choose the kind. Generate an HMAC key under Security.",
      vector: "library",
      event: { in: "body", name: "type" },
      scheme: {
        algorithm: "sha256",
        encoding: "base64",
        header: "HmacSignature",
        key_encoding: "hex",
      },
    },
    gocardless: {
      title: "GoCardless",
      source: "https://developer.gocardless.com/getting-started/staying-up-to-date-with-webhooks/",
      setup: "Open Developers > Create > Webhook endpoint. Copy the secret.",
      vector: "library",
      event: { in: "body", name: "/events/0/action" },
      scheme: {
        algorithm: "sha256",
        header: "Webhook-Signature",
        delivery_id: { in: "body", name: "/meta/webhook_id" },
      },
    },
    mollie: {
      title: "Mollie, next-gen webhooks",
      source: "https://docs.mollie.com/reference/webhooks-new",
      setup: "Open Developers > Webhooks > Create webhook. Copy the signing secret.",
      note:
        "The classic webhooks, of a payment's `webhookUrl`, sign nothing: put a token into the URL",
      vector: "library",
      event: { in: "body", name: "type" },
      scheme: {
        algorithm: "sha256",
        header: "X-Mollie-Signature",
        prefix: "sha256=",
        delivery_id: { in: "body", name: "id" },
      },
    },
    razorpay: {
      title: "Razorpay",
      source: "https://razorpay.com/docs/webhooks/validate-test/",
      setup: "Open Account & Settings > Webhooks > Add new webhook. Enter a secret.",
      disablesEndpoints: true,
      vector: "library",
      event: { in: "body", name: "event" },
      scheme: {
        algorithm: "sha256",
        header: "X-Razorpay-Signature",
        delivery_id: { in: "header", name: "X-Razorpay-Event-Id" },
      },
    },
    paystack: {
      title: "Paystack",
      source: "https://paystack.com/docs/payments/webhooks/",
      setup: "Open Settings > API Keys & Webhooks. Enter the URL; the secret is the secret key.",
      vector: "independent",
      event: { in: "body", name: "event" },
      scheme: { algorithm: "sha512", header: "X-Paystack-Signature" },
    },
    coinbase_commerce: {
      title: "Coinbase Commerce",
      source: "https://github.com/coinbase/coinbase-commerce-node/blob/master/lib/Webhook.js",
      setup:
        "Open Settings > Notifications > Add an endpoint. Show the shared secret of the webhooks.",
      vector: "library",
      event: { in: "body", name: "/event/type" },
      scheme: {
        algorithm: "sha256",
        header: "X-CC-Webhook-Signature",
        delivery_id: { in: "body", name: "/event/id" },
      },
    },
    lemon_squeezy: {
      title: "Lemon Squeezy",
      source: "https://docs.lemonsqueezy.com/help/webhooks/signing-requests",
      setup: "Open Settings > Webhooks > Add. Enter a signing secret.",
      vector: "independent",
      event: { in: "header", name: "X-Event-Name" },
      scheme: { algorithm: "sha256", header: "X-Signature" },
    },
    revolut: {
      title: "Revolut",
      source:
        "https://developer.revolut.com/docs/guides/manage-accounts/tutorials/work-with-webhooks/verify-the-payload-signature",
      setup: "Create the webhook by the API, and copy `signing_secret` of the answer.",
      vector: "published",
      event: { in: "body", name: "event" },
      scheme: {
        algorithm: "sha256",
        header: "Revolut-Signature",
        list_separator: ",",
        field_separator: "=",
        field: "v1",
        signed_content: "v1.{timestamp}.{body}",
        timestamp: { in: "header", name: "Revolut-Request-Timestamp", format: "unix_ms" },
      },
    },
    checkout_com: {
      title: "Checkout.com",
      source:
        "https://www.checkout.com/docs/developer-resources/webhooks/manage-webhooks-through-the-dashboard",
      setup: "Open Developers > Webhooks > Create new webhook. Enter a signature key.",
      vector: { none: "its page; checkout-sdk-node 5.2.1, which has nothing for webhooks" },
      event: { in: "body", name: "type" },
      scheme: {
        algorithm: "sha256",
        header: "Cko-Signature",
        delivery_id: { in: "body", name: "id" },
      },
    },
    xero: {
      title: "Xero",
      source: "https://developer.xero.com/documentation/guides/webhooks/configuring-your-server/",
      setup:
        "Open the app's Webhooks at developer.xero.com. Choose the events, and copy the webhooks key. Xero sends right and wrong signatures first.",
      needs: { refused: { authentication: 401 }, response: { text: "" } },
      // Those first requests have no event.
      handshakes: [withoutEvents],
      vector: {
        none:
          "its page; xero-node 20.0.0, which has nothing for webhooks; public code that names its header",
      },
      scheme: { algorithm: "sha256", encoding: "base64", header: "x-xero-signature" },
    },
    quickbooks: {
      title: "Intuit QuickBooks",
      source: "https://developer.intuit.com/app/developer/qbo/docs/develop/webhooks",
      setup: "Open the app's Webhooks at developer.intuit.com. Copy the verifier token.",
      vector: "independent",
      // Lists of CloudEvents: blogs.intuit.com/2025/11/12/upcoming-change-to-webhooks-payload-structure
      event: { in: "body", name: "/0/type" },
      scheme: {
        algorithm: "sha256",
        encoding: "base64",
        header: "intuit-signature",
        delivery_id: { in: "body", name: "/0/id" },
      },
    },
    dwolla: {
      title: "Dwolla",
      source: "https://developers.dwolla.com/docs/balance/webhooks/process-validate",
      setup: "Create the webhook subscription by the API, with a `secret`.",
      disablesEndpoints: true,
      vector: {
        none:
          "its page; dwolla-v2 3.4.2, which has nothing for webhooks; public code that names its header",
      },
      event: { in: "header", name: "X-Dwolla-Topic" },
      scheme: {
        algorithm: "sha256",
        header: "X-Request-Signature-SHA-256",
        delivery_id: { in: "body", name: "id" },
      },
    },
    modern_treasury: {
      title: "Modern Treasury",
      source: "https://github.com/Modern-Treasury/modern-treasury-node",
      setup: "Open Developers > Webhooks > Add endpoint. Copy the signing key.",
      vector: "library",
      event: { in: "header", name: "X-Topic" },
      scheme: { algorithm: "sha256", header: "X-Signature" },
    },
    authorize_net: {
      title: "Authorize.net",
      source: "https://developer.authorize.net/api/reference/features/webhooks.html",
      setup: "Open Account > Settings > Webhooks. The secret is the signature key of the account.",
      disablesEndpoints: true,
      vector: "independent",
      event: { in: "body", name: "eventType" },
      // The key is 128 hex digits as they stand: its page does not say so, but its requests do.
      scheme: {
        algorithm: "sha512",
        header: "X-ANET-Signature",
        prefix: "sha512=",
        delivery_id: { in: "body", name: "notificationId" },
      },
    },
    persona: {
      title: "Persona",
      source: "https://docs.withpersona.com/webhooks-best-practices",
      setup: "Open Webhooks > Create webhook. Copy the secret.",
      vector: { none: "its page; public code that names its header" },
      event: { in: "body", name: "/data/attributes/name" },
      scheme: {
        algorithm: "sha256",
        header: "Persona-Signature",
        // While a secret is changed, there are two sets of `t=…,v1=…`.
        set_separator: " ",
        list_separator: ",",
        field_separator: "=",
        field: "v1",
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "signature", name: "t", format: "unix_s" },
        delivery_id: { in: "body", name: "/data/id" },
      },
    },
    flutterwave_v4: {
      title: "Flutterwave, version 4",
      source: "https://developer.flutterwave.com/docs/webhooks",
      setup: "Open Settings > Webhooks. Enter a secret hash.",
      vector: { none: "its page; public code that names its header" },
      event: { in: "body", name: "type" },
      scheme: { algorithm: "sha256", encoding: "base64", header: "flutterwave-signature" },
    },
    polar: standardPreset({
      title: "Polar",
      source: "https://docs.polar.sh/integrate/webhooks/delivery",
      setup: "Open Settings > Webhooks > Add endpoint. Choose the format Raw, and copy the secret.",
      disablesEndpoints: true,
      vector: "library",
      event: { in: "body", name: "type" },
    }, { key_encoding: "utf8", key_prefix: "" }),
    brex: svixPreset({
      title: "Brex",
      source: "https://developer.brex.com/docs/webhooks/",
      setup:
        "Create the subscription by the API, and read the secret from `GET /v1/webhooks/secrets`.",
      event: { in: "body", name: "event_type" },
    }),
  },
  signature: {
    paypal: {
      title: "PayPal",
      source: "https://developer.paypal.com/api/rest/webhooks/rest/",
      setup:
        "Open the app's Webhooks > Add Webhook at developer.paypal.com. Set `identity` to the webhook id.",
      note:
        "Signs a CRC-32 of the body, which who has seen a request can keep for another body: fetch what counts by the API",
      vector: "published",
      event: { in: "body", name: "event_type" },
      scheme: {
        algorithm: "rsa_sha256",
        encoding: "base64",
        header: "PAYPAL-TRANSMISSION-SIG",
        signed_content:
          "{header:PAYPAL-TRANSMISSION-ID}|{header:PAYPAL-TRANSMISSION-TIME}|{paypal:webhook}",
        certificate: {
          in: "header",
          name: "PAYPAL-CERT-URL",
          url:
            /^https:\/\/api(?:\.sandbox)?\.paypal\.com\/v1\/notifications\/certs\/CERT-[0-9a-zA-Z-]{1,64}$/,
        },
        delivery_id: { in: "body", name: "id" },
      },
    },
    wise: {
      title: "Wise",
      source: "https://docs.wise.com/guides/developer/webhooks/event-handling",
      setup: "Open Settings > Connect and manage > Webhooks. Take the public key of Wise's page.",
      vector: "independent",
      event: { in: "body", name: "event_type" },
      scheme: {
        algorithm: "rsa_sha256",
        encoding: "base64",
        header: "X-Signature-SHA256",
        key_encoding: "base64",
        delivery_id: { in: "header", name: "X-Delivery-Id" },
      },
    },
  },
  static_token: {
    flutterwave: {
      title: "Flutterwave, version 3",
      source: "https://developer.flutterwave.com/v3.0/docs/webhooks",
      setup: "Open Settings > Webhooks. Enter a secret hash.",
      note: "Version 4 of its API signs: see `flutterwave_v4` of hmac",
      event: { in: "body", name: "event" },
      token: { in: "header", name: "verif-hash" },
    },
    chargebee: {
      title: "Chargebee",
      source: "https://www.chargebee.com/docs/billing/2.0/site-configuration/webhook_settings",
      setup:
        "Open Settings > Configure Chargebee > Webhooks > Add webhook. Choose basic authentication, and enter the secret as the password.",
      disablesEndpoints: true,
      event: { in: "body", name: "event_type" },
      token: { in: "header", name: "Authorization", basic: {} },
      delivery_id: { in: "body", name: "id" },
    },
  },
} as const satisfies PresetGroup;
