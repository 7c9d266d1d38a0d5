/**
 * Each provider's question gets its answer, in a request that was verified; nothing else does, and
 * no answer can serve as a signature.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createHmac, generateKeyPairSync } from "node:crypto";
import type { Answer } from "../../src/conditions/answer.ts";
import { type Condition, conditionSchema } from "../../src/conditions/mod.ts";
import type { PreparedHandshake } from "../../src/conditions/handshake/prepare.ts";
import { prepareConditions } from "../../src/conditions/prepare.ts";
import { signRequest } from "../../src/conditions/sign_request.ts";
import type { LaunchRequest } from "../../src/conditions/request.ts";
import { context, json, NOW_MS, request, type RequestParts } from "./fixture.ts";

/** What the door does up to the filters: the answer, or why the request is refused, or neither. */
async function knock(
  conditions: Condition[],
  parts: RequestParts,
): Promise<Answer | string | undefined> {
  const surroundings = context({ env: { ZOOM: "zoom secret" } });
  const { checks, handshakes } = await prepareConditions(conditions, surroundings, "t");
  const asked = request(parts);
  const unverified = await answerOf(handshakes, asked, false);
  if (unverified) return unverified;
  for (const { check } of checks) {
    const refusal = await check(asked);
    if (refusal) return refusal.reason;
  }
  return await answerOf(handshakes, asked, true);
}

/** Returns the answer of the handshakes that need a verified request, or of the others. */
async function answerOf(
  handshakes: readonly PreparedHandshake[],
  asked: LaunchRequest,
  isVerified: boolean,
): Promise<Answer | undefined> {
  for (const handshake of handshakes.filter(({ row }) => (row.verified ?? false) === isVerified)) {
    const { answer: { headers, ...answer } = { headers: {} } } = await handshake.answer(asked) ??
      {};
    assertEquals(headers, {});
    if ("body" in answer) return answer;
  }
  return undefined;
}

const parse = (settings: Record<string, unknown>): Condition => conditionSchema.parse(settings);

/** A request of the provider with this body, signed. */
async function signed(
  condition: Condition,
  body: unknown,
  headers: Record<string, string> = {},
  privateKeys: string[] = [],
): Promise<RequestParts> {
  const sent = await signRequest([condition], {
    url: "https://hooks.example/",
    headers: { "content-type": "application/json", ...headers },
    body: new TextEncoder().encode(JSON.stringify(body)),
    now_ms: NOW_MS,
    env: (name) => name === "ZOOM" ? "zoom secret" : undefined,
    privateKeys,
  });
  assertEquals(sent.problems, []);
  return { headers: sent.headers, body: sent.body };
}

const slack = parse({ type: "hmac", preset: "slack", secrets: ["slack secret"] });
const zoom = parse({ type: "hmac", preset: "zoom", secrets: ["an old one", "{env:ZOOM}"] });
const zoomSender = parse({ type: "hmac", preset: "zoom", secrets: ["{env:ZOOM}"] });
const twitch = parse({ type: "hmac", preset: "twitch", secrets: ["twitch secret"] });
const graph = parse({ type: "static_token", preset: "microsoft_graph", secrets: ["state"] });
const grid = parse({ type: "static_token", preset: "azure_event_grid", secrets: ["t0ken"] });
const keys = generateKeyPairSync("ed25519");
const discord = parse({
  type: "signature",
  preset: "discord",
  public_keys: [keys.publicKey.export({ format: "pem", type: "spki" })],
});
const discordEvents = parse({ ...discord, preset: "discord_events" });
const discordKeys = [String(keys.privateKey.export({ format: "pem", type: "pkcs8" }))];

const slackBody = {
  token: "x",
  challenge: "3eZbrw1aBm2rZgRNFdxV2595E9CY",
  type: "url_verification",
};
const text = (body: string) => ({ status: 200, contentType: "text/plain; charset=utf-8", body });

Deno.test("slack: the challenge is echoed", async () => {
  const parts = await signed(slack, slackBody);
  assertEquals(await knock([slack], parts), text("3eZbrw1aBm2rZgRNFdxV2595E9CY"));
});

