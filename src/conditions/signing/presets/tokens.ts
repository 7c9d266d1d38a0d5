/**
 * Providers that send a token and sign nothing.
 *
 * @module
 */
import type { TokenPreset } from "../preset.ts";

/** The rows. */
export const tokens = {
  gitlab: {
    title: "GitLab, secret token",
    source: "https://docs.gitlab.com/user/project/integrations/webhooks/",
    setup: "Open Settings > Webhooks > Add new webhook. Enter a secret token.",
    event: { in: "header", name: "X-Gitlab-Event" },
    disablesEndpoints: true,
    token: { in: "header", name: "X-Gitlab-Token" },
    delivery_id: { in: "header", name: "Idempotency-Key" },
  },
  microsoft_graph: {
    title: "Microsoft Graph",
    source: "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
    setup: "Create the subscription by the API, with a `clientState`.",
    event: { in: "body", name: "/value/0/changeType" },
    note: "The secret is the subscription's clientState, which every notification carries",
    token: { in: "body", each: "/value", name: "clientState" },
    handshakes: [{
      // Graph asks before it has a secret. A request with a body is a notification.
      method: "POST",
      when: "'validationToken' in query && raw == ''",
      response: { type: "text", text: "{query.validationToken}" },
    }],
  },
  azure_event_grid: {
    title: "Azure Event Grid",
    source:
      "https://learn.microsoft.com/en-us/azure/event-grid/end-point-validation-event-grid-events-schema",
    setup:
      "Create the event subscription with the schema Event Grid and the endpoint Web Hook. Enter the URL with `?code=` and the secret at its end.",
    event: { in: "body", name: "/0/eventType" },
    note: "The secret is a parameter of the URL that the subscription names, here 'code'",
    token: { in: "query", name: "code" },
    delivery_id: { in: "body", name: "/0/id" },
    handshakes: [{
      method: "POST",
      when: "body[0].eventType == 'Microsoft.EventGrid.SubscriptionValidationEvent'",
      verified: true,
      response: { type: "json", json: { validationResponse: "{body[0].data.validationCode}" } },
    }],
  },
  telegram: {
    title: "Telegram",
    source: "https://core.telegram.org/bots/api#setwebhook",
    setup: "Call setWebhook with `url` and `secret_token`.",
    note: "The secret is the secret_token of setWebhook",
    token: { in: "header", name: "X-Telegram-Bot-Api-Secret-Token" },
    delivery_id: { in: "body", name: "update_id" },
  },
  alertmanager: {
    title: "Prometheus Alertmanager",
    source: "https://prometheus.io/docs/alerting/latest/configuration/#http_config",
    setup: "Add a webhook receiver to the configuration, with `http_config.authorization`.",
    event: { in: "body", name: "status" },
    note:
      "The secret is the receiver's `authorization.credentials`; for its `basic_auth` name `basic` instead of a preset",
    token: { in: "header", name: "Authorization", prefix: "Bearer " },
  },
  label_studio: {
    title: "Label Studio",
    source: "https://labelstud.io/guide/webhooks",
    setup:
      "Open the project's Settings > Webhooks > Add Webhook. Add the header Authorization and its value.",
    event: { in: "body", name: "action" },
    note: "The secret is the whole value of the header that the webhook is given",
    token: { in: "header", name: "Authorization" },
  },
  v7: {
    title: "V7",
    source: "https://docs.v7labs.com/docs/the-webhook-stage",
    setup: "Add a webhook stage to the workflow, and enter an authorisation header.",
    note: "The secret is the whole authorisation header that the webhook stage is given",
    token: { in: "header", name: "Authorization" },
  },
} as const satisfies Record<string, TokenPreset>;
