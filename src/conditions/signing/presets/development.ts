/**
 * Providers of tools for developers that sign with a shared secret.
 *
 * @module
 */
import type { SigningPreset } from "../preset.ts";

/** The rows. */
export const development = {
  github: {
    title: "GitHub",
    source: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
    setup: "Open Settings > Webhooks > Add webhook. Choose application/json, and enter a secret.",
    vector: "published",
    event: { in: "header", name: "X-GitHub-Event" },
    scheme: {
      algorithm: "sha256",
      header: "X-Hub-Signature-256",
      prefix: "sha256=",
      delivery_id: { in: "header", name: "X-GitHub-Delivery" },
    },
  },
  gitea: {
    title: "Gitea, Forgejo",
    source: "https://docs.gitea.com/usage/webhooks",
    setup:
      "Open the repository's or the organization's Settings > Webhooks > Add webhook > Gitea. Choose POST, application/json and a secret.",
    vector: "library",
    event: { in: "header", name: "X-Gitea-Event" },
    note: "Needs the content type application/json: of a form, only the field payload is signed",
    scheme: {
      algorithm: "sha256",
      header: "X-Gitea-Signature",
      delivery_id: { in: "header", name: "X-Gitea-Delivery" },
    },
  },
  bitbucket: {
    title: "Bitbucket",
    source: "https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/",
    setup: "Open Repository settings > Webhooks > Add webhook. Enter a secret.",
    vector: "published",
    event: { in: "header", name: "X-Event-Key" },
    scheme: {
      algorithm: "sha256",
      header: "X-Hub-Signature",
      prefix: "sha256=",
      delivery_id: { in: "header", name: "X-Request-UUID" },
    },
  },
  jira: {
    title: "Jira",
    source: "https://developer.atlassian.com/cloud/jira/platform/webhooks/",
    setup: "Open System > WebHooks > Create a WebHook. Enter a secret.",
    note: "Signs what an admin has set up: webhooks of Connect and OAuth apps have no signature",
    vector: "independent",
    event: { in: "body", name: "webhookEvent" },
    scheme: {
      algorithm: "sha256",
      header: "X-Hub-Signature",
      prefix: "sha256=",
      delivery_id: { in: "header", name: "X-Atlassian-Webhook-Identifier" },
    },
  },
  linear: {
    title: "Linear",
    source: "https://github.com/linear/linear/blob/master/packages/sdk/src/webhooks/client.ts",
    setup: "Open Settings > API > Webhooks > New webhook. Copy the signing secret.",
    vector: "library",
    event: { in: "header", name: "Linear-Event" },
    scheme: {
      algorithm: "sha256",
      header: "Linear-Signature",
      // The header Linear-Timestamp is not signed; the time in the body is.
      timestamp: { in: "body", name: "webhookTimestamp", format: "unix_ms" },
      tolerance: 60,
      delivery_id: { in: "header", name: "Linear-Delivery" },
    },
  },
  sentry: {
    title: "Sentry",
    source: "https://docs.sentry.io/organization/integrations/integration-platform/webhooks/",
    setup:
      "Open Settings > Developer Settings > New internal integration. The secret is its client secret.",
    vector: "independent",
    event: { in: "header", name: "Sentry-Hook-Resource" },
    scheme: {
      algorithm: "sha256",
      header: "Sentry-Hook-Signature",
      delivery_id: { in: "header", name: "Request-ID" },
    },
  },
  pagerduty: {
    title: "PagerDuty",
    source: "https://developer.pagerduty.com/docs/verifying-webhook-signatures",
    setup:
      "Open Integrations > Generic Webhooks (v3) > New webhook. Copy the secret, which is shown once.",
    vector: "library",
    event: { in: "body", name: "/event/event_type" },
    scheme: {
      algorithm: "sha256",
      header: "X-PagerDuty-Signature",
      list_separator: ",",
      field_separator: "=",
      field: "v1",
      delivery_id: { in: "body", name: "/event/id" },
    },
  },
  grafana: {
    title: "Grafana Alerting",
    source:
      "https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/",
    setup:
      "Open Alerting > Contact points > Add contact point > Webhook. Enter a secret under HMAC Signature.",
    vector: "library",
    event: { in: "body", name: "status" },
    note:
      "Where the contact point names a timestamp header, it signs `{timestamp}:{body}`: name both here",
    scheme: { algorithm: "sha256", header: "X-Grafana-Alerting-Signature" },
  },
  mlflow: {
    title: "MLflow",
    source: "https://mlflow.org/docs/latest/ml/webhooks",
    setup: "Create the webhook by MlflowClient.create_webhook, with a `secret`.",
    vector: "published",
    event: { in: "body", name: "action" },
    scheme: {
      algorithm: "sha256",
      encoding: "base64",
      header: "X-MLflow-Signature",
      prefix: "v1,",
      signed_content: "{id}.{timestamp}.{body}",
      timestamp: { in: "header", name: "X-MLflow-Timestamp", format: "unix_s" },
      id: { in: "header", name: "X-MLflow-Delivery-Id" },
      delivery_id: { in: "header", name: "X-MLflow-Delivery-Id" },
    },
  },
  vercel: {
    title: "Vercel",
    source: "https://vercel.com/docs/webhooks/webhooks-api",
    setup: "Open the team's Settings > Webhooks > Create. Copy the secret, which is shown once.",
    vector: "independent",
    event: { in: "body", name: "type" },
    scheme: {
      algorithm: "sha1",
      header: "X-Vercel-Signature",
      delivery_id: { in: "body", name: "id" },
    },
  },
} as const satisfies Record<string, SigningPreset>;
