/**
 * Requests as providers document them, made with node:crypto alone and by nothing of `src`: for rows whose
 * provider publishes no request to test against.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { NOW_MS, type RequestParts } from "../fixture.ts";

/** A provider that sends. */
export interface Recipe {
  /** The secret as the provider shows it; a text otherwise. */
  secret?: string;
  /** The body; some JSON otherwise. */
  body?: string;
  /** Another body with which the request must not pass; a change of the body otherwise. */
  changed?: string;
  /** Settings beside the preset and the secret. */
  settings?: Record<string, unknown>;
  send(body: string, secret: string): Omit<RequestParts, "body">;
}

type Encoding = "hex" | "base64";

const TIME_S = String(NOW_MS / 1000);

/** Makes an HMAC as text. */
export function mac(
  algorithm: string,
  key: string | Uint8Array,
  content: string,
  encoding: Encoding,
): string {
  return createHmac(algorithm, key).update(content).digest(encoding);
}

/** A header with the HMAC of the body. */
function ofBody(algorithm: string, encoding: Encoding, header: string, prefix = ""): Recipe {
  return {
    send: (body, secret) => ({
      headers: { [header]: prefix + mac(algorithm, secret, body, encoding) },
    }),
  };
}

/** A header with the time and with the HMAC of both, as in `t=…,v1=…`. */
function withTime(
  header: string,
  { time = "t", field = "v1", between = ".", encoding = "hex", at = TIME_S }: {
    time?: string;
    field?: string;
    between?: string;
    encoding?: Encoding;
    at?: string;
  } = {},
): Recipe {
  return {
    send(body, secret) {
      const value = mac("sha256", secret, `${at}${between}${body}`, encoding);
      return { headers: { [header]: `${time}=${at},${field}=${value}` } };
    },
  };
}

const code: Record<string, Recipe> = {
  forgejo: ofBody("sha256", "hex", "X-Forgejo-Signature"),
  gogs: ofBody("sha256", "hex", "X-Gogs-Signature"),
  bitbucket_data_center: ofBody("sha256", "hex", "X-Hub-Signature", "sha256="),
  snyk: ofBody("sha256", "hex", "X-Hub-Signature", "sha256="),
  sonarqube: ofBody("sha256", "hex", "X-Sonar-Webhook-HMAC-SHA256"),
};

const delivery: Record<string, Recipe> = {
  buildkite: withTime("X-Buildkite-Signature", { time: "timestamp", field: "signature" }),
  heroku: ofBody("sha256", "base64", "Heroku-Webhook-Hmac-SHA256"),
  terraform: ofBody("sha512", "hex", "X-TFE-Notification-Signature"),
  launchdarkly: ofBody("sha256", "hex", "X-LD-Signature"),
  pulumi: ofBody("sha256", "hex", "Pulumi-Webhook-Signature"),
  doppler: ofBody("sha256", "hex", "X-Doppler-Signature", "sha256="),
  spacelift: ofBody("sha256", "hex", "X-Signature-256", "sha256="),
};

const machineLearning: Record<string, Recipe> = {
  wandb: ofBody("sha256", "hex", "X-Wandb-Signature"),
  dbt: ofBody("sha256", "hex", "Authorization"),
  fivetran: {
    // Fivetran writes the digits in capitals.
    send: (body, secret) => ({
      headers: {
        "X-Fivetran-Signature-256": mac("sha256", secret, body, "hex").toUpperCase(),
      },
    }),
  },
  segment: ofBody("sha1", "hex", "X-Signature"),
};

const monitoring: Record<string, Recipe> = {
  rootly: withTime("X-Rootly-Signature", { between: "" }),
  firehydrant: ofBody("sha256", "hex", "fh-signature"),
  checkly: ofBody("sha256", "hex", "x-checkly-signature"),
  mongodb_atlas: ofBody("sha1", "base64", "X-MMS-Signature"),
};

/** The recipes, by the names of presets. */
export const macRecipes: Record<string, Recipe> = {
  ...code,
  ...delivery,
  ...machineLearning,
  ...monitoring,
};

const bearer = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } });
const basic = (secret: string) => ({
  headers: { authorization: `Basic ${Buffer.from(`someone:${secret}`).toString("base64")}` },
});
const inHeader = (name: string) => (secret: string) => ({ headers: { [name]: secret } });
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
  new_relic: bearer,
  honeycomb: inHeader("X-Honeycomb-Webhook-Token"),
  cloudflare: inHeader("cf-webhook-auth"),
  kibana: basic,
  google_cloud_monitoring: basic,
  gitlab: inHeader("X-Gitlab-Token"),
  telegram: inHeader("X-Telegram-Bot-Api-Secret-Token"),
  alertmanager: bearer,
  label_studio: inHeader("Authorization"),
  v7: inHeader("Authorization"),
  azure_event_grid: inQuery("code"),
  microsoft_graph: (secret) => ({
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ value: [{ clientState: secret }, { clientState: secret }] }),
  }),
};
