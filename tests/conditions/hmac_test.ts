/** Signatures of published vectors pass; everything that is not exactly one is refused. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { createHmac } from "node:crypto";
import { hmac, type HmacSettings } from "../../src/conditions/hmac.ts";
import type { MacAlgorithm } from "../../src/conditions/signing/scheme.ts";
import {
  checkOnce,
  context,
  factsOfAll,
  json,
  problemsOf,
  request,
  type RequestParts,
} from "./fixture.ts";
import { sign } from "./sign.ts";

/** The general form: no preset, one header. */
type General = HmacSettings & { header: string; prefix: string };

const settingsOf = (settings: Record<string, unknown>): General => {
  const complete = { type: "hmac", algorithm: "sha256", header: "X-Signature", ...settings };
  // The schema fills in what the general form has.
  return hmac.schema.parse(complete) as General;
};

/** The condition that says where `{timestamp}` is. */
const timestampIn = (place: string, name: string) => ({
  type: "timestamp",
  in: place,
  name,
  format: "unix_s",
  tolerance: 300,
});

const rfc4231Key4 = Array.from({ length: 25 }, (_, i) => String.fromCharCode(i + 1)).join("");
const hiThere = { secret: "\x0b".repeat(20), body: "Hi There" };
const jefe = { secret: "Jefe", body: "what do ya want for nothing?" };
const key4 = { secret: rfc4231Key4, body: new Uint8Array(50).fill(0xcd) };
const foobar = { secret: "foobar", body: '{"foo": "bar"}' };

const vectors: {
  source: string;
  algorithm: MacAlgorithm;
  secret: string;
  body: string | Uint8Array;
  mac: string;
  settings?: Record<string, unknown>;
  timestamp?: string;
}[] = [
  {
    source: "RFC 2202 test case 1",
    algorithm: "sha1",
    ...hiThere,
    mac: "b617318655057264e28bc0b6fb378c8ef146be00",
  },
  {
    source: "RFC 2202 test case 2",
    algorithm: "sha1",
    ...jefe,
    mac: "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
  },
  {
    source: "RFC 2202 test case 4",
    algorithm: "sha1",
    ...key4,
    mac: "4c9007f4026250c6bc8414f9bf50c86c2d7235da",
  },
  {
    source: "RFC 2202 test case 5",
    algorithm: "sha1",
    secret: "\x0c".repeat(20),
    body: "Test With Truncation",
    mac: "4c1a03424b55e07fe7f27be1d58bb9324a9a5a04",
  },
  {
    source: "RFC 4231 test case 1",
    algorithm: "sha256",
    ...hiThere,
    mac: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
  },
  {
    source: "RFC 4231 test case 2",
    algorithm: "sha256",
    ...jefe,
    mac: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  },
  {
    source: "RFC 4231 test case 4",
    algorithm: "sha256",
    ...key4,
    mac: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
  },
  {
    source: "RFC 4231 test case 1",
    algorithm: "sha384",
    ...hiThere,
    mac: "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59c" +
      "faea9ea9076ede7f4af152e8b2fa9cb6",
  },
  {
    source: "RFC 4231 test case 2",
    algorithm: "sha384",
    ...jefe,
    mac: "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e" +
      "8e2240ca5e69e2c78b3239ecfab21649",
  },
  {
    source: "RFC 4231 test case 4",
    algorithm: "sha384",
    ...key4,
    mac: "3e8a69b7783c25851933ab6290af6ca77a9981480850009cc5577c6e1f573b4e" +
      "6801dd23c4a7d679ccf8a386c674cffb",
  },
  {
    source: "RFC 4231 test case 1",
    algorithm: "sha512",
    ...hiThere,
    mac: "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde" +
      "daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
  },
  {
    source: "RFC 4231 test case 2",
    algorithm: "sha512",
    ...jefe,
    mac: "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554" +
      "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
  },
  {
    source: "RFC 4231 test case 4",
    algorithm: "sha512",
    ...key4,
    mac: "b0ba465637458c6990e5a8c5f61d4af7e576d97ff94b872de76f8050361ee3db" +
      "a91ca5c11aa25eb4d679275cc5788063a5f19741120c4f2de2adebeb10a298dd",
  },
  {
    source: "GitHub's documentation",
    algorithm: "sha256",
    settings: { header: "X-Hub-Signature-256", prefix: "sha256=" },
    secret: "It's a Secret to Everybody",
    body: "Hello, World!",
    mac: "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
  },
  {
    source: "Slack's documentation",
    algorithm: "sha256",
    settings: {
      header: "X-Slack-Signature",
      prefix: "v0=",
      signed_content: "v0:{timestamp}:{body}",
    },
    secret: "8f742231b10e8888abcd99yyyzzz85a5",
    timestamp: "1531420618",
    body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow" +
      "&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner" +
      "&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands" +
      "%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN" +
      "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
    mac: "a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
  },
  {
    source: "Valohai's client, basic_hmac",
    algorithm: "sha256",
    settings: { header: "Authorization" },
    ...foobar,
    mac: "15b944e3ab6db92072ebef4cc272912905c8b0295ec44d826b09949b10ee2510",
  },
  {
    source: "Valohai's client, hmac_customized",
    algorithm: "sha256",
    settings: { header: "X-Special-HMAC", prefix: "v0=" },
    ...foobar,
    mac: "15b944e3ab6db92072ebef4cc272912905c8b0295ec44d826b09949b10ee2510",
  },
  {
    source: "Valohai's client, SHA-1",
    algorithm: "sha1",
    settings: { header: "Authorization" },
    ...foobar,
    mac: "08511d260b8322ad739a3f34665855ba6044366e",
  },
  {
    source: "Valohai's client, the body before the timestamp",
    algorithm: "sha256",
    settings: { signed_content: "v123:{body}:{timestamp}" },
    ...foobar,
    timestamp: "1700000000",
    mac: "8955dffc8c2f269125d0441c33d1c34998c067f6c3c0785fe448fb062a24fc31",
  },
  {
    source: "Valohai's client, as Slack does",
    algorithm: "sha256",
    settings: { signed_content: "v0:{timestamp}:{body}" },
    ...foobar,
    timestamp: "1700000000",
    mac: "ea395f359f23014d4db5463008880f2404f728849a376676c578febed47712e7",
  },
];

