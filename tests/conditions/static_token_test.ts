/** A token lets a request pass only as a whole, at its place, behind its prefix. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { Buffer } from "node:buffer";
import { staticToken } from "../../src/conditions/static_token.ts";
import { checkOnce, context, form, json, problemsOf, type RequestParts } from "./fixture.ts";

const inHeader = { in: "header", name: "X-Token", secrets: ["s3cret", "{env:NEXT}"] };
const bearer = { ...inHeader, name: "Authorization", prefix: "Bearer " };
const env = { NEXT: "n3xt" };

const cases: {
  name: string;
  settings: Record<string, unknown>;
  parts: RequestParts;
  env?: Record<string, string>;
  /** The reason of the refusal; undefined where the request passes. */
  reason?: string;
  expected?: string;
}[] = [
  { name: "right", settings: inHeader, parts: { headers: { "x-token": "s3cret" } } },
  {
    name: "right by the second secret",
    settings: inHeader,
    parts: { headers: { "x-token": "n3xt" } },
    env,
  },
  {
    name: "wrong",
    settings: inHeader,
    parts: { headers: { "x-token": "s3cret " + "x" } },
    env,
    reason: "Header X-Token holds a wrong token",
    expected: "a token",
  },
  {
    name: "wrong, and one secret is missing",
    settings: inHeader,
    parts: { headers: { "x-token": "n3xt" } },
    reason: "Header X-Token holds a wrong token: environment variable NEXT is not set",
    expected: "a token",
  },
  {
    name: "right, though one secret is missing",
    settings: inHeader,
    parts: { headers: { "x-token": "s3cret" } },
  },
  {
    name: "every secret is missing",
    settings: { ...inHeader, secrets: ["{env:NEXT}"] },
    parts: { headers: { "x-token": "" } },
    reason: "No secret can be used: environment variable NEXT is not set",
  },
  {
    name: "the variable's name is no secret",
    settings: inHeader,
    parts: { headers: { "x-token": "{env:NEXT}" } },
    env,
    reason: "Header X-Token holds a wrong token",
    expected: "a token",
  },
  {
    name: "missing",
    settings: inHeader,
    parts: {},
    reason: "Header X-Token is missing",
    expected: "a token",
  },
  {
    name: "empty",
    settings: inHeader,
    parts: { headers: { "x-token": "" } },
    env,
    reason: "Header X-Token holds a wrong token",
    expected: "a token",
  },
  {
    name: "twice",
    settings: inHeader,
    parts: { headers: [["x-token", "s3cret"], ["x-token", "s3cret"]] },
    env,
    reason: "Header X-Token holds a wrong token",
    expected: "a token",
  },
  { name: "prefix", settings: bearer, parts: { headers: { authorization: "Bearer s3cret" } } },
  ...["bearer", "BEARER"].map((scheme) => ({
    name: `the scheme as ${scheme}, which has no case (RFC 9110 section 11.1)`,
    settings: bearer,
    parts: { headers: { authorization: `${scheme} s3cret` } },
  })),
  {
    name: "the scheme Token in another case",
    settings: { ...bearer, prefix: "token " },
    parts: { headers: { authorization: "Token s3cret" } },
  },
  ...["Key-", "X-Token ", "Bearer  "].map((prefix) => ({
    name: `the prefix "${prefix}", which is no scheme, in another case`,
    settings: { ...bearer, prefix },
    parts: { headers: { authorization: `${prefix.toLowerCase()}s3cret` } },
    reason: "Header Authorization does not begin with the prefix",
    expected: `"${prefix}" and a token`,
  })),
  {
    name: "no prefix",
    settings: bearer,
    parts: { headers: { authorization: "s3cret" } },
    reason: "Header Authorization does not begin with the prefix",
    expected: '"Bearer " and a token',
  },
  {
    name: "a second space belongs to the token",
    settings: bearer,
    parts: { headers: { authorization: "Bearer  s3cret" } },
    env,
    reason: "Header Authorization holds a wrong token",
    expected: '"Bearer " and a token',
  },
  {
    name: "by Alertmanager's authorization",
    settings: { preset: "alertmanager", secrets: ["s3cret"] },
    parts: { headers: { authorization: "Bearer s3cret" } },
  },
  {
    name: "by Alertmanager, of another scheme",
    settings: { preset: "alertmanager", secrets: ["s3cret"] },
    parts: { headers: { authorization: "Token s3cret" } },
    reason: "Header Authorization does not begin with the prefix",
    expected: '"Bearer " and a token',
  },
  {
    name: "a secret outside ASCII, sent as UTF-8",
    settings: { ...inHeader, secrets: ["clé"] },
    parts: { headers: { "x-token": "cl\u00c3\u00a9" } },
  },
  {
    name: "in the query",
    settings: { ...inHeader, in: "query", name: "token", secrets: ["a+b"] },
    parts: { query: "token=a%2Bb" },
  },
  {
    name: "in the query twice",
    settings: { ...inHeader, in: "query", name: "token" },
    parts: { query: "token=s3cret&token=s3cret" },
    reason: "Query parameter token is ambiguous: it comes more than once",
    expected: "a token",
  },
  {
    name: "in a form",
    settings: { ...inHeader, in: "body", name: "token" },
    parts: form("token=s3cret"),
  },
  {
    name: "in JSON",
    settings: { ...inHeader, in: "body", name: "/auth/token" },
    parts: json({ auth: { token: "s3cret" } }),
  },
  {
    name: "a number in JSON is no token",
    settings: { ...inHeader, in: "body", name: "token", secrets: ["7"] },
    parts: json({ token: 7 }),
    reason: "Body field token is not a string",
    expected: "string",
  },
];

