/**
 * Providers of clouds: events, queues and storage.
 *
 * @module
 */
import type { PresetGroup } from "../preset.ts";
import { handshakesAlone } from "./handshakes.ts";
import { snsPreset } from "./sns.ts";

/** The rows. */
export const cloud = {
  title: "Clouds: events, queues and storage",
  hmac: {
    backblaze: {
      title: "Backblaze B2",
      source: "https://www.backblaze.com/docs/cloud-storage-event-notifications",
      setup: "Open the bucket's Event Notifications > Add rule. Copy the signing secret.",
      vector: { none: "its page; its sample event broker, whose examples have no secret" },
      event: { in: "body", name: "/events/0/eventType" },
      scheme: {
        algorithm: "sha256",
        header: "X-Bz-Event-Notification-Signature",
        prefix: "v1=",
        delivery_id: { in: "body", name: "/events/0/eventId" },
      },
    },
    digitalocean: {
      title: "DigitalOcean",
      source: "https://github.com/digitalocean/webhook-sdk-javascript",
      setup: "Name the URL where DigitalOcean sends your app's events, and copy the secret.",
      vector: "published",
      scheme: {
        algorithm: "sha256",
        header: "do-signature",
        list_separator: ",",
        field_separator: "=",
        field: "v1",
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "signature", name: "t", format: "unix_ms" },
      },
    },
    cloudflare_stream: {
      title: "Cloudflare Stream",
      source: "https://developers.cloudflare.com/stream/manage-video-library/using-webhooks/",
      setup: "Name the URL by the API, and copy `secret` of the answer.",
      vector: { none: "its page, whose example has no body; public code that names its header" },
      event: { in: "body", name: "/status/state" },
      scheme: {
        algorithm: "sha256",
        header: "Webhook-Signature",
        list_separator: ",",
        field_separator: "=",
        field: "sig1",
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "signature", name: "time", format: "unix_s" },
      },
    },
  },
  signature: {
    sns: snsPreset({
      title: "Amazon SNS",
      source:
        "https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message-verify-message-signature.html",
      setup:
        "Set `identity` to the ARN of the topic. Create a subscription of the topic with the protocol HTTPS and the URL, without raw message delivery.",
      note:
        "What was published is the text in `body.Message`. SNS does not sign `MessageAttributes`",
      event: { in: "body", name: "Type" },
    }),
  },
  static_token: {
    cloudevents: {
      title: "CloudEvents",
      source: "https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md",
      setup: "Give the sender the access token, which it sends as a bearer token.",
      event: { in: "header", name: "ce-type" },
      handshakes: handshakesAlone.cloudevents.handshakes,
      token: { in: "header", name: "Authorization", prefix: "Bearer " },
      delivery_id: { in: "header", name: "ce-id", scope: "ce-source" },
    },
    azure_event_grid_cloudevents: {
      title: "Azure Event Grid, CloudEvents",
      source:
        "https://learn.microsoft.com/en-us/azure/event-grid/end-point-validation-cloud-events-schema",
      setup:
        "Create the event subscription with the schema Cloud Event and the endpoint Web Hook. Enter the URL with `?code=` and the secret at its end.",
      event: { in: "body", name: "type" },
      handshakes: handshakesAlone.cloudevents.handshakes,
      token: { in: "query", name: "code" },
      delivery_id: { in: "body", name: "id", scope: "source" },
    },
    eventbridge: {
      title: "Amazon EventBridge, API destinations",
      source:
        "https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-target-connection-auth.html",
      setup:
        "Create a connection with the authorization API Key, the name Authorization, and the value `Bearer SECRET`. Create an API destination with the URL and the connection.",
      event: { in: "body", name: "detail-type" },
      token: { in: "header", name: "Authorization", prefix: "Bearer " },
      delivery_id: { in: "body", name: "id" },
    },
    minio: {
      title: "MinIO, bucket notifications",
      source: "https://github.com/minio/minio/blob/master/internal/event/target/webhook.go",
      setup:
        "Run `mc admin config set ALIAS notify_webhook:hooklaunch endpoint=URL auth_token=SECRET`. Then `mc event add`.",
      event: { in: "body", name: "EventName" },
      handshakes: [{ method: "HEAD", response: { type: "text", text: "" } }],
      token: { in: "header", name: "Authorization", prefix: "Bearer " },
    },
  },
} as const satisfies PresetGroup;
