/** A trigger made ready: the conditions of a stage in the order of the door, whatever the order written. */
import { SignJWT } from "@panva/jose";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { generateKeyPairSync } from "node:crypto";
import type { LaunchRequest } from "../../src/conditions/request.ts";
import type { Refuser } from "../../src/conditions/kinds.ts";
import { InvalidInputError } from "../../src/platform/errors.ts";
import { parseWith } from "../../src/platform/schema/schema.ts";
import { type AcceptancePreview, explain } from "../../src/triggers/explain.ts";
import { inspect, type Order, type Refused } from "../../src/triggers/order.ts";
import { type PreparedTrigger, prepareTrigger } from "../../src/triggers/prepare.ts";
import { reviewTrigger } from "../../src/triggers/review.ts";
import { triggerSchema, type TriggerSettings } from "../../src/triggers/trigger.ts";
import { context, json, NOW_MS, request, type RequestParts } from "../conditions/fixture.ts";

const TOKEN = { type: "static_token", in: "header", name: "X-Token", secrets: ["let-me-in"] };
const TIMESTAMP = {
  type: "timestamp",
  in: "header",
  name: "X-Timestamp",
  format: "unix_s",
  tolerance: 300,
};
const FILTER = { type: "payload_filter", expression: "body.action == 'opened'" };
/** Answers as where nothing was accepted before. */
const NOTHING_BEFORE: AcceptancePreview = {
  madeBy: () => Promise.resolve(undefined),
  exhausted: () => Promise.resolve(undefined),
};

function settingsOf(parts: Record<string, unknown>): TriggerSettings {
  const actions = [{ type: "fetch_repository" }];
  return parseWith(triggerSchema, { name: "t", project: "p", actions, ...parts }, "the trigger");
}

function prepared(parts: Record<string, unknown>): Promise<PreparedTrigger> {
  const times = { created_at: "", updated_at: "", revision: 1 };
  const trigger = { ...settingsOf(parts), id: "0190fe82-c984-7f66-8302-69874914e1c9", ...times };
  const options = { lockedSecrets: [], payloadBytesMax: 1_024 * 1_024 };
  return prepareTrigger(trigger, context(), options);
}

/** The refusal that a request meets. */
async function refusal(order: Order, sent: LaunchRequest): Promise<Refused | undefined> {
  const inspection = await inspect(order, sent);
  return "refused" in inspection ? inspection.refused : undefined;
}

function explained({ trigger, launch }: PreparedTrigger, sent: LaunchRequest) {
  return explain(launch, sent, { triggerId: trigger.id, acceptance: NOTHING_BEFORE });
}

/** A request that passes all conditions above, but for the parts that are given. */
function sent(parts: { token?: string; time_s?: number; action?: string } = {}): RequestParts {
  const { token = "let-me-in", time_s = NOW_MS / 1_000, action = "opened" } = parts;
  const headers = { "x-token": token, "x-timestamp": String(time_s) };
  return { ...json({ action }), headers: { "content-type": "application/json", ...headers } };
}

const cases: { name: string; parts: RequestParts; refusedBy?: [Refuser, index: number] }[] = [
  { name: "a good request", parts: sent() },
  { name: "a wrong token", parts: sent({ token: "x" }), refusedBy: ["static_token", 3] },
  { name: "a stale one", parts: sent({ time_s: 1 }), refusedBy: ["timestamp", 2] },
  { name: "one to filter out", parts: sent({ action: "x" }), refusedBy: ["payload_filter", 0] },
  {
    name: "a stale one to filter out",
    parts: sent({ time_s: 1, action: "x" }),
    refusedBy: ["timestamp", 2],
  },
  {
    name: "one with everything wrong",
    parts: sent({ token: "x", time_s: 1, action: "x" }),
    refusedBy: ["static_token", 3],
  },
];

for (const { name, parts, refusedBy } of cases) {
  Deno.test(`${name} meets ${refusedBy?.[0] ?? "no refusal"}, and its place in the trigger is told`, async () => {
    const limit = { type: "rate_limit", period: 60, quota: 1 };
    const trigger = await prepared({ conditions: [FILTER, limit, TIMESTAMP, TOKEN] });
    const refused = await refusal(trigger.launch, request(parts));
    assertEquals(refused && [refused.condition, refused.index], refusedBy);
  });
}

Deno.test("run info is for those who prove themselves in time, whatever filters say", async () => {
  const { runInfo } = await prepared({ conditions: [FILTER, TIMESTAMP, TOKEN] });
  assertEquals(await refusal(runInfo, request(sent({ action: "x" }))), undefined);
  assertEquals((await refusal(runInfo, request(sent({ time_s: 1, action: "x" }))))?.index, 1);
  assertEquals((await refusal(runInfo, request(sent({ token: "x" }))))?.index, 2);
});

const JWT = { type: "jwt", algorithms: ["HS256"], secrets: ["s".repeat(32)] };

/** A JWT that passes where nothing else is expected of it. */
async function bearer(secret: string): Promise<Record<string, string>> {
  const token = await new SignJWT().setProtectedHeader({ alg: "HS256" })
    .setExpirationTime(NOW_MS / 1_000 + 60).sign(new TextEncoder().encode(secret));
  return { authorization: `Bearer ${token}` };
}

