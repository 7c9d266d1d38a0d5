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
const TIME_MS = String(NOW_MS);

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
  artifactory_signed: ofBody("sha256", "hex", "X-JFrog-Event-Auth"),
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
  datachain: ofBody("sha256", "hex", "X-Datachain-Signature-256", "sha256="),
  segment: ofBody("sha1", "hex", "X-Signature"),
};

const monitoring: Record<string, Recipe> = {
  rootly: withTime("X-Rootly-Signature", { between: "" }),
  fastly: ofBody("sha256", "hex", "X-SigSci-Signature"),
  firehydrant: ofBody("sha256", "hex", "fh-signature"),
  checkly: ofBody("sha256", "hex", "x-checkly-signature"),
  mongodb_atlas: ofBody("sha1", "base64", "X-MMS-Signature"),
};

/** A header with the HMAC of a content, and a header with the time. */
function withTimeHeader(
  header: string,
  timeHeader: string,
  content: (time: string, body: string) => string,
  { encoding = "hex", at = TIME_S, prefix = "" }: {
    encoding?: Encoding;
    at?: string;
    prefix?: string;
  } = {},
): Recipe {
  return {
    send: (body, secret) => ({
      headers: {
        [timeHeader]: at,
        [header]: prefix + mac("sha256", secret, content(at, body), encoding),
      },
    }),
  };
}

const payments: Record<string, Recipe> = {
  mollie: ofBody("sha256", "hex", "X-Mollie-Signature", "sha256="),
  flutterwave_v4: ofBody("sha256", "base64", "flutterwave-signature"),
  paystack: ofBody("sha512", "hex", "x-paystack-signature"),
  lemon_squeezy: ofBody("sha256", "hex", "X-Signature"),
  checkout_com: ofBody("sha256", "hex", "Cko-Signature"),
  xero: ofBody("sha256", "base64", "x-xero-signature"),
  quickbooks: ofBody("sha256", "base64", "intuit-signature"),
  dwolla: ofBody("sha256", "hex", "X-Request-Signature-SHA-256"),
  authorize_net: {
    secret: "56E529FE6C63D60E545F84686096E6A1",
    send: (body, secret) => ({
      headers: {
        "X-ANET-Signature": `sha512=${mac("sha512", secret, body, "hex").toUpperCase()}`,
      },
    }),
  },
  persona: withTime("Persona-Signature"),
  squarespace: {
    secret: "2d1c5b3a99887766554433221100ffee",
    send: (body, secret) => ({
      headers: {
        "Squarespace-Signature": mac("sha256", Buffer.from(secret, "hex"), body, "hex"),
      },
    }),
  },
  aftership: ofBody("sha256", "base64", "aftership-hmac-sha256"),
  shippo: withTime("Shippo-Auth-Signature"),
  lob: withTimeHeader(
    "Lob-Signature",
    "Lob-Signature-Timestamp",
    (time, body) => `${time}.${body}`,
    { at: TIME_MS },
  ),
};

const chat: Record<string, Recipe> = {
  whatsapp: ofBody("sha256", "hex", "X-Hub-Signature-256", "sha256="),
  x: ofBody("sha256", "base64", "x-twitter-webhooks-signature", "sha256="),
  linkedin: {
    send: (body, secret) => ({
      headers: { "X-LI-Signature": mac("sha256", secret, `hmacsha256=${body}`, "hex") },
    }),
  },
  tiktok: withTime("TikTok-Signature", { field: "s" }),
  webex: ofBody("sha1", "hex", "X-Spark-Signature"),
  sinch: {
    send: (body, secret) => ({
      headers: {
        "x-sinch-webhook-signature-nonce": "01FJA8B4A7BM43YGWSG9GBV067",
        "x-sinch-webhook-signature-timestamp": TIME_S,
        "x-sinch-webhook-signature": mac(
          "sha256",
          secret,
          `${body}.01FJA8B4A7BM43YGWSG9GBV067.${TIME_S}`,
          "base64",
        ),
      },
    }),
  },
  front: withTimeHeader(
    "X-Front-Signature",
    "X-Front-Request-Timestamp",
    (time, body) => `${time}:${body}`,
    { at: TIME_MS, encoding: "base64" },
  ),
  help_scout: ofBody("sha1", "base64", "X-HelpScout-Signature"),
};

const email: Record<string, Recipe> = {
  mandrill: {
    body: "mandrill_events=%5B%7B%22event%22%3A%22send%22%7D%5D",
    settings: { url: "https://hooks.example/mandrill" },
    send: (body, secret) => {
      const [, events = ""] = /^mandrill_events=(.*)$/.exec(body) ?? [];
      const content = `https://hooks.example/mandrillmandrill_events${decodeURIComponent(events)}`;
      return {
        headers: {
          "content-type": "application/x-www-form-urlencoded",
          "X-Mandrill-Signature": mac("sha1", secret, content, "base64"),
        },
      };
    },
  },
  mailersend: ofBody("sha256", "hex", "Signature"),
  mailtrap: ofBody("sha256", "hex", "Mailtrap-Signature"),
  customer_io: withTimeHeader(
    "X-CIO-Signature",
    "X-CIO-Timestamp",
    (time, body) => `v0:${time}:${body}`,
  ),
  nylas: ofBody("sha256", "hex", "x-nylas-signature"),
  knock: withTime("x-knock-signature", { field: "s", encoding: "base64", at: TIME_MS }),
};

const identity: Record<string, Recipe> = {
  zitadel: withTime("ZITADEL-Signature"),
  logto: ofBody("sha256", "hex", "logto-signature-sha-256"),
};

