/**
 * Requests of senders, each as people have reported it of other receivers, and what the service does.
 *
 * @module
 */
import { createHmac, generateKeyPairSync, sign } from "node:crypto";

const SECRET = "a-secret-of-the-tests-0123456789";
const hmac = (body: string, encoding: "hex" | "base64" = "hex") =>
  createHmac("sha256", SECRET).update(body).digest(encoding);
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const KEY = publicKey.export({ format: "pem", type: "spki" });
const filter = (expression: string) => ({ conditions: [{ type: "payload_filter", expression }] });
/** A condition of GitHub. */
export const github = { type: "hmac", preset: "github", secrets: [SECRET] };
const gitlab = { type: "static_token", preset: "gitlab", secrets: [SECRET] };
const cloudMonitoring = {
  type: "static_token",
  preset: "google_cloud_monitoring",
  secrets: [SECRET],
};
const INCIDENT = '{"incident":{"incident_id":"0.abc","state":"open"},"version":"1.2"}';
const slack = { type: "hmac", preset: "slack", secrets: [SECRET] };
const byToken = { type: "static_token", in: "header", name: "X-Token", secrets: [SECRET] };
const echo = (parameters: Record<string, unknown>) => ({
  actions: [{ type: "run_execution", step: "show", parameters }],
});

/** A request. */
export interface Sent {
  method?: string;
  query?: string;
  body?: string;
  headers?: Record<string, string>;
}

/** A report: a trigger, what is sent to it, and what comes of it. */
export interface Report {
  name: string;
  settings: Record<string, unknown>;
  /** Requests, each with the status and parts of the answer. */
  sent: [Sent, status: number, answer?: RegExp, headers?: Record<string, RegExp>][];
  /** The number of runs that came of it. */
  runs: number;
  /** Warnings of the save. */
  warned?: RegExp;
  /** The reason of the last refusal. */
  log?: RegExp;
  /** Parameters of the last execution. */
  parameters?: Record<string, unknown>;
  /** The reason for which the last run ended with an error. */
  outcome?: RegExp;
}

const posted = (body: string, headers: Record<string, string> = {}): Sent => ({
  body,
  headers: { "content-type": "application/json", ...headers },
});
const formed = (body: string, headers: Record<string, string> = {}) =>
  posted(body, { ...headers, "content-type": "application/x-www-form-urlencoded" });
/** A request that GitHub has signed. */
export const signed = (body: string) =>
  posted(body, { "x-hub-signature-256": `sha256=${hmac(body)}` });
const signedForm = (body: string) =>
  formed(body, { "x-hub-signature-256": `sha256=${hmac(body)}` });
const slackSigned = (body: string): Sent => {
  const time = String(Math.floor(Date.now() / 1_000));
  const headers = {
    "x-slack-request-timestamp": time,
    "x-slack-signature": `v0=${hmac(`v0:${time}:${body}`)}`,
  };
  return formed(body, headers);
};
const ENTROPY = '{"events":[],"firstEventSequence":0,"lastEventSequence":0,"entropy":"BHT"}';
const lineSigned = (body: string) => posted(body, { "x-line-signature": hmac(body, "base64") });
const answerOfX = new RegExp(
  `^\\{"response_token":"sha256=${hmac("abc", "base64").replaceAll("+", "\\+")}"\\}$`,
);
const frontSigned = (challenge: string, secret = SECRET): Sent => {
  const time = String(Date.now());
  const body = '{"type":"sync","authorization":{"id":"cmp_abc"}}';
  return posted(body, {
    "x-front-challenge": challenge,
    "x-front-request-timestamp": time,
    "x-front-signature": createHmac("sha256", secret).update(`${time}:${body}`).digest("base64"),
  });
};
const discordSigned = (body: string, signedBody = body): Sent => {
  const time = String(Math.floor(Date.now() / 1_000));
  const value = sign(null, new TextEncoder().encode(time + signedBody), privateKey).toString("hex");
  return posted(body, { "x-signature-timestamp": time, "x-signature-ed25519": value });
};
const payload = (value: unknown) => `payload=${encodeURIComponent(JSON.stringify(value))}`;

