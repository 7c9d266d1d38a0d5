/** The list of kinds: one schema for all, checks in their order, and what must not be logged. */
import { assertEquals, assertRejects } from "@std/assert";
import { z } from "zod";
import {
  type Condition,
  conditionKinds,
  conditionSchema,
  reviewConditions,
} from "../../src/conditions/mod.ts";
import { prepareConditions } from "../../src/conditions/prepare.ts";
import { context, request } from "./fixture.ts";
import { sign } from "./sign.ts";

/** The conditions of the contract's example, without its preset. */
const example: Record<string, unknown>[] = [
  { type: "rate_limit", period: 3600, quota: 100 },
  { type: "payload_filter", expression: "body.action == 'opened'" },
  { type: "timestamp", in: "header", name: "X-Timestamp", format: "unix_s", tolerance: 300 },
  {
    type: "static_token",
    in: "header",
    name: "X-Token",
    prefix: "",
    secrets: ["{env:LABEL_TOKEN}"],
  },
  {
    type: "hmac",
    algorithm: "sha256",
    encoding: "hex",
    header: "X-Signature",
    prefix: "sha256=",
    signed_content: "{timestamp}.{body}",
    secrets: ["s3cret"],
  },
  {
    type: "jwt",
    in: "header",
    name: "Authorization",
    prefix: "Bearer ",
    algorithms: ["HS256"],
    secrets: ["s3cret"],
    issuer: "https://issuer.example",
    audience: "hooklaunch",
    claims: { role: "sender" },
    leeway: 30,
  },
];

const parse = (settings: Record<string, unknown>[]): Condition[] =>
  z.array(conditionSchema).parse(settings);

Deno.test("conditionSchema keeps complete settings as they are", () => {
  assertEquals(parse(example).map((condition) => ({ ...condition })), example);
});

const refused: { name: string; settings: unknown; message: string; path: PropertyKey[] }[] = [
  {
    name: "an unknown type",
    settings: { type: "ip_range" },
    message:
      "Unknown type of condition: there are ip_allowlist, static_token, hmac, jwt, signature, " +
      "timestamp, payload_filter, json_schema, deduplication, rate_limit",
    path: ["type"],
  },
  {
    name: "no type",
    settings: { period: 60, quota: 1 },
    message:
      "Unknown type of condition: there are ip_allowlist, static_token, hmac, jwt, signature, " +
      "timestamp, payload_filter, json_schema, deduplication, rate_limit",
    path: ["type"],
  },
  {
    name: "an unknown field",
    settings: { type: "rate_limit", period: 60, quota: 1, burst: 5 },
    message: 'Unrecognized key: "burst"',
    path: [],
  },
  {
    name: "a preset of a token where a signature is expected",
    settings: { type: "hmac", preset: "gitlab", secrets: ["s3cret"] },
    message: "Must be a preset of hmac: this is one of static_token",
    path: ["preset"],
  },
  {
    name: "a preset of public keys where a token is expected",
    settings: { type: "static_token", preset: "discord", secrets: ["s3cret"] },
    message: "Must be a preset of static_token: this is one of signature",
    path: ["preset"],
  },
  {
    name: "no object",
    settings: "rate_limit",
    message: "Invalid input: expected object, received string",
    path: [],
  },
];

for (const { name, settings, message, path } of refused) {
  Deno.test(`conditionSchema refuses ${name}`, () => {
    const issues = conditionSchema.safeParse(settings).error?.issues ?? [];
    assertEquals(issues.map((issue) => [issue.message, issue.path]), [[message, path]]);
  });
}

Deno.test("conditionSchema can be written as JSON Schema", () => {
  const { oneOf = [] } = z.toJSONSchema(conditionSchema, { io: "input" });
  assertEquals(oneOf.length, conditionKinds.length);
});

Deno.test("prepareConditions orders checks by stage, then as they are written, without quotas", async () => {
  const prepared = await prepareConditions(parse(example), context(), "t");
  assertEquals(prepared.checks.map(({ index, type, stage }) => [index, type, stage]), [
    [3, "static_token", "authentication"],
    [4, "hmac", "authentication"],
    [5, "jwt", "authentication"],
    [2, "timestamp", "timestamp"],
    [1, "payload_filter", "filter"],
  ]);
});

