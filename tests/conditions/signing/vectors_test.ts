/** What providers publish to test against passes, and a changed body does not. */
import { assertEquals, assertNotEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import { hmac } from "../../../src/conditions/hmac.ts";
import { signature } from "../../../src/conditions/signature.ts";
import { checkOnce } from "../fixture.ts";
import { signatureVectors } from "./key_vectors.ts";
import { macVectors } from "./vectors.ts";

for (
  const { kind, vectors } of [
    { kind: hmac, vectors: macVectors },
    { kind: signature, vectors: signatureVectors },
  ]
) {
  for (const { preset, source, settings, parts, change: [from, to] = [/[a-z]/, "_"] } of vectors) {
    Deno.test(`preset ${preset}: ${source}`, async () => {
      assertEquals(await checkOnce(kind, { preset, ...settings }, parts), undefined);
      const changed = { ...parts, body: parts.body.replace(from, to) };
      assertNotEquals(await checkOnce(kind, { preset, ...settings }, changed), undefined);
    });
  }
}

Deno.test("preset grafana: the time of a header of one's own is signed with the body", async () => {
  const body = '{"status":"firing"}';
  const time = 1_700_000_000;
  const settings = {
    preset: "grafana",
    secrets: ["secret"],
    signed_content: "{timestamp}:{body}",
    timestamp: { in: "header", name: "X-Grafana-Alerting-Timestamp", format: "unix_s" },
  };
  const headers = {
    "X-Grafana-Alerting-Timestamp": String(time),
    "X-Grafana-Alerting-Signature": createHmac("sha256", "secret").update(`${time}:${body}`)
      .digest("hex"),
  };
  const parts = { headers, body, receivedAt_ms: time * 1000 };
  assertEquals(await checkOnce(hmac, settings, parts), undefined);
  const stale = { ...parts, receivedAt_ms: (time + 301) * 1000 };
  assertNotEquals(await checkOnce(hmac, settings, stale), undefined);
});

Deno.test("preset docusign: the account's other keys sign too, each in its own header", async () => {
  const body = '{"event":"envelope-completed"}';
  const headers = Object.fromEntries(Array.from({ length: 16 }, (_, at) => {
    const mac = createHmac("sha256", `key ${at + 1}`).update(body).digest("base64");
    return [`X-DocuSign-Signature-${at + 1}`, mac];
  }));
  for (const key of ["key 1", "key 6", "key 16"]) {
    const settings = { preset: "docusign", secrets: [key] };
    assertEquals(await checkOnce(hmac, settings, { headers, body }), undefined, key);
  }
  const other = await checkOnce(hmac, { preset: "docusign", secrets: ["x"] }, { headers, body });
  const place = "Header X-DocuSign-Signature-1 to Header X-DocuSign-Signature-16";
  assertEquals(other?.reason, `${place} holds a wrong signature`);
});

/** RFC 8032 section 7.1: what is signed is the body alone. */
const ed25519 = [
  {
    name: "test 2",
    key: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    body: "72",
    signature: "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da" +
      "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  },
  {
    name: "test 3",
    key: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    body: "af82",
    signature: "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac" +
      "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
  },
];

for (const { name, key, body, signature: value } of ed25519) {
  Deno.test(`signature ed25519: RFC 8032 ${name}`, async () => {
    const settings = {
      algorithm: "ed25519",
      encoding: "hex",
      header: "X-Signature",
      key_encoding: "hex",
      public_keys: [key],
    };
    const parts = { headers: { "X-Signature": value }, body: Uint8Array.fromHex(body) };
    assertEquals(await checkOnce(signature, settings, parts), undefined);
    const changed = { ...parts, body: new Uint8Array([0, 1]) };
    assertNotEquals(await checkOnce(signature, settings, changed), undefined);
  });
}
