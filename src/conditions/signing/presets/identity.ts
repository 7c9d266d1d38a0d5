/**
 * Providers of sign-in and accounts.
 *
 * @module
 */
import type { PresetGroup } from "../preset.ts";
import { svixPreset } from "./standard.ts";

/** The rows. */
export const identity = {
  title: "Sign-in and accounts",
  hmac: {
    workos: {
      title: "WorkOS",
      source: "https://workos.com/docs/events/data-syncing/webhooks",
      setup: "Open Webhooks > Create webhook. Copy the secret.",
      vector: "library",
      event: { in: "body", name: "event" },
      scheme: {
        algorithm: "sha256",
        header: "WorkOS-Signature",
        list_separator: ",",
        field_separator: "=",
        field: "v1",
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "signature", name: "t", format: "unix_ms" },
        tolerance: 180,
        delivery_id: { in: "body", name: "id" },
      },
    },
    zitadel: {
      title: "ZITADEL",
      source: "https://zitadel.com/docs/guides/integrate/actions/testing-request-signature",
      setup: "Create the target by the API or the console, and copy its signing key.",
      vector: "library",
      scheme: {
        algorithm: "sha256",
        header: "ZITADEL-Signature",
        list_separator: ",",
        field_separator: "=",
        field: "v1",
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "signature", name: "t", format: "unix_s" },
      },
    },
    logto: {
      title: "Logto",
      source: "https://docs.logto.io/developers/webhooks/secure-webhooks",
      setup: "Open Webhooks > Create webhook. Copy the signing key.",
      vector: "published",
      event: { in: "body", name: "event" },
      scheme: { algorithm: "sha256", header: "logto-signature-sha-256" },
    },
    clerk: svixPreset({
      title: "Clerk",
      source: "https://clerk.com/docs/webhooks/overview",
      setup: "Open Configure > Webhooks > Add endpoint. Copy the signing secret.",
      event: { in: "body", name: "type" },
    }),
    stytch: svixPreset({
      title: "Stytch",
      source: "https://stytch.com/docs/guides/webhooks",
      setup: "Open Webhooks > Add endpoint. Copy the signing secret.",
      event: { in: "body", name: "event_type" },
    }),
  },
  static_token: {
    auth0: {
      title: "Auth0, log streams",
      source: "https://auth0.com/docs/customize/log-streams/custom-log-streams",
      setup:
        "Open Monitoring > Streams > Create > Custom Webhook. Enter the secret as the authorization token, and choose JSON Object.",
      token: { in: "header", name: "Authorization" },
      delivery_id: { in: "body", name: "log_id" },
    },
    okta: {
      title: "Okta, event hooks",
      source: "https://developer.okta.com/docs/concepts/event-hooks/",
      setup:
        "Open Workflow > Event Hooks > Create. Enter the authentication field Authorization and the secret.",
      event: { in: "body", name: "/data/events/0/eventType" },
      handshakes: [{
        method: "GET",
        response: {
          type: "json",
          json: { verification: "{headers['x-okta-verification-challenge']}" },
        },
      }],
      token: { in: "header", name: "Authorization" },
      delivery_id: { in: "body", name: "eventId" },
    },
  },
} as const satisfies PresetGroup;
