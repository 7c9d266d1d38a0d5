/** A token passes with the right key, algorithm, times and claims; each thing that is wrong has its reason. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { decode, encode } from "../../src/conditions/signing/encoding.ts";
import { mutated, withFlippedBit } from "../arbitraries.ts";
import { type JWTPayload, SignJWT, UnsecuredJWT } from "@panva/jose";
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { jwt } from "../../src/conditions/jwt.ts";
import { verifyToken } from "../../src/conditions/jwt/verify.ts";
import type { JwtAlgorithm } from "../../src/conditions/jwt/algorithms.ts";
import { TestClock } from "../surroundings.ts";
import { rsaPairs } from "../rsa_keys.ts";
import { checkOnce, context, json, NOW_MS, problemsOf, request } from "./fixture.ts";
import { Issuer, p256 } from "./jwt/issuer.ts";

/** The issuers of these tests are on this machine. */
const PRIVATE = { private_networks: true };

const NOW_S = NOW_MS / 1000;
const SECRET = "a secret that is long enough for any of the three hash functions of HMAC";
const claims = { iss: "https://issuer.example", aud: "hooklaunch", exp: NOW_S + 60 };
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

type SigningKey = Parameters<SignJWT["sign"]>[0];

function makeToken(
  payload: JWTPayload,
  key: SigningKey,
  header: { alg: string; kid?: string; crit?: string[] },
): Promise<string> {
  return new SignJWT(payload).setProtectedHeader(header).sign(key);
}

const hs256 = (payload: JWTPayload, secret = SECRET) =>
  makeToken(payload, new TextEncoder().encode(secret), { alg: "HS256" });

const [rsa] = rsaPairs;
const ed25519 = generateKeyPairSync("ed25519");
const curves = { ES256: "P-256", ES384: "P-384", ES512: "P-521" };
const pairs: Record<string, typeof rsa> = {
  ...Object.fromEntries(
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"].map((alg) => [alg, rsa]),
  ),
  ...Object.fromEntries(
    Object.entries(curves).map(([alg, namedCurve]) => [
      alg,
      generateKeyPairSync("ec", { namedCurve }),
    ]),
  ),
  EdDSA: ed25519,
  Ed25519: ed25519,
};

for (const [alg, { publicKey, privateKey }] of Object.entries(pairs)) {
  const spki = String(publicKey.export({ format: "pem", type: "spki" }));
  const jwk = publicKey.export({ format: "jwk" });
  const forms = { PEM: spki, JWK: jwk, "JWK as JSON": JSON.stringify(jwk) };
  for (const [form, key] of Object.entries(forms)) {
    Deno.test(`jwt: ${alg} with a ${form}`, async () => {
      const token = await makeToken(claims, privateKey, { alg, kid: "any" });
      const settings = { algorithms: [alg], public_keys: [key] };
      assertEquals(await checkOnce(jwt, settings, bearer(token)), undefined);
      const [header, payload, signature = ""] = token.split(".");
      const forged = signature.startsWith("A")
        ? `B${signature.slice(1)}`
        : `A${signature.slice(1)}`;
      const refusal = await checkOnce(jwt, settings, bearer(`${header}.${payload}.${forged}`));
      assertEquals(refusal?.reason, "The signature of the token is wrong");
    });
  }
}

for (const alg of ["HS256", "HS384", "HS512"]) {
  Deno.test(`jwt: ${alg} with any of several secrets`, async () => {
    const settings = { algorithms: [alg], secrets: ["old", "{env:NEW}"] };
    const sign = (secret: string) => makeToken(claims, new TextEncoder().encode(secret), { alg });
    const env = { NEW: SECRET };
    for (const right of ["old", SECRET]) {
      const parts = bearer(await sign(right));
      assertEquals(await checkOnce(jwt, settings, parts, context({ env })), undefined);
    }
    const wrong = await checkOnce(jwt, settings, bearer(await sign("older")), context({ env }));
    assertEquals(wrong, {
      reason: "The signature of the token is wrong",
      expected: `"Bearer " and a JWT signed with ${alg}`,
    });
    const missing = await checkOnce(jwt, settings, bearer(await sign(SECRET)));
    assertEquals(
      missing?.reason,
      "The signature of the token is wrong: environment variable NEW is not set",
    );
  });
}

