/**
 * Requests that providers' own libraries have signed, or accepted where they only verify. The libraries
 * themselves are not needed to run the tests.
 *
 * @module
 */
import type { Vector } from "./vectors.ts";

const TIME_S = 1_700_000_000;
const body = '{"id":"evt_1","text":"Grüße"}';

/** A request that a library has signed, over one body. */
export function made(
  preset: string,
  source: string,
  secret: string,
  header: string,
  value: string,
  others: { headers?: Record<string, string>; settings?: Record<string, unknown> } = {},
): Vector {
  return {
    preset,
    source,
    settings: { secrets: [secret], ...others.settings },
    parts: { headers: { [header]: value, ...others.headers }, body, receivedAt_ms: TIME_S * 1000 },
  };
}

/** Requests with an HMAC. */
export const libraryMacs: Vector[] = [
  made(
    "adyen_platform",
    "@adyen/api-library 32.1.0, calculateHmac",
    "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056",
    "HmacSignature",
    "hol1fHap2rR8h7+BRlE1a90EFpZpVzhiivR5KBPKNj8=",
  ),
  made(
    "gocardless",
    "gocardless-nodejs 10.1.2, verifySignature",
    "gc secret",
    "Webhook-Signature",
    "2d5ddca37a37caec041f4467a5cd18509484a5d6ffd66e13db83eec5b3a8e9c4",
  ),
  made(
    "razorpay",
    "razorpay 2.9.8, validateWebhookSignature",
    "rzp secret",
    "X-Razorpay-Signature",
    "80d4d9e99c9572adfaf90f48600f366abf4869ebf173b6054979ade4d411a967",
  ),
  made(
    "sanity",
    "@sanity/webhook 4.0.4, encodeSignatureHeader",
    "sanity secret",
    "sanity-webhook-signature",
    "t=1700000000000,v1=CybQCeCsMyQUvm55E-xKMux0HKHls8VNY8PCmA-TlNw",
  ),
  made(
    "kontent_ai",
    "@kontent-ai/webhook-helper 3.0.3, getHashFromString",
    "kontent secret",
    "X-Kontent-ai-Signature",
    "/NcPAx+CdLwRLQC1K6XoMdnu3JPfH+l9GOAFwc5e5xc=",
  ),
  made(
    "line",
    "@line/bot-sdk 11.0.0, validateSignature",
    "line secret",
    "x-line-signature",
    "qzvWydjH1MlGNoeRmYdtSUusWUXrCAf5V2SWwdlCIxA=",
  ),
  made(
    "viber",
    "viber-bot 1.0.18, validateMessage",
    "viber token",
    "X-Viber-Content-Signature",
    "1cf4375766626b07fed3c2d4c0add39ce029a05cf5f5ebb6caf7d6ca52ffd195",
  ),
  made(
    "modern_treasury",
    "modern-treasury 3.3.0, getSignature",
    "mt secret",
    "X-Signature",
    "64f7a7e23bb697ed9073527679805c1c4c61443822dd1aa8c746169516aad644",
  ),
  made(
    "coinbase_commerce",
    "coinbase-commerce-node 1.0.4, computeSignature",
    "cc secret",
    "X-CC-Webhook-Signature",
    "750b3a6fc9acf224930a58b80f054baa584bbe8e34081c5feafc7de8956c585d",
  ),
  made(
    "stream",
    "stream-chat 9.53.0, verifyWebhook",
    "stream secret",
    "X-Signature",
    "467ee806fd0f76dc07e4af35c87ed4fb127bb8091cf419768ce1317fbe69dc52",
  ),
  made(
    "easypost",
    "@easypost/api 8.9.0, Utils.validateWebhook",
    "easypost secret",
    "X-Hmac-Signature",
    "hmac-sha256-hex=fd6f07ef15ea81b77869e8039086b3d3b995e430b241afa27aa33ddd7cd96ca4",
  ),
  {
    preset: "contentful",
    source: "@contentful/node-apps-toolkit 3.16.1, signRequest",
    settings: { secrets: ["c".repeat(64)] },
    parts: {
      query: "a=1",
      headers: {
        "x-contentful-signature":
          "2f43bc9628526b5c1b492bb22cfb23249a5b23670be3ab66fc0376210e556fab",
        "x-contentful-signed-headers": "x-contentful-signed-headers,x-contentful-timestamp",
        "x-contentful-timestamp": "1700000000000",
      },
      body,
      receivedAt_ms: TIME_S * 1000,
    },
  },
  {
    preset: "hubspot_v3",
    source: "@hubspot/api-client 13.5.0, Signature.getSignature",
    settings: { secrets: ["hubspot secret"] },
    parts: {
      query: "a=1",
      headers: {
        "X-HubSpot-Signature-v3": "a8bbZKR05cZoZm/tTpwhXFUuzhIFxKQCx+y/ZY4YwFo=",
        "X-HubSpot-Request-Timestamp": "1700000000000",
      },
      body,
      receivedAt_ms: TIME_S * 1000,
    },
  },
  {
    preset: "pusher",
    source: "pusher 5.3.4, webhook().isValid",
    settings: { secrets: ["ps"] },
    parts: {
      headers: {
        "X-Pusher-Signature": "ca28ecb61cb508ce2affc6cf41254f24afc7c1bfe07311993143096c32eb2f30",
      },
      body: '{"time_ms":1700000000000,"events":[{"name":"channel_occupied","channel":"c"}]}',
    },
  },
  {
    preset: "polar",
    source: "@polar-sh/sdk 0.49.0, validateEvent",
    settings: { secrets: ["polar_whs_secret"] },
    parts: {
      headers: {
        "webhook-id": "msg_1",
        "webhook-timestamp": String(TIME_S),
        "webhook-signature": "v1,xY0W9cYFAbQvWloIrBi0RK9n+kQI+K5eDoLP4CwMel4=",
      },
      body,
      receivedAt_ms: TIME_S * 1000,
    },
  },
  {
    preset: "workos",
    source: "@workos-inc/node 8.13.0, constructEvent",
    settings: { secrets: ["workos secret"] },
    parts: {
      headers: {
        "WorkOS-Signature":
          "t=1700000000000,v1=0223978f0dc4b2f6fbc18350188f20ca036a5a03505c13aa13bfe4e384765e1b",
      },
      body: '{"id":"event_1","event":"user.created","data":{"object":"user","id":"u1",' +
        '"email":"a@b.c","email_verified":true,"first_name":"A","last_name":"B",' +
        '"created_at":"2023-11-14T22:13:20Z","updated_at":"2023-11-14T22:13:20Z"},' +
        '"created_at":"2023-11-14T22:13:20Z"}',
      receivedAt_ms: TIME_S * 1000,
    },
  },
  {
    preset: "elevenlabs",
    source: "@elevenlabs/elevenlabs-js 2.73.0, constructEvent",
    settings: { secrets: ["wsec_of_elevenlabs"] },
    parts: {
      headers: {
        "ElevenLabs-Signature":
          "t=1700000000,v0=d69aa10832799b619a427619e04d68e7e79bfa30e2b5d9cc1dacf3762ed2caad",
      },
      body:
        '{"type":"post_call_transcription","event_timestamp":1700000000,"data":{"agent_id":"a1"}}',
      receivedAt_ms: TIME_S * 1000,
    },
  },
  made(
    "gitea",
    "code.gitea.io/sdk/gitea 0.25.1, VerifyWebhookSignature",
    "gitea secret",
    "X-Gitea-Signature",
    "52c486487e8f5bd612f866dadc7ccc6b9d7b4c70cca28634a7220d6efce790c4",
  ),
  made(
    "buildkite",
    "github.com/buildkite/go-buildkite 4.23.0, ValidatePayload",
    "buildkite secret",
    "X-Buildkite-Signature",
    "timestamp=1700000000,signature=b39582d5464ada2c7aa08dacc9832bf25d92a4ce63e9b0b8c18daff9a792c5e9",
  ),
  made(
    "webex",
    "webex-node-bot-framework 2.3.14, webhook",
    "webex secret",
    "X-Spark-Signature",
    "177174527642dc8879ce2a329e23df65c3f760c2",
  ),
  made(
    "pagerduty",
    "github.com/PagerDuty/go-pagerduty 1.8.0, webhookv3.VerifySignature",
    "pagerduty secret",
    "X-PagerDuty-Signature",
    "v1=526cbe5f1c4a878f4ccc111590fd046f52116985174a62aae42fbccf4fcf727c",
  ),
  made(
    "notion",
    "@notionhq/client 5.26.0, signWebhookPayload",
    "notion secret",
    "X-Notion-Signature",
    "sha256=04b84bde38cf894f89d28ea094e13737bc798062b605d504b2b9e4430049b831",
  ),
  made(
    "mailtrap",
    "mailtrap 4.10.0, verifyWebhookSignature",
    "mailtrap secret",
    "Mailtrap-Signature",
    "0ad0bc34764dd080020d4c7f088222de85f0f551787c5fa572852e53e787a531",
  ),
  made(
    "mailersend",
    "mailersend 3.4.0, MailerSendUtils.verifyWebHook",
    "mailersend secret",
    "Signature",
    "38c8d0afa8ffd1767df92deddd5aa4ac7a7fa91ba7c90d5d240797cea0012c69",
  ),
  made(
    "shopify",
    "@shopify/shopify-api 13.1.0, createSHA256HMAC",
    "shopify secret",
    "X-Shopify-Hmac-Sha256",
    "PYwxFvQ4hi/DH4umtA/oGD6zGbJmicKpziVgaeg5jvA=",
  ),
  made(
    "shopify",
    "@shopify/shopify-api 13.1.0, webhooks.validate, of its Events",
    "shopify secret",
    "Shopify-Hmac-Sha256",
    "PYwxFvQ4hi/DH4umtA/oGD6zGbJmicKpziVgaeg5jvA=",
  ),
  made(
    "bigcommerce_signed",
    "standardwebhooks 1.1.1, Webhook.sign, which its page names",
    "bigcommerce client secret",
    "webhook-signature",
    "v1,Z6+n5la0lSSmu6hYUYaO+j26pLZ1Tcgy2QIAt6f3+8U=",
    { headers: { "webhook-id": "msg_1", "webhook-timestamp": String(TIME_S) } },
  ),
  {
    preset: "webflow",
    source: "webflow-api 3.3.4, webhooks.verifySignature",
    settings: { secrets: ["webflow secret"] },
    parts: {
      headers: {
        "x-webflow-timestamp": "1700000000000",
        "x-webflow-signature": "d93fcacb20bd1db917eba8d7d67e3f7f41bd41dbcaaa1dfc87b4c518a0ed8b06",
      },
      body,
      receivedAt_ms: TIME_S * 1000,
    },
  },
  {
    preset: "zoom",
    source: "@zoom/rivet 0.4.0, isEventVerified",
    settings: { secrets: ["zoom secret"] },
    parts: {
      headers: {
        "X-Zm-Request-Timestamp": String(TIME_S),
        "X-Zm-Signature": "v0=d12c200524d83b764144d7465ba8c0db009a87a1fbff7ca2fa5d0dea32dbfd8b",
      },
      body,
      receivedAt_ms: TIME_S * 1000,
    },
  },
  made(
    "mollie",
    "mollie-api-py 1.10.20, SignatureValidator.create_signature",
    "mollie secret",
    "X-Mollie-Signature",
    "sha256=e268754e2e8eadfccaf3958c1f4528a4e595fbcab9ccbe3a72cf8098deb3c92e",
  ),
  made(
    "x",
    "twitter-autohook 1.7.2, validateSignature",
    "x secret",
    "X-Twitter-Webhooks-Signature",
    "sha256=8k0kjI8p5Xp3Q+3EJ3wb4bdEdf5VOy2yGrbeMh/V5Sk=",
  ),
  made(
    "grafana",
    "grafana/alerting http/hmac.go, sign",
    "grafana secret",
    "X-Grafana-Alerting-Signature",
    "599284538b50f2110fbc3a80492d020af961ca401f6681ce6b8e651cf08d97aa",
  ),
  made(
    "zitadel",
    "zitadel/zitadel pkg/actions/signing.go, ComputeSignatureHeader with an old key beside the new one",
    "zitadel secret",
    "ZITADEL-Signature",
    "t=1700000000,v1=802b3ada7cf7435fa79b4df5db8007c533205b662e69756a541fa802e1c044af," +
      "v1=5ab795052f5ed82d0b84015fa02c98b5a56d72cdecb9690b7e0cd7c02f11244e",
  ),
  made(
    "twitch",
    "twitchdev/twitch-cli internal/events/trigger/forward_event.go, getSignatureHeader",
    "twitch secret",
    "Twitch-Eventsub-Message-Signature",
    "sha256=e17c7ea70b31de75ce290fd765edf286cec94d1661d762e55dd0fb9d0fb74f16",
    {
      headers: {
        "Twitch-Eventsub-Message-Id": "msg_1",
        "Twitch-Eventsub-Message-Timestamp": "2023-11-14T22:13:20.123456789Z",
      },
    },
  ),
  {
    preset: "mailgun",
    source: "github.com/mailgun/mailgun-go 4.23.0, VerifyWebhookSignature",
    settings: { secrets: ["mailgun secret"] },
    parts: {
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        signature: {
          timestamp: String(TIME_S),
          token: "t".repeat(50),
          signature: "e766f8b2be8a8e26a21886bbdea8bcc267d9bdc206ccca2315eee3aa2d3ac00f",
        },
      }),
      receivedAt_ms: TIME_S * 1000,
    },
  },
];