const planning: Record<string, Recipe> = {
  confluence: ofBody("sha256", "hex", "X-Hub-Signature", "sha256="),
  clickup: ofBody("sha256", "hex", "X-Signature"),
  asana: ofBody("sha256", "hex", "X-Hook-Signature"),
  trello: {
    settings: { url: "https://hooks.example/trello" },
    send: (body, secret) => ({
      headers: {
        "X-Trello-Webhook": mac("sha1", secret, `${body}https://hooks.example/trello`, "base64"),
      },
    }),
  },
  shortcut: ofBody("sha256", "hex", "Payload-Signature"),
  airtable: {
    secret: "DRgQGkyB2bVr8p+y1o1xGyF7yJs5Z0Zs0R7iUuV7mCA=",
    send: (body, secret) => ({
      headers: {
        "X-Airtable-Content-MAC": `hmac-sha256=${
          mac("sha256", Buffer.from(secret, "base64"), body, "hex")
        }`,
      },
    }),
  },
  smartsheet: ofBody("sha256", "hex", "Smartsheet-Hmac-SHA256"),
  attio: ofBody("sha256", "hex", "Attio-Signature"),
  ashby: ofBody("sha256", "hex", "Ashby-Signature", "sha256="),
  cal_com: ofBody("sha256", "hex", "X-Cal-Signature-256"),
};

const content: Record<string, Recipe> = {
  storyblok: ofBody("sha1", "hex", "webhook-signature"),
  ghost: {
    send: (body, secret) => ({
      headers: {
        "X-Ghost-Signature": `sha256=${mac("sha256", secret, body + TIME_MS, "hex")}, t=${TIME_MS}`,
      },
    }),
  },
  webflow: withTimeHeader(
    "x-webflow-signature",
    "x-webflow-timestamp",
    (time, body) => `${time}:${body}`,
    { at: TIME_MS },
  ),
  tally: ofBody("sha256", "base64", "Tally-Signature"),
};

const cloud: Record<string, Recipe> = {
  backblaze: ofBody("sha256", "hex", "X-Bz-Event-Notification-Signature", "v1="),
  cloudflare_stream: withTime("Webhook-Signature", { time: "time", field: "sig1" }),
};

const commerce: Record<string, Recipe> = {
  shopify: ofBody("sha256", "base64", "X-Shopify-Hmac-Sha256"),
  woocommerce: ofBody("sha256", "base64", "X-WC-Webhook-Signature"),
};

const development: Record<string, Recipe> = {
  gitea: ofBody("sha256", "hex", "X-Gitea-Signature"),
  jira: ofBody("sha256", "hex", "X-Hub-Signature", "sha256="),
  sentry: ofBody("sha256", "hex", "Sentry-Hook-Signature"),
  pagerduty: ofBody("sha256", "hex", "X-PagerDuty-Signature", "v1="),
  grafana: ofBody("sha256", "hex", "X-Grafana-Alerting-Signature"),
  vercel: ofBody("sha1", "hex", "x-vercel-signature"),
};

const documents: Record<string, Recipe> = {
  dropbox: ofBody("sha256", "hex", "X-Dropbox-Signature"),
  docusign: ofBody("sha256", "base64", "X-DocuSign-Signature-1"),
  notion: ofBody("sha256", "hex", "X-Notion-Signature", "sha256="),
  typeform: ofBody("sha256", "base64", "Typeform-Signature", "sha256="),
  calendly: withTime("Calendly-Webhook-Signature"),
  labelbox: ofBody("sha1", "hex", "X-Hub-Signature", "sha1="),
};

const messaging: Record<string, Recipe> = {
  teams: {
    secret: "MzIgYnl0ZXMgdGhhdCBUZWFtcyBoYXMgbWFkZSB1cCE=",
    send: (body, secret) => ({
      headers: {
        Authorization: `HMAC ${mac("sha256", Buffer.from(secret, "base64"), body, "base64")}`,
      },
    }),
  },
  zoom: withTimeHeader(
    "x-zm-signature",
    "x-zm-request-timestamp",
    (time, body) => `v0:${time}:${body}`,
    { prefix: "v0=" },
  ),
  twitch: {
    send: (body, secret) => {
      const content = `e76c6bd4-55c9-4987-8304-da1588d8988b2023-11-14T22:13:20.000Z${body}`;
      return {
        headers: {
          "Twitch-Eventsub-Message-Id": "e76c6bd4-55c9-4987-8304-da1588d8988b",
          "Twitch-Eventsub-Message-Timestamp": "2023-11-14T22:13:20.000Z",
          "Twitch-Eventsub-Message-Signature": `sha256=${mac("sha256", secret, content, "hex")}`,
        },
      };
    },
  },
  mailgun: {
    body: JSON.stringify({
      signature: {
        timestamp: TIME_S,
        token: "a".repeat(50),
        signature: mac("sha256", "a shared secret of ours", TIME_S + "a".repeat(50), "hex"),
      },
      "event-data": { event: "opened" },
    }),
    changed: "{}",
    send: () => ({}),
  },
  intercom: ofBody("sha1", "hex", "X-Hub-Signature", "sha1="),
  zendesk: withTimeHeader(
    "X-Zendesk-Webhook-Signature",
    "X-Zendesk-Webhook-Signature-Timestamp",
    (time, body) => time + body,
    { encoding: "base64", at: "2023-11-14T22:13:20Z" },
  ),
};

/** The recipes, by the names of presets. */
export const macRecipes: Record<string, Recipe> = {
  ...commerce,
  ...development,
  ...documents,
  ...messaging,
  ...payments,
  ...chat,
  ...email,
  ...identity,
  ...planning,
  ...content,
  ...cloud,
  ...code,
  ...delivery,
  ...machineLearning,
  ...monitoring,
};