// RFC 7515 appendix A.1 to A.3: the same payload, which expired in 2011.
const PAYLOAD =
  "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
const RFC7515_EXP_MS = 1_300_819_380_000;
const rfc7515 = [
  {
    section: "A.1",
    algorithm: "HS256",
    token: `eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.${PAYLOAD}.` +
      "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    key: Uint8Array.fromBase64(
      "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow",
      { alphabet: "base64url" },
    ),
  },
  {
    section: "A.2",
    algorithm: "RS256",
    token: `eyJhbGciOiJSUzI1NiJ9.${PAYLOAD}.` +
      "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W" +
      "2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkS" +
      "jtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnv" +
      "Wh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
    key: {
      kty: "RSA" as const,
      n: "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt" +
        "0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSX" +
        "ndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5" +
        "IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
      e: "AQAB",
    },
  },
  {
    section: "A.3",
    algorithm: "ES256",
    token: `eyJhbGciOiJFUzI1NiJ9.${PAYLOAD}.` +
      "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
    key: {
      kty: "EC" as const,
      crv: "P-256",
      x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    },
  },
];

for (const { section, algorithm, token, key } of rfc7515) {
  Deno.test(`verifyToken: RFC 7515 appendix ${section}, ${algorithm}`, async () => {
    const expectations = { algorithms: [algorithm], issuer: "joe", leeway: 0 };
    const at = (now_ms: number) => verifyToken(token, key, expectations, now_ms);
    assertEquals(await at(RFC7515_EXP_MS - 1), undefined);
    assertEquals((await at(RFC7515_EXP_MS))?.reason, "The token has expired");
    const forged = token.replace(PAYLOAD, PAYLOAD.replace("eyJpc3", "eyJpc4"));
    assertEquals(
      (await verifyToken(forged, key, expectations, 0))?.reason,
      "The signature of the token is wrong",
    );
  });
}

Deno.test("verifyToken takes no algorithm that is not expected", async () => {
  const token = await hs256(claims);
  const key = new TextEncoder().encode(SECRET);
  const verify = (algorithms: string[]) =>
    verifyToken(token, key, { algorithms, leeway: 0 }, NOW_MS);
  assertEquals(await verify(["HS256"]), undefined);
  assertMatch((await verify(["HS384"]))?.reason ?? "passed", /^The token cannot be verified: /);
});