/** Requests that a private key has signed. */
export const librarySignatures: Vector[] = [
  {
    preset: "discord_events",
    source: "discord-interactions 4.4.0, verifyKey",
    settings: {
      public_keys: ["8bd59f979cc36f385495f7e5055628bd7f3cea69204074f210e786b2e4f987a8"],
    },
    parts: {
      headers: {
        "X-Signature-Timestamp": String(TIME_S),
        "X-Signature-Ed25519": "3bc930c3f959d833a46a096285dce312acbf4f7df2939fa5ed4ca1376c5dd466" +
          "28dc6754762fb8f8be14b258da1d45dbb5bfb98cee3ca7388c9aeafa32e6c309",
      },
      body: '{"version":1,"application_id":"1234560123453231555","type":1,"event":' +
        '{"type":"APPLICATION_AUTHORIZED","timestamp":"2024-10-18T14:42:53.064834"}}',
      receivedAt_ms: TIME_S * 1000,
    },
  },
  {
    preset: "telnyx",
    source: "telnyx 7.24.0, TelnyxWebhook.verify",
    settings: { public_keys: ["MVD84a0QPUFzw/35nct+b6ovL46t1hvZrFrzZL44E/s="] },
    parts: {
      headers: {
        "telnyx-timestamp": String(TIME_S),
        "telnyx-signature-ed25519":
          "kxIhp/3V/IxRUVRVEGEDHrFAXDXvMWPrtBrtbkpTnfr3CLkoWER894UF16F4ZPh0BgXUYFFsrTr4S5Op/22MCQ==",
      },
      body,
      receivedAt_ms: TIME_S * 1000,
    },
  },
];