const beside: { name: string; secret?: string; parts: RequestParts; refusedBy?: number }[] = [
  { name: "a good JWT", parts: sent() },
  { name: "a wrong JWT", secret: "w".repeat(32), parts: sent(), refusedBy: 1 },
  { name: "a good JWT and a wrong token", parts: sent({ token: "x" }), refusedBy: 2 },
  { name: "a good JWT in a stale request", parts: sent({ time_s: 1 }), refusedBy: 0 },
  { name: "a good JWT in one to filter out", parts: sent({ action: "x" }), refusedBy: 3 },
];

for (const { name, secret = "s".repeat(32), parts, refusedBy } of beside) {
  Deno.test(`${name} meets ${refusedBy === undefined ? "no refusal" : "its refusal"} of several conditions`, async () => {
    const trigger = await prepared({ conditions: [TIMESTAMP, JWT, TOKEN, FILTER] });
    const headers = { ...parts.headers, ...await bearer(secret) };
    const refused = await refusal(trigger.launch, request({ ...parts, headers }));
    assertEquals(refused?.index, refusedBy);
    const verdicts = await explained(trigger, request({ ...parts, headers }));
    const failed = verdicts.filter(({ verdict }) => verdict === "failed").map(({ index }) => index);
    assertEquals([verdicts.length, failed], [4, refusedBy === undefined ? [] : [refusedBy]]);
  });
}

Deno.test("what costs more to check is not checked before what costs less, whatever stands first", async () => {
  const scheme = { signed_content: "{body}", header: "X-Signature" };
  const hmac = { type: "hmac", algorithm: "sha256", ...scheme, secrets: ["s".repeat(32)] };
  const keys = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" });
  const signature = {
    ...{ type: "signature", algorithm: "ed25519", ...scheme, header: "X-Public" },
    public_keys: [keys],
  };
  const all = { conditions: [signature, JWT, FILTER, hmac, TIMESTAMP, TOKEN] };
  // All is there and well formed: none is refused by the head of the request alone.
  const headers = {
    ...sent().headers,
    ...await bearer("w".repeat(32)),
    "x-signature": "0".repeat(64),
    "x-public": new Uint8Array(64).toBase64(),
  };
  const verdicts = await explained(await prepared(all), request({ ...sent(), headers }));
  assertEquals(verdicts.map(({ condition }) => condition), [
    "static_token",
    "hmac",
    "jwt",
    "signature",
    "timestamp",
    "payload_filter",
  ]);
});

for (const condition of [TOKEN, JWT]) {
  Deno.test(`a check of ${condition.type} that breaks refuses, and says why`, async () => {
    const trigger = await prepared({ conditions: [{ ...condition, in: "body", name: "token" }] });
    const broken = {
      ...request(),
      parsedBody: () => {
        throw new RangeError("too deep");
      },
    };
    const refused = await refusal(trigger.launch, broken);
    assertEquals(refused?.condition, condition.type);
    assertStringIncludes(refused?.reason ?? "", "too deep");
  });
}

Deno.test("a trigger without conditions lets everything pass", async () => {
  const trigger = await prepared({});
  assertEquals(await refusal(trigger.launch, request()), undefined);
  assertEquals(trigger.quotas, []);
  assertEquals(trigger.answersGet, true);
  const answer = await trigger.respond("id", request());
  assertEquals(answer.body, '{"status":"accepted"}');
});

Deno.test("the quotas of a trigger are its rate limits, of each period the smallest", async () => {
  const limits = [[60, 9], [3_600, 5], [60, 2]].map(([period, quota]) => ({
    type: "rate_limit",
    period,
    quota,
  }));
  assertEquals((await prepared({ conditions: [TOKEN, ...limits] })).quotas, [
    { period: 60, quota: 2 },
    { period: 3_600, quota: 5 },
  ]);
});

Deno.test("a trigger whose requests are signed does not answer GET", async () => {
  const hmac = { type: "hmac", algorithm: "sha256", header: "X-Signature", secrets: ["s"] };
  const { publicKey } = generateKeyPairSync("ed25519");
  const signature = {
    ...{ type: "signature", preset: "discord" },
    public_keys: [publicKey.export({ format: "pem", type: "spki" })],
  };
  for (const signed of [hmac, signature]) {
    assertEquals((await prepared({ conditions: [TOKEN, signed] })).answersGet, false, signed.type);
  }
  assertEquals((await prepared({ conditions: [TOKEN, TIMESTAMP] })).answersGet, true);
});

Deno.test("conditions that cannot work with each other are told with their places in the trigger", () => {
  const hmac = {
    type: "hmac",
    algorithm: "sha256",
    header: "X-Signature",
    signed_content: "{timestamp}.{body}",
    secrets: ["s"],
  };
  const settings = settingsOf({ conditions: [TOKEN, hmac] });
  const error = assertThrows(() => reviewTrigger(settings), InvalidInputError);
  assertEquals(error.problems.map(({ pointer }) => pointer), ["/conditions/1/signed_content"]);
  reviewTrigger(settingsOf({ conditions: [TOKEN, hmac, TIMESTAMP] }));
});