const base = { algorithms: ["HS256"], secrets: [SECRET] };
const cases: {
  name: string;
  settings?: Record<string, unknown>;
  payload: JWTPayload;
  reason?: string;
  expected?: string;
  found?: string;
}[] = [
  { name: "no exp", payload: {}, reason: "The token has no claim 'exp'" },
  { name: "exp now and no leeway", settings: { leeway: 0 }, payload: { exp: NOW_S + 1 } },
  {
    name: "exp reached and no leeway",
    settings: { leeway: 0 },
    payload: { exp: NOW_S },
    reason: "The token has expired",
    expected: "a number after 1700000000, with 0 s of leeway",
    found: "1700000000",
  },
  { name: "exp within the leeway", payload: { exp: NOW_S - 29 } },
  {
    name: "exp beyond the leeway",
    payload: { exp: NOW_S - 30 },
    reason: "The token has expired",
    expected: "a number after 1700000000, with 30 s of leeway",
    found: "1699999970",
  },
  {
    name: "exp as a string",
    payload: { exp: String(NOW_S + 60) as unknown as number },
    reason: "The claim 'exp' of the token does not hold",
    expected: "a number after 1700000000, with 30 s of leeway",
    found: '"1700000060"',
  },
  { name: "nbf within the leeway", payload: { exp: NOW_S + 90, nbf: NOW_S + 30 } },
  {
    name: "nbf beyond the leeway",
    payload: { exp: NOW_S + 90, nbf: NOW_S + 31 },
    reason: "The claim 'nbf' of the token does not hold",
    expected: "a number not after 1700000000, with 30 s of leeway",
    found: "1700000031",
  },
  { name: "the issuer", settings: { issuer: "https://issuer.example" }, payload: claims },
  {
    name: "one of the issuers",
    settings: { issuer: ["x", "https://issuer.example"] },
    payload: claims,
  },
  {
    name: "another issuer",
    settings: { issuer: ["x", "y"] },
    payload: claims,
    reason: "The claim 'iss' of the token does not hold",
    expected: '["x","y"]',
    found: '"https://issuer.example"',
  },
  {
    name: "no issuer",
    settings: { issuer: "x" },
    payload: { exp: claims.exp },
    reason: "The token has no claim 'iss'",
  },
  { name: "the audience", settings: { audience: "hooklaunch" }, payload: claims },
  {
    name: "one of the audiences in a list",
    settings: { audience: ["x", "hooklaunch"] },
    payload: { ...claims, aud: ["a", "hooklaunch"] },
  },
  {
    name: "another audience",
    settings: { audience: "x" },
    payload: claims,
    reason: "The claim 'aud' of the token does not hold",
    expected: '"x"',
    found: '"hooklaunch"',
  },
  {
    name: "no audience",
    settings: { audience: "x" },
    payload: { exp: claims.exp },
    reason: "The token has no claim 'aud'",
  },
  {
    name: "claims of any JSON",
    settings: { claims: { a: "x", b: 1, c: [1, { d: null }], e: true, f: null } },
    payload: { ...claims, a: "x", b: 1, c: [1, { d: null }], e: true, f: "anything" },
  },
  {
    name: "a claim of another value",
    settings: { claims: { role: ["admin"] } },
    payload: { ...claims, role: "admin" },
    reason: "The claim 'role' of the token does not hold",
    expected: '["admin"]',
    found: '"admin"',
  },
  {
    name: "a claim of another type",
    settings: { claims: { n: 1 } },
    payload: { ...claims, n: "1" },
    reason: "The claim 'n' of the token does not hold",
    expected: "1",
    found: '"1"',
  },
  {
    name: "a claim that must be there",
    settings: { claims: { sub: null } },
    payload: claims,
    reason: "The token has no claim 'sub'",
  },
  {
    name: "a claim that only the prototype has",
    settings: { claims: { constructor: null } },
    payload: claims,
    reason: "The token has no claim 'constructor'",
  },
];

for (const { name, settings, payload, reason, expected, found } of cases) {
  Deno.test(`jwt: ${name}`, async () => {
    const parts = bearer(await hs256(payload));
    const refusal = await checkOnce(jwt, { ...base, ...settings }, parts);
    assertEquals(refusal?.reason, reason);
    assertEquals(refusal?.expected, expected);
    assertEquals(refusal?.found, found);
  });
}

Deno.test("jwt: a token without its signature tells nothing of its claims", async () => {
  const parts = bearer(await hs256({ exp: NOW_S - 3600, iss: "x" }, "another secret"));
  const refusal = await checkOnce(jwt, { ...base, issuer: "y" }, parts);
  assertEquals(refusal?.reason, "The signature of the token is wrong");
  assertEquals(refusal?.found, undefined);
});

