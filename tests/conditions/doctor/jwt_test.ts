/** The signature doctor names every mistake that can be made with a JWT. */
import { Buffer } from "node:buffer";
import { generateKeyPairSync } from "node:crypto";
import { type JWTPayload, SignJWT } from "@panva/jose";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { diagnoseAccepted } from "../../../src/triggers/diagnose.ts";
import type { Certainty } from "../../../src/conditions/doctor/finding.ts";
import type { Refusal } from "../../../src/conditions/check.ts";
import { NOW_MS, request } from "../fixture.ts";
import { type Sent, URL_OF_TRIGGER } from "../signing/senders.ts";
import { assertFirst, cluesOf, diagnosed, followed, prepared, type Written } from "./fixture.ts";

const SECRET = Buffer.from("a secret of an issuer, thirty-two bytes").toString("base64");
const NOW_S = NOW_MS / 1000;
const KEY = new TextEncoder().encode(SECRET);
const OWN = { type: "jwt", algorithms: ["HS256"], secrets: [SECRET] };
const LONG = { ...OWN, secrets: [SECRET + SECRET] };
const KEYS = { type: "jwt", algorithms: ["ES256"] };
const pairs = [0, 1].map(() => generateKeyPairSync("ec", { namedCurve: "P-256" }));
const [own, other] = pairs.map(({ publicKey }) =>
  publicKey.export({ format: "pem", type: "spki" })
);

interface TokenParts {
  alg?: string;
  key?: Uint8Array | Parameters<SignJWT["sign"]>[0];
  claims?: JWTPayload;
}

async function token({ alg = "HS256", key = KEY, claims = {} }: TokenParts = {}): Promise<string> {
  return await new SignJWT({ exp: NOW_S + 300, ...claims }).setProtectedHeader({ alg }).sign(key);
}

function send(headers: Record<string, string>): Sent {
  return {
    method: "POST",
    url: URL_OF_TRIGGER,
    headers,
    body: new Uint8Array(),
    receivedAt_ms: NOW_MS,
  };
}

function bearer(text: string): Sent {
  return send({ authorization: `Bearer ${text}` });
}

const unsigned = ["none", "x"].map((text) =>
  Buffer.from(JSON.stringify({ alg: text })).toString("base64url")
).join(".");

const cases: [
  name: string,
  condition: Written,
  sent: () => Promise<Sent> | Sent,
  certainty: Certainty,
  words: string | RegExp,
][] = [
  ["the right one", OWN, async () => bearer(await token()), "matches", "Everything passes"],
  [
    "another secret",
    { ...OWN, secrets: ["another secret of the trigger"] },
    async () => bearer(await token()),
    "likely",
    "The token is signed with another secret",
  ],
  [
    "the bytes of a secret in base64",
    OWN,
    async () => bearer(await token({ key: Buffer.from(SECRET, "base64") })),
    "matches",
    "Signed with the bytes that the secret writes in base64 instead of its text",
  ],
  [
    "a line break at the end of the secret",
    { ...OWN, secrets: [`${SECRET}\n`] },
    async () => bearer(await token()),
    "matches",
    "Signed with the secret without the white space around it",
  ],
  [
    "an older one than max_age",
    { ...OWN, max_age: 60 },
    async () => bearer(await token({ claims: { iat: NOW_S - 660 } })),
    "likely",
    "Right signature, and the token was issued 11 minutes ago: let the sender fetch a new one in time, or look " +
    "at the clock. 60 seconds are allowed (`max_age`).",
  ],
  [
    "an algorithm for which the secret is too short",
    { ...OWN, secrets: [SECRET.slice(0, 40)] },
    async () => bearer(await token({ alg: "HS512", key: KEY.subarray(0, 40) })),
    "matches",
    "does not list: let the issuer use one of those. To add it takes a secret of 64 bytes or more.",
  ],
  [
    "another algorithm",
    LONG,
    async () =>
      bearer(await token({ alg: "HS512", key: new TextEncoder().encode(SECRET + SECRET) })),
    "matches",
    "The token is signed with HS512, which `algorithms` does not list: add it",
  ],
  [
    "another algorithm and another reading",
    OWN,
    async () => bearer(await token({ alg: "HS384", key: Buffer.from(SECRET, "base64") })),
    "matches",
    /^Several things differ.*HS384.*in base64 instead of its text/,
  ],
  ["no signature", OWN, () => bearer(`${unsigned}.`), "likely", "The token is not signed"],
  ["no JWT", OWN, () => bearer("0paque"), "likely", "holds no JWT, which has three parts"],
  ["a JWE", OWN, () => bearer("eyJhIjoxfQ.a.b.c.d"), "likely", "The token is encrypted (a JWE)"],
  ["nothing", OWN, () => send({}), "likely", "Header Authorization is missing: does the sender"],
  [
    "an expired one",
    OWN,
    async () => bearer(await token({ claims: { exp: NOW_S - 660 } })),
    "likely",
    "Right signature, and the token expired 11 minutes ago: let the sender fetch a new one",
  ],
  [
    "one that is not valid yet",
    OWN,
    async () => bearer(await token({ claims: { nbf: NOW_S + 660 } })),
    "likely",
    "Right signature, and the token is valid only in 11 minutes: look at the clock",
  ],
  [
    "another audience",
    { ...OWN, audience: "hooks" },
    async () => bearer(await token({ claims: { aud: "other" } })),
    "likely",
    'Right signature. The claim \'aud\' of the token does not hold: expected "hooks", found "other"',
  ],
  [
    "no audience",
    { ...OWN, audience: "hooks" },
    async () => bearer(await token()),
    "likely",
    "Right signature. The token has no claim 'aud'.",
  ],
  [
    "an issuer with a slash at its end",
    { ...OWN, issuer: "https://issuer.example" },
    async () => bearer(await token({ claims: { iss: "https://issuer.example/" } })),
    "likely",
    "They differ by the slash at the end.",
  ],
  [
    "another claim",
    { ...OWN, claims: { scope: "launch" } },
    async () => bearer(await token({ claims: { scope: "read" } })),
    "likely",
    "The claim 'scope' of the token does not hold",
  ],
  [
    "another header",
    OWN,
    async () => send({ "x-jwt": await token() }),
    "matches",
    "The token is in header x-jwt, and the condition reads header Authorization",
  ],
  [
    "no prefix",
    OWN,
    async () => send({ authorization: await token() }),
    "matches",
    "The condition expects `Bearer ` before the token, and there is nothing",
  ],
  [
    "another public key",
    { ...KEYS, public_keys: [other] },
    async () => bearer(await token({ alg: "ES256", key: privateKey(0) })),
    "likely",
    "The token is signed with another private key",
  ],
  [
    "the right public key, and an expired token",
    { ...KEYS, public_keys: [other, own] },
    async () =>
      bearer(await token({ alg: "ES256", key: privateKey(0), claims: { exp: NOW_S - 660 } })),
    "likely",
    "the token expired 11 minutes ago",
  ],
  [
    "a secret's signature in place of a private key's",
    { ...KEYS, public_keys: [own] },
    async () => bearer(await token()),
    "likely",
    "The token is signed with HS256, which `algorithms` does not list: let the issuer use one of those",
  ],
  [
    "a private key's signature in place of a secret's",
    OWN,
    async () => bearer(await token({ alg: "ES256", key: privateKey(0) })),
    "likely",
    "The token is signed with ES256, which `algorithms` does not list: let the issuer use one of those",
  ],
];

