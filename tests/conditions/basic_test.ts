/** HTTP Basic as a form of static token: the password is the secret, split off at the first colon. */
import { assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import { staticToken } from "../../src/conditions/static_token.ts";
import { readBasic, writeBasic } from "../../src/conditions/authorization.ts";
import { mutated, withFlippedBit } from "../arbitraries.ts";
import { checkOnce, json, problemsOf, request, type RequestParts } from "./fixture.ts";

const named = { basic: { username: "user" }, secrets: ["a:b"] };
const sent = (credentials: string, scheme = "Basic"): RequestParts => ({
  headers: { authorization: `${scheme} ${btoa(credentials)}` },
});
const expected = "HTTP Basic with a username and password";

const cases: {
  name: string;
  settings?: Record<string, unknown>;
  parts: RequestParts;
  reason?: string;
}[] = [
  { name: "a password with a colon", parts: sent("user:a:b") },
  { name: "the scheme in another case", parts: sent("user:a:b", "bAsIc") },
  { name: "several spaces", parts: sent("user:a:b", "Basic  ") },
  {
    name: "any username where none is named",
    settings: { basic: {}, secrets: ["a:b"] },
    parts: sent("whoever:a:b"),
  },
  {
    name: "an empty username where none is named",
    settings: { basic: {}, secrets: ["a:b"] },
    parts: sent(":a:b"),
  },
  {
    name: "RFC 7617 section 2.1, in UTF-8",
    settings: { basic: { username: "test" }, secrets: ["123£"] },
    parts: { headers: { authorization: "Basic dGVzdDoxMjPCow==" } },
  },
  {
    name: "without padding",
    parts: { headers: { authorization: `Basic ${btoa("user:a:b").replaceAll("=", "")}` } },
  },
  {
    name: "another password",
    parts: sent("user:a"),
    reason: "Header Authorization holds a wrong token",
  },
  {
    name: "an empty password",
    parts: sent("user:"),
    reason: "Header Authorization holds a wrong token",
  },
  {
    name: "another username",
    parts: sent("User:a:b"),
    reason: "Header Authorization holds another username",
  },
  {
    name: "no colon",
    parts: sent("user"),
    reason: "Header Authorization holds no username and password",
  },
  {
    name: "no base64",
    parts: { headers: { authorization: "Basic user:a:b" } },
    reason: "Header Authorization holds no username and password",
  },
  {
    name: "another scheme",
    parts: sent("user:a:b", "Bearer"),
    reason: "Header Authorization is not of the scheme Basic",
  },
  {
    name: "a scheme that ends like it",
    parts: sent("user:a:b", "XBasic"),
    reason: "Header Authorization is not of the scheme Basic",
  },
  {
    name: "text behind the credentials",
    parts: { headers: { authorization: `Basic ${btoa("user:a:b")} x` } },
    reason: "Header Authorization is not of the scheme Basic",
  },
  { name: "nothing", parts: {}, reason: "Header Authorization is missing" },
];

for (const { name, settings = named, parts, reason } of cases) {
  Deno.test(`static_token basic: ${name}`, async () => {
    const refusal = await checkOnce(staticToken, settings, parts);
    assertEquals(refusal, reason === undefined ? undefined : { reason, expected });
  });
}

Deno.test("static_token basic: what is written is read", async () => {
  const headers = { authorization: writeBasic("user", "a:b") };
  assertEquals(await checkOnce(staticToken, named, { headers }), undefined);
});

const forms: { name: string; settings: Record<string, unknown>; problems: string[] }[] = [
  { name: "basic", settings: { basic: {} }, problems: [] },
  { name: "a preset", settings: { preset: "gitlab" }, problems: [] },
  { name: "a preset under another name", settings: { preset: "gitlab", name: "X" }, problems: [] },
  {
    name: "nothing",
    settings: {},
    problems: [
      '/in: Expected one of "header", "query", "body"',
      "/name: Expected the name of the field",
    ],
  },
  {
    name: "basic beside a place",
    settings: { basic: {}, in: "header", name: "X", prefix: "y" },
    problems: [
      "/in: Must not stand beside 'basic'",
      "/name: Must not stand beside 'basic'",
      "/prefix: Must not stand beside 'basic'",
    ],
  },
  {
    name: "a scheme without the blank behind it",
    settings: { in: "header", name: "Authorization", prefix: "Bearer" },
    problems: ['/prefix: Expected a blank at its end: "Bearer "'],
  },
  {
    name: "a username with a colon",
    settings: { basic: { username: "a:b" } },
    problems: ["/basic/username: Must not contain a colon or a control character"],
  },
  {
    name: "each of a header",
    settings: { in: "header", name: "X", each: "/a" },
    problems: ["/each: Must only stand beside 'in: body'"],
  },
];

for (const { name, settings, problems } of forms) {
  Deno.test(`static_token settings: ${name}`, () => {
    assertEquals(problemsOf(staticToken, { secrets: ["s"], ...settings }), problems);
  });
}

const graph = { preset: "microsoft_graph", secrets: ["state"] };
const notifications = (...states: unknown[]): RequestParts =>
  json({ value: states.map((clientState) => ({ clientState })) });

const tokens: { name: string; parts: RequestParts; reason?: string }[] = [
  { name: "one notification", parts: notifications("state") },
  { name: "several notifications", parts: notifications("state", "state", "state") },
  {
    name: "one of several with another state",
    parts: notifications("state", "other", "state"),
    reason: "Body field clientState holds a wrong token",
  },
  {
    name: "one of several without a state",
    parts: notifications("state", undefined),
    reason: "Body field /value has no clientState in its element 1",
  },
  {
    name: "no notification",
    parts: notifications(),
    reason: "Body field /value is an empty list",
  },
  {
    name: "an object in the list's place",
    parts: json({ value: { clientState: "state" } }),
    reason: "Body field /value is not a list",
  },
  { name: "no list", parts: json({}), reason: "Body field /value is missing" },
  {
    name: "a body that is compressed",
    parts: { body: "\x1f", headers: { "content-encoding": "gzip" } },
    reason: "Body field /value is missing: the body is neither JSON nor a form",
  },
  {
    name: "a body that is too deep",
    parts: { body: "[".repeat(1_000) },
    reason: "Body field /value is missing: the body cannot be read: it is nested too deep",
  },
  {
    name: "too many notifications",
    parts: notifications(...Array(1_001).fill("state")),
    reason: "Body field /value is too long",
  },
];

for (const { name, parts, reason } of tokens) {
  Deno.test(`preset static_token microsoft_graph: ${name}`, async () => {
    assertEquals((await checkOnce(staticToken, graph, parts))?.reason, reason);
  });
}

Deno.test("preset static_token gitlab: the token's header", async () => {
  const settings = { preset: "gitlab", secrets: ["gl-secret"] };
  const headers = { "X-Gitlab-Token": "gl-secret" };
  assertEquals(await checkOnce(staticToken, settings, { headers }), undefined);
  const refusal = await checkOnce(staticToken, settings, {});
  assertEquals(refusal?.reason, "Header X-Gitlab-Token is missing");
});

Deno.test("preset static_token telegram: the token's header", async () => {
  const settings = { preset: "telegram", secrets: ["tg_secret-1"] };
  const token = (value: string) => ({ headers: { "X-Telegram-Bot-Api-Secret-Token": value } });
  assertEquals(await checkOnce(staticToken, settings, token("tg_secret-1")), undefined);
  const reason = "Header X-Telegram-Bot-Api-Secret-Token holds a wrong token";
  assertEquals((await checkOnce(staticToken, settings, token("tg_secret-2")))?.reason, reason);
});

Deno.test("basic: what is written is read, and with one character changed it is not", () => {
  const username = fc.string({ unit: "grapheme" }).filter((text) => !/[:\p{Cc}]/u.test(text));
  const password = fc.string({ unit: "grapheme" });
  fc.assert(fc.property(username, password, fc.nat(), (username, password, at) => {
    const value = writeBasic(username, password);
    const read = (authorization: string) =>
      readBasic(request({ headers: { authorization } }), username);
    assertEquals(read(value), [Uint8Array.from(new TextEncoder().encode(password))]);
    const bytes = Uint8Array.fromBase64(value.slice(6));
    const forged = read(`Basic ${withFlippedBit(bytes, at).toBase64()}`);
    if (!Array.isArray(forged)) return;
    assertNotEquals(forged[0]?.toHex(), new TextEncoder().encode(password).toHex());
  }));
});

Deno.test("basic: any header is credentials or refused", () => {
  const header = fc.oneof(mutated("Basic dXNlcjpwYXNz", "=", "/", " ", "\t"), fc.string())
    .map((text) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, ""));
  fc.assert(fc.property(header, (authorization) => {
    const read = readBasic(request({ headers: { authorization } }), undefined);
    if (!Array.isArray(read)) assertEquals(typeof read.reason, "string");
  }));
});
