/**
 * What providers that sign nothing send with a secret, written by nothing of `src`.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { json, type RequestParts } from "../fixture.ts";

const bearer = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } });
const basic = (secret: string) => ({
  headers: { authorization: `Basic ${Buffer.from(`someone:${secret}`).toString("base64")}` },
});
const inHeader = (name: string) => (secret: string) => ({ headers: { [name]: secret } });
const inBody = (name: string) => (secret: string) => json({ [name]: secret, value: 1 });
const inQuery = (name: string) => (secret: string) => ({ query: `${name}=${secret}` });

/** What providers that sign nothing send with a secret, by the names of presets. */
export const tokenRecipes: Record<string, (secret: string) => RequestParts> = {
  azure_devops: basic,
  docker_hub: inQuery("token"),
  harbor: inHeader("Authorization"),
  quay: inQuery("token"),
  artifactory: inHeader("X-JFrog-Event-Auth"),
  supabase_database: bearer,
  huggingface: inHeader("X-Webhook-Secret"),
  scale: inHeader("scale-callback-auth"),
  roboflow: bearer,
  databricks: basic,
  snowflake: bearer,
  airbyte: inQuery("token"),
  posthog: bearer,
  deepgram: inHeader("dg-token"),
  assemblyai: inHeader("Authorization"),
  opsgenie: bearer,
  datadog: bearer,
  fastly_logs: bearer,
  new_relic: bearer,
  honeycomb: inHeader("X-Honeycomb-Webhook-Token"),
  cloudflare: inHeader("cf-webhook-auth"),
  kibana: basic,
  google_cloud_monitoring: basic,
  flutterwave: inHeader("verif-hash"),
  chargebee: basic,
  bigcommerce: bearer,
  mattermost: inBody("token"),
  mattermost_command: (secret) => ({ headers: { authorization: `Token ${secret}` } }),
  rocket_chat: inBody("token"),
  lark: (secret) => json({ schema: "2.0", header: { token: secret }, event: {} }),
  ringcentral: inHeader("Verification-Token"),
  postmark: basic,
  sparkpost: basic,
  mailjet: basic,
  brevo: bearer,
  mailchimp: inQuery("token"),
  auth0: inHeader("Authorization"),
  okta: inHeader("Authorization"),
  figma: inBody("passcode"),
  pipedrive: basic,
  salesforce: inQuery("token"),
  strapi: bearer,
  prismic: inBody("secret"),
  datocms: basic,
  cloudevents: bearer,
  azure_event_grid_cloudevents: inQuery("code"),
  eventbridge: bearer,
  minio: bearer,
  gitlab: inHeader("X-Gitlab-Token"),
  telegram: inHeader("X-Telegram-Bot-Api-Secret-Token"),
  alertmanager: bearer,
  label_studio: inHeader("Authorization"),
  v7: inHeader("Authorization"),
  azure_event_grid: inQuery("code"),
  microsoft_graph: (secret) => json({ value: [{ clientState: secret }, { clientState: secret }] }),
};