const [tokenHeader, tokenPayload, tokenSignature] = (await hs256(claims)).split(".");
const unusual: { name: string; token: string; reason: RegExp }[] = [
  {
    name: "alg none",
    token: new UnsecuredJWT(claims).encode(),
    reason: /^The algorithm of the token is not listed$/,
  },
  {
    name: "alg none with a signature",
    token: `${btoa('{"alg":"none"}').replaceAll("=", "")}.${tokenPayload}.${tokenSignature}`,
    reason: /^The algorithm of the token is not listed$/,
  },
  {
    name: "an algorithm that is not listed",
    token: await makeToken(claims, new TextEncoder().encode(SECRET), { alg: "HS512" }),
    reason: /^The algorithm of the token is not listed$/,
  },
  {
    name: "no algorithm",
    token: `${btoa("{}")}.${tokenPayload}.${tokenSignature}`,
    reason: /^The algorithm of the token is not listed$/,
  },
  { name: "no token", token: ".", reason: /^The token is not a JWT$/ },
  { name: "one part", token: "abc", reason: /^The token is not a JWT$/ },
  {
    name: "a header that is no JSON",
    token: `YWJj.${tokenPayload}.x`,
    reason: /^The token is not a JWT$/,
  },
  {
    name: "two parts",
    token: `${tokenHeader}.${tokenPayload}`,
    reason: /^The token is not a JWT$/,
  },
  {
    name: "four parts",
    token: `${tokenHeader}.${tokenPayload}.${tokenSignature}.x`,
    reason: /^The token is not a JWT$/,
  },
  {
    name: "an empty signature",
    token: `${tokenHeader}.${tokenPayload}.`,
    reason: /^The signature of the token is wrong$/,
  },
  {
    name: "a signature that is no base64url",
    token: `${tokenHeader}.${tokenPayload}.!!!`,
    reason: /^The token cannot be verified: /,
  },
  {
    name: "an extension that is critical",
    token: `${btoa('{"alg":"HS256","crit":["x"],"x":1}').replaceAll("=", "")}.${tokenPayload}.x`,
    reason: /^The token cannot be verified: /,
  },
  {
    name: "a token of absurd length",
    token: `${tokenHeader}.${"A".repeat(16_384)}.${tokenSignature}`,
    reason: /^The token is too long$/,
  },
];

for (const { name, token, reason } of unusual) {
  Deno.test(`jwt: ${name} is refused`, async () => {
    const refusal = await checkOnce(jwt, base, bearer(token));
    assertMatch(refusal?.reason ?? "passed", reason);
    assert(!JSON.stringify(refusal).includes(tokenSignature ?? ""), "tells the signature");
  });
}

Deno.test("jwt: a public key is no secret (algorithm confusion)", async () => {
  const spki = String(rsa.publicKey.export({ format: "pem", type: "spki" }));
  const forged = await makeToken(claims, new TextEncoder().encode(spki), { alg: "HS256" });
  const refusal = await checkOnce(
    jwt,
    { algorithms: ["RS256"], public_keys: [spki] },
    bearer(forged),
  );
  assertEquals(refusal?.reason, "The algorithm of the token is not listed");
  assertEquals(refusal?.found, "HS256");
});

Deno.test("jwt: among public keys the id chooses, where both have one", async () => {
  const [a, b] = [p256("a"), p256("b")];
  const settings = { algorithms: ["ES256"], public_keys: [a.publicKey, b.publicKey] };
  const sign = (kid?: string) =>
    makeToken(claims, createPrivateKey({ key: { ...b.privateKey }, format: "jwk" }), {
      alg: "ES256",
      ...(kid !== undefined && { kid }),
    });
  assertEquals(await checkOnce(jwt, settings, bearer(await sign("b"))), undefined);
  assertEquals(await checkOnce(jwt, settings, bearer(await sign())), undefined);
  const other = await checkOnce(jwt, settings, bearer(await sign("a")));
  assertEquals(other?.reason, "The signature of the token is wrong");
  const unknown = await checkOnce(jwt, settings, bearer(await sign("c")));
  assertEquals(unknown?.reason, "None of the keys of public_keys fits the token");
  assertEquals(unknown?.found, "ES256 with key id c");
});

Deno.test("jwt: settings are left as they were given", async () => {
  const { publicKey, privateKey } = p256("a");
  const settings = jwt.schema.parse({
    type: "jwt",
    algorithms: ["ES256"],
    public_keys: [publicKey],
  });
  const before = structuredClone(settings);
  const key = createPrivateKey({ key: { ...privateKey }, format: "jwk" });
  const token = await makeToken(claims, key, { alg: "ES256" });
  const check = await jwt.prepare(settings, context());
  assertEquals(await check(request(bearer(token))), undefined);
  assertEquals(settings, before);
  assert(settings.public_keys?.every((given) => !Object.isFrozen(given)), "is not frozen");
});

