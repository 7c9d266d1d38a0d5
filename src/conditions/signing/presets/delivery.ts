/**
 * Providers of builds, deployments and hosting.
 *
 * @module
 */
import type { PresetGroup } from "../preset.ts";
import { tried } from "./handshakes.ts";
import { standardPreset } from "./standard.ts";

/** The rows. */
export const delivery = {
  title: "Builds, deployments and hosting",
  hmac: {
    buildkite: {
      title: "Buildkite",
      source: "https://buildkite.com/docs/apis/webhooks/pipelines",
      setup:
        "Open Settings > Notification Services > Add > Webhook. Choose Send an HMAC signature, and copy the token.",
      vector: "library",
      event: { in: "header", name: "X-Buildkite-Event" },
      scheme: {
        algorithm: "sha256",
        header: "X-Buildkite-Signature",
        list_separator: ",",
        field_separator: "=",
        field: "signature",
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "signature", name: "timestamp", format: "unix_s" },
      },
    },
    circleci: {
      title: "CircleCI",
      source: "https://circleci.com/docs/webhooks/",
      setup:
        "Open Project Settings > Webhooks > Add webhook. Enter a secret token and choose the events.",
      vector: "published",
      event: { in: "header", name: "circleci-event-type" },
      scheme: {
        algorithm: "sha256",
        header: "circleci-signature",
        list_separator: ",",
        field_separator: "=",
        field: "v1",
        delivery_id: { in: "body", name: "id" },
      },
    },
    heroku: {
      title: "Heroku",
      source: "https://devcenter.heroku.com/articles/app-webhooks",
      setup: "Run `heroku webhooks:add -i api:release -l notify -u URL -s SECRET -a APP`.",
      vector: "independent",
      event: { in: "body", name: "/webhook_metadata/event/include" },
      scheme: {
        algorithm: "sha256",
        encoding: "base64",
        header: "Heroku-Webhook-Hmac-SHA256",
        delivery_id: { in: "body", name: "/webhook_metadata/event/id" },
      },
    },
    terraform: {
      title: "HCP Terraform, Terraform Enterprise",
      source:
        "https://developer.hashicorp.com/terraform/cloud-docs/workspaces/settings/notifications",
      setup:
        "Open the workspace's Settings > Notifications > Create a notification > Webhook. Enter a token.",
      vector: { none: "its page; public code that names its header" },
      event: { in: "body", name: "/notifications/0/trigger" },
      // A notification is saved only if its first request is answered 2xx.
      handshakes: [tried("body.notifications[0].trigger == 'verification'")],
      scheme: { algorithm: "sha512", header: "X-TFE-Notification-Signature" },
    },
    launchdarkly: {
      title: "LaunchDarkly",
      source: "https://launchdarkly.com/docs/integrations/webhooks",
      setup:
        "Open Integrations > Webhooks > Add integration. Check Sign this webhook, and copy the secret.",
      vector: { none: "its page; public code that names its header" },
      event: { in: "body", name: "kind" },
      scheme: {
        algorithm: "sha256",
        header: "X-LD-Signature",
        delivery_id: { in: "body", name: "_id" },
      },
    },
    pulumi: {
      title: "Pulumi Cloud",
      source: "https://www.pulumi.com/docs/pulumi-cloud/webhooks/",
      setup: "Open the organization's or the stack's Webhooks > Create webhook. Enter a secret.",
      vector: { none: "its page; public code that names its header" },
      event: { in: "header", name: "Pulumi-Webhook-Kind" },
      scheme: {
        algorithm: "sha256",
        header: "Pulumi-Webhook-Signature",
        delivery_id: { in: "header", name: "Pulumi-Webhook-ID" },
      },
    },
    doppler: {
      title: "Doppler",
      source: "https://docs.doppler.com/docs/webhooks",
      setup: "Open the project's Webhooks > Add. Enter a signing secret.",
      vector: "independent",
      event: { in: "body", name: "type" },
      scheme: { algorithm: "sha256", header: "X-Doppler-Signature", prefix: "sha256=" },
    },
    spacelift: {
      title: "Spacelift",
      source: "https://docs.spacelift.io/integrations/webhooks",
      setup: "Open the space's Webhooks > Create webhook. Enter a secret.",
      vector: { none: "its page; public code that names its header" },
      scheme: { algorithm: "sha256", header: "X-Signature-256", prefix: "sha256=" },
    },
    render: standardPreset({
      title: "Render",
      source: "https://render.com/docs/webhooks",
      setup: "Open Integrations > Webhooks > Create webhook. Copy the signing secret.",
      event: { in: "body", name: "type" },
    }),
    supabase: standardPreset({
      title: "Supabase, auth hooks",
      source: "https://supabase.com/docs/guides/auth/auth-hooks",
      setup:
        "Open Authentication > Hooks > Add hook > HTTPS, and generate a secret. Copy it whole, with `v1,whsec_`.",
      note: "Waits for the answer of a hook, whose form depends on the hook",
    }, { key_prefix: "v1,whsec_" }),
  },
  static_token: {
    supabase_database: {
      title: "Supabase, database webhooks",
      source: "https://supabase.com/docs/guides/database/webhooks",
      setup:
        "Open Integrations > Database Webhooks > Create. Add the HTTP header Authorization with the value `Bearer SECRET`.",
      note: "Signs nothing: the secret is a header that the webhook is given",
      event: { in: "body", name: "type" },
      token: { in: "header", name: "Authorization", prefix: "Bearer " },
    },
  },
} as const satisfies PresetGroup;