/** Makes the reports: some requests are signed with the time. */
export const makeReports = (): Report[] => [
  {
    name: "an id beyond 2^53 is not taken for the one beside it",
    settings: filter("body.id == 9007199254740992"),
    sent: [
      [posted('{"id":9007199254740993}'), 400],
      [posted('{"id":9007199254740992}'), 200],
    ],
    runs: 1,
    log: /is false/,
  },
  {
    name: "an id of 19 digits passes the filter that names it",
    settings: filter("body.id == 1234567890123456789 && string(body.id) == '1234567890123456789'"),
    sent: [
      [posted('{"id":1234567890123456789}'), 200],
      [posted('{"id":1234567890123456788}'), 400],
    ],
    runs: 1,
  },
  {
    name: "the log shows the digits of the payload",
    settings: filter("body.id == 1"),
    sent: [[posted('{"id":1234567890123456789}'), 400]],
    runs: 0,
    log: /1234567890123456789/,
  },
  {
    name: "an id beyond 64 bits is an error, and never another id",
    settings: filter("body.id != 1"),
    sent: [[posted('{"id":92233720368547758070}'), 400]],
    runs: 0,
    log: /beyond 64 bits/,
  },
  {
    name: "a sender over its rate is told to wait, by 429",
    settings: {
      conditions: [gitlab, { type: "rate_limit", period: 3_600, quota: 1 }],
      refused: { rate_limit: 429 },
    },
    sent: [
      [posted("{}", { "x-gitlab-token": SECRET }), 200],
      [posted("{}", { "x-gitlab-token": SECRET }), 429, /429/, { "retry-after": /^\d+$/ }],
    ],
    runs: 1,
  },
  {
    name: "a rate limit beside a provider that disables endpoints is told when it is saved",
    settings: { conditions: [gitlab, { type: "rate_limit", period: 3_600, quota: 1 }] },
    sent: [],
    runs: 0,
    warned: /GitLab, secret token disables an endpoint .* set refused: \{ rate_limit: 429 \}/,
  },
  {
    name: "Xero's check of the URL gets 401 for a wrong signature, and 200 for a right one",
    settings: {
      conditions: [{ type: "hmac", preset: "xero", secrets: [SECRET] }],
      refused: { authentication: 401 },
      response: { type: "text", text: "" },
    },
    sent: [
      [posted("{}", { "x-xero-signature": hmac("{}", "base64") }), 200, /^$/],
      [posted("{}", { "x-xero-signature": hmac("x", "base64") }), 401],
    ],
    runs: 1,
  },
  {
    name: "Xero's need of 401 is told when it is saved",
    settings: { conditions: [{ type: "hmac", preset: "xero", secrets: [SECRET] }] },
    sent: [],
    runs: 0,
    warned: /Xero needs refused: \{ authentication: 401 \}/,
  },
  {
    name:
      "LINE's check of the URL holds no event: it gets 200 beside deduplication, and launches nothing",
    settings: {
      conditions: [{ type: "hmac", preset: "line", secrets: [SECRET] }, { type: "deduplication" }],
    },
    sent: [
      [lineSigned('{"destination":"Uabc","events":[]}'), 200, /^$/],
      [
        posted('{"destination":"Uabc","events":[]}', { "x-line-signature": hmac("x", "base64") }),
        400,
      ],
      [lineSigned('{"destination":"Uabc","events":[{"webhookEventId":"01FZ"}]}'), 200],
    ],
    runs: 1,
  },
  {
    name: "Asana's heartbeat gets 200 beside a filter, and launches nothing",
    settings: {
      conditions: [
        { type: "hmac", preset: "asana", secrets: [SECRET] },
        { type: "payload_filter", expression: "body.events.exists(e, e.action == 'added')" },
      ],
    },
    sent: [
      [posted('{"events":[]}', { "x-hook-signature": hmac('{"events":[]}') }), 200, /^$/],
      [posted('{"events":[]}', { "x-hook-signature": hmac("x") }), 400],
    ],
    runs: 0,
  },
  {
    name: "Xero's first requests hold no event: a filter lets them pass, and nothing is launched",
    settings: {
      conditions: [
        { type: "hmac", preset: "xero", secrets: [SECRET] },
        { type: "payload_filter", expression: "body.events.exists(e, e.eventType == 'CREATE')" },
      ],
      refused: { authentication: 401 },
    },
    sent: [
      [posted(ENTROPY, { "x-xero-signature": hmac(ENTROPY, "base64") }), 200, /^$/],
      [posted(ENTROPY, { "x-xero-signature": hmac("x", "base64") }), 401],
    ],
    runs: 0,
  },
  {
    name: "WooCommerce's ping is not signed, gets 200, and launches nothing",
    settings: { conditions: [{ type: "hmac", preset: "woocommerce", secrets: [SECRET] }] },
    sent: [
      [formed("webhook_id=7"), 200, /^$/],
      [formed("webhook_id=7&id=1"), 400],
      [posted('{"id":1}', { "x-wc-webhook-signature": hmac('{"id":1}', "base64") }), 200],
    ],
    runs: 1,
  },
  {
    name: "SparkPost's test of a new webhook has no batch, and gets 200 beside deduplication",
    settings: {
      conditions: [
        { type: "static_token", preset: "sparkpost", secrets: [SECRET] },
        { type: "deduplication" },
      ],
    },
    sent: [
      [posted('[{"msys":{}}]', { authorization: `Basic ${btoa(`someone:${SECRET}`)}` }), 200, /^$/],
      [posted('[{"msys":{}}]'), 400],
    ],
    runs: 0,
  },
  {
    name: "Google Cloud Monitoring gives its password when it is asked for it",
    settings: { conditions: [cloudMonitoring], refused: { authentication: 401 } },
    sent: [
      [posted(INCIDENT), 401, /rejected/, { "www-authenticate": /^Basic realm="hooklaunch"$/ }],
      [posted(INCIDENT, { authorization: `Basic ${btoa(`someone:${SECRET}`)}` }), 200],
      [posted(INCIDENT, { authorization: `Basic ${btoa("someone:else")}` }), 401],
    ],
    runs: 1,
    log: /wrong token/,
  },
  {
    name: "Google Cloud Monitoring's need of a challenge is told when it is saved",
    settings: { conditions: [cloudMonitoring] },
    sent: [],
    runs: 0,
    warned: /Google Cloud Monitoring, alerts needs refused: \{ authentication: 401 \}/,
  },
  {
    name: "Discord's check of the URL gets 401 for a wrong signature",
    settings: {
      conditions: [{ type: "signature", preset: "discord", public_keys: [KEY] }],
      refused: { authentication: 401 },
    },
    sent: [
      [discordSigned('{"type":1}'), 200, /"type":1/],
      [discordSigned('{"type":1}', "{}"), 401],
    ],
    runs: 0,
  },
  {
    name: "GitHub's form mode: the JSON within a field is filtered",
    settings: {
      conditions: [github, {
        type: "payload_filter",
        expression: "body.payload.parseJSON().ref == 'refs/heads/main'",
      }],
    },
    sent: [
      [signedForm(payload({ ref: "refs/heads/main" })), 200],
      [signedForm(payload({ ref: "refs/heads/x" })), 400],
    ],
    runs: 1,
  },
  {
    name: "Slack's interactivity: the JSON within a field is filtered",
    settings: {
      conditions: [slack, {
        type: "payload_filter",
        expression: "body.payload.parseJSON().type == 'block_actions'",
      }],
    },
    sent: [
      [slackSigned(payload({ type: "block_actions" })), 200],
      [slackSigned(payload({ type: "view_submission" })), 400],
    ],
    runs: 1,
  },
  {
    name: "Dropbox checks the URL by GET, and no job runs",
    settings: { conditions: [{ type: "hmac", preset: "dropbox", secrets: [SECRET] }] },
    sent: [[{ method: "GET", query: "?challenge=abc123" }, 200, /^abc123$/]],
    runs: 0,
  },
  {
    name: "Meta checks the URL by GET with a token of the owner",
    settings: { conditions: [byToken], handshakes: [{ preset: "meta", secret: SECRET }] },
    sent: [
      [
        {
          method: "GET",
          query: `?hub.mode=subscribe&hub.verify_token=${SECRET}&hub.challenge=158`,
        },
        200,
        /^158$/,
      ],
      [{ method: "GET", query: "?hub.mode=subscribe&hub.verify_token=x&hub.challenge=158" }, 400],
    ],
    runs: 0,
  },
  {
    name: "Strava checks the URL by GET, and wants JSON",
    settings: { conditions: [byToken], handshakes: [{ preset: "strava", secret: SECRET }] },
    sent: [
      [
        {
          method: "GET",
          query: `?hub.mode=subscribe&hub.verify_token=${SECRET}&hub.challenge=15f7`,
        },
        200,
        /^\{"hub\.challenge":"15f7"\}$/,
        { "content-type": /application\/json/ },
      ],
    ],
    runs: 0,
  },
  {
    name: "CloudEvents checks the URL by OPTIONS, with its rate",
    settings: { conditions: [byToken], handshakes: [{ preset: "cloudevents" }] },
    sent: [[
      {
        method: "OPTIONS",
        headers: { "webhook-request-origin": "events.example", "webhook-request-rate": "120" },
      },
      200,
      /^$/,
      { "webhook-allowed-origin": /^events\.example$/, "webhook-allowed-rate": /./ },
    ]],
    runs: 0,
  },
  {
    name: "Asana wants a header back, and no job runs",
    settings: { conditions: [{ type: "hmac", preset: "asana", secrets: [SECRET] }] },
    sent: [[posted("", { "x-hook-secret": "abc" }), 200, /^$/, { "x-hook-secret": /^abc$/ }]],
    runs: 0,
  },
  {
    name: "Asana wants a header back of a trigger that is known by a token, too",
    settings: { conditions: [byToken], handshakes: [{ preset: "asana" }] },
    sent: [
      [posted("", { "x-hook-secret": "abc" }), 200, /^$/, { "x-hook-secret": /^abc$/ }],
      [posted("", {}), 400],
    ],
    runs: 0,
  },
  {
    name: "X asks for an HMAC by GET, and no job runs",
    settings: {
      conditions: [{ type: "hmac", preset: "x", secrets: [SECRET] }],
      handshakes: [{ preset: "x", secret: SECRET }],
    },
    sent: [[
      { method: "GET", query: "?crc_token=abc" },
      200,
      answerOfX,
    ]],
    runs: 0,
  },
  {
    name: "Event Grid checks the URL by OPTIONS for CloudEvents, and no job runs",
    settings: {
      conditions: [{
        type: "static_token",
        preset: "azure_event_grid_cloudevents",
        secrets: [SECRET],
      }],
    },
    sent: [[
      { method: "OPTIONS", headers: { "webhook-request-origin": "eventgrid.azure.net" } },
      200,
      /^$/,
      { "webhook-allowed-origin": /^eventgrid\.azure\.net$/ },
    ]],
    runs: 0,
  },
  {
    name: "Lark wants its challenge back, and no job runs",
    settings: { conditions: [{ type: "static_token", preset: "lark", secrets: [SECRET] }] },
    sent: [[
      posted('{"type":"url_verification","token":"x","challenge":"abc"}'),
      200,
      /^\{"challenge":"abc"\}$/,
    ]],
    runs: 0,
  },
  {
    name: "Front wants the challenge of a signed request back, and no job runs",
    settings: { conditions: [{ type: "hmac", preset: "front", secrets: [SECRET] }] },
    sent: [
      [frontSigned("abc"), 200, /^abc$/],
      [frontSigned("abc", "another-secret-of-the-tests-0123"), 400],
    ],
    runs: 0,
  },
  {
    name: "monday.com wants its challenge back, and no job runs",
    settings: { conditions: [byToken], handshakes: [{ preset: "monday" }] },
    sent: [
      [posted('{"challenge":"abc"}'), 200, /^\{"challenge":"abc"\}$/],
      [posted('{"challenge":"abc","event":{}}'), 400],
    ],
    runs: 0,
  },
  {
    name: "a field of the payload is a parameter of the job: a text",
    settings: echo({ text: "{body.ref}" }),
    sent: [[posted('{"ref":"refs/heads/main"}'), 200]],
    runs: 1,
    parameters: { text: "refs/heads/main" },
  },
  {
    name: "a field of the payload is a parameter of the job: a number",
    settings: echo({ whole: "{body.epochs}" }),
    sent: [[posted('{"epochs":3}'), 200]],
    runs: 1,
    parameters: { whole: 3 },
  },
  {
    name: "a field that the payload lacks is told, with its name",
    settings: echo({ whole: "{body.epochs}" }),
    sent: [[posted("{}"), 200]],
    runs: 1,
    outcome: /parameters\/whole: expected a value of \{body\.epochs\}, found none/,
  },
  {
    name: "one URL starts another job for each event",
    settings: {
      actions: ["a", "b"].map((text) => ({
        type: "run_execution",
        step: "show",
        if: `body.event == '${text}'`,
        parameters: { text },
      })),
    },
    sent: [[posted('{"event":"b"}'), 200]],
    runs: 1,
    parameters: { text: "b" },
  },
  {
    name: "a device that sends GET alone is told that POST is taken, and no job runs",
    settings: { conditions: [{ ...byToken, in: "query", name: "token" }] },
    sent: [[{ method: "GET", query: `?token=${SECRET}&state=on` }, 405, /^/, { allow: /^POST$/ }]],
    runs: 0,
  },
  {
    name: "repeats without an id are told by their bodies",
    settings: { conditions: [{ type: "deduplication", in: "body_hash" }] },
    sent: [[posted('{"a":1}'), 200], [posted('{"a":1}'), 200], [posted('{"a":2}'), 200]],
    runs: 2,
  },
  {
    name: "repeats that differ in their time are told by a key",
    settings: { conditions: [{ type: "deduplication", key: "body.event.id" }] },
    sent: [
      [posted('{"event":{"id":7},"sent":1}'), 200],
      [posted('{"event":{"id":7},"sent":2}'), 200],
      [posted('{"event":{"id":8},"sent":2}'), 200],
    ],
    runs: 2,
  },
  {
    name: "a header in UTF-8 is read as it was written",
    settings: filter("headers['x-title'] == 'Zürich'"),
    sent: [
      [
        posted("{}", { "x-title": String.fromCharCode(...new TextEncoder().encode("Zürich")) }),
        200,
      ],
    ],
    runs: 1,
  },
  {
    name: "a whole number times a fraction: the message says how",
    settings: filter("body.count * 1.5 == 3.0"),
    sent: [[posted('{"count":2}'), 400]],
    runs: 0,
    log: /write double\(…\) around the int/,
  },
  {
    name: "a list filter compares what a form holds as well",
    settings: {
      conditions: [github, {
        type: "payload_filter",
        all: [{ path: "body.ref", op: "eq", value: "x" }],
      }],
    },
    sent: [
      [signedForm("action=opened&ref=x"), 200],
      [signedForm("action=opened&ref=y"), 400],
      [signed('{"ref":"x"}'), 200],
      [signed('{"ref":"y"}'), 400],
    ],
    runs: 2,
  },
];