Deno.test("twitch: the challenge is echoed", async () => {
  const header = { "Twitch-Eventsub-Message-Type": "webhook_callback_verification" };
  const body = { challenge: "pogchamp-kappa-360noscope-vohiyo", subscription: {} };
  const parts = await signed(twitch, body, header);
  assertEquals(await knock([twitch], parts), text("pogchamp-kappa-360noscope-vohiyo"));
  assertEquals(await knock([twitch], await signed(twitch, body)), undefined);
});

Deno.test("front: the challenge of a signed request is echoed", async () => {
  const front = parse({ type: "hmac", preset: "front", secrets: ["front signing key"] });
  const body = { type: "sync", authorization: { id: "cmp_abc" } };
  const header = { "X-Front-Challenge": "9f2c7a" };
  assertEquals(await knock([front], await signed(front, body, header)), text("9f2c7a"));
  assertEquals(await knock([front], await signed(front, body)), undefined);
  const other = parse({ type: "hmac", preset: "front", secrets: ["another signing key"] });
  assertEquals(
    await knock([front], await signed(other, body, header)),
    "Header X-Front-Signature holds a wrong signature",
  );
});

Deno.test("discord: a PING is answered with its type", async () => {
  const answer = {
    status: 200,
    contentType: "application/json; charset=utf-8",
    body: '{"type":1}',
  };
  for (const ping of [{ id: "1", type: 1 }, { type: 1 }]) {
    const parts = await signed(discord, ping, {}, discordKeys);
    assertEquals(await knock([discord], parts), answer);
  }
  const command = await signed(discord, { id: "1", type: 2 }, {}, discordKeys);
  assertEquals(await knock([discord], command), undefined);
});

/** As documented at discord.com/developers/docs/events/webhook-events. */
const discordEvent = {
  version: 1,
  application_id: "1234560123453231555",
  type: 1,
  event: { type: "ENTITLEMENT_CREATE", timestamp: "2024-10-18T18:41:21.109604", data: {} },
};

Deno.test("discord: a webhook event, whose type is a PING's of interactions, is no question", async () => {
  for (const condition of [discord, discordEvents]) {
    const parts = await signed(condition, discordEvent, {}, discordKeys);
    assertEquals(await knock([condition], parts), undefined);
  }
});

Deno.test("discord_events: a PING is answered with 204 and nothing", async () => {
  const ping = { version: 1, application_id: "1234560123456543210", type: 0 };
  const parts = await signed(discordEvents, ping, {}, discordKeys);
  const answer = { status: 204, contentType: "application/json", body: "" };
  assertEquals(await knock([discordEvents], parts), answer);
  assertEquals(await knock([discord], parts), undefined);
});

const zoomBody = (plainToken: unknown) => ({
  event: "endpoint.url_validation",
  payload: { plainToken },
  event_ts: 1654503849680,
});

Deno.test("zoom: the token is answered with its HMAC, by the secret that signed the request", async () => {
  const answer = await knock([zoom], await signed(zoomSender, zoomBody("qgg8vlvZRS6UYooatFL8Aw")));
  assert(typeof answer === "object");
  assertEquals(JSON.parse(answer.body), {
    plainToken: "qgg8vlvZRS6UYooatFL8Aw",
    encryptedToken: createHmac("sha256", "zoom secret").update("qgg8vlvZRS6UYooatFL8Aw")
      .digest("hex"),
  });
  assertEquals([answer.status, answer.contentType], [200, "application/json; charset=utf-8"]);
});

Deno.test("zoom: the HMAC is made with the key that the secret is written for", async () => {
  const settings = { key_encoding: "hex", secrets: ["00ff"] };
  const decoded = parse({ type: "hmac", preset: "zoom", ...settings });
  const answer = await knock([decoded], await signed(decoded, zoomBody("qgg8")));
  assert(typeof answer === "object");
  const expected = createHmac("sha256", Uint8Array.of(0, 255)).update("qgg8").digest("hex");
  assertEquals(JSON.parse(answer.body).encryptedToken, expected);
});

for (
  const plainToken of [
    "v0:1700000000:{}",
    "1700000000.{}",
    "x".repeat(129),
    "",
    "{}",
    "a b",
    "a\n",
    7,
    null,
  ]
) {
  Deno.test(`zoom: no signature for ${JSON.stringify(plainToken)}, even when it is well signed`, async () => {
    assertEquals(await knock([zoom], await signed(zoomSender, zoomBody(plainToken))), undefined);
  });
}

