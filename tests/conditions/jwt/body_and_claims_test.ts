/** Tokens that say something of the body or of themselves: hashes, ages, and claims for filters. */
import { assertEquals, assertMatch } from "@std/assert";
import { type JWTPayload, SignJWT } from "@panva/jose";
import { createHash } from "node:crypto";
import { jwt } from "../../../src/conditions/jwt.ts";
import { claimsOf } from "../../../src/conditions/jwt/claims.ts";
import { conditionSchema, conditionWarnings } from "../../../src/conditions/mod.ts";
import { signRequest } from "../../../src/conditions/sign_request.ts";
import { startService } from "../../data.ts";
import { checkOnce, context, NOW_MS, request } from "../fixture.ts";

const NOW_S = NOW_MS / 1_000;
const SECRET = "a secret that is long enough for any of the hash functions of HMAC";
const BODY = '{"a":1}';
const settings = { algorithms: ["HS256"], secrets: [SECRET] };

const sign = (payload: JWTPayload) =>
  new SignJWT(payload).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(SECRET));
const hashOf = (body: string, encoding: "hex" | "base64" | "base64url") =>
  createHash("sha256").update(body).digest(encoding);

const exp = NOW_S + 60;
const NOT_HELD = /^The claim 'hash' of the token does not hold$/;

const cases: {
  name: string;
  payload: JWTPayload;
  own?: Record<string, unknown>;
  reason?: RegExp;
}[] = [
  { name: "hex", payload: { exp, hash: hashOf(BODY, "hex") } },
  { name: "base64", payload: { exp, hash: hashOf(BODY, "base64") } },
  { name: "base64url", payload: { exp, hash: hashOf(BODY, "base64url") } },
  { name: "another body", payload: { exp, hash: hashOf("{}", "hex") }, reason: NOT_HELD },
  { name: "an empty hash", payload: { exp, hash: "" }, reason: NOT_HELD },
  { name: "no text", payload: { exp, hash: [hashOf(BODY, "hex")] }, reason: NOT_HELD },
  { name: "no hash", payload: { exp }, reason: /^The token has no claim 'hash'$/ },
  {
    name: "an age instead of an end",
    payload: { iat: NOW_S - 299, hash: hashOf(BODY, "hex") },
    own: { max_age: 300, leeway: 0 },
  },
  {
    name: "too old",
    payload: { iat: NOW_S - 301, hash: hashOf(BODY, "hex") },
    own: { max_age: 300, leeway: 0 },
    reason: /^The token has expired$/,
  },
  {
    name: "of no age",
    payload: { exp, hash: hashOf(BODY, "hex") },
    own: { max_age: 300 },
    reason: /^The token has no claim 'iat'$/,
  },
  {
    name: "ended before its age",
    payload: { iat: NOW_S, exp: NOW_S - 60, hash: hashOf(BODY, "hex") },
    own: { max_age: 300 },
    reason: /^The token has expired$/,
  },
];

Deno.test("a token holds for the body whose hash it has, and for its age", async () => {
  for (const { name, payload, own, reason = /^$/ } of cases) {
    const headers = { authorization: `Bearer ${await sign(payload)}` };
    const condition = { ...settings, body_hash: "hash", ...own };
    const refusal = await checkOnce(jwt, condition, { headers, body: BODY });
    assertMatch(refusal?.reason ?? "", reason, name);
  }
});

Deno.test("a token that leaves the body unsigned is told, and one that signs it can be made", async () => {
  const bare = conditionSchema.parse({ type: "jwt", ...settings });
  const hashed = conditionSchema.parse({ type: "jwt", ...settings, body_hash: "hash" });
  const hmac = conditionSchema.parse({
    type: "hmac",
    algorithm: "sha256",
    header: "X-Sig",
    secrets: ["s"],
  });
  const [warning] = conditionWarnings([bare]);
  assertMatch(warning?.detail ?? "", /^The token does not sign the body/);
  assertEquals(conditionWarnings([hashed]), []);
  assertEquals(conditionWarnings([bare, hmac]), []);
  const { headers, problems } = await signRequest([hashed], {
    url: "https://hooks.example/",
    headers: {},
    body: new TextEncoder().encode(BODY),
    now_ms: NOW_MS,
    env: () => undefined,
  });
  assertEquals(problems, []);
  const condition = { ...settings, body_hash: "hash" };
  assertEquals(await checkOnce(jwt, condition, { headers, body: BODY }), undefined);
});

Deno.test("of two verified tokens, filters see the claims of the first", async () => {
  const names = ["x-one", "x-two"];
  const tokens = await Promise.all(names.map(async (sub) => [sub, await sign({ exp, sub })]));
  const sent = request({ headers: Object.fromEntries(tokens) });
  for (const name of names) {
    const condition = jwt.schema.parse({ type: "jwt", ...settings, name });
    assertEquals(await (await jwt.prepare(condition, context()))(sent), undefined);
  }
  assertEquals(claimsOf(sent), { exp, sub: "x-one" });
});

Deno.test("claims are there for filters once the token is verified, also for those in the Worker", async () => {
  await using service = await startService();
  const ids = "jwt.claims.id == 9007199254740993";
  const expression = `jwt.claims.email.endsWith('@project.example') && ${ids}`;
  const long = "raw.contains('x') && jwt.claims.email == 'a@project.example'";
  const list = [{ path: "jwt.claims.email", op: "starts_with", value: "a@" }];
  const trigger = await service.trigger({
    conditions: [
      { type: "jwt", ...settings },
      { type: "payload_filter", expression },
      { type: "payload_filter", all: list },
      { type: "payload_filter", expression: long },
    ],
  });
  const now_s = Math.floor(Date.now() / 1_000);
  const launch = async (email: string, secret = SECRET) => {
    const header = btoa('{"alg":"HS256"}').replaceAll("=", "");
    const payload = JSON.stringify({ email, exp: now_s + 60 }).replace(
      "{",
      '{"id":9007199254740993,',
    );
    const content = `${header}.${
      new TextEncoder().encode(payload).toBase64({
        alphabet: "base64url",
        omitPadding: true,
      })
    }`;
    const key = await crypto.subtle.importKey(
      "raw",
      new TextEncoder().encode(secret),
      { name: "HMAC", hash: "SHA-256" },
      false,
      ["sign"],
    );
    const mac = new Uint8Array(
      await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(content)),
    ).toBase64({ alphabet: "base64url", omitPadding: true });
    const answer = await fetch(trigger.url, {
      method: "POST",
      headers: { authorization: `Bearer ${content}.${mac}` },
      // Too long to be looked at at once.
      body: "x".repeat(100_000),
    });
    await answer.body?.cancel();
    return answer.status;
  };
  assertEquals(await launch("a@project.example"), 200);
  assertEquals(await launch("a@other.example"), 400);
  assertEquals(await launch("b@project.example"), 400);
  assertEquals(await launch("a@project.example", "another secret"), 400);
});
