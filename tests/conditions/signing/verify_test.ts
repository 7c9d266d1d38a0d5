/** What a signature covers must be in the request: the reason says what is not there. */
import { assertEquals } from "@std/assert";
import { hmac } from "../../../src/conditions/hmac.ts";
import { checkOnce, type RequestParts } from "../fixture.ts";

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