Deno.test("jwt: Ed25519 (RFC 9864) and EdDSA are two algorithms, and each is accepted where it is listed", async () => {
  const key = String(ed25519.publicKey.export({ format: "pem", type: "spki" }));
  for (const [alg, other] of [["Ed25519", "EdDSA"], ["EdDSA", "Ed25519"]] as const) {
    const parts = bearer(await makeToken(claims, ed25519.privateKey, { alg }));
    const check = (algorithms: string[]) =>
      checkOnce(jwt, { algorithms, public_keys: [key] }, parts);
    assertEquals(await check([alg, other]), undefined);
    assertEquals((await check([other]))?.reason, "The algorithm of the token is not listed");
  }
});

const places: {
  name: string;
  settings: Record<string, unknown>;
  parts: (token: string) => object;
}[] = [
  {
    name: "in a header without a prefix",
    settings: { name: "X-Jwt", prefix: "" },
    parts: (token) => ({ headers: { "x-jwt": token } }),
  },
  {
    name: "behind the scheme in lower case (RFC 9110 section 11.1)",
    settings: {},
    parts: (token) => ({ headers: { authorization: `bearer ${token}` } }),
  },
  {
    name: "in the query",
    settings: { in: "query", name: "jwt", prefix: "" },
    parts: (token) => ({ query: `jwt=${token}` }),
  },
  {
    name: "in the body",
    settings: { in: "body", name: "/auth/jwt", prefix: "" },
    parts: (token) => json({ auth: { jwt: token } }),
  },
];

for (const { name, settings, parts } of places) {
  Deno.test(`jwt: ${name}`, async () => {
    const token = await hs256(claims);
    assertEquals(await checkOnce(jwt, { ...base, ...settings }, parts(token)), undefined);
  });
}

Deno.test("jwt: a missing token and a missing prefix are told apart", async () => {
  const expected = '"Bearer " and a JWT signed with HS256';
  assertEquals(await checkOnce(jwt, base, {}), {
    reason: "Header Authorization is missing",
    expected,
  });
  const token = await hs256(claims);
  assertEquals(await checkOnce(jwt, base, { headers: { authorization: token } }), {
    reason: "Header Authorization does not begin with the prefix",
    expected,
  });
});

Deno.test("jwt: no secret at all refuses and names the variable", async () => {
  const settings = { ...base, secrets: ["{env:JWT_SECRET}"] };
  const parts = bearer(await hs256(claims));
  const refusal = await checkOnce(jwt, settings, parts, context({ env: { JWT_SECRET: "" } }));
  assertEquals(
    refusal?.reason,
    "No secret can be used: environment variable JWT_SECRET is not set",
  );
});

Deno.test("jwt: keys of an issuer, through a change of keys and a failure", async () => {
  const [old, next] = [p256("old"), p256("next")];
  const sign = (pair: typeof old, kid?: string) =>
    makeToken(claims, createPrivateKey({ key: { ...pair.privateKey }, format: "jwk" }), {
      alg: "ES256",
      ...(kid !== undefined && { kid }),
    });
  await using issuer = new Issuer([old.publicKey]);
  const clock = new TestClock(NOW_MS);
  const settings = jwt.schema.parse({
    type: "jwt",
    algorithms: ["ES256"],
    jwks_url: issuer.url,
    ...PRIVATE,
  });
  const check = await jwt.prepare(settings, context({ clock }));
  const once = async (token: string) => await check(request(bearer(token)));

  assertEquals(await once(await sign(old, "old")), undefined);
  assertEquals(await once(await sign(old)), undefined);
  assertEquals(issuer.requests, 1);

  issuer.publish(old.publicKey, next.publicKey);
  const early = await once(await sign(next, "next"));
  assertEquals(early?.reason, `None of the keys of ${issuer.url} fits the token`);
  assertEquals(early?.found, "ES256 with key id next");
  clock.time_ms += 30_000;
  assertEquals(await once(await sign(next, "next")), undefined);
  assertEquals(
    (await once(await sign(next, "old")))?.reason,
    "The signature of the token is wrong",
  );
  assertEquals(issuer.requests, 2);

  issuer.respond = () => new Response("down", { status: 503 });
  clock.time_ms += 3_600_000;
  assertEquals(await once(await sign(next, "next")), undefined);
  assertEquals(issuer.requests, 3);
});

