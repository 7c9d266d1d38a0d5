/**
 * Providers of monitoring, alerts and incidents.
 *
 * @module
 */
import type { PresetGroup } from "../preset.ts";
import { tried } from "./handshakes.ts";
import { svixPreset } from "./standard.ts";

/** The note of a provider that lets the owner choose headers. */
const OWN_HEADER = "Signs nothing: the secret is a header that the webhook is given";

/** The rows. */
export const monitoring = {
  title: "Monitoring, alerts and incidents",
  hmac: {
    rootly: {
      title: "Rootly",
      source: "https://docs.rootly.com/configuration/webhooks",
      setup: "Open Settings > Webhooks > New Webhook. Choose the events, and copy the secret.",
      vector: { none: "its page; public code that names its header" },
      event: { in: "body", name: "/event/type" },
      scheme: {
        algorithm: "sha256",
        header: "X-Rootly-Signature",
        list_separator: ",",
        field_separator: "=",
        field: "v1",
        signed_content: "{timestamp}{body}",
        timestamp: { in: "signature", name: "t", format: "unix_s" },
        delivery_id: { in: "body", name: "/event/id" },
      },
    },
    firehydrant: {
      title: "FireHydrant",
      source: "https://docs.firehydrant.com/docs/webhooks",
      setup: "Open Settings > Webhooks > Create webhook. Copy the HMAC secret.",
      vector: { none: "its page; public code that names its header" },
      scheme: { algorithm: "sha256", header: "fh-signature" },
    },
    checkly: {
      title: "Checkly",
      source: "https://www.checklyhq.com/docs/integrations/alerts/webhooks/",
      setup: "Open Alert settings > Add more channels > Webhook. Enter a webhook secret.",
      vector: { none: "its page; public code that names its header" },
      scheme: { algorithm: "sha256", header: "X-Checkly-Signature" },
    },
    mongodb_atlas: {
      title: "MongoDB Atlas, alerts",
      source: "https://www.mongodb.com/docs/atlas/tutorial/third-party-service-integrations/",
      setup: "Open Project Integrations > Webhook Settings. Enter a secret.",
      vector: { none: "its page; public code that names its header" },
      event: { in: "header", name: "X-MMS-Event" },
      scheme: {
        algorithm: "sha1",
        encoding: "base64",
        header: "X-MMS-Signature",
      },
    },
    fastly: {
      title: "Fastly, Next-Gen WAF",
      source:
        "https://www.fastly.com/documentation/guides/next-gen-waf/monitoring/alerts/generic-webhooks/",
      setup:
        "Open Security > Next-Gen WAF > Workspaces, and the settings of a workspace. Choose Alerts > Add alert > Webhook. `fastly integration webhook get-signing-key` shows the key.",
      vector: { none: "its page, which names its header; no public code was found" },
      event: { in: "body", name: "type" },
      scheme: { algorithm: "sha256", header: "X-SigSci-Signature" },
    },
    incident_io: svixPreset({
      title: "incident.io",
      source: "https://docs.incident.io/integrations/webhooks",
      setup: "Open Settings > Webhooks > Add endpoint. Copy the signing secret.",
      event: { in: "body", name: "event_type" },
    }),
  },
  static_token: {
    opsgenie: {
      title: "Opsgenie, Jira Service Management alerts",
      source: "https://support.atlassian.com/opsgenie/docs/integrate-opsgenie-with-webhook/",
      setup:
        "Open Settings > Integrations > Add integration > Webhook; in Jira Service Management, Operations > Integrations. Add the custom header Authorization with the value `Bearer SECRET`.",
      note: OWN_HEADER,
      event: { in: "body", name: "action" },
      token: { in: "header", name: "Authorization", prefix: "Bearer " },
    },
    datadog: {
      title: "Datadog",
      source: "https://docs.datadoghq.com/integrations/webhooks/",
      setup:
        'Open Integrations > Webhooks > New. Enter the custom headers `{"Authorization": "Bearer SECRET"}`. Name the webhook in a monitor as `@webhook-NAME`.',
      note: OWN_HEADER,
      event: { in: "body", name: "event_type" },
      token: { in: "header", name: "Authorization", prefix: "Bearer " },
      delivery_id: { in: "body", name: "id" },
    },
    new_relic: {
      title: "New Relic",
      source: "https://docs.newrelic.com/docs/alerts/get-notified/notification-integrations/",
      setup:
        "Open Alerts > Destinations > Webhook. Choose Bearer token, and enter the secret. Then add the destination to a workflow.",
      // The `id` of its template is the issue's: it is the same when the issue opens and when it closes.
      event: { in: "body", name: "state" },
      token: { in: "header", name: "Authorization", prefix: "Bearer " },
    },
    honeycomb: {
      title: "Honeycomb",
      source: "https://docs.honeycomb.io/notify/webhooks/",
      setup:
        "Open Team Settings > Integrations > Add Integration. Choose the provider Webhook, and enter a shared secret. Then add the webhook as a recipient of a trigger.",
      note: "The default payload holds the secret, too, as `shared_secret`",
      event: { in: "body", name: "status" },
      token: { in: "header", name: "X-Honeycomb-Webhook-Token" },
      delivery_id: { in: "header", name: "X-Honeycomb-Webhook-Delivery-ID" },
    },
    cloudflare: {
      title: "Cloudflare, notifications",
      source: "https://developers.cloudflare.com/notifications/get-started/configure-webhooks/",
      setup:
        "Open Notifications > Destinations > Webhooks > Create. Enter a secret. Cloudflare sends a test message first.",
      event: { in: "body", name: "alert_type" },
      handshakes: [tried("body.text.contains('test message sent from https://cloudflare.com')")],
      token: { in: "header", name: "cf-webhook-auth" },
    },
    fastly_logs: {
      title: "Fastly, log streaming",
      source:
        "https://www.fastly.com/documentation/guides/integrations/logging-endpoints/log-streaming-https",
      setup:
        "Add a logging endpoint of type HTTPS to the service, with JSON as its format. Enter the custom header Authorization with the value `Bearer SECRET`.",
      note:
        "Asks `/.well-known/fastly/logging/challenge` of the domain for the SHA-256 of the service's id, or `*`: let the proxy answer it",
      token: { in: "header", name: "Authorization", prefix: "Bearer " },
    },
    kibana: {
      title: "Elastic Kibana, alerts",
      source: "https://www.elastic.co/guide/en/kibana/current/webhook-action-type.html",
      setup:
        "Open Stack Management > Connectors > Create connector > Webhook. Choose basic authentication, and enter the secret as the password.",
      token: { in: "header", name: "Authorization", basic: {} },
    },
    google_cloud_monitoring: {
      title: "Google Cloud Monitoring, alerts",
      source: "https://cloud.google.com/monitoring/support/notification-options",
      setup:
        "Open Alerting > Edit notification channels > Webhooks > Add new. Choose basic authentication, and enter the secret as the password.",
      needs: { refused: { authentication: 401 } },
      note:
        "Sends each notification without the password first: the trigger log has a refusal of it, too",
      event: { in: "body", name: "/incident/state" },
      token: { in: "header", name: "Authorization", basic: {} },
    },
  },
} as const satisfies PresetGroup;