for (const { source, algorithm, secret, body, mac, settings, timestamp } of vectors) {
  Deno.test(`hmac ${algorithm}: ${source}`, async () => {
    const complete = settingsOf({ algorithm, secrets: [secret], ...settings });
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    const value = sign(complete, secret, { body: bytes, ...(timestamp && { timestamp }) });
    assertEquals(value, complete.prefix + mac);

    const headers = { [complete.header]: value, "x-time": timestamp ?? "" };
    const surroundings = context({ siblings: [timestampIn("header", "X-Time"), complete] });
    assertEquals(await checkOnce(hmac, complete, { headers, body }, surroundings), undefined);

    const changed = Uint8Array.from(bytes);
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
    const refusal = await checkOnce(hmac, complete, { headers, body: changed }, surroundings);
    assertEquals(refusal?.reason, `Header ${complete.header} holds a wrong signature`);
  });
}

const base = { algorithm: "sha256", header: "X-Signature", secrets: ["foobar"] };
const hex = "15b944e3ab6db92072ebef4cc272912905c8b0295ec44d826b09949b10ee2510";
const base64 = Uint8Array.fromHex(hex).toBase64();
const base64url = Uint8Array.fromHex(hex).toBase64({ alphabet: "base64url", omitPadding: true });
const signed = (value: string): RequestParts => ({
  headers: { "x-signature": value },
  body: '{"foo": "bar"}',
});

