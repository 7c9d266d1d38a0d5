/** What a signature covers must be in the request: the reason says what is not there. */
import { assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import { hmac } from "../../../src/conditions/hmac.ts";
import { checkOnce, NOW_MS, type RequestParts } from "../fixture.ts";

const signature = "0".repeat(64);
const general = { algorithm: "sha256", header: "X-S", secrets: ["s"] };

const cases: {
  name: string;
  settings: Record<string, unknown>;
  parts: RequestParts;
  reason: string;
}[] = [
  {
    name: "a time in a header",
    settings: { preset: "slack", secrets: ["s"] },
    parts: { headers: { "x-slack-signature": `v0=${signature}` } },
    reason: "Header X-Slack-Request-Timestamp is missing",
  },
  {
    name: "a time in the signature",
    settings: { preset: "stripe", secrets: ["s"] },
    parts: { headers: { "stripe-signature": `v1=${signature}` } },
    reason: "Header Stripe-Signature holds no t",
  },
  {
    name: "a header",
    settings: { ...general, signed_content: "{header:X-Kind}.{body}" },
    parts: { headers: { "x-s": signature } },
    reason: "Header X-Kind is missing",
  },
  {
    name: "a header, in one of two contents",
    settings: { ...general, signed_content: ["{header:X-Kind}.{body}", "{body}"] },
    parts: { headers: { "x-s": signature } },
    reason: "Header X-Kind is missing",
  },
  {
    name: "a field of the body that carries the signature",
    settings: {
      algorithm: "sha256",
      body_field: "/sign",
      secrets: ["s"],
      signed_content: "{body:id}",
    },
    parts: { body: '{"id": "1", "sign": 7}' },
    reason: "Body field /sign is not a string",
  },
];

for (const { name, settings, parts, reason } of cases) {
  Deno.test(`a signature over what is not there is refused: ${name}`, async () => {
    assertEquals((await checkOnce(hmac, settings, parts))?.reason, reason);
  });
}

for (
  const { preset, beginning, id = `${beginning}-id` } of [
    { preset: "standard_webhooks", beginning: "webhook" },
    { preset: "svix", beginning: "svix", id: "svix-id or webhook-id" },
    { preset: "gitlab_signed", beginning: "webhook" },
  ]
) {
  Deno.test(`preset ${preset}: a stale body that names a time is not cut into a fresh one`, async () => {
    const [stale, fresh] = [NOW_MS / 1000 - 86_400, NOW_MS / 1000];
    const body = `{"title":"a.${fresh}.b"}`;
    const mac = createHmac("sha256", "secret").update(`msg_1.${stale}.${body}`).digest("base64");
    const settings = { preset, secrets: [btoa("secret")] };
    const send = (id: string, time: number, body: string, receivedAt_ms = NOW_MS) =>
      checkOnce(hmac, settings, {
        headers: {
          [`${beginning}-id`]: id,
          [`${beginning}-timestamp`]: String(time),
          [`${beginning}-signature`]: `v1,${mac}`,
        },
        body,
        receivedAt_ms,
      });
    assertEquals(await send("msg_1", stale, body, stale * 1000), undefined);
    const reason = `Header ${id} is ambiguous: it holds what stands between it and the time`;
    assertEquals((await send(`msg_1.${stale}.{"title":"a`, fresh, 'b"}'))?.reason, reason);
  });
}

Deno.test("preset twitch: a stale body that names a time is not cut into a fresh one", async () => {
  const stale_ms = NOW_MS - 86_400_000;
  const [stale, fresh] = [stale_ms, NOW_MS].map((time_ms) => new Date(time_ms).toISOString());
  const body = `{"ends_at":"${fresh}"}`;
  const mac = createHmac("sha256", "secret").update(`id-1${stale}${body}`).digest("hex");
  const send = (id: string, time: string | undefined, body: string, receivedAt_ms = NOW_MS) =>
    checkOnce(hmac, { preset: "twitch", secrets: ["secret"] }, {
      headers: {
        "twitch-eventsub-message-id": id,
        "twitch-eventsub-message-timestamp": String(time),
        "twitch-eventsub-message-signature": `sha256=${mac}`,
      },
      body,
      receivedAt_ms,
    });
  assertEquals(await send("id-1", stale, body, stale_ms), undefined);
  assertEquals(
    (await send(`id-1${stale}{"ends_at":"`, fresh, '"}'))?.reason,
    "Header Twitch-Eventsub-Message-Id is ambiguous: it holds a time",
  );
});

Deno.test("a scheme's own URL is signed with the whole query of the request", async () => {
  const own = {
    algorithm: "sha256",
    header: "X-Sig",
    signed_content: "{url}{body}",
    secrets: ["s"],
  };
  const mac = createHmac("sha256", "s").update("https://a.example/p?a=1?b").digest("hex");
  const parts = { query: "a=1?b", headers: { "x-sig": mac } };
  assertEquals(await checkOnce(hmac, { ...own, url: "https://a.example/p" }, parts), undefined);
});
