/**
 * Requests that libraries have signed or accepted which neither their provider nor this project has written: for
 * providers without a library that signs or verifies. The libraries themselves are not needed to run the tests.
 *
 * @module
 */
import { made } from "./library_vectors.ts";
import type { Vector } from "./vectors.ts";

const N8N = "n8n-nodes-base 2.41.2";
const NUXT = "nuxt-webhook-validators 0.2.12";
const TERN = "@hookflo/tern 4.1.0, verifyWithPlatformConfig";
const GO = "github.com/go-playground/webhooks 6.4.0";
const URL_OF_TRIGGER = "https://hooks.example/api/v0/launch/x/";

/** Requests with an HMAC. */
export const independentMacs: Vector[] = [
  made(
    "asana",
    `${N8N}, AsanaTriggerHelpers`,
    "asana secret",
    "X-Hook-Signature",
    "b4b1e91ccc23196ff437d11d990d80864b4d93581cf2ea70b76a0253b38e7ea5",
  ),
  made(
    "trello",
    `${N8N}, TrelloTriggerHelpers`,
    "trello secret",
    "X-Trello-Webhook",
    "uE8i+6ipf3MnHPce9XolUIe9nQQ=",
    { settings: { url: URL_OF_TRIGGER } },
  ),
  made(
    "calendly",
    `${N8N}, CalendlyTriggerHelpers`,
    "calendly secret",
    "Calendly-Webhook-Signature",
    "t=1700000000,v1=598cc9d6eee0353126ad245d52fc8b0251f4a6d30332bdf4722bd7b5b4574be3",
  ),
  made(
    "typeform",
    `${N8N}, TypeformTriggerHelpers`,
    "typeform secret",
    "Typeform-Signature",
    "sha256=hXMJe+HkWjAH4vThZXgNy0MKkUUBM3OMjGSeE4bIZ4Q=",
  ),
  made(
    "zendesk",
    `${N8N}, ZendeskTriggerHelpers`,
    "zendesk secret",
    "X-Zendesk-Webhook-Signature",
    "1wOVomZ4N9WKxC7CIwItONCPPLAfC2oFbDFcdYpzChM=",
    { headers: { "X-Zendesk-Webhook-Signature-Timestamp": "2023-11-14T22:13:20Z" } },
  ),
  made(
    "customer_io",
    `${N8N}, CustomerIoTriggerHelpers`,
    "cio secret",
    "X-CIO-Signature",
    "a8365141c4f1ae4b0f360bd163e1b9ba772482ed1ed66db9d4c5ca81a252124b",
    { headers: { "X-CIO-Timestamp": "1700000000" } },
  ),
  made(
    "cal_com",
    `${N8N}, CalTriggerHelpers`,
    "cal secret",
    "X-Cal-Signature-256",
    "7dacafc6dbcabe24b0a06d560907403b30ba5b30f5bf2a98ab8a88fa7936ea83",
  ),
  made(
    "jira",
    "airflow-provider-inbound-webhooks 0.2.0, JiraSource.verify",
    "jira secret",
    "X-Hub-Signature",
    "sha256=e7355a8e3118a2092db247b336c6149b4e56ff39391e830efd4eb1b2fc1411bb",
  ),
  made(
    "intercom",
    "@activepieces/piece-intercom 0.7.5, events.verify",
    "intercom secret",
    "X-Hub-Signature",
    "sha1=46680295d0b65000a045a02352bda0026b568388",
  ),
  made(
    "clickup",
    `${N8N}, ClickUpTrigger`,
    "clickup secret",
    "X-Signature",
    "a987c6edc2af782d965e8b6f374182a317b1a83cd5a5ac250a4342fcbe7ad38d",
  ),
  made(
    "help_scout",
    `${N8N}, HelpScoutTrigger`,
    "helpscout secret",
    "X-HelpScout-Signature",
    "aEy8wy3Td+NTIajZqMuhh+T1M+Q=",
  ),
  made(
    "sentry",
    TERN,
    "sentry secret",
    "Sentry-Hook-Signature",
    "87a04838e0ecbf868c5cf38871a43ff6a369cc9eb8c0b61edbc787bc0a1c8634",
  ),
  made(
    "doppler",
    TERN,
    "doppler secret",
    "X-Doppler-Signature",
    "sha256=7cc00d6535f952c53fb013f6fc88124cf76d92ca6999471a21a44064ac16c3e5",
  ),
  made(
    "lemon_squeezy",
    TERN,
    "lemon secret",
    "X-Signature",
    "2e9ad5ad60e46d1013fd15b5db3f3c9ca81bdf89d141af30a15fcde6b7d860d6",
  ),
  made(
    "woocommerce",
    TERN,
    "woo secret",
    "X-WC-Webhook-Signature",
    "Cah2ENIBOnhv4IwQJC+qwnEQlZveEUram7C6Web+LRQ=",
  ),
  made(
    "docusign",
    `${NUXT}, isValidDocusignWebhook`,
    "docusign key",
    "X-DocuSign-Signature-1",
    "oXnCIqKPgjFL2Ocmky7JrwczogZVSf9i6bGXXGYyzbY=",
  ),
  made(
    "vercel",
    `${NUXT}, isValidVercelWebhook`,
    "vercel secret",
    "x-vercel-signature",
    "75844d59fa18da798bcd10d40b3ed1603198fed8",
  ),
  made(
    "heroku",
    `${NUXT}, isValidHerokuWebhook`,
    "heroku secret",
    "Heroku-Webhook-Hmac-SHA256",
    "9FB4YI8d9FW7Jfr0q3wX6WbQhXTiXy3KxDJuywad2xk=",
  ),
  made(
    "dropbox",
    `${NUXT}, isValidDropboxWebhook`,
    "dropbox secret",
    "X-Dropbox-Signature",
    "1b91417e19a49ab978a965e7947ccb7af30365e55d9c975434f661e96f64ce1a",
  ),
  made(
    "quickbooks",
    "python-quickbooks 0.9.12, validate_webhook_signature",
    "intuit token",
    "intuit-signature",
    "oxadfqWWxmTAJImxYIPpRI6RKHUmtKlKR2KLEzbprNs=",
  ),
  made(
    "whatsapp",
    "pywa 4.5.0, webhook_updates_validator",
    "meta secret",
    "X-Hub-Signature-256",
    "sha256=1c231b1fd94bcd4a8170e8c334f33672b29384b068b025f126dc76979ed43982",
  ),
  made(
    "paystack",
    "@alexasomba/paystack-node 1.1.6, computePaystackWebhookSignature",
    "paystack secret",
    "X-Paystack-Signature",
    "32bcb9ce8fde3be75dbbd1ba82f7d1b6900e39cfbe2a60cc5eb6c485acf7564a" +
      "76bc638679be6884555fc8960e31391bd6a1ba769d9fc140389adf72f9451267",
  ),
  {
    preset: "gogs",
    source: `${GO}, gogs.Parse`,
    settings: { secrets: ["gogs secret"] },
    parts: {
      headers: {
        "X-Gogs-Event": "push",
        "X-Gogs-Signature": "b9f97f90a4769e8d4854c07e20cc3421d093ddf947b6ae68d538d2a9d3dedfbd",
      },
      body: '{"ref":"refs/heads/main","before":"0","after":"1","compare_url":"","commits":[]}',
    },
  },
  {
    preset: "bitbucket_data_center",
    source: `${GO}, bitbucketserver.Parse`,
    settings: { secrets: ["bitbucket secret"] },
    parts: {
      headers: {
        "X-Event-Key": "repo:refs_changed",
        "X-Hub-Signature":
          "sha256=00a3bc66e26e2b0273b38aba01a363b9c02f9a317ef79d0662e75258179a9574",
      },
      body: '{"eventKey":"repo:refs_changed","date":"2017-09-19T09:58:11+1000","changes":[]}',
    },
  },
  {
    preset: "authorize_net",
    source:
      "stymiee/authnetjson tests/Authnetjson/AuthnetWebhookTest.php, a request of Authorize.net",
    settings: {
      secrets: [
        "52CB4A002C634B84E397DC8A218E1A160BA7CAB7CBE4C05B35E9CBB05E14FE4A" +
        "2385812E980CCF97D177F17863CE214D1BE6CE8E1E894487AACF3609C1A5FE17",
      ],
    },
    parts: {
      headers: {
        "X-ANET-Signature":
          "sha512=A1E0CC0F8A7B6274E0951CAC5EB63579F70FC6B7B15384B146DCE02B98DEE395" +
          "4A5A8E331661B51DE953E141E88994DFA7D267FFB8428BE0660511B6EFB94960",
      },
      body: '{"notificationId":"182cbbff-cab2-4080-931d-80e5d818f23a",' +
        '"eventType":"net.authorize.payment.authcapture.created",' +
        '"eventDate":"2017-08-18T20:40:52.7722007Z",' +
        '"webhookId":"849eb87e-078a-4169-a34b-c0bded5019a8","payload":{"responseCode":0,' +
        '"authCode":"Z3PV5H","avsResponse":"Y","authAmount":0.0,"entityName":"transaction",' +
        '"id":"40005915599"}}',
    },
  },
  {
    preset: "airtable",
    source: "pyairtable 3.5.1, WebhookNotification.from_request",
    settings: { secrets: ["YSBNQUMgc2VjcmV0IG9mIEFpcnRhYmxl"] },
    parts: {
      headers: {
        "X-Airtable-Content-MAC":
          "hmac-sha256=80c54a37bbdcffc087f54bba62eeca86eaca79c77afda172c02404868997adef",
      },
      body: '{"base":{"id":"app00000000000000"},"webhook":{"id":"ach00000000000000"},' +
        '"timestamp":"2022-02-01T21:25:05.663Z"}',
    },
  },
  {
    preset: "mandrill",
    source: "django-anymail 15.2, MandrillCombinedWebhookView",
    settings: { secrets: ["mandrill key"], url: URL_OF_TRIGGER },
    parts: {
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        "X-Mandrill-Signature": "K+YMecj3Z5xnskFBMQF/TKhtL9g=",
      },
      body: "mandrill_events=%5B%7B%22event%22%3A%22send%22%2C%22_id%22%3A%221%22%2C%22msg%22" +
        "%3A%7B%22subject%22%3A%22Gr%C3%BC%C3%9Fe%22%7D%7D%5D",
    },
    change: ["send", "open"],
  },
];

