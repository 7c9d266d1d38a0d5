/**
 * Providers of data, models and experiments.
 *
 * @module
 */
import type { PresetGroup } from "../preset.ts";
import { standardPreset } from "./standard.ts";

/** The rows. */
export const machineLearning = {
  title: "Data, models and experiments",
  hmac: {
    wandb: {
      title: "Weights & Biases",
      source: "https://docs.wandb.ai/models/automations/create-automations/webhook",
      setup:
        "Create a secret in Team Settings. Open Team Settings > Webhooks > New webhook, and choose it as Secret. Then create an automation that uses the webhook.",
      note: "With an access token and no secret, use `static_token` with the prefix Bearer",
      vector: { none: "its page, whose example computes it; public code that names its header" },
      scheme: { algorithm: "sha256", header: "X-Wandb-Signature" },
    },
    dbt: {
      title: "dbt",
      source: "https://docs.getdbt.com/docs/deploy/webhooks",
      setup:
        "Open Account settings > Webhooks > Create webhook. Choose the jobs and the events, and copy the secret token.",
      disablesEndpoints: true,
      vector: { none: "its page, whose example computes it; public code that names its header" },
      event: { in: "body", name: "eventType" },
      scheme: {
        algorithm: "sha256",
        header: "Authorization",
        delivery_id: { in: "body", name: "eventId" },
      },
    },
    fivetran: {
      title: "Fivetran",
      source: "https://fivetran.com/docs/rest-api/api-reference/webhooks",
      setup: "Create the webhook by the REST API, with a `secret` and the events.",
      vector: { none: "its page; public code that has verified its requests" },
      event: { in: "body", name: "event" },
      scheme: { algorithm: "sha256", header: "X-Fivetran-Signature-256" },
    },
    datachain: {
      title: "DataChain Studio, DVC Studio",
      source: "https://docs.datachain.ai/studio/webhooks",
      setup:
        "Open the team's settings > Webhooks > Add Webhook. Choose the events, application/json, and enter a secret.",
      note:
        "The model registry of DVC makes tags of Git: for these use the webhook of the repository's host",
      disablesEndpoints: true,
      vector: { none: "its page; public code that names its header" },
      event: { in: "header", name: "http-x-datachain-event" },
      scheme: { algorithm: "sha256", header: "X-Datachain-Signature-256", prefix: "sha256=" },
    },
    segment: {
      title: "Segment",
      source: "https://segment.com/docs/connections/destinations/catalog/webhooks/",
      setup:
        "Add the destination Webhooks (Actions) or Webhooks to the source. Enter a shared secret. Turn batching off in each mapping.",
      note: "Signs no batch as a whole, so a batch is refused",
      vector: { none: "its page; its code, which names the header and signs one event" },
      event: { in: "body", name: "type" },
      scheme: {
        algorithm: "sha1",
        header: "X-Signature",
        delivery_id: { in: "body", name: "messageId" },
      },
    },
    elevenlabs: {
      title: "ElevenLabs",
      source: "https://github.com/elevenlabs/elevenlabs-js/blob/main/src/wrapper/webhooks.ts",
      setup: "Open Settings > Webhooks > Add webhook. Choose HMAC, and copy the shared secret.",
      vector: "library",
      event: { in: "body", name: "type" },
      scheme: {
        algorithm: "sha256",
        header: "ElevenLabs-Signature",
        list_separator: ",",
        field_separator: "=",
        field: "v0",
        signed_content: "{timestamp}.{body}",
        timestamp: { in: "signature", name: "t", format: "unix_s" },
        tolerance: 1800,
      },
    },
    openai: standardPreset({
      title: "OpenAI",
      source: "https://platform.openai.com/docs/guides/webhooks",
      setup: "Open the project's Settings > Webhooks > Create. Copy the signing secret.",
      event: { in: "body", name: "type" },
    }),
    claude: standardPreset({
      title: "Claude, managed agents",
      source: "https://platform.claude.com/docs/en/managed-agents/webhooks",
      setup: "Open the console's Manage > Webhooks. Add the URL, and copy the signing secret.",
      event: { in: "body", name: "/data/type" },
    }),
    gemini: standardPreset({
      title: "Google Gemini API",
      source: "https://ai.google.dev/gemini-api/docs/webhooks",
      setup:
        "Create the webhook by the API, `client.webhooks.create`, and keep `new_signing_secret` of the answer.",
      note: "Webhooks that a job names itself carry a JWT instead",
      event: { in: "body", name: "type" },
    }),
    replicate: standardPreset({
      title: "Replicate",
      source: "https://replicate.com/docs/topics/webhooks/verify-webhook",
      setup:
        "Name the URL as `webhook` of a prediction. Read the secret from the API, `GET /v1/webhooks/default/secret`.",
      event: { in: "body", name: "status" },
    }),
  },
  static_token: {
    huggingface: {
      title: "Hugging Face",
      source: "https://huggingface.co/docs/hub/webhooks",
      setup:
        "Open Settings > Webhooks > Add a new webhook. Choose the repositories and the events, and enter a secret of ASCII characters.",
      event: { in: "body", name: "/event/action" },
      token: { in: "header", name: "X-Webhook-Secret" },
    },
    scale: {
      title: "Scale",
      source: "https://docs.scale.com/reference/callbacks",
      setup:
        "Name the URL as `callback_url` of a project or a task. Copy the live callback auth key of the dashboard.",
      note: "Test tasks have another key: list both. Sends a task again when an audit changes it",
      token: { in: "header", name: "Scale-Callback-Auth" },
    },
    roboflow: {
      title: "Roboflow",
      source: "https://inference.roboflow.com/workflows/blocks/webhook_sink/",
      setup:
        "Add the block Webhook Sink to the workflow. Add the header Authorization with the value `Bearer SECRET`.",
      note: "Signs nothing: the secret is a header that the block is given",
      token: { in: "header", name: "Authorization", prefix: "Bearer " },
    },
    databricks: {
      title: "Databricks",
      source:
        "https://docs.databricks.com/aws/en/admin/workspace-settings/notification-destinations",
      setup:
        "Open Settings > Notifications > Manage > Add destination > Webhook. Enter a username and, as the password, the secret.",
      note: "Alerts of Databricks SQL name their event as `event`, jobs as `event_type`",
      event: { in: "body", name: "event_type" },
      token: { in: "header", name: "Authorization", basic: {} },
    },
    snowflake: {
      title: "Snowflake",
      source:
        "https://docs.snowflake.com/en/developer-guide/external-network-access/creating-using-external-network-access",
      setup:
        "Create a network rule for the service's host, a secret with the token, and an external access integration of both. Create a procedure with it that posts to the URL, with the header Authorization and the value `Bearer SECRET`. Call it from a task or an alert.",
      note:
        "Its notification integrations of the type WEBHOOK take URLs of Slack, Teams and PagerDuty alone",
      token: { in: "header", name: "Authorization", prefix: "Bearer " },
    },
    airbyte: {
      title: "Airbyte",
      source:
        "https://docs.airbyte.com/platform/cloud/managing-airbyte-cloud/manage-airbyte-cloud-notifications",
      setup:
        "Open Settings > Notifications. Enter the URL as the webhook, with `?token=` and the secret at its end.",
      note: "Signs nothing: the secret is a parameter of the URL",
      token: { in: "query", name: "token" },
    },
    posthog: {
      title: "PostHog",
      source: "https://posthog.com/docs/data-pipelines/destinations/webhook",
      setup:
        "Open Data pipelines > New > Destination, and choose Webhook. Add the header Authorization with the value `Bearer SECRET`.",
      note: "Signs nothing: the secret is a header that the destination is given",
      event: { in: "body", name: "/event/event" },
      token: { in: "header", name: "Authorization", prefix: "Bearer " },
      delivery_id: { in: "body", name: "/event/uuid" },
    },
    deepgram: {
      title: "Deepgram",
      source:
        "https://developers.deepgram.com/docs/using-callbacks-to-return-transcripts-to-your-server",
      setup:
        "Name the URL as `callback` of the request. The secret is the identifier of the API key that made the request.",
      note: "With a username and a password in the callback's URL, use `basic` instead of a preset",
      token: { in: "header", name: "dg-token" },
      delivery_id: { in: "body", name: "/metadata/request_id" },
    },
    assemblyai: {
      title: "AssemblyAI",
      source: "https://www.assemblyai.com/docs/deployment/webhooks",
      setup:
        "Name the URL as `webhook_url` of the transcript, `Authorization` as `webhook_auth_header_name`, and the secret as `webhook_auth_header_value`.",
      event: { in: "body", name: "status" },
      token: { in: "header", name: "Authorization" },
      delivery_id: { in: "body", name: "transcript_id" },
    },
  },
} as const satisfies PresetGroup;
