/**
 * The providers' own libraries as independent judges: what they sign passes here, and what is signed
 * here passes there.
 */
import { assert, assertEquals, assertNotEquals, assertRejects, assertThrows } from "@std/assert";
import { Buffer } from "node:buffer";
import { generateKeyPairSync } from "node:crypto";
import * as octokit from "@octokit/webhooks-methods";
import { Environment, Paddle } from "@paddle/paddle-node-sdk";
import { EventWebhook } from "@sendgrid/eventwebhook";
import { verifyKey } from "discord-interactions";
import { LinearWebhookClient } from "@linear/sdk/webhooks";
import * as standard from "standardwebhooks";
import { Stripe } from "stripe";
import * as svix from "svix";
import * as twilio from "twilio/lib/webhooks/webhooks.js";
import { hmac } from "../../../src/conditions/hmac.ts";
import { signature } from "../../../src/conditions/signature.ts";
import { signRequest } from "../../../src/conditions/sign_request.ts";
import type { KeySetting } from "../../../src/conditions/keys.ts";
import { checkOnce, NOW_MS } from "../fixture.ts";

const URL_OF_TRIGGER = "https://hooks.example/api/v0/launch/x/?a=1&b=%20c";
const body = JSON.stringify({ id: "evt_1", text: "Grüße, 世界", action: "opened" });
const bytes = new TextEncoder().encode(body);

/** Signs as the preset does, by the clock that the libraries go by. */
async function signAs(
  preset: string,
  secret: string,
  parts: { body?: string; contentType?: string; now_ms?: number } = {},
) {
  const settings = hmac.schema.parse({ type: "hmac", preset, secrets: [secret] });
  const signed = await signRequest([settings], {
    url: URL_OF_TRIGGER,
    headers: { "content-type": parts.contentType ?? "application/json" },
    body: new TextEncoder().encode(parts.body ?? body),
    now_ms: parts.now_ms ?? Date.now(),
    env: () => undefined,
  });
  assertEquals(signed.problems, []);
  return { ...signed, text: new TextDecoder().decode(signed.body) };
}

Deno.test("@octokit/webhooks-methods and github agree", async () => {
  const secret = "It's a Secret to Everybody";
  const header = await octokit.sign(secret, body);
  const settings = { preset: "github", secrets: [secret] };
  const headers = { "X-Hub-Signature-256": header };
  assertEquals(await checkOnce(hmac, settings, { headers, body }), undefined);
  const ours = (await signAs("github", secret)).headers["x-hub-signature-256"] ?? "";
  assert(await octokit.verify(secret, body, ours));
  assert(!await octokit.verify(secret, `${body} `, ours));
});

Deno.test("stripe and stripe agree", async () => {
  const stripe = new Stripe("sk_test_none");
  const secret = "whsec_test_secret";
  const timestamp = NOW_MS / 1000;
  const header = await stripe.webhooks.generateTestHeaderStringAsync({
    payload: body,
    secret,
    timestamp,
  });
  const settings = { preset: "stripe", secrets: [secret] };
  const headers = { "Stripe-Signature": header };
  assertEquals(await checkOnce(hmac, settings, { headers, body }), undefined);
  const withDecoy = { "Stripe-Signature": `${header},v0=${"0".repeat(64)}` };
  assertEquals(await checkOnce(hmac, settings, { headers: withDecoy, body }), undefined);
  const otherScheme = await stripe.webhooks.generateTestHeaderStringAsync({
    payload: body,
    secret,
    timestamp,
    scheme: "v0",
  });
  const downgraded = { headers: { "Stripe-Signature": otherScheme }, body };
  assertEquals(
    (await checkOnce(hmac, settings, downgraded))?.reason,
    "Header Stripe-Signature holds no v1 signature",
  );
  const ours = await signAs("stripe", secret);
  const signatureHeader = ours.headers["stripe-signature"] ?? "";
  const event = await stripe.webhooks.constructEventAsync(body, signatureHeader, secret);
  assertEquals(event.id, "evt_1");
  await assertRejects(() =>
    stripe.webhooks.constructEventAsync(`${body} `, signatureHeader, secret)
  );
});

for (
  const { preset, prefix, Webhook } of [
    { preset: "standard_webhooks", prefix: "webhook", Webhook: standard.Webhook },
    { preset: "svix", prefix: "svix", Webhook: svix.Webhook },
    { preset: "gitlab_signed", prefix: "webhook", Webhook: standard.Webhook },
  ]
) {
  Deno.test(`the library of ${preset} and ${preset} agree`, async () => {
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const webhook = new Webhook(secret);
    const headers = {
      [`${prefix}-id`]: "msg_1",
      [`${prefix}-timestamp`]: String(NOW_MS / 1000),
      [`${prefix}-signature`]: webhook.sign("msg_1", new Date(NOW_MS), body),
    };
    const settings = { preset, secrets: [secret] };
    assertEquals(await checkOnce(hmac, settings, { headers, body }), undefined);
    const ours = await signAs(preset, secret);
    webhook.verify(body, ours.headers);
    assertThrows(() => webhook.verify(`${body} `, ours.headers));
  });
}

