/**
 * Before the body is read, a request is refused that carries no credential of the right form; nothing is
 * refused then that the whole check would let pass.
 */
import { assert, assertEquals } from "@std/assert";
import { generateKeyPairSync } from "node:crypto";
import { z } from "zod";
import { conditionSchema } from "../../src/conditions/mod.ts";
import { prepareConditions } from "../../src/conditions/prepare.ts";
import { inspectHead, launchOrder } from "../../src/triggers/order.ts";
import { context, request, type RequestParts } from "./fixture.ts";
import { senders } from "./signing/senders.ts";

type Settings = Record<string, unknown>;

/** The reasons of all conditions before the body. */
async function reasons(conditions: Settings[], parts: RequestParts): Promise<string[]> {
  const settings = z.array(conditionSchema).parse(conditions);
  const { checks } = await prepareConditions(settings, context(), "t");
  const { headers, query, remoteIp } = request(parts);
  const refusals = checks.map(({ beforeBody }) => beforeBody?.({ headers, query, remoteIp }));
  return refusals.flatMap((refusal) => refusal ? [refusal.reason] : []);
}

const token = { type: "static_token", in: "header", name: "X-Token", secrets: ["s3cret"] };
const bearer = { ...token, name: "Authorization", prefix: "Bearer " };
const basic = { type: "static_token", basic: { username: "user" }, secrets: ["s3cret"] };
const github = { type: "hmac", preset: "github", secrets: ["s3cret"] };
const jwt = { type: "jwt", algorithms: ["HS256"], secrets: ["s3cret"] };
const hex = "0".repeat(64);
const pem = generateKeyPairSync("ed25519").publicKey.export({ format: "pem", type: "spki" });
const discord = { type: "signature", preset: "discord", public_keys: [pem] };

const cases: { name: string; conditions: Settings[]; parts: RequestParts; expected: string[] }[] = [
  {
    name: "an address outside the ranges",
    conditions: [{ type: "ip_allowlist", ranges: ["10.0.0.0/8"] }],
    parts: {},
    expected: ["The client's address is in none of the ranges"],
  },
  {
    name: "no token",
    conditions: [token],
    parts: {},
    expected: ["Header X-Token is missing"],
  },
  {
    name: "a wrong token",
    conditions: [token],
    parts: { headers: { "x-token": "x" } },
    expected: [],
  },
  {
    name: "another scheme",
    conditions: [bearer],
    parts: { headers: { authorization: "Digest x" } },
    expected: ["Header Authorization does not begin with the prefix"],
  },
  {
    name: "a token twice in the query",
    conditions: [{ ...token, in: "query", name: "t" }],
    parts: { query: "t=s3cret&t=s3cret" },
    expected: ["Query parameter t is ambiguous: it comes more than once"],
  },
  { name: "a token in the body", conditions: [{ ...token, in: "body" }], parts: {}, expected: [] },
  {
    name: "Basic without a colon",
    conditions: [basic],
    parts: { headers: { authorization: `Basic ${btoa("user")}` } },
    expected: ["Header Authorization holds no username and password"],
  },
  {
    name: "Basic of another user",
    conditions: [basic],
    parts: { headers: { authorization: `Basic ${btoa("other:x")}` } },
    expected: [],
  },
  {
    name: "no signature",
    conditions: [github],
    parts: {},
    expected: ["Header X-Hub-Signature-256 is missing"],
  },
  {
    name: "a signature that is too short",
    conditions: [github],
    parts: { headers: { "x-hub-signature-256": "sha256=00" } },
    expected: ["Header X-Hub-Signature-256 is malformed"],
  },
  {
    name: "a wrong signature",
    conditions: [github],
    parts: { headers: { "x-hub-signature-256": `sha256=${hex}` } },
    expected: [],
  },
  {
    name: "a signature in the body",
    conditions: [{ type: "hmac", preset: "mailgun", secrets: ["s3cret"] }],
    parts: {},
    expected: [],
  },
  {
    name: "no signature of a private key",
    conditions: [discord],
    parts: {},
    expected: ["Header X-Signature-Ed25519 is missing"],
  },
  { name: "no JWT", conditions: [jwt], parts: {}, expected: ["Header Authorization is missing"] },
  {
    name: "a JWT of an algorithm that is not listed",
    conditions: [jwt],
    parts: { headers: { authorization: `Bearer ${btoa('{"alg":"none"}')}.e30.` } },
    expected: ["The algorithm of the token is not listed"],
  },
  {
    name: "what needs a body, and what is counted",
    conditions: [
      { type: "timestamp", in: "header", name: "X-Time", format: "unix_s" },
      { type: "payload_filter", expression: "body.a == 1" },
      { type: "rate_limit", period: 60, quota: 1 },
    ],
    parts: {},
    expected: [],
  },
  {
    name: "several at once",
    conditions: [github, token],
    parts: {},
    expected: ["Header X-Token is missing", "Header X-Hub-Signature-256 is missing"],
  },
];

for (const { name, conditions, parts, expected } of cases) {
  Deno.test(`before the body: ${name}`, async () => {
    assertEquals(await reasons(conditions, parts), expected);
  });
}

Deno.test("before the body: no credential where a provider first asks without any", async () => {
  const graph = { type: "static_token", preset: "microsoft_graph", secrets: ["state"] };
  const order = launchOrder({
    enabled: true,
    locked: undefined,
    conditions: await prepareConditions([token, graph], context(), "t"),
    bodyBytesMax: 1_000,
    decoder: () => () => undefined,
  });
  assertEquals(inspectHead(order, request({ query: "validationToken=a" })), undefined);
});

for (const sender of senders) {
  Deno.test(`before the body: what ${sender.name} sends passes`, async () => {
    const settings = sender.settings(0);
    const { checks: [condition] } = await prepareConditions([settings], context(), "t");
    const { url, headers } = await sender.send("x");
    const head = {
      headers: new Headers(headers),
      query: new URL(url).searchParams,
      remoteIp: "192.0.2.7",
    };
    assertEquals(condition?.beforeBody?.(head), undefined);
    const isInHead = sender.scheme.body_field === undefined;
    assert(
      isInHead === (condition?.beforeBody?.({ ...head, headers: new Headers() }) !== undefined),
    );
  });
}