const cases: {
  name: string;
  settings: Record<string, unknown>;
  parts: RequestParts;
  env?: Record<string, string>;
  reason?: string;
  expected?: string;
  found?: string;
}[] = [
  { name: "hex in upper case", settings: base, parts: signed(hex.toUpperCase()) },
  { name: "base64", settings: { ...base, encoding: "base64" }, parts: signed(base64) },
  {
    name: "base64 without padding",
    settings: { ...base, encoding: "base64" },
    parts: signed(base64.replace("=", "")),
  },
  { name: "base64url", settings: { ...base, encoding: "base64url" }, parts: signed(base64url) },
  {
    name: "the first of two secrets",
    settings: { ...base, secrets: ["foobar", "new"] },
    parts: signed(hex),
  },
  {
    name: "the second of two secrets",
    settings: { ...base, secrets: ["old", "{env:NEW}"] },
    env: { NEW: "foobar" },
    parts: signed(hex),
  },
  {
    name: "a secret that is written with its prefix",
    settings: { ...base, key_prefix: "whsec_", secrets: ["whsec_foobar"] },
    parts: signed(hex),
  },
  {
    name: "a secret that is written without its prefix",
    settings: { ...base, key_prefix: "whsec_" },
    parts: signed(hex),
  },
  {
    name: "another secret",
    settings: { ...base, secrets: ["old"] },
    parts: signed(hex),
    reason: "Header X-Signature holds a wrong signature",
    expected: "<64 hex digits>",
  },
  {
    name: "a secret that is missing",
    settings: { ...base, secrets: ["old", "{env:NEW}"] },
    parts: signed(hex),
    reason: "Header X-Signature holds a wrong signature: environment variable NEW is not set",
    expected: "<64 hex digits>",
  },
  {
    name: "the signature that an empty secret makes",
    settings: { ...base, secrets: ["{env:NEW}"] },
    env: { NEW: "" },
    parts: signed("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
    reason: "No secret can be used: environment variable NEW is not set",
  },
  {
    name: "no header",
    settings: { ...base, prefix: "sha256=" },
    parts: { body: "{}" },
    reason: "Header X-Signature is missing",
    expected: "sha256=<64 hex digits>",
  },
  {
    name: "no prefix",
    settings: { ...base, prefix: "sha256=" },
    parts: signed(hex),
    reason: "Header X-Signature does not begin with the prefix",
    expected: "sha256=<64 hex digits>",
  },
  {
    name: "a prefix that should not be there",
    settings: base,
    parts: signed(`sha256=${hex}`),
    reason: "Header X-Signature is malformed",
    expected: "<64 hex digits>",
    found: "71 characters",
  },
  {
    name: "another encoding",
    settings: { ...base, encoding: "base64" },
    parts: signed(hex),
    reason: "Header X-Signature is malformed",
    expected: "<44 base64 characters>",
    found: "64 characters",
  },
  {
    name: "the signature cut off",
    settings: base,
    parts: signed(hex.slice(0, 62)),
    reason: "Header X-Signature is malformed",
    expected: "<64 hex digits>",
    found: "62 characters",
  },
  {
    name: "no signature",
    settings: base,
    parts: signed(""),
    reason: "Header X-Signature is malformed",
    expected: "<64 hex digits>",
    found: "0 characters",
  },
  {
    name: "two signatures",
    settings: base,
    parts: { headers: [["x-signature", hex], ["x-signature", hex]], body: '{"foo": "bar"}' },
    reason: "Header X-Signature is malformed",
    expected: "<64 hex digits>",
    found: "130 characters",
  },
  {
    name: "the same JSON in other bytes",
    settings: base,
    parts: { headers: { "x-signature": hex }, body: '{"foo":"bar"}' },
    reason: "Header X-Signature holds a wrong signature",
    expected: "<64 hex digits>",
  },
];

for (const { name, settings, parts, env = {}, reason, expected, found } of cases) {
  Deno.test(`hmac: ${name}`, async () => {
    const refusal = await checkOnce(hmac, settings, parts, context({ env }));
    assertEquals(refusal?.reason, reason);
    assertEquals(refusal?.expected, expected);
    assertEquals(refusal?.found, found);
    assert(!JSON.stringify(refusal ?? {}).toLowerCase().includes(hex), "tells the signature");
  });
}

Deno.test("hmac: {path} is the path alone, and a header's characters are a byte each", async () => {
  const mac = (text: string) => createHmac("sha256", "foobar").update(text, "latin1").digest("hex");
  const url = "https://hooks.example/a/b?c=d";
  const cases = [
    { signed_content: "{path}{body}", signed: "/a/bx", headers: {} },
    { signed_content: "{header:X-Name}{body}", signed: "\xe9x", headers: { "x-name": "\xe9" } },
  ];
  for (const { signed_content, signed, headers } of cases) {
    const parts = { url, headers: { ...headers, "x-signature": mac(signed) }, body: "x" };
    assertEquals(await checkOnce(hmac, { ...base, signed_content }, parts), undefined);
  }
});

Deno.test("hmac: bytes that are no text are signed as they are", async () => {
  await fc.assert(fc.asyncProperty(fc.uint8Array(), fc.uint8Array(), async (body, other) => {
    const settings = settingsOf({ ...base, signed_content: "ä{body}ö{body}" });
    const headers = { "x-signature": sign(settings, "foobar", { body }) };
    assertEquals(await checkOnce(hmac, settings, { headers, body }), undefined);
    const isSame = String(body) === String(other);
    assertEquals(await checkOnce(hmac, settings, { headers, body: other }) === undefined, isSame);
  }));
});

const stamped = { ...base, signed_content: "{timestamp}.{body}" };
const places: { name: string; sibling: Record<string, unknown>; parts: RequestParts }[] = [
  {
    name: "header",
    sibling: timestampIn("header", "X-Time"),
    parts: { headers: { "x-time": "0012" }, body: "{}" },
  },
  { name: "query", sibling: timestampIn("query", "t"), parts: { query: "t=0012", body: "{}" } },
  { name: "body", sibling: timestampIn("body", "/t"), parts: json({ t: "0012" }) },
];

for (const { name, sibling, parts } of places) {
  Deno.test(`hmac: the timestamp is signed as it is sent in the ${name}, not as it is read`, async () => {
    const settings = settingsOf(stamped);
    const { body } = request(parts);
    const surroundings = context({ siblings: [settings, { type: "timestamp", ...sibling }] });
    const check = (timestamp: string) => {
      const headers = {
        ...Object.fromEntries(new Headers(parts.headers)),
        "x-signature": sign(settings, "foobar", { body, timestamp }),
      };
      return checkOnce(hmac, settings, { ...parts, headers }, surroundings);
    };
    assertEquals(await check("0012"), undefined);
    assertEquals((await check("12"))?.reason, "Header X-Signature holds a wrong signature");
  });
}

Deno.test("hmac: a JSON number is signed as its digits", async () => {
  const settings = settingsOf(stamped);
  const parts = json({ t: 1700000000 });
  const { body } = request(parts);
  const headers = { "x-signature": sign(settings, "foobar", { body, timestamp: "1700000000" }) };
  const surroundings = context({ siblings: [settings, timestampIn("body", "t")] });
  assertEquals(await checkOnce(hmac, settings, { headers, body }, surroundings), undefined);
});

Deno.test("hmac: a missing timestamp refuses", async () => {
  const settings = settingsOf(stamped);
  const headers = { "x-signature": sign(settings, "foobar", { body: new Uint8Array() }) };
  const surroundings = context({ siblings: [settings, timestampIn("header", "X-Time")] });
  assertEquals(await checkOnce(hmac, settings, { headers }, surroundings), {
    reason: "Header X-Time is missing",
  });
});

Deno.test("hmac: {timestamp} needs exactly one timestamp condition", async () => {
  const settings = settingsOf(stamped);
  const one = timestampIn("header", "X-Time");
  assertEquals(hmac.review(settings, factsOfAll([settings, one])), []);
  assertEquals(hmac.review(settingsOf(base), factsOfAll([settings, one, one])), []);
  for (const siblings of [[settings], [settings, one, one]]) {
    const [problem] = hmac.review(settings, factsOfAll(siblings));
    assertEquals(problem?.pointer, "/signed_content");
    assertMatch(problem?.detail ?? "", /exactly one timestamp condition.*the trigger has [02]$/);
    const parts = { headers: { "x-signature": hex } };
    const refusal = await checkOnce(hmac, settings, parts, context({ siblings }));
    assertEquals(refusal?.reason, problem?.detail);
  }
});

const PLACEHOLDERS = "there are {body}, {timestamp}, {id}, {method}, {url}, {path}, " +
  "{header:NAME}, {query:NAME}, {body:NAME}";
const templates: { template: string | string[]; problem?: string }[] = [
  { template: "{body}" },
  { template: "v0:{timestamp}:{body}" },
  { template: "{ {body} }" },
  { template: "{method}{url}{path}{header:X-A}{query:b}{body:/c}{body}" },
  { template: ["{body}", "{url}{body}"] },
  {
    template: "{timestamp}",
    problem: "/signed_content: Must contain {body}: anyone can change what is not signed",
  },
  {
    template: "",
    problem: "/signed_content: Must contain {body}: anyone can change what is not signed",
  },
  {
    template: ["{body}", "{url}"],
    problem: "/signed_content: Must contain {body}: anyone can change what is not signed",
  },
  { template: "{id}.{body}", problem: "/id: Expected the place of {id}" },
  {
    template: "{Body}",
    problem: `/signed_content: Unknown placeholder {Body}: ${PLACEHOLDERS}`,
  },
  { template: "{}{body}", problem: `/signed_content: Unknown placeholder {}: ${PLACEHOLDERS}` },
  {
    template: "{header:}{body}",
    problem: `/signed_content: Unknown placeholder {header:}: ${PLACEHOLDERS}`,
  },
];

for (const { template, problem } of templates) {
  Deno.test(`hmac: signed_content '${template}' is ${problem ? "refused" : "taken"}`, () => {
    assertEquals(
      problemsOf(hmac, { ...base, signed_content: template }),
      problem ? [problem] : [],
    );
  });
}

const forms: { name: string; settings: Record<string, unknown>; problems: string[] }[] = [
  { name: "a preset", settings: { preset: "github" }, problems: [] },
  {
    name: "a preset with every field in the place of its own",
    settings: { ...base, preset: "stripe", tolerance: 60, signed_content: "{body}" },
    problems: [],
  },
  {
    name: "a preset and content without the body",
    settings: { preset: "stripe", signed_content: "{timestamp}" },
    problems: ["/signed_content: Must contain {body}: anyone can change what is not signed"],
  },
  {
    name: "neither preset nor scheme",
    settings: {},
    problems: [
      '/algorithm: Expected one of "sha1", "sha256", "sha384", "sha512", or a preset',
      "/header: Expected the header that carries the signature, or a preset",
    ],
  },
  {
    name: "a header and a field of the body",
    settings: { ...base, body_field: "sig" },
    problems: ["/body_field: Must not stand beside 'header': a signature has one place"],
  },
  {
    name: "a signature in the body that it signs",
    settings: { algorithm: "sha256", body_field: "sig", signed_content: "{body}" },
    problems: ["/signed_content: Must not contain {body}: the signature is a part of it"],
  },
  {
    name: "a field without a separator",
    settings: { ...base, field: "v1" },
    problems: ["/field_separator: Expected the text between a field's name and its value"],
  },
  {
    name: "a timestamp in a signature without fields",
    settings: { ...base, timestamp: { in: "signature", name: "t", format: "unix_s" } },
    problems: ["/timestamp: Must not be in the signature: it has no 'field' and 'list_separator'"],
  },
  {
    name: "an algorithm of public keys",
    settings: { preset: "github", algorithm: "ed25519" },
    problems: [
      '/algorithm: Invalid option: expected one of "sha1"|"sha256"|"sha384"|"sha512"',
    ],
  },
];

for (const { name, settings, problems } of forms) {
  Deno.test(`hmac settings: ${name}`, () => {
    assertEquals(problemsOf(hmac, { secrets: ["foobar"], ...settings }), problems);
  });
}

Deno.test("hmac: an unknown preset is refused with those that there are", () => {
  const [problem = ""] = problemsOf(hmac, { preset: "gitbub", secrets: ["foobar"] });
  assertMatch(problem, /^\/preset: Invalid option: expected one of .*"github"\|/);
});

Deno.test("hmac: defaults are filled in", () => {
  assertEquals(settingsOf({ secrets: ["s"] }), {
    type: "hmac",
    algorithm: "sha256",
    encoding: "hex",
    header: "X-Signature",
    prefix: "",
    signed_content: "{body}",
    secrets: ["s"],
  });
});