Deno.test("jwt: a key of the right id and the wrong kind does not fit", async () => {
  await using issuer = new Issuer([p256("k").publicKey]);
  const settings = { algorithms: ["RS256", "ES256"], jwks_url: issuer.url, ...PRIVATE };
  const token = await makeToken(claims, rsa.privateKey, { alg: "RS256", kid: "k" });
  const refusal = await checkOnce(jwt, settings, bearer(token));
  assertEquals(refusal?.reason, `None of the keys of ${issuer.url} fits the token`);
  assertEquals(refusal?.found, "RS256 with key id k");
});

Deno.test("jwt: an issuer that never answered refuses with its reason", async () => {
  await using issuer = new Issuer();
  issuer.respond = () => new Response("down", { status: 503 });
  const settings = { algorithms: ["RS256"], jwks_url: issuer.url, ...PRIVATE };
  const token = await makeToken(claims, rsa.privateKey, { alg: "RS256", kid: "k" });
  const refusal = await checkOnce(jwt, settings, bearer(token));
  assertEquals(
    refusal?.reason,
    `None of the keys of ${issuer.url} fits the token: cannot fetch them: ` +
      "expected status 200, found another one",
  );
});

const spki = String(ed25519.publicKey.export({ format: "pem", type: "spki" }));
const jwks_url = "https://issuer.example/jwks";
const settings: { name: string; settings: Record<string, unknown>; problems: string[] }[] = [
  { name: "secrets", settings: { algorithms: ["HS256"], secrets: ["s"] }, problems: [] },
  { name: "public keys", settings: { algorithms: ["EdDSA"], public_keys: [spki] }, problems: [] },
  { name: "a set", settings: { algorithms: ["ES256", "RS256"], jwks_url }, problems: [] },
  {
    name: "no source of keys",
    settings: { algorithms: ["HS256"] },
    problems: [
      "/: Must have exactly one of secrets, public_keys and jwks_url: current value is none",
    ],
  },
  {
    name: "two sources of keys",
    settings: { algorithms: ["EdDSA"], public_keys: [spki], jwks_url },
    problems: [
      "/: Must have exactly one of secrets, public_keys and jwks_url: " +
      "current value is public_keys and jwks_url",
    ],
  },
  {
    name: "HS256 with a set",
    settings: { algorithms: ["RS256", "HS256"], jwks_url },
    problems: ["/algorithms/1: HS256 signs with a secret: it goes with secrets, not with jwks_url"],
  },
  {
    name: "RS256 with secrets",
    settings: { algorithms: ["RS256"], secrets: ["s"] },
    problems: [
      "/algorithms/0: RS256 signs with a private key: " +
      "it goes with public_keys or jwks_url, not with secrets",
    ],
  },
  {
    name: "a key that fits no algorithm",
    settings: { algorithms: ["ES256"], public_keys: [spki] },
    problems: ["/public_keys/0: Must be a key for one of the algorithms listed"],
  },
  {
    name: "an HTTP address",
    settings: { algorithms: ["RS256"], jwks_url: "http://issuer.example/jwks" },
    problems: [
      "/jwks_url: Must be an https: URL without credentials, or http: on a loopback host",
    ],
  },
  {
    name: "a set of a private network",
    settings: { algorithms: ["RS256"], jwks_url: "https://10.0.0.1/jwks", private_networks: true },
    problems: [],
  },
  ...["https://10.0.0.1/jwks", "http://localhost/", "http://[::1]:80/"].map((jwks_url) => ({
    name: `${jwks_url}, which is not public`,
    settings: { algorithms: ["RS256"], jwks_url },
    problems: [
      "/jwks_url: Must have a public address, or stand beside 'private_networks: true'",
    ],
  })),
  {
    name: "private networks without a set",
    settings: { algorithms: ["EdDSA"], public_keys: [spki], private_networks: true },
    problems: ["/private_networks: Must only stand beside 'jwks_url'"],
  },
  {
    name: "a leeway over five minutes",
    settings: { algorithms: ["HS256"], secrets: ["s"], leeway: 301 },
    problems: ["/leeway: Too big: expected number to be <=300"],
  },
  {
    name: "a preset",
    settings: { algorithms: ["HS256"], secrets: ["s"], preset: "google" },
    problems: ["/: This type of condition has no presets"],
  },
];

