/**
 * Providers of messages, calls and social networks.
 *
 * @module
 */
import type { PresetGroup } from "../preset.ts";
import { handshakesAlone, tried, withoutEvents } from "./handshakes.ts";

/** The rows. */
export const chat = {
  title: "Messages, calls and social networks",
  hmac: {
    whatsapp: {
      title: "Meta (WhatsApp, Messenger, Instagram, Facebook)",
      source: "https://developers.facebook.com/docs/graph-api/webhooks/getting-started",
      setup:
        "Open the app's Webhooks. Paste the URL, and enter a verify token. The secret is the app secret.",
      note:
        "Add `handshakes: [{ preset: whatsapp, secret: … }]` to the trigger, with the verify token",
      handshakes: handshakesAlone.meta.handshakes,
      vector: "independent",
      event: { in: "body", name: "/entry/0/changes/0/field" },
      scheme: { algorithm: "sha256", header: "X-Hub-Signature-256", prefix: "sha256=" },
    },
    x: {
      title: "X",
      source: "https://docs.x.com/x-api/webhooks/introduction",
      setup: "Register the URL by the API. The secret is the consumer secret of the app.",
      note: "Asks the URL for an HMAC: add `handshakes: [{ preset: x, secret: … }]` to the trigger",
      vector: "library",
      handshakes: [{
        method: "GET",
        when: "'crc_token' in query",
        response: {
          type: "json",
          json: { response_token: "sha256={hmac_sha256_base64(secret, query.crc_token)}" },
        },
      }],
      scheme: {
        algorithm: "sha256",
        encoding: "base64",
        header: "X-Twitter-Webhooks-Signature",
        prefix: "sha256=",
      },
    },
    linkedin: {
      title: "LinkedIn",
      source: "https://learn.microsoft.com/en-us/linkedin/shared/api-guide/webhook-validation",
      setup: "Open the app's Webhooks. The secret is the client secret.",
      note:
        "Asks the URL for an HMAC: add `handshakes: [{ preset: linkedin, secret: … }]` to the trigger",
      vector: { none: "its page; public code that names its header" },
      event: { in: "body", name: "type" },
      handshakes: [{
        method: "GET",
        when: "'challengeCode' in query",
        response: {
          type: "json",
          json: {
            challengeCode: "{query.challengeCode}",
            challengeResponse: "{hmac_sha256_hex(secret, query.challengeCode)}",
          },
        },
      }],
      scheme: {
        algorithm: "sha256",
        header: "X-LI-Signature",
        signed_content: "hmacsha256={body}",
      },
    },
    tiktok: {
      title: "TikTok",
      source: "https://developers.tiktok.com/doc/webhooks-verification",
      setup: "Open the app's Webhooks. The secret is the client secret.",
      vector: { none: "its page; public code that names its header" },
      event: { in: "body", name: "event" },
      scheme: {
        algorithm: "sha256",
        header: "TikTok-Signature",
        list_separator: ",",
        field_separator: "=",
        field: "s",
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "signature", name: "t", format: "unix_s" },
      },
    },
    line: {
      title: "LINE",
      source: "https://developers.line.biz/en/docs/messaging-api/verify-webhook-signature/",
      setup: "Open the channel's Messaging API > Webhook URL. The secret is the channel secret.",
      vector: "library",
      event: { in: "body", name: "/events/0/type" },
      // developers.line.biz/en/docs/messaging-api/verify-webhook-url
      handshakes: [withoutEvents],
      scheme: {
        algorithm: "sha256",
        encoding: "base64",
        header: "X-Line-Signature",
        delivery_id: { in: "body", name: "/events/0/webhookEventId" },
      },
    },
    viber: {
      title: "Viber",
      source: "https://developers.viber.com/docs/api/rest-bot-api/",
      setup: "Register the URL by `set_webhook`. The secret is the authentication token.",
      vector: "library",
      event: { in: "body", name: "event" },
      // The URL is set only if this is answered 200.
      handshakes: [tried("body.event == 'webhook'")],
      // The message_token is the message's: that it was delivered and that it was seen have the same one.
      scheme: { algorithm: "sha256", header: "X-Viber-Content-Signature" },
    },
    webex: {
      title: "Cisco Webex",
      source: "https://developer.webex.com/docs/webhooks",
      setup: "Create the webhook by the API, with a `secret`.",
      vector: "library",
      event: { in: "body", name: "event" },
      scheme: { algorithm: "sha1", header: "X-Spark-Signature" },
    },
    sinch: {
      title: "Sinch, Conversation API",
      source: "https://developers.sinch.com/docs/conversation/callbacks/",
      setup: "Create the webhook by the API or the dashboard, with a `secret`.",
      vector: "published",
      scheme: {
        algorithm: "sha256",
        encoding: "base64",
        header: "x-sinch-webhook-signature",
        signed_content: "{body}.{header:x-sinch-webhook-signature-nonce}.{timestamp}",
        timestamp: {
          in: "header",
          name: "x-sinch-webhook-signature-timestamp",
          format: "unix_s",
        },
      },
    },
    pusher: {
      title: "Pusher Channels",
      source: "https://pusher.com/docs/channels/server_api/webhooks/",
      setup: "Open the app's Webhooks. The secret is that of the app's key.",
      vector: "library",
      event: { in: "body", name: "/events/0/name" },
      scheme: { algorithm: "sha256", header: "X-Pusher-Signature" },
    },
    stream: {
      title: "Stream",
      source: "https://getstream.io/chat/docs/node/webhooks_overview/",
      setup: "Open the app's Webhooks. The secret is the API secret.",
      vector: "library",
      event: { in: "body", name: "type" },
      scheme: {
        algorithm: "sha256",
        header: "X-Signature",
        delivery_id: { in: "header", name: "X-Webhook-Id" },
      },
    },
    mux: {
      title: "Mux",
      source: "https://www.mux.com/docs/core/verify-webhook-signatures",
      setup: "Open Settings > Webhooks > Create. Copy the signing secret.",
      vector: "published",
      event: { in: "body", name: "type" },
      scheme: {
        algorithm: "sha256",
        header: "Mux-Signature",
        list_separator: ",",
        field_separator: "=",
        field: "v1",
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "signature", name: "t", format: "unix_s" },
        delivery_id: { in: "body", name: "id" },
      },
    },
    front: {
      title: "Front",
      source: "https://dev.frontapp.com/docs/application-webhooks",
      setup: "Add the feature Webhooks to the app. Copy the signing key of the app.",
      note: "Of webhooks of rules, Front signs the body alone, by sha1",
      vector: { none: "its page; public code that names its header" },
      event: { in: "body", name: "type" },
      handshakes: [{
        method: "POST",
        when: "'x-front-challenge' in headers",
        verified: true,
        response: { type: "text", text: "{headers['x-front-challenge']}" },
      }],
      scheme: {
        algorithm: "sha256",
        encoding: "base64",
        header: "X-Front-Signature",
        signed_content: "{timestamp}:{body}",
        timestamp: { in: "header", name: "X-Front-Request-Timestamp", format: "unix_ms" },
      },
    },
    help_scout: {
      title: "Help Scout",
      source: "https://developer.helpscout.com/webhooks/",
      setup: "Open Apps > Webhooks. Enter a secret key.",
      disablesEndpoints: true,
      vector: "independent",
      event: { in: "header", name: "X-HelpScout-Event" },
      scheme: { algorithm: "sha1", encoding: "base64", header: "X-HelpScout-Signature" },
    },
  },
  signature: {
    telnyx: {
      title: "Telnyx",
      source: "https://developers.telnyx.com/docs/messaging/messages/receiving-webhooks",
      setup: "Open Account Settings > Keys & Credentials > Public Key. Copy the public key.",
      vector: "library",
      event: { in: "body", name: "/data/event_type" },
      scheme: {
        algorithm: "ed25519",
        encoding: "base64",
        header: "telnyx-signature-ed25519",
        signed_content: "{timestamp}|{body}",
        timestamp: { in: "header", name: "telnyx-timestamp", format: "unix_s" },
        key_encoding: "base64",
        delivery_id: { in: "body", name: "/data/id" },
      },
    },
  },
  static_token: {
    mattermost: {
      title: "Mattermost, outgoing webhook",
      source: "https://developers.mattermost.com/integrate/webhooks/outgoing/",
      setup:
        "Open Integrations > Outgoing Webhooks > Add. Choose application/json, and copy the token.",
      token: { in: "body", name: "token" },
      delivery_id: { in: "body", name: "post_id" },
    },
    mattermost_command: {
      title: "Mattermost, slash command",
      source: "https://developers.mattermost.com/integrate/slash-commands/custom/",
      setup: "Open Integrations > Slash Commands > Add. Choose POST, and copy the token.",
      token: { in: "header", name: "Authorization", prefix: "Token " },
    },
    rocket_chat: {
      title: "Rocket.Chat, outgoing webhook",
      source: "https://docs.rocket.chat/docs/rocketchat-marketplace-integrations",
      setup: "Open Workspace > Integrations > New > Outgoing. Copy the token.",
      note:
        "For its omnichannel webhooks write `in: header` and `name: X-RocketChat-Livechat-Token` in place of the preset",
      // The message_id is the message's: an edit of it has the same one.
      token: { in: "body", name: "token" },
    },
    lark: {
      title: "Lark, Feishu",
      source:
        "https://open.larksuite.com/document/server-docs/event-subscription-guide/event-subscription-configure-/request-url-configuration-case",
      setup:
        "Open the app's Events & Callbacks. Set no encrypt key, and copy the verification token.",
      note:
        "Signs with a hash and no HMAC where an encrypt key is set, and then encrypts the body. Events of version 1.0 carry the token elsewhere: for these, write `in: body` and `name: token` in place of the preset",
      event: { in: "body", name: "/header/event_type" },
      handshakes: [{
        method: "POST",
        when: "body.type == 'url_verification'",
        response: { type: "json", json: { challenge: "{body.challenge}" } },
      }],
      token: { in: "body", name: "/header/token" },
      delivery_id: { in: "body", name: "/header/event_id" },
    },
    ringcentral: {
      title: "RingCentral",
      source: "https://developers.ringcentral.com/guide/notifications/webhooks/receiving",
      setup: "Create the subscription by the API, with a `verificationToken`.",
      event: { in: "body", name: "event" },
      handshakes: [{
        method: "POST",
        // Each event has one.
        when: "'validation-token' in headers && (raw == '' || !has(body.event))",
        response: {
          type: "text",
          text: "",
          headers: { "Validation-Token": "{headers['validation-token']}" },
        },
      }],
      token: { in: "header", name: "Verification-Token" },
      delivery_id: { in: "body", name: "uuid" },
    },
  },
} as const satisfies PresetGroup;