function privateKey(place: number) {
  const pair = pairs[place];
  if (pair === undefined) throw new RangeError(`No pair ${place}`);
  return pair.privateKey;
}

for (const [name, condition, sent, certainty, words] of cases) {
  Deno.test(`doctor: jwt: ${name}`, async () => {
    assertFirst(await diagnosed([condition], await sent()), certainty, words, name);
  });
}

Deno.test("doctor: jwt: the condition that a finding names lets the request pass", async (t) => {
  const text = await token();
  const moved: [name: string, condition: Written, sent: Sent][] = [
    ["another header", OWN, send({ "x-jwt": text })],
    ["another header with Bearer", OWN, send({ "x-jwt": `Bearer ${text}` })],
    ["a prefix for one", { ...OWN, name: "X-JWT" }, send({ authorization: `Bearer ${text}` })],
    ["no prefix", OWN, send({ authorization: text })],
    ["another prefix", OWN, send({ authorization: `JWT ${text}` })],
  ];
  for (const [name, condition, sent] of moved) {
    await t.step(name, async () => {
      const [{ sentence } = { sentence: "" }] = await diagnosed([condition], sent);
      const other = followed(condition, sentence);
      assertFirst(await diagnosed([other], sent), "matches", "Everything passes", sentence);
    });
  }
  const twice = send({ authorization: `Bearer ${text}, Bearer ${text}` });
  const words = "Something follows the token, such as the same header once more";
  assertFirst(await diagnosed([OWN], twice), "matches", words, "twice");
});

Deno.test("doctor: jwt: a claim of a token that a key of the issuer's address has verified", async (t) => {
  const jwks = { type: "jwt", algorithms: ["ES256"], jwks_url: "https://issuer.example/keys" };
  const cases: [name: string, claims: JWTPayload, refusal: Refusal, words: string][] = [
    [
      "a slash",
      { iss: "https://issuer.example/" },
      {
        reason: "The claim 'iss' of the token does not hold",
        expected: '"https://issuer.example"',
        found: '"https://issuer.example/"',
      },
      "Right signature. The claim 'iss' of the token does not hold: expected \"https://issuer.example\", found " +
      '"https://issuer.example/". They differ by the slash at the end.',
    ],
    [
      "expired",
      { exp: NOW_S - 660 },
      { reason: "The token has expired" },
      "Right signature, and the token expired 11 minutes ago",
    ],
    [
      "another key",
      {},
      {
        reason: "None of the keys of https://issuer.example/keys fits the token",
        found: "ES256 with key id b",
      },
      "None of the keys of https://issuer.example/keys fits the token, found ES256 with key id b.",
    ],
  ];
  for (const [name, claims, refusal, words] of cases) {
    await t.step(name, async () => {
      const { headers } = bearer(await token({ alg: "ES256", key: privateKey(0), claims }));
      const [first = ""] = await cluesOf(jwks, { headers }, refusal);
      assertStringIncludes(first, words);
    });
  }
});

Deno.test("doctor: jwt: a filter over the token of an accepted delivery, which is not kept, is not tried", async () => {
  const conditions = [
    OWN,
    { type: "payload_filter", expression: "jwt.claims.sub == 'a'" },
    { type: "payload_filter", expression: "query.a == '1'" },
  ];
  const found = await diagnoseAccepted(await prepared(conditions), request({}));
  assertFirst(
    found,
    "likely",
    "The trigger would refuse it now. It is refused by conditions/2",
    "1",
  );
  assertFirst(found.slice(1), "possible", "conditions/1 (payload_filter) reads the token", "2");
  assertEquals(found.length, 2);
});

Deno.test("doctor: jwt: the secret of another trigger", async () => {
  const others = [await prepared([OWN], { name: "two" })];
  const conditions = [{ ...OWN, secrets: ["the secret of this trigger"] }];
  const found = await diagnosed(conditions, bearer(await token()), { others });
  assertFirst(found, "matches", 'The secret is that of trigger "two"', "another trigger");
});
