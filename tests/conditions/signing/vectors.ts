/**
 * Requests with an HMAC that providers publish to test against, or that their own libraries sign or accept.
 *
 * @module
 */
import type { RequestParts } from "../fixture.ts";
import { independentMacs } from "./independent_vectors.ts";
import { libraryMacs } from "./library_vectors.ts";

/** A request that must pass. */
export interface Vector {
  preset: string;
  source: string;
  settings: Record<string, unknown>;
  parts: RequestParts & { body: string };
  /** What changes the body to one that is refused; any letter otherwise. */
  change?: readonly [string | RegExp, string];
}

/** The request of the vector of Standard Webhooks. */
export const standardVector = (prefix: string): RequestParts & { body: string } => ({
  headers: {
    [`${prefix}-id`]: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    [`${prefix}-timestamp`]: "1614265330",
    [`${prefix}-signature`]: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  },
  body: '{"test": 2432232314}',
  receivedAt_ms: 1_614_265_330_000,
});
const standardSecrets = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"];

const boxHeaders = { "box-delivery-timestamp": "2020-01-01T00:00:00-07:00" };
const boxBody = '{"type":"webhook_event","webhook":{"id":"1234567890"},"trigger":"FILE.UPLOADED",' +
  '"source":{"id":"1234567890","type":"file","name":"Test.txt"}}';
const boxReceivedAt_ms = Date.parse("2020-01-01T00:09:00-07:00");
const PADDLE = "PaddleHQ/paddle-node-sdk src/__tests__/notifications/webhooks-validator.test.ts";