for (const { name, settings, parts, env = {}, reason, expected } of cases) {
  Deno.test(`static_token: ${name}`, async () => {
    const refusal = await checkOnce(staticToken, settings, parts, context({ env }));
    assertEquals(refusal?.reason, reason);
    assertEquals(refusal?.expected, expected);
  });
}

Deno.test("static_token: unknown fields are refused by name", () => {
  assertEquals(problemsOf(staticToken, { ...inHeader, secert: "x" }), [
    '/: Unrecognized key: "secert"',
  ]);
});

Deno.test("static_token: the token passes wherever it is, and with one character changed it does not", async () => {
  const token = fc.string({ unit: fc.constantFrom(..."aAbB01+/=.~ é"), minLength: 1 })
    .filter((text) => text.trim() === text && !/\s\s/.test(text));
  const prefix = fc.constantFrom("", "Bearer ", "t=");
  const place = fc.constantFrom("header", "query", "body");
  const changes = fc.tuple(fc.nat(), fc.constantFrom("a", "B", "1", ""), fc.nat(1));
  await fc.assert(
    fc.asyncProperty(token, prefix, place, changes, async (token, prefix, place, change) => {
      const settings = { in: place, name: "x", prefix, secrets: ["another", token] };
      const send = (text: string) =>
        checkOnce(
          staticToken,
          settings,
          place === "header"
            ? { headers: { x: Buffer.from(text).toString("latin1") } }
            : place === "query"
            ? { query: new URLSearchParams({ x: text }).toString() }
            : json({ x: text }),
        );
      const text = prefix + token;
      assertEquals(await send(text), undefined);
      const [at, put, cut] = change;
      const index = at % text.length;
      const other = text.slice(0, index) + put + text.slice(index + cut);
      // The white space around a header's value is none of it.
      if (other === text || other.trim() !== other) return;
      assertEquals(await send(other) === undefined, other === `${prefix}another`);
    }),
    { numRuns: 300 },
  );
});

Deno.test("static_token: what stands for a secret elsewhere is refused, and is not the secret", () => {
  const problem = "Expected {env:NAME} in place of another program's placeholder";
  for (const text of ["${TOKEN}", "$TOKEN", "%TOKEN%", "{ENV:TOKEN}", "{{ token }}", "env:TOKEN"]) {
    assertEquals(problemsOf(staticToken, { ...inHeader, secrets: [text] }), [
      `/secrets/0: ${problem}`,
    ], text);
  }
  for (const text of ["$ecret-of-the-sender", "a{b}c", "100%TOKEN%", "{env:TOKEN}"]) {
    assertEquals(problemsOf(staticToken, { ...inHeader, secrets: [text] }), [], text);
  }
  const unquoted = problemsOf(staticToken, { ...inHeader, secrets: [{ "env:TOKEN": null }] });
  assertEquals(unquoted[0], '/secrets/0: Must be in quotes: "{env:TOKEN}"');
});