Deno.test("azure_event_grid: the validation code is answered", async () => {
  const code = "512d38b6-c7b8-40c8-89fe-f46f9e9622b6";
  const event = {
    id: "2d1781af-3a4c-4d7c-bd0c-e34b19da4e66",
    subject: "",
    data: { validationCode: code, validationUrl: "https://rp.example/" },
    eventType: "Microsoft.EventGrid.SubscriptionValidationEvent",
  };
  const parts = { ...json([event]), query: "code=t0ken" };
  const body = JSON.stringify({ validationResponse: code });
  assertEquals(await knock([grid], parts), {
    status: 200,
    contentType: "application/json; charset=utf-8",
    body,
  });
  const other = { ...json([{ ...event, eventType: "x" }]), query: "code=t0ken" };
  assertEquals(await knock([grid], other), undefined);
  const wrong = await knock([grid], { ...parts, query: "code=wrong" });
  assertEquals(wrong, "Query parameter code holds a wrong token");
});

const validation = "Validation: Testing client application reachability for subscription d4b";

Deno.test("microsoft_graph: the validation token is echoed before anything is verified", async () => {
  const query = `validationToken=${encodeURIComponent(validation)}`;
  assertEquals(await knock([graph], { query }), text(validation));
});

const notEchoed: { name: string; query: string; body?: string }[] = [
  { name: "an empty token", query: "validationToken=" },
  { name: "two tokens", query: "validationToken=a&validationToken=b" },
  { name: "a token that is too long", query: `validationToken=${"x".repeat(513)}` },
  { name: "a line end", query: "validationToken=a%0Ab" },
  { name: "a request with a body", query: "validationToken=a", body: "{}" },
];

for (const { name, query, body = "" } of notEchoed) {
  Deno.test(`microsoft_graph: ${name} is not echoed`, async () => {
    const answer = await knock([graph], { query, body });
    assertMatch(String(answer), /^Body field \/value is missing/);
  });
}

Deno.test("microsoft_graph: a notification to a URL with a token is no question", async () => {
  const parts = { ...json({ value: [{ clientState: "state" }] }), query: "validationToken=a" };
  assertEquals(await knock([graph], parts), undefined);
});

Deno.test("a trigger without the preset echoes nothing", async () => {
  const github = parse({ type: "hmac", preset: "github", secrets: ["s"] });
  const own = parse({ type: "hmac", algorithm: "sha256", header: "X", secrets: ["s"] });
  for (const condition of [github, own, slack, zoom, twitch, grid]) {
    const query = "validationToken=a&code=t0ken";
    const { handshakes } = await prepareConditions([condition], context(), "t");
    assertEquals(await answerOf(handshakes, request({ query }), false), undefined);
  }
  for (const condition of [github, own]) {
    const parts = await signed(condition, slackBody);
    assertEquals(await knock([condition], parts), undefined);
  }
});

const questions: { name: string; condition: Condition; body: unknown }[] = [
  { name: "slack", condition: slack, body: slackBody },
  { name: "zoom", condition: zoom, body: zoomBody("qgg8vlvZRS6UYooatFL8Aw") },
  { name: "twitch", condition: twitch, body: { challenge: "x" } },
  { name: "discord", condition: discord, body: { type: 1 } },
  { name: "discord_events", condition: discordEvents, body: { type: 0 } },
];

for (const { name, condition, body } of questions) {
  Deno.test(`${name}: what is not signed, or stale, gets no answer`, async () => {
    assertMatch(String(await knock([condition], json(body))), /is missing$/);
    const parts = await signed(name === "zoom" ? zoomSender : condition, body, {}, discordKeys);
    const stale = { ...parts, receivedAt_ms: NOW_MS + 3_600_000 };
    assertMatch(String(await knock([condition], stale)), /before the time of receipt$/);
  });
}

Deno.test("an echo is bounded", async () => {
  const long = await signed(slack, { ...slackBody, challenge: "x".repeat(513) });
  assertEquals(await knock([slack], long), undefined);
  const control = await signed(slack, { ...slackBody, challenge: "a\u001b[31m" });
  assertEquals(await knock([slack], control), undefined);
});
