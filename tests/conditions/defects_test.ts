/** Mistakes that other services make in their checks, one test each: none of them is made here. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import { z } from "zod";
import { hmac } from "../../src/conditions/hmac.ts";
import { conditionSchema, conditionWarnings } from "../../src/conditions/mod.ts";
import { prepareConditions } from "../../src/conditions/prepare.ts";
import { signature } from "../../src/conditions/signature.ts";
import { staticToken } from "../../src/conditions/static_token.ts";
import { inspect, launchOrder } from "../../src/triggers/order.ts";
import { checkOnce, context, json, NOW_MS, problemsOf, request } from "./fixture.ts";

const parse = (settings: Record<string, unknown>[]) => z.array(conditionSchema).parse(settings);
const mac = (secret: string, content: string) =>
  createHmac("sha256", secret).update(content).digest("hex");

const now_s = String(NOW_MS / 1000);
const body = '{"type":"event_callback","event_id":"Ev1"}';
const slack = { preset: "slack", secrets: ["s3cret"] };
const slackParts = (time: string, value: string) => ({
  headers: { "X-Slack-Request-Timestamp": time, "X-Slack-Signature": value },
  body,
});
const slackSigned = (time: string) => slackParts(time, `v0=${mac("s3cret", `v0:${time}:${body}`)}`);
const stripe = { preset: "stripe", secrets: ["whsec_x"] };
const stripeMac = mac("whsec_x", `${now_s}.${body}`);
const stripeParts = (value: string) => ({ headers: { "Stripe-Signature": value }, body });
const github = { preset: "github", secrets: ["s3cret"] };

Deno.test("defect 1: secrets are compared in one place, in constant time", async () => {
  const folder = new URL("../../src/conditions/", import.meta.url);
  for (const file of await sources(folder)) {
    const text = await Deno.readTextFile(file);
    if (!file.pathname.endsWith("/secret.ts")) assert(!text.includes("timingSafeEqual"), file.href);
    const compared =
      /\b(secret|token|password|mac|digest|signature|given)s?\s*[!=]==(?!\s*(undefined|null|""))/;
    assert(!compared.test(text), `${file.href}: ${compared.exec(text)?.[0]}`);
  }
});

Deno.test("defect 2: a password with a colon is taken", async () => {
  const settings = { basic: { username: "user" }, secrets: ["a:b"] };
  const headers = { authorization: `Basic ${btoa("user:a:b")}` };
  assertEquals(await checkOnce(staticToken, settings, { headers }), undefined);
});

Deno.test("defect 3: a forged signature of Slack's is refused", async () => {
  assertEquals(await checkOnce(hmac, slack, slackSigned(now_s)), undefined);
  const forged = slackParts(now_s, `v0=${"0".repeat(64)}`);
  assertEquals(
    (await checkOnce(hmac, slack, forged))?.reason,
    "Header X-Slack-Signature holds a wrong signature",
  );
});

Deno.test("defect 4: Zoom's validation is no oracle that signs what a stranger asks for", async () => {
  const conditions = parse([{ type: "hmac", preset: "zoom", secrets: ["s3cret"] }]);
  const plainToken = `v0:${now_s}:{"event":"forged"}`;
  const question = JSON.stringify({ event: "endpoint.url_validation", payload: { plainToken } });
  const value = `v0=${mac("s3cret", `v0:${now_s}:${question}`)}`;
  const headers = { "x-zm-signature": value, "x-zm-request-timestamp": now_s };
  const { handshakes } = await prepareConditions(conditions, context(), "t");
  // Even Zoom itself gets none for such a token, and a stranger none for any.
  const [zoom] = handshakes;
  assertEquals(await zoom?.answer(request({ headers, body: question })), undefined);
  const harmless = json({ event: "endpoint.url_validation", payload: { plainToken: "abc" } });
  // The order of the door asks it after the signature alone.
  assertEquals(zoom?.row.verified, true);
  const order = launchOrder({
    enabled: true,
    locked: undefined,
    conditions: await prepareConditions(conditions, context(), "t"),
    bodyBytesMax: 1_000,
    decoder: () => () => undefined,
  });
  assert("refused" in await inspect(order, request(harmless)));
});

Deno.test("defect 5: a handshake is no answer to what was not verified", async () => {
  const conditions = parse([{ type: "hmac", ...slack }]);
  const question = request(json({ type: "url_verification", challenge: "<script>" }));
  const prepared = await prepareConditions(conditions, context(), "t");
  const order = launchOrder({
    enabled: true,
    locked: undefined,
    conditions: prepared,
    bodyBytesMax: 1_000,
    decoder: () => () => undefined,
  });
  assert("refused" in await inspect(order, question));
});

Deno.test("defect 6: what is well signed and stale is refused", async () => {
  const refusal = await checkOnce(hmac, slack, slackSigned(String(NOW_MS / 1000 - 301)));
  assertEquals(
    refusal?.reason,
    "Header X-Slack-Request-Timestamp lies 301 s before the time of receipt",
  );
});

Deno.test("defect 7: what is well signed and from the future is refused", async () => {
  const refusal = await checkOnce(hmac, slack, slackSigned(String(NOW_MS / 1000 + 301)));
  assertEquals(
    refusal?.reason,
    "Header X-Slack-Request-Timestamp lies 301 s after the time of receipt",
  );
});

Deno.test("defect 8: each of several signatures counts, not the last alone", async () => {
  const zeros = "0".repeat(64);
  for (const list of [`v1=${stripeMac},v1=${zeros}`, `v1=${zeros},v1=${stripeMac}`]) {
    const parts = stripeParts(`t=${now_s},${list},v0=${zeros}`);
    assertEquals(await checkOnce(hmac, stripe, parts), undefined);
  }
  const again = stripeParts(`t=${now_s},t=${now_s},v1=${stripeMac}`);
  assertEquals(await checkOnce(hmac, stripe, again), undefined);
  const twoTimes = stripeParts(`t=1,t=${now_s},v1=${stripeMac}`);
  assertEquals(
    (await checkOnce(hmac, stripe, twoTimes))?.reason,
    "Header Stripe-Signature is ambiguous: it holds t more than once",
  );
});

Deno.test("defect 8: fields of other names are left alone, up to so many", async () => {
  const list = `t=${now_s},v1=${stripeMac}`;
  const others = (count: number) => stripeParts(list + ",type=1,v10=00".repeat(count / 2));
  assertEquals(await checkOnce(hmac, stripe, others(62)), undefined);
  assertEquals(
    (await checkOnce(hmac, stripe, others(64)))?.reason,
    "Header Stripe-Signature holds too many signatures",
  );
});

Deno.test("defect 9: a time that is not signed does not make fresh, and a trigger with one is warned of", async () => {
  const linear = { preset: "linear", secrets: ["s3cret"] };
  const stale = JSON.stringify({ webhookTimestamp: NOW_MS - 61_000 });
  const headers = {
    "Linear-Signature": mac("s3cret", stale),
    "Linear-Timestamp": String(NOW_MS),
  };
  assertEquals(
    (await checkOnce(hmac, linear, { headers, body: stale }))?.reason,
    "Body field webhookTimestamp lies 61 s before the time of receipt",
  );
  const time = { type: "timestamp", in: "header", name: "Linear-Timestamp", format: "unix_ms" };
  const [warning] = conditionWarnings(parse([{ type: "hmac", ...linear }, time]));
  assertEquals(warning?.pointer, "/1");
});

Deno.test("defect 10: signatures are compared as bytes, not as text", async () => {
  const upper = stripeParts(`t=${now_s},v1=${stripeMac.toUpperCase()}`);
  assertEquals(await checkOnce(hmac, stripe, upper), undefined);
  const shopify = { preset: "shopify", secrets: ["s3cret"] };
  const bytes = createHmac("sha256", "s3cret").update(body).digest("base64");
  const headers = { "X-Shopify-Hmac-Sha256": bytes.replaceAll("=", "") };
  assertEquals(await checkOnce(hmac, shopify, { headers, body }), undefined);
});

Deno.test("defect 13: only the bytes that came count, not the same JSON written anew", async () => {
  const spaced = '{ "a" : 1 }';
  const headers = { "X-Hub-Signature-256": `sha256=${mac("s3cret", spaced)}` };
  assertEquals(await checkOnce(hmac, github, { headers, body: spaced }), undefined);
  assertNotEquals(await checkOnce(hmac, github, { headers, body: '{"a":1}' }), undefined);
});

Deno.test("defect 14: an empty secret or signature lets nothing pass", async () => {
  assertMatch(problemsOf(hmac, { ...github, secrets: [""] })[0] ?? "", /Must not be empty/);
  const empty = createHmac("sha256", "").update(body).digest("hex");
  const headers = { "X-Hub-Signature-256": `sha256=${empty}` };
  const unset = { ...github, secrets: ["{env:UNSET}"] };
  assertMatch((await checkOnce(hmac, unset, { headers, body }))?.reason ?? "", /^No secret/);
  const prefixAlone = { preset: "svix", secrets: ["whsec_"] };
  assertMatch(
    (await checkOnce(hmac, prefixAlone, { body }))?.reason ?? "",
    /^No secret can be used: 1 cannot be decoded$/,
  );
  for (const value of ["", "sha256="]) {
    const parts = { headers: { "X-Hub-Signature-256": value }, body };
    assertNotEquals(await checkOnce(hmac, github, parts), undefined);
  }
});

Deno.test("defect 15: headers are found in any case, with dashes, and joined when repeated", async () => {
  const value = `sha256=${mac("s3cret", body)}`;
  for (const name of ["x-hub-signature-256", "X-HUB-SIGNATURE-256"]) {
    assertEquals(await checkOnce(hmac, github, { headers: { [name]: value }, body }), undefined);
  }
  const headers: [string, string][] = [
    ["Stripe-Signature", `t=${now_s}`],
    ["stripe-signature", `v1=${stripeMac}`],
  ];
  assertEquals(await checkOnce(hmac, stripe, { headers, body }), undefined);
  const twice: [string, string][] = [["X-Hub-Signature-256", value], [
    "X-Hub-Signature-256",
    value,
  ]];
  assertNotEquals(await checkOnce(hmac, github, { headers: twice, body }), undefined);
});

Deno.test("defect 16: a filter on what is not signed is warned of", () => {
  const filter = { type: "payload_filter", expression: "headers['x-github-event'] == 'push'" };
  const [warning] = conditionWarnings(parse([{ type: "hmac", ...github }, filter]));
  assertEquals(warning, {
    pointer: "/1/expression",
    detail: "The filter looks at headers, which no signature covers",
  });
});

Deno.test("defect 17: an ECDSA signature in DER is converted, and malformed DER refused", async () => {
  const key = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpV" +
    "KS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==";
  const settings = { preset: "sendgrid", public_keys: [key] };
  // Zeros for r and s, and DER that ends in the middle of a number.
  for (
    const [der, reason] of [["3006020100020100", "wrong signature"], ["30060201", "malformed"]]
  ) {
    const headers = {
      "X-Twilio-Email-Event-Webhook-Signature": Uint8Array.fromHex(der ?? "").toBase64(),
      "X-Twilio-Email-Event-Webhook-Timestamp": now_s,
    };
    const refusal = await checkOnce(signature, settings, { headers, body });
    assert(refusal?.reason.endsWith(reason ?? ""), refusal?.reason);
  }
});

Deno.test("defect 20: a secret in the query is a credential that logs must not show", async () => {
  const conditions = parse([
    { type: "static_token", preset: "azure_event_grid", secrets: ["s"] },
    { type: "hmac", preset: "mailgun", secrets: ["s"] },
    { type: "hmac", preset: "box", secrets: ["s"] },
    { type: "static_token", preset: "microsoft_graph", secrets: ["s"] },
  ]);
  const { credentials } = await prepareConditions(conditions, context(), "t");
  const fields = credentials.map(({ in: place, each, name }) =>
    each === undefined ? `${place} ${name}` : `${place} ${name} of each in ${each}`
  );
  assertEquals(fields.slice(3), [
    "query code",
    "body /signature/signature",
    "header Box-Signature-Primary",
    "header Box-Signature-Secondary",
    "body clientState of each in /value",
  ]);
});

Deno.test("defect 21: the names of a prototype are no keys", async () => {
  for (const name of ["constructor", "/__proto__/constructor", "toString"]) {
    const settings = { in: "body", name, secrets: ["s"] };
    assertMatch((await checkOnce(staticToken, settings, json({})))?.reason ?? "", /is missing$/);
    const own = {
      algorithm: "sha256",
      body_field: name,
      signed_content: "{method}",
      secrets: ["s"],
    };
    assertMatch((await checkOnce(hmac, own, json({})))?.reason ?? "", /is missing$/);
  }
});

Deno.test("a preset's check comes in the stage of authentication, its time included", async () => {
  const conditions = parse([{ type: "hmac", ...slack }]);
  const prepared = await prepareConditions(conditions, context(), "t");
  assertEquals(prepared.checks.map(({ stage }) => stage), [
    "authentication",
  ]);
});

async function sources(folder: URL): Promise<URL[]> {
  const found: URL[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) found.push(...await sources(new URL(`${name}/`, folder)));
    else found.push(new URL(name, folder));
  }
  return found;
}