/** Requests with an HMAC. */
export const macVectors: Vector[] = [
  {
    preset: "sinch",
    source: "developers.sinch.com, Conversation API, validating callbacks",
    settings: { secrets: ["foo_secret1234"] },
    parts: {
      headers: {
        "x-sinch-webhook-signature-timestamp": "1634579353",
        "x-sinch-webhook-signature-nonce": "01FJA8B4A7BM43YGWSG9GBV067",
        "x-sinch-webhook-signature": "6bpJoRmFoXVjfJIVglMoJzYXxnoxRujzR4k2GOXewOE=",
      },
      body: '{"app_id":"","accepted_time":"2021-10-18T17:49:13.813615Z",' +
        '"project_id":"e2df3a34-a71b-4448-9db5-a8d2baad28e4","contact_create_notification":' +
        '{"contact":{"id":"01FJA8B466Y0R2GNXD78MD9SM1","channel_identities":[{"channel":"SMS",' +
        '"identity":"48123456789","app_id":""}],"display_name":"New Test Contact",' +
        '"email":"new.contact@email.com","external_id":"","metadata":"","language":"EN_US"}},' +
        '"message_metadata":""}',
      receivedAt_ms: 1_634_579_353_000,
    },
  },
  {
    preset: "digitalocean",
    source: "digitalocean/webhook-sdk-javascript src/Signature.spec.ts",
    settings: { secrets: ["du-TY1GUFGk"] },
    parts: {
      headers: {
        "do-signature":
          "t=946720800,v1=b70100cf2943bec15996e3ae9392d0dcaf21f285fa81969108185d47b292dfa2",
      },
      body: "it is wednesday my dudes 🕷️",
      receivedAt_ms: 946_720_800,
    },
  },
  {
    preset: "github",
    source: "docs.github.com, validating webhook deliveries",
    settings: { secrets: ["It's a Secret to Everybody"] },
    parts: {
      headers: {
        "X-Hub-Signature-256":
          "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
      },
      body: "Hello, World!",
    },
  },
  {
    preset: "bitbucket",
    source: "support.atlassian.com, manage webhooks",
    settings: { secrets: ["It's a Secret to Everybody"] },
    parts: {
      headers: {
        "X-Hub-Signature":
          "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9",
      },
      body: "Hello World!",
    },
  },
  {
    preset: "slack",
    source: "docs.slack.dev, verifying requests",
    settings: { secrets: ["8f742231b10e8888abcd99yyyzzz85a5"] },
    parts: {
      headers: {
        "X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        "X-Slack-Request-Timestamp": "1531420618",
      },
      body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow" +
        "&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner" +
        "&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands" +
        "%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN" +
        "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
      receivedAt_ms: 1_531_420_618_000,
    },
  },
  {
    preset: "standard_webhooks",
    source: "standard-webhooks, test vector of the libraries",
    settings: { secrets: standardSecrets },
    parts: standardVector("webhook"),
  },
  {
    preset: "svix",
    source: "docs.svix.com, how to verify manually",
    settings: { secrets: standardSecrets },
    parts: standardVector("svix"),
  },
  {
    preset: "svix",
    source: "docs.svix.com, headers without Svix's name",
    settings: { secrets: standardSecrets },
    parts: standardVector("webhook"),
  },
  ...[
    "claude",
    "etsy",
    "gemini",
    "gitlab_signed",
    "loops",
    "openai",
    "render",
    "replicate",
  ].map((preset) => ({
    preset,
    source: "standard-webhooks, test vector of the libraries",
    settings: { secrets: standardSecrets },
    parts: standardVector("webhook"),
  })),
  ...["brex", "clerk", "incident_io", "resend", "stytch"].map((preset) => ({
    preset,
    source: "docs.svix.com, how to verify manually",
    settings: { secrets: standardSecrets },
    parts: standardVector("svix"),
  })),
  {
    preset: "supabase",
    source: "standard-webhooks, test vector of the libraries",
    settings: { secrets: standardSecrets.map((secret) => `v1,${secret}`) },
    parts: standardVector("webhook"),
  },
  ...[
    [
      "lalala",
      "another-secret",
      "daa220016c8f29a8b214fbfc3671aeec2145cfb1e6790184ffb38b6d0425fa00",
    ],
    [
      "an-important-request-payload",
      "hunter123",
      "9be2242094a9a8c00c64306f382a7f9d691de910b4a266f67bd314ef18ac49fa",
    ],
  ].map(([body = "", secret = "", mac = ""]) => ({
    preset: "circleci",
    source: "circleci.com, validate webhooks",
    settings: { secrets: [secret] },
    parts: { headers: { "circleci-signature": `v1=${mac}` }, body },
  })),
  {
    preset: "mlflow",
    source: "what mlflow/webhooks/delivery.py sends, computed by Python's hmac",
    settings: { secrets: ["mlflow s3cret"] },
    parts: {
      headers: {
        "X-MLflow-Delivery-Id": "bcb3a8b1-0d64-4c3a-9c4f-0f5b2f8f4a11",
        "X-MLflow-Timestamp": "1700000000",
        "X-MLflow-Signature": "v1,Cn2a5BfcZCByQqn4aHeK7aDBfNEHqqaIp0baJWggbYo=",
      },
      body: '{"entity": "model_version", "action": "created", ' +
        '"timestamp": "2023-11-14T22:13:20.000000+00:00", ' +
        '"data": {"name": "example_model", "version": "1"}}',
    },
  },
  {
    preset: "twilio",
    source: "twilio.com, security, the example of a form",
    settings: { secrets: ["12345"] },
    parts: {
      url: "https://mycompany.com/myapp.php?foo=1&bar=2",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        "X-Twilio-Signature": "0/KCTR6DLpKmkAf8muzZqo1nDgQ=",
      },
      body: "Digits=1234&To=%2B18005551212&From=%2B12349013030&Caller=%2B12349013030" +
        "&CallSid=CA1234567890ABCDE",
    },
  },
  {
    preset: "square",
    source: "square/square-nodejs-sdk tests/integration/webhooks.test.ts",
    settings: {
      secrets: ["Ibxx_5AKakO-3qeNVR61Dw"],
      url: "https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9",
    },
    parts: {
      headers: {
        "x-square-hmacsha256-signature": "GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4=",
      },
      body: '{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification",' +
        '"event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f",' +
        '"created_at":"2022-07-13T20:30:59.037339943Z",' +
        '"data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}',
    },
  },
  {
    preset: "square",
    source: "developer.squareup.com, validate, the example's curl line",
    settings: { secrets: ["asdf1234"], url: "https://example.com/webhook" },
    parts: {
      headers: {
        "x-square-hmacsha256-signature": "2kRE5qRU2tR+tBGlDwMEw2avJ7QM4ikPYD/PJ3bd9Og=",
      },
      body: '{"hello":"world"}',
    },
  },
  {
    preset: "box",
    source: "box/box-node-sdk src/test/webhooks.test.ts, the primary key",
    settings: { secrets: ["SamplePrimaryKey"] },
    parts: {
      headers: {
        ...boxHeaders,
        "box-signature-primary": "6TfeAW3A1PASkgboxxA5yqHNKOwFyMWuEXny/FPD5hI=",
        "box-signature-secondary": "v+1CD1Jdo3muIcbpv5lxxgPglOqMfsNHPV899xWYydo=",
      },
      body: boxBody,
      receivedAt_ms: boxReceivedAt_ms,
    },
  },
  {
    preset: "box",
    source: "box/box-node-sdk src/test/webhooks.test.ts, the secondary key",
    settings: { secrets: ["SampleSecondaryKey"] },
    parts: {
      headers: {
        ...boxHeaders,
        "box-signature-primary": "AAAA",
        "box-signature-secondary": "v+1CD1Jdo3muIcbpv5lxxgPglOqMfsNHPV899xWYydo=",
      },
      body: boxBody,
      receivedAt_ms: boxReceivedAt_ms,
    },
  },
  {
    preset: "box",
    source:
      "box/box-node-sdk src/test/webhooks.test.ts, a name outside ASCII, which Box sends escaped",
    settings: { secrets: ["SamplePrimaryKey"] },
    parts: {
      headers: {
        ...boxHeaders,
        "box-signature-primary": "LV2uCu+5NJtIHrCXDYgZ0v/PP5THGRuegw3RtdnEyuE=",
      },
      body: '{"webhook":{"id":"1234567890"},"trigger":"FILE.UPLOADED","source":' +
        '{"id":"1234567890","type":"file","name":"\\u30b9\\u30af\\u30ea\\u30fc\\u30f3\\u30b7\\u30e7\\u30c3\\u30c8 2020-08-05.txt"}}',
      receivedAt_ms: boxReceivedAt_ms,
    },
  },
  {
    preset: "paddle",
    source: `${PADDLE}, one signature`,
    settings: { secrets: ["VALID_SECRET"] },
    parts: {
      headers: {
        "Paddle-Signature":
          "ts=1698796800;h1=a300428748dce5c70e4da19bffd60769591ea969c99dea3105d0ec9612cf43f9",
      },
      body: '{"data": ["1", "2"]}',
      receivedAt_ms: 1_698_796_805_000,
    },
  },
  {
    preset: "paddle",
    source: `${PADDLE}, several signatures and an unknown one`,
    settings: { secrets: ["VALID_SECRET"] },
    parts: {
      headers: {
        "Paddle-Signature":
          "ts=1698796800;h1=28981e941fae76e53db32f3d2a83cb69db41476595e84e1970a1b5d98f62b261;" +
          "h1=28981e941fae76e53db32f3d2a83cb69db41476595e84e1970a1b5d98f62b261;h2=RANDOM_HASH",
      },
      body: '{"data": "value"}',
      receivedAt_ms: 1_698_796_800_000,
    },
  },
  {
    preset: "adyen",
    source: "docs.adyen.com, verify HMAC signatures, the example",
    settings: { secrets: ["44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"] },
    parts: {
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        live: "false",
        notificationItems: [{
          NotificationRequestItem: {
            pspReference: "7914073381342284",
            merchantAccountCode: "TestMerchant",
            merchantReference: "TestPayment-1407325143704",
            amount: { value: 1130, currency: "EUR" },
            eventCode: "AUTHORISATION",
            success: "true",
            additionalData: { hmacSignature: "coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0=" },
          },
        }],
      }),
    },
    change: ["1130", "1131"],
  },
  {
    preset: "cvat",
    source: "docs.cvat.ai, webhook secret, the example of an empty body",
    settings: { secrets: ["mykey"] },
    parts: {
      headers: {
        "X-Signature-256":
          "sha256=e1b24265bf2e0b20c81837993b4f1415f7b68c503114d100a40601eca6a2745f",
      },
      body: "",
    },
    change: [/^/, "{}"],
  },
  {
    preset: "mux",
    source: "muxinc/mux-node-sdk tests/webhooks.test.ts",
    settings: { secrets: ["SuperSecret123"] },
    parts: {
      headers: {
        "mux-signature":
          "t=1565125718,v1=854ece4c22acef7c66b57d4e504153bc512595e8e9c772ece2a68150548c19a7",
      },
      body: '{"test":"body"}',
      receivedAt_ms: 1_565_125_718_000,
    },
  },
  {
    preset: "revolut",
    source: "developer.revolut.com, verify the payload signature",
    settings: { secrets: ["wsk_r59a4HfWVAKycbCaNO1RvgCJec02gRd8"] },
    parts: {
      headers: {
        "Revolut-Request-Timestamp": "1683650202360",
        "Revolut-Signature": "v1=bca326fb378d0da7f7c490ad584a8106bab9723d8d9cdd0d50b4c5b3be3837c0",
      },
      body: '{"data":{"id":"645a7696-22f3-aa47-9c74-cbae0449cc46","new_state":"completed",' +
        '"old_state":"pending","request_id":"app_charges-9f5d5eb3-1e06-46c5-b1c0-3914763e0bcb"},' +
        '"event":"TransactionStateChanged","timestamp":"2023-05-09T16:36:38.028960Z"}',
      receivedAt_ms: 1_683_650_202_360,
    },
  },
  {
    preset: "logto",
    source: "logto-io/logto packages/core/src/utils/sign.test.ts",
    settings: { secrets: ["foo"] },
    parts: {
      headers: {
        "logto-signature-sha-256":
          "436958f1dbfefab37712fb3927760490fbf7757da8c0b2306ee7b485f0360eee",
      },
      body: '{"bar":"bar","foo":"foo"}',
    },
  },
  ...libraryMacs,
  ...independentMacs,
];