/** Requests that a private key has signed. */
export const independentSignatures: Vector[] = [
  {
    preset: "wise",
    source: "a request of Wise's sandbox, in a public test of a receiver",
    settings: {
      public_keys: [
        "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAwpb91cEYuyJNQepZAVfP" +
        "ZIlPZfNUefH+n6w9SW3fykqKu938cR7WadQv87oF2VuT+fDt7kqeRziTmPSUhqPU" +
        "ys/V2Q1rlfJuXbE+Gga37t7zwd0egQ+KyOEHQOpcTwKmtZ81ieGHynAQzsn1We3j" +
        "wt760MsCPJ7GMT141ByQM+yW1Bx+4SG3IGjXWyqOWrcXsxAvIXkpUD/jK/L958Cg" +
        "nZEgz0BSEh0QxYLITnW1lLokSx/dTianWPFEhMC9BgijempgNXHNfcVirg1lPSyg" +
        "z7KqoKUN0oHqWLr2U1A+7kqrl6O2nx3CKs1bj1hToT1+p4kcMoHXA7kA+VBLUpEs" +
        "VwIDAQAB",
      ],
    },
    parts: {
      headers: {
        "X-Signature-SHA256":
          "wKcKCYXAzxNgiu7xmoDm943NUni7Rz33QN8JkEA9dWSGebgndonabgSj18Y4C08OrwVmueGsED2s00M7" +
          "DtJVcYKOS1i3G4TMVx+mgM3aL9djMBkQtiYNBFUd6wrPI7ZUNHv/TrlKSjTMc+6JFvUvJ7owY3z85e3I" +
          "4jLRLJowMFvO8kvCJ60+1pY9wDwZvtZ//WS93LrwGjk9Dvwzpmu0w+P4J75tETT5qC3Uv0y5G2yO8SEo" +
          "O3yNP/tg/BOli02niHb53vEOUWUb9bly6thnfMoXoiV/osoGxgF20R58RlvkAmezyyl1Sv542TfS2Dpi" +
          "wVnmjjjkCyXeSUcKookYLQ==",
      },
      body: '{"data":{"resource":{"id":49983981,"profile_id":16055450,"account_id":14124090,' +
        '"type":"transfer"},"current_state":"incoming_payment_waiting","previous_state":null,' +
        '"occurred_at":"2021-08-23T10:12:50Z"},' +
        '"subscription_id":"90aa8e14-4ef1-4a56-861c-f3c9cde097ea",' +
        '"event_type":"transfers#state-change","schema_version":"2.0.0",' +
        '"sent_at":"2021-08-23T10:12:50Z"}',
    },
  },
];
