/**
 * Providers of e-mail and campaigns.
 *
 * @module
 */
import type { PresetGroup } from "../preset.ts";
import { tried } from "./handshakes.ts";
import { snsPreset } from "./sns.ts";
import { standardPreset, svixPreset } from "./standard.ts";

/** The rows. */
export const email = {
  title: "E-mail and campaigns",
  hmac: {
    mandrill: {
      title: "Mailchimp Transactional, Mandrill",
      source:
        "https://mailchimp.com/developer/transactional/guides/track-respond-activity-webhooks/",
      setup: "Open Settings > Webhooks > Add a webhook. Show its key, which is the secret.",
      note:
        "Signs the URL as it is registered. The events are JSON in the form's field mandrill_events",
      vector: "independent",
      handshakes: [{ method: "HEAD", response: { type: "text", text: "" } }],
      scheme: {
        algorithm: "sha1",
        encoding: "base64",
        header: "X-Mandrill-Signature",
        signed_content: "{url}{twilio:parameters}",
      },
    },
    mailersend: {
      title: "MailerSend",
      source: "https://developers.mailersend.com/api/v1/webhooks",
      setup: "Open the domain's Webhooks > Create webhook. Copy the signing secret.",
      vector: "library",
      event: { in: "body", name: "type" },
      scheme: { algorithm: "sha256", header: "Signature" },
    },
    mailtrap: {
      title: "Mailtrap",
      source: "https://help.mailtrap.io/article/102-webhooks",
      setup: "Open Settings > Webhooks > Create. Copy the signature key.",
      vector: "library",
      event: { in: "body", name: "/events/0/event" },
      scheme: { algorithm: "sha256", header: "Mailtrap-Signature" },
    },
    customer_io: {
      title: "Customer.io",
      source: "https://docs.customer.io/journeys/webhooks/",
      setup: "Open Integrations > Reporting Webhooks > Add. Copy the webhook signing key.",
      vector: "independent",
      event: { in: "body", name: "metric" },
      scheme: {
        algorithm: "sha256",
        header: "X-CIO-Signature",
        signed_content: "v0:{timestamp}:{body}",
        timestamp: { in: "header", name: "X-CIO-Timestamp", format: "unix_s" },
        delivery_id: { in: "body", name: "event_id" },
      },
    },
    nylas: {
      title: "Nylas",
      source: "https://developer.nylas.com/docs/v3/notifications/",
      setup: "Open Notifications > Create webhook. Copy the webhook secret.",
      disablesEndpoints: true,
      vector: {
        none:
          "its page; nylas 8.4.0, which has nothing for webhooks; nylas/webhooks-server; public code that names its header",
      },
      event: { in: "body", name: "type" },
      handshakes: [{ method: "GET", response: { type: "text", text: "{query.challenge}" } }],
      scheme: {
        algorithm: "sha256",
        header: "X-Nylas-Signature",
        delivery_id: { in: "body", name: "id" },
      },
    },
    knock: {
      title: "Knock",
      source: "https://docs.knock.app/developer-tools/outbound-webhooks/overview",
      setup: "Open Developers > Webhooks > Create. Copy the signing key.",
      vector: { none: "its page; @knocklabs/node 1.35.0, which has nothing for webhooks" },
      event: { in: "body", name: "type" },
      scheme: {
        algorithm: "sha256",
        encoding: "base64",
        header: "x-knock-signature",
        list_separator: ",",
        field_separator: "=",
        field: "s",
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "signature", name: "t", format: "unix_ms" },
      },
    },
    resend: svixPreset({
      title: "Resend",
      source: "https://resend.com/docs/webhooks/verify-webhooks-requests",
      setup: "Open Webhooks > Add webhook. Copy the signing secret.",
      event: { in: "body", name: "type" },
    }),
    loops: standardPreset({
      title: "Loops",
      source: "https://loops.so/docs/webhooks",
      setup: "Open Settings > Webhooks. Copy the signing secret.",
      event: { in: "body", name: "eventName" },
    }),
  },
  signature: {
    ses: snsPreset({
      title: "Amazon SES",
      source:
        "https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html",
      setup:
        "Create a topic of Amazon SNS, and set `identity` to its ARN. Create a subscription of the topic with the protocol HTTPS and the URL, without raw message delivery. Open SES > Configuration sets > Event destinations > Add destination. Choose the events, Amazon SNS and the topic.",
      note:
        "The event is JSON in a text: `body.Message.parseJSON().eventType`, or `notificationType` of an identity's feedback notifications",
      event: { in: "body", name: "Type" },
    }),
  },
  static_token: {
    postmark: {
      title: "Postmark",
      source: "https://postmarkapp.com/developer/webhooks/webhooks-overview",
      setup:
        "Open the server's message stream > Webhooks > Add. Enter the secret as the password of basic authentication.",
      event: { in: "body", name: "RecordType" },
      token: { in: "header", name: "Authorization", basic: {} },
    },
    sparkpost: {
      title: "SparkPost",
      source: "https://developers.sparkpost.com/api/webhooks/",
      setup:
        "Open Webhooks > Create. Choose basic authentication, and enter the secret as the password.",
      // The webhook is made only if this is answered 200.
      handshakes: [tried("size(body) == 1 && size(body[0].msys) == 0")],
      token: { in: "header", name: "Authorization", basic: {} },
      delivery_id: { in: "header", name: "X-MessageSystems-Batch-ID" },
    },
    mailjet: {
      title: "Mailjet",
      source: "https://dev.mailjet.com/email/guides/webhooks/",
      setup: "Enter the URL of the event as `https://user:SECRET@…`.",
      event: { in: "body", name: "event" },
      token: { in: "header", name: "Authorization", basic: {} },
    },
    brevo: {
      title: "Brevo",
      source: "https://developers.brevo.com/docs/secured-webhooks",
      setup:
        "Create the webhook by the API or the page, with a bearer token as its authentication.",
      event: { in: "body", name: "event" },
      token: { in: "header", name: "Authorization", prefix: "Bearer " },
    },
    mailchimp: {
      title: "Mailchimp",
      source: "https://mailchimp.com/developer/marketing/guides/sync-audience-data-webhooks/",
      setup:
        "Open the audience's Settings > Webhooks > Create. Enter the URL with `?token=` and the secret at its end.",
      note: "Signs nothing: the secret is a parameter of the URL.",
      event: { in: "body", name: "type" },
      handshakes: [{ method: "GET", response: { type: "text", text: "" } }],
      token: { in: "query", name: "token" },
    },
  },
} as const satisfies PresetGroup;