for (const { name, settings: given, problems } of settings) {
  Deno.test(`jwt settings: ${name}`, () => assertEquals(problemsOf(jwt, given), problems));
}

for (const algorithms of [[], ["none"], ["HS1"], ["hs256"]]) {
  Deno.test(`jwt settings: algorithms [${algorithms}] are refused`, () => {
    const [problem = ""] = problemsOf(jwt, { algorithms, secrets: ["s"] });
    assertMatch(problem, /^\/algorithms/);
  });
}

Deno.test("jwt settings: defaults are filled in", () => {
  const algorithms: JwtAlgorithm[] = ["HS256"];
  assertEquals(jwt.schema.parse({ type: "jwt", algorithms, secrets: ["s"] }), {
    type: "jwt",
    in: "header",
    name: "Authorization",
    prefix: "Bearer ",
    algorithms,
    secrets: ["s"],
    leeway: 30,
  });
});

Deno.test("jwt settings: a prefix is expected by default where the standard has one, and nowhere else", () => {
  const prefixes = [
    { name: "authorization" },
    { name: "X-Jwt" },
    { name: "X-Jwt", prefix: "Bearer " },
    { in: "query", name: "Authorization" },
    { in: "body", name: "/auth/jwt" },
    { prefix: "" },
  ].map((settings) =>
    jwt.schema.parse({ type: "jwt", algorithms: ["HS256"], secrets: ["s"], ...settings }).prefix
  );
  assertEquals(prefixes, ["Bearer ", "", "Bearer ", "", "", ""]);
});

Deno.test("jwt: a token with any bit turned around is refused", async () => {
  const tokens = await Promise.all(
    ["HS256", "ES256", "EdDSA"].map(async (alg) => {
      const pair = pairs[alg];
      const key = pair?.privateKey ?? new TextEncoder().encode(SECRET);
      const settings = pair
        ? { public_keys: [String(pair.publicKey.export({ format: "pem", type: "spki" }))] }
        : { secrets: [SECRET] };
      return {
        token: await makeToken(claims, key, { alg }),
        settings: { algorithms: [alg], ...settings },
      };
    }),
  );
  const part = fc.nat(2);
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...tokens), part, fc.nat(), async (each, part, at) => {
      const { token, settings } = each;
      assertEquals(await checkOnce(jwt, settings, bearer(token)), undefined);
      const parts = token.split(".");
      const bytes = decode(parts[part] ?? "", "base64url") ?? new Uint8Array();
      parts[part] = encode(withFlippedBit(bytes, at), "base64url");
      assert(await checkOnce(jwt, settings, bearer(parts.join("."))));
    }),
    { numRuns: 150 },
  );
});

Deno.test("jwt: any other text than the token is refused, each with its reason", async () => {
  const token = await hs256(claims);
  const unsecured = new UnsecuredJWT(claims).encode();
  const text = fc.oneof(
    mutated(token, ".", "=", "A", "eyJ"),
    mutated(unsecured, "."),
    fc.string(),
  ).filter((text) => !text.startsWith(token.slice(0, -1)));
  await fc.assert(
    fc.asyncProperty(text, async (text) => {
      const parts = json({ token: text });
      const settings = { in: "body", name: "token", prefix: "", algorithms: ["HS256"] };
      const refusal = await checkOnce(jwt, { ...settings, secrets: [SECRET] }, parts);
      assertEquals(typeof refusal?.reason, "string");
    }),
    { numRuns: 200 },
  );
});