Deno.test("prepareConditions hands each check its siblings and the environment", async () => {
  class Environment {
    clock = context().clock;
    signal = context().signal;
    heavyWork = context().heavyWork;
    #variables = { LABEL_TOKEN: "t0ken" };
    env(name: string) {
      return name === "LABEL_TOKEN" ? this.#variables[name] : undefined;
    }
  }
  const conditions = parse(example.filter(({ type }) => type !== "jwt"));
  const { checks } = await prepareConditions(conditions, new Environment(), "t");
  const hmac = conditions.find((condition) => condition.type === "hmac");
  const body = new TextEncoder().encode('{"action":"closed"}');
  const accepted = request({
    headers: {
      "x-token": "t0ken",
      "x-timestamp": "1700000000",
      "x-signature": hmac ? sign(hmac, "s3cret", { body, timestamp: "1700000000" }) : "",
    },
    body,
  });
  const reasons = [];
  for (const { check } of checks) reasons.push((await check(accepted))?.found);
  assertEquals(reasons, [undefined, undefined, undefined, 'body.action is "closed"']);
});

Deno.test("prepareConditions hides the credentials of siblings from a filter's refusal", async () => {
  const conditions = parse([
    { type: "static_token", in: "body", name: "token", secrets: ["s3cret"] },
    { type: "payload_filter", expression: "body.token == 'x'" },
  ]);
  const refusals = [];
  for (const { check } of (await prepareConditions(conditions, context(), "t")).checks) {
    refusals.push(await check(request({ body: '{"token":"s3cret"}' })));
  }
  assertEquals(refusals.map((refusal) => refusal?.found), [undefined, "body.token is not shown"]);
});

for (
  const { name, token, body } of [
    { name: "clientState", token: { preset: "microsoft_graph" }, body: "clientState" },
    {
      name: "/auth/token",
      token: { in: "body", each: "/value", name: "/auth/token" },
      body: "auth",
    },
  ]
) {
  Deno.test(`prepareConditions hides the credentials of every element of a list: ${name}`, async () => {
    const secrets = ["first secret", "second secret"];
    const path = name.replaceAll("/", ".").replace(/^\.?/, ".");
    const value = secrets.map((secret) => ({
      [body]: body === "auth" ? { token: secret } : secret,
    }));
    for (const index of [0, 1]) {
      const conditions = parse([
        { type: "static_token", ...token, secrets },
        { type: "payload_filter", expression: `body.value[${index}]${path} == 'x'` },
        {
          type: "timestamp",
          in: "body",
          name: `/value/${index}${path.replaceAll(".", "/")}`,
          format: "unix_s",
        },
      ]);
      const found = [];
      for (const { check } of (await prepareConditions(conditions, context(), "t")).checks) {
        found.push((await check(request({ body: JSON.stringify({ value }) })))?.found);
      }
      const filter = `body.value[${index}]${path} is not shown`;
      assertEquals(found.toSorted(), [filter, "not shown", undefined]);
    }
  });
}

Deno.test("reviewConditions points into the list", () => {
  assertEquals(reviewConditions(parse(example)), []);
  const alone = parse(example.filter(({ type }) => type !== "timestamp"));
  assertEquals(reviewConditions(alone).map(({ pointer }) => pointer), ["/3/signed_content"]);
});

Deno.test("prepareConditions names where credentials are, whatever the conditions", async () => {
  const none = await prepareConditions([], context(), "t");
  assertEquals(none.credentials.map(({ name }) => name), [
    "authorization",
    "cookie",
    "proxy-authorization",
  ]);
  const { credentials } = await prepareConditions(parse(example), context(), "t");
  const fields = credentials.map((field) => `${field.in} ${field.name}`);
  assertEquals(fields.slice(3), ["header X-Token", "header X-Signature", "header Authorization"]);
});

Deno.test("a condition of no kind cannot be prepared", async () => {
  const unknown = { type: "ip_range" } as unknown as Condition;
  await assertRejects(() => prepareConditions([unknown], context(), "t"), TypeError, "ip_range");
});
