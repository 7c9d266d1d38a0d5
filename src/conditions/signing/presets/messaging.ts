/**
 * Providers of messages and calls that sign with a shared secret.
 *
 * @module
 */
import type { SigningPreset } from "../preset.ts";

/** The rows. */
export const messaging = {
  slack: {
    title: "Slack",
    source: "https://docs.slack.dev/authentication/verifying-requests-from-slack/",
    setup:
      "Open the app's Event Subscriptions or Slash Commands, and paste the URL. Copy Basic Information > Signing Secret.",
    vector: "published",
    event: { in: "body", name: "/event/type" },
    disablesEndpoints: true,
    scheme: {
      algorithm: "sha256",
      header: "X-Slack-Signature",
      prefix: "v0=",
      signed_content: "v0:{timestamp}:{body}",
      timestamp: { in: "header", name: "X-Slack-Request-Timestamp", format: "unix_s" },
      delivery_id: { in: "body", name: "event_id" },
    },
    handshakes: [{
      method: "POST",
      when: "body.type == 'url_verification'",
      verified: true,
      response: { type: "text", text: "{body.challenge}" },
    }],
  },
  teams: {
    title: "Microsoft Teams, outgoing webhook",
    source:
      "https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/add-outgoing-webhook",
    setup:
      "Open the team's Manage team > Apps > Create an outgoing webhook. Copy the security token.",
    vector: { none: "its page; public code that names its header" },
    event: { in: "body", name: "type" },
    note: 'Expects a response such as `{"type":"message","text":"…"}`',
    scheme: {
      algorithm: "sha256",
      encoding: "base64",
      header: "Authorization",
      prefix: "HMAC ",
      key_encoding: "base64",
    },
  },
  zoom: {
    title: "Zoom",
    source: "https://developers.zoom.us/docs/api/webhooks/",
    setup: "Open the app's Feature > Event Subscriptions > Add. Copy the secret token.",
    vector: "library",
    event: { in: "body", name: "event" },
    scheme: {
      algorithm: "sha256",
      header: "X-Zm-Signature",
      prefix: "v0=",
      signed_content: "v0:{timestamp}:{body}",
      timestamp: { in: "header", name: "X-Zm-Request-Timestamp", format: "unix_s" },
    },
    handshakes: [{
      method: "POST",
      when: "body.event == 'endpoint.url_validation'",
      verified: true,
      response: {
        type: "json",
        json: {
          plainToken: "{body.payload.plainToken}",
          encryptedToken: "{hmac_sha256_hex(secret, body.payload.plainToken)}",
        },
      },
    }],
  },
  twitch: {
    title: "Twitch EventSub",
    source: "https://dev.twitch.tv/docs/eventsub/handling-webhook-events/",
    setup: "Create the subscription by the API, with a `secret` of 10 to 100 ASCII characters.",
    disablesEndpoints: true,
    vector: "library",
    event: { in: "header", name: "Twitch-Eventsub-Subscription-Type" },
    scheme: {
      algorithm: "sha256",
      header: "Twitch-Eventsub-Message-Signature",
      prefix: "sha256=",
      signed_content: "{id}{timestamp}{body}",
      timestamp: { in: "header", name: "Twitch-Eventsub-Message-Timestamp", format: "rfc3339" },
      tolerance: 600,
      id: { in: "header", name: "Twitch-Eventsub-Message-Id" },
      delivery_id: { in: "header", name: "Twitch-Eventsub-Message-Id" },
    },
    handshakes: [{
      method: "POST",
      when: "headers['twitch-eventsub-message-type'] == 'webhook_callback_verification'",
      verified: true,
      response: { type: "text", text: "{body.challenge}" },
    }],
  },
  twilio: {
    title: "Twilio",
    source: "https://www.twilio.com/docs/usage/security",
    setup: "Paste the URL into the number or the service. The secret is the account's auth token.",
    vector: "published",
    note:
      "Signs the URL and the parameters of a form; of JSON the SHA-256 in the URL. Calls and messages that come in wait for TwiML: error 12300 otherwise",
    needs: { response: { content_type: "application/xml", text: "<Response/>" } },
    scheme: {
      algorithm: "sha1",
      encoding: "base64",
      header: "X-Twilio-Signature",
      signed_content: [
        "{url}{twilio:parameters}",
        "{twilio:url_without_port}{twilio:parameters}",
        "{twilio:url_with_port}{twilio:parameters}",
      ],
      delivery_id: { in: "header", name: "I-Twilio-Idempotency-Token" },
    },
  },
  mailgun: {
    title: "Mailgun",
    source: "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks",
    setup: "Open Sending > Webhooks > Add webhook. The secret is the HTTP webhook signing key.",
    vector: "library",
    event: { in: "body", name: "/event-data/event" },
    // The pages securing-webhooks, on late requests, and webhook-retries.
    note:
      "Signs its timestamp and token alone: the event data is not covered. Asks for a generous check of the time, since its requests can be late: where the trigger log tells of old ones, set `tolerance`, and add `deduplication`. Sends again for eight hours after any answer but 200 and 406: with a payload filter set `refused: { filter: 200 }`",
    scheme: {
      algorithm: "sha256",
      body_field: "/signature/signature",
      signed_content: "{timestamp}{body:/signature/token}",
      timestamp: { in: "body", name: "/signature/timestamp", format: "unix_s" },
      delivery_id: { in: "body", name: "/signature/token" },
    },
  },
  intercom: {
    title: "Intercom",
    source: "https://developers.intercom.com/docs/webhooks/setting-up-webhooks",
    setup: "Open the app's Configure > Webhooks. The secret is the client secret.",
    vector: "independent",
    event: { in: "body", name: "topic" },
    scheme: {
      algorithm: "sha1",
      header: "X-Hub-Signature",
      prefix: "sha1=",
      delivery_id: { in: "body", name: "id" },
    },
    handshakes: [{ method: "HEAD", response: { type: "text", text: "" } }],
  },
  zendesk: {
    title: "Zendesk",
    source: "https://developer.zendesk.com/documentation/webhooks/verifying/",
    setup:
      "Open Admin Center > Apps and integrations > Webhooks > Create. Reveal the signing secret.",
    note:
      "Test webhook, before the webhook is saved, signs with a secret that is the same for all: `dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==`",
    vector: "independent",
    event: { in: "body", name: "type" },
    scheme: {
      algorithm: "sha256",
      encoding: "base64",
      header: "X-Zendesk-Webhook-Signature",
      signed_content: "{timestamp}{body}",
      timestamp: {
        in: "header",
        name: "X-Zendesk-Webhook-Signature-Timestamp",
        format: "rfc3339",
      },
      delivery_id: { in: "header", name: "X-Zendesk-Webhook-Invocation-Id" },
    },
  },
} as const satisfies Record<string, SigningPreset>;
