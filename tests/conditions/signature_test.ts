/** Public keys in every form in which they are shown; what is no key of the algorithm is refused. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Buffer } from "node:buffer";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import fc from "fast-check";
import { signature } from "../../src/conditions/signature.ts";
import { withFlippedBit } from "../arbitraries.ts";
import { rsaPairs, weakRsaPair } from "../rsa_keys.ts";
import { checkOnce, context, problemsOf, request, type RequestParts } from "./fixture.ts";

const ed = generateKeyPairSync("ed25519");
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" });
const [rsa, other] = rsaPairs;

const der = (key: KeyObject) => Buffer.from(key.export({ format: "der", type: "spki" }));
const pem = (key: KeyObject) => String(key.export({ format: "pem", type: "spki" }));
const jwk = (key: KeyObject) => key.export({ format: "jwk" });
const raw = der(ed.publicKey).subarray(-32);
const body = '{"a":1}';

const base = { algorithm: "ed25519", header: "X-Sig" };
const ecDer = {
  algorithm: "ecdsa_p256",
  signature_format: "der",
  header: "X-Sig",
  public_keys: [pem(ec.publicKey)],
};
const signed: RequestParts = {
  headers: { "x-sig": sign(null, Buffer.from(body), ed.privateKey).toString("base64") },
  body,
};

const forms: { name: string; key: unknown; settings?: Record<string, unknown> }[] = [
  { name: "PEM", key: pem(ed.publicKey) },
  { name: "PEM with line ends around it", key: `\n${pem(ed.publicKey)}\n` },
  { name: "JWK", key: jwk(ed.publicKey) },
  { name: "JWK as text", key: JSON.stringify(jwk(ed.publicKey)) },
  { name: "base64 of 32 bytes", key: raw.toString("base64") },
  { name: "hex of 32 bytes", key: raw.toString("hex"), settings: { key_encoding: "hex" } },
  { name: "base64 of its DER", key: der(ed.publicKey).toString("base64") },
  {
    name: "with a prefix",
    key: `whpk_${raw.toString("base64")}`,
    settings: { key_prefix: "whpk_", key_encoding: "base64" },
  },
];

for (const { name, key, settings } of forms) {
  Deno.test(`signature: a public key as ${name}`, async () => {
    const complete = { ...base, ...settings, public_keys: [key] };
    assertEquals(await checkOnce(signature, complete, signed), undefined);
  });
}

const wrong: { name: string; key: unknown; settings?: object; problem: RegExp }[] = [
  {
    name: "a private key as PEM",
    key: String(ed.privateKey.export({ format: "pem", type: "pkcs8" })),
    problem: /Must be a public key: this is a private one$/,
  },
  {
    name: "a private key as JWK",
    key: jwk(ed.privateKey),
    problem: /Must be a public key: this is a private one$/,
  },
  {
    name: "a private key as JWK in text",
    key: JSON.stringify(jwk(ed.privateKey)),
    problem: /Must be a public key: this is a private one$/,
  },
  {
    name: "a key of another algorithm",
    key: pem(ec.publicKey),
    problem: /Must be a key for ed25519: this is one of ec prime256v1$/,
  },
  {
    name: "a key of another curve",
    key: pem(p384.publicKey),
    settings: { algorithm: "ecdsa_p256" },
    problem: /Must be a key for ecdsa_p256: this is one of ec secp384r1$/,
  },
  {
    name: "a key that is too small",
    key: pem(weakRsaPair.publicKey),
    settings: { algorithm: "rsa_sha256" },
    problem: /Must have at least 2048 bits: current value is 1024$/,
  },
  {
    name: "no key",
    key: "not a key!",
    problem: /Must be a public key as PEM, JWK or base64 of 32 bytes: it is not base64$/,
  },
  {
    name: "a key that is cut off",
    key: raw.subarray(1).toString("base64"),
    problem: /Must be a public key as PEM, JWK or base64 of 32 bytes: /,
  },
];

for (const { name, key, settings, problem } of wrong) {
  Deno.test(`signature refuses ${name}`, () => {
    const problems = problemsOf(signature, { ...base, ...settings, public_keys: [key] });
    assertEquals(problems.length, 1, problems.join("\n"));
    assertMatch(problems[0] ?? "", /^\/public_keys\/0: /);
    assertMatch(problems[0] ?? "", problem);
    assert(!problems[0]?.includes(String(key)));
  });
}

Deno.test("signature: neither preset nor scheme", () => {
  assertEquals(problemsOf(signature, { public_keys: [pem(ed.publicKey)] }), [
    '/algorithm: Expected one of "ed25519", "ecdsa_p256", "rsa_sha256", or a preset',
    "/header: Expected the header that carries the signature, or a preset",
  ]);
  assertEquals(problemsOf(signature, { preset: "discord" }).length, 1);
});

Deno.test("signature ecdsa_p256: each form is refused where the other is expected", async () => {
  const bytes = Buffer.from(body);
  const values = {
    der: sign("sha256", bytes, { key: ec.privateKey, dsaEncoding: "der" }),
    raw: sign("sha256", bytes, { key: ec.privateKey, dsaEncoding: "ieee-p1363" }),
  };
  for (const expected of ["der", "raw"] as const) {
    for (const sent of ["der", "raw"] as const) {
      const settings = {
        algorithm: "ecdsa_p256",
        signature_format: expected,
        header: "X-Sig",
        public_keys: [pem(ec.publicKey)],
      };
      const headers = { "x-sig": values[sent].toString("base64") };
      const refusal = await checkOnce(signature, settings, { headers, body });
      const reason = expected === sent ? undefined : "Header X-Sig is malformed";
      assertEquals(refusal?.reason, reason, `${sent} as ${expected}`);
    }
  }
});

const malformed: { name: string; der: string }[] = [
  { name: "no sequence", der: "0206020101020101" },
  { name: "a length that is too small", der: "3005020101020101" },
  { name: "a length that is too large", der: "3007020101020101" },
  { name: "a length in its long form", der: "308106020101020101" },
  { name: "bytes behind the end", der: "300602010102010100" },
  { name: "bytes behind the end, inside", der: "300702010102010100" },
  { name: "one number", der: "3003020101" },
  { name: "three numbers", der: "3009020101020101020101" },
  { name: "an empty number", der: "30050200020101" },
  { name: "a negative number", der: "3006020181020101" },
  { name: "a number with a zero too many", der: "300702020001020101" },
  { name: "no number", der: "3006040101020101" },
  { name: "a number of 33 bytes", der: `30260221${"01".repeat(33)}020101` },
  { name: "a number that is cut off", der: "300602010102ff01" },
];

for (const { name, der } of malformed) {
  Deno.test(`signature ecdsa_p256: DER with ${name} is refused`, async () => {
    const settings = { ...ecDer, encoding: "hex" };
    const refusal = await checkOnce(signature, settings, { headers: { "x-sig": der }, body });
    assertMatch(refusal?.reason ?? "", /^Header X-Sig (is malformed|holds a wrong signature)$/);
  });
}

Deno.test("signature ecdsa_p256: DER is taken in its one form alone", async () => {
  const valid = sign("sha256", Buffer.from(body), ec.privateKey);
  const [sequence = 0, length = 0, integer = 0, first = 0, ...rest] = valid;
  const forms: { bytes: number[]; isTaken: boolean }[] = [
    { bytes: [...valid], isTaken: true },
    { bytes: [...valid, 0], isTaken: false },
    { bytes: [sequence, length + 1, integer, first, ...rest, 0], isTaken: false },
    { bytes: [sequence, 0x81, length, integer, first, ...rest], isTaken: false },
    { bytes: [sequence, length + 1, integer, first + 1, 0, ...rest], isTaken: false },
  ];
  for (const { bytes, isTaken } of forms) {
    const headers = { "x-sig": Buffer.from(bytes).toString("base64") };
    const refusal = await checkOnce(signature, ecDer, { headers, body });
    assertEquals(refusal === undefined, isTaken, Buffer.from(bytes).toString("hex"));
  }
});

Deno.test("signature ecdsa_p256: a changed bit of DER is refused, and never an error", async () => {
  const valid = sign("sha256", Buffer.from(body), ec.privateKey);
  const changed = fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 2 }))
    .map(([at, more]) => Buffer.concat([withFlippedBit(valid, at), more]));
  const random = fc.uint8Array({ maxLength: 80 })
    .map((bytes) => Buffer.from([0x30, bytes.length, ...bytes]));
  const settings = signature.schema.parse({ type: "signature", ...ecDer });
  const check = signature.prepare(settings, context());
  await fc.assert(
    fc.asyncProperty(fc.oneof(changed, random), async (bytes) => {
      const headers = { "x-sig": bytes.toString("base64") };
      const refusal = await check(request({ headers, body }));
      assertMatch(refusal?.reason ?? "", /(is missing|is malformed|holds a wrong signature)$/);
    }),
    { numRuns: 1000 },
  );
});

Deno.test("signature rsa_sha256: one of several keys matches", async () => {
  const value = sign("sha256", Buffer.from(body), rsa.privateKey).toString("base64");
  const settings = {
    algorithm: "rsa_sha256",
    header: "X-Sig",
    public_keys: [pem(other.publicKey), jwk(rsa.publicKey)],
  };
  const parts = { headers: { "x-sig": value }, body };
  assertEquals(await checkOnce(signature, settings, parts), undefined);
  const alone = { ...settings, public_keys: [pem(other.publicKey)] };
  assertEquals(await checkOnce(signature, alone, parts), {
    reason: "Header X-Sig holds a wrong signature",
    expected: "<rsa_sha256 signature in base64>",
  });
});

Deno.test("signature: more than four candidates are refused unseen", async () => {
  const value = signed.headers instanceof Array ? "" : signed.headers?.["x-sig"] ?? "";
  const settings = { ...base, list_separator: " ", public_keys: [pem(ed.publicKey)] };
  const send = (count: number) =>
    checkOnce(signature, settings, {
      headers: { "x-sig": [...Array(count - 1).fill("A".repeat(86)), value].join(" ") },
      body,
    });
  assertEquals(await send(4), undefined);
  assertEquals((await send(5))?.reason, "Header X-Sig holds too many signatures");
});