Deno.test("twilio and twilio agree on forms, whatever the port", async () => {
  const token = "12345";
  const form = {
    CallSid: "CA1",
    Digits: "1234",
    From: "+1415",
    Body: "a b&c=ü",
    Media: ["2", "1"],
  };
  const encoded = "CallSid=CA1&Digits=1234&From=%2B1415&Body=a+b%26c%3D%C3%BC&Media=2&Media=1";
  const contentType = "application/x-www-form-urlencoded";
  const settings = { preset: "twilio", secrets: [token] };
  for (const url of [URL_OF_TRIGGER, URL_OF_TRIGGER.replace(".example", ".example:443")]) {
    const header = twilio.getExpectedTwilioSignature(token, url, form);
    const headers = { "content-type": contentType, "x-twilio-signature": header };
    const parts = { headers, body: encoded, url: URL_OF_TRIGGER };
    assertEquals(await checkOnce(hmac, settings, parts), undefined, url);
    const changed = { ...parts, body: encoded.replace("1234", "1235") };
    assertNotEquals(await checkOnce(hmac, settings, changed), undefined, url);
  }
  const ours = await signAs("twilio", token, { body: encoded, contentType });
  const header = ours.headers["x-twilio-signature"] ?? "";
  assert(twilio.validateRequest(token, header, URL_OF_TRIGGER, form));
});

Deno.test("twilio and twilio agree on JSON", async () => {
  const token = "12345";
  const url = `${URL_OF_TRIGGER}&bodySHA256=${twilio.getExpectedBodyHash(body)}`;
  const headers = { "x-twilio-signature": twilio.getExpectedTwilioSignature(token, url, {}) };
  const settings = { preset: "twilio", secrets: [token] };
  const query = url.slice(url.indexOf("?") + 1);
  assertEquals(await checkOnce(hmac, settings, { headers, body, url, query }), undefined);
  for (const other of [`${body} `, "", "="]) {
    assertNotEquals(
      await checkOnce(hmac, settings, { headers, body: other, url, query }),
      undefined,
    );
  }
  const ours = await signAs("twilio", token);
  const header = ours.headers["x-twilio-signature"] ?? "";
  assert(twilio.validateRequestWithBody(token, header, ours.url, body));
});

Deno.test("@sendgrid/eventwebhook and sendgrid agree", async () => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const shown = Buffer.from(publicKey.export({ format: "der", type: "spki" })).toString("base64");
  const ours = await signWith("sendgrid", shown, privateKey.export({ format: "jwk" }));
  const library = new EventWebhook();
  const key = library.convertPublicKeyToECDSA(shown);
  const signed = ours.headers["x-twilio-email-event-webhook-signature"] ?? "";
  const time = ours.headers["x-twilio-email-event-webhook-timestamp"] ?? "";
  assert(library.verifySignature(key, ours.text, signed, time));
  assert(!library.verifySignature(key, `${ours.text} `, signed, time));
});

Deno.test("discord-interactions and discord agree", async () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const shown = Buffer.from(publicKey.export({ format: "der", type: "spki" })).subarray(-32)
    .toString("hex");
  const ours = await signWith("discord", shown, privateKey.export({ format: "jwk" }));
  const signed = ours.headers["x-signature-ed25519"] ?? "";
  const time = ours.headers["x-signature-timestamp"] ?? "";
  assert(await verifyKey(bytes, signed, time, shown));
  assert(!await verifyKey(`${body} `, signed, time, shown));
});

Deno.test("@linear/sdk and linear agree", async () => {
  const secret = "lin_wh_secret";
  const ours = await signAs("linear", secret);
  const client = new LinearWebhookClient(secret);
  const { webhookTimestamp } = JSON.parse(ours.text);
  const signed = ours.headers["linear-signature"] ?? "";
  assert(client.verify(Buffer.from(ours.text), signed, webhookTimestamp));
  assertThrows(() => client.verify(Buffer.from(`${ours.text} `), signed, webhookTimestamp));
});

Deno.test("@paddle/paddle-node-sdk and paddle agree", async () => {
  const secret = "pdl_ntfset_secret";
  const paddle = new Paddle("none", { environment: Environment.sandbox });
  const ours = await signAs("paddle", secret);
  const signed = ours.headers["paddle-signature"] ?? "";
  assert(await paddle.webhooks.isSignatureValid(ours.text, secret, signed));
  assert(!await paddle.webhooks.isSignatureValid(`${ours.text} `, secret, signed));
});

async function signWith(preset: string, publicKey: string, privateKey: KeySetting) {
  const settings = signature.schema.parse({
    type: "signature",
    preset,
    public_keys: [publicKey],
  });
  const signed = await signRequest([settings], {
    url: URL_OF_TRIGGER,
    headers: { "content-type": "application/json" },
    body: bytes,
    now_ms: Date.now(),
    env: () => undefined,
    privateKeys: [privateKey],
  });
  assertEquals(signed.problems, []);
  return { ...signed, text: new TextDecoder().decode(signed.body) };
}
