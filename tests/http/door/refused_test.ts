/** The answers that a provider needs: the status of refusals by cause, and headers and types of responses. */
import { assert, assertEquals } from "@std/assert";
import { HMAC_CONDITION, signature, startService, TestClock } from "../../data.ts";
import { play, REJECTED } from "../scenario.ts";

const FILTER = { type: "payload_filter", expression: "body.action == 'opened'" };
const LIMIT = { type: "rate_limit", period: 50, quota: 1 };
const ADDRESS = { type: "ip_allowlist", ranges: ["192.0.2.1"] };
const CONDITIONS = [HMAC_CONDITION, FILTER, LIMIT];
const OPENED = '{"action":"opened"}';
const CLOSED = '{"action":"closed"}';

const rejected = (status: number) => `{"title":"Request rejected","status":${status}}`;

interface Case {
  refused?: Record<string, number>;
  filtered?: Record<string, number>;
  conditions?: unknown[];
  /** Unsigned, signed wrongly, filtered, accepted, and over the limit. */
  expected: [number, number, number, number, number];
}

const cases: Case[] = [
  { expected: [400, 400, 400, 200, 400] },
  { refused: {}, expected: [400, 400, 400, 200, 400] },
  {
    refused: { authentication: 400, rate_limit: 400, filter: 400 },
    expected: [400, 400, 400, 200, 400],
  },
  { refused: { authentication: 401 }, expected: [401, 401, 400, 200, 400] },
  { refused: { authentication: 403, rate_limit: 503 }, expected: [403, 403, 400, 200, 503] },
  { refused: { rate_limit: 429, filter: 202 }, expected: [400, 400, 202, 200, 429] },
  { refused: { rate_limit: 429 }, filtered: { status: 200 }, expected: [400, 400, 200, 200, 429] },
  // What no cause has is 400 for everyone.
  {
    refused: { authentication: 401, rate_limit: 429, filter: 200 },
    conditions: [...CONDITIONS, ADDRESS],
    expected: [400, 400, 400, 400, 400],
  },
];

Deno.test("a trigger sets the status of refusals by their cause", async () => {
  await using service = await startService();
  for (const { expected, conditions = CONDITIONS, ...settings } of cases) {
    const { id, url } = await service.trigger({ conditions, ...settings });
    const bodies = [
      { body: OPENED, headers: {} },
      { body: OPENED, headers: signature("another") },
      { body: CLOSED, headers: signature(CLOSED) },
      { body: OPENED, headers: signature(OPENED) },
      { body: OPENED, headers: signature(OPENED) },
    ];
    for (const [place, sent] of bodies.entries()) {
      const expectedStatus = expected[place] ?? 0;
      const name = `${JSON.stringify(settings)} ${place}`;
      const path = new URL(url).pathname;
      const expectedBody = expectedStatus >= 300
        ? rejected(expectedStatus)
        : place === 3
        ? '{"status":"accepted"}'
        : '{"status":"ignored"}';
      const answer = await play(service.url, { name, path, ...sent, expectedStatus, expectedBody });
      const wait = answer.headers.get("retry-after");
      const isLimited = [429, 503].includes(expectedStatus);
      assertEquals(wait !== null, isLimited, name);
      if (isLimited) assert(/^\d+$/.test(wait ?? "") && Number(wait) >= 1 && Number(wait) <= 51);
      assertEquals(answer.headers.has("www-authenticate"), expectedStatus === 401);
    }
    const { body } = await service.api("GET", `deliveries/?trigger=${id}`);
    const statuses = body.results.map(({ status }: { status: number }) => status);
    assertEquals(statuses.toReversed(), expected);
  }
  assertEquals(rejected(400), REJECTED);
});

/** Launches at these times, in seconds; the last is refused, and told to wait for so long. */
const waits: { limits: [period: number, quota: number][]; at_s: number[]; wait_s: number }[] = [
  { limits: [[60, 1]], at_s: [0, 0], wait_s: 60 },
  { limits: [[60, 1]], at_s: [0, 0.001], wait_s: 60 },
  { limits: [[60, 1]], at_s: [0, 29.5], wait_s: 31 },
  { limits: [[60, 1]], at_s: [0, 60], wait_s: 1 },
  { limits: [[1, 1]], at_s: [0, 0], wait_s: 1 },
  { limits: [[60, 2]], at_s: [0, 10, 10], wait_s: 51 },
  // Two within a fiftieth of the period come back together.
  { limits: [[60, 2]], at_s: [0, 1.1, 1.1], wait_s: 60 },
  { limits: [[60, 1], [3_600, 10]], at_s: [0, 0], wait_s: 60 },
  { limits: [[60, 1], [3_600, 1]], at_s: [0, 0], wait_s: 3_600 },
  { limits: [[3_600, 5], [3_600, 1]], at_s: [0, 0], wait_s: 3_600 },
];

Deno.test("Retry-After is the time until the limit has room, and never more than its period", async () => {
  // The start of a slot of each period above.
  const clock = new TestClock(Date.UTC(2026, 0, 1));
  await using service = await startService({ clock });
  for (const { limits, at_s, wait_s } of waits) {
    const say = JSON.stringify({ limits, at_s });
    const { url } = await service.trigger({
      conditions: limits.map(([period, quota]) => ({ type: "rate_limit", period, quota })),
      refused: { rate_limit: 429 },
    });
    const launch = async (expected: number) => {
      const answer = await fetch(url, { method: "POST" });
      await answer.body?.cancel();
      assertEquals(answer.status, expected, say);
      return answer.headers.get("retry-after");
    };
    const start_ms = clock.time_ms;
    for (const [index, after_s] of at_s.entries()) {
      clock.time_ms = start_ms + after_s * 1_000;
      const waited = await launch(index < at_s.length - 1 ? 200 : 429);
      assertEquals(waited, index < at_s.length - 1 ? null : String(wait_s), say);
    }
    // A sender needs a moment for its way here.
    clock.time_ms += wait_s * 1_000 + 1;
    await launch(200);
    clock.time_ms = start_ms + 7_200_000;
  }
});

Deno.test("a response has headers and a type of its own", async () => {
  await using service = await startService();
  const twiml = '<?xml version="1.0"?><Response><Message>{run_id}</Message></Response>';
  const responses = [
    {
      response: { type: "xml", text: twiml, headers: { "X-Run": "run {run_id}", Vary: "*" } },
      type: "application/xml; charset=utf-8",
    },
    { response: { type: "text", text: "a", content_type: "text/csv" }, type: "text/csv" },
    {
      response: { type: "json", json: { run: "{run_id}" }, content_type: "application/vnd.a+json" },
      type: "application/vnd.a+json",
    },
  ];
  for (const { response, type } of responses) {
    const { url } = await service.trigger({ response });
    const answer = await fetch(url, { method: "POST" });
    const text = await answer.text();
    assertEquals([answer.status, answer.headers.get("content-type")], [200, type]);
    assertEquals(answer.headers.get("x-content-type-options"), "nosniff");
    if (response.type !== "xml") continue;
    const [, run] = /<Message>([\da-f-]{36})<\/Message>/.exec(text) ?? [];
    assertEquals(answer.headers.get("x-run"), `run ${run}`);
  }
});

const wrong: { settings: Record<string, unknown>; pointer: string; detail?: string }[] = [
  { settings: { refused: { authentication: 404 } }, pointer: "/refused/authentication" },
  { settings: { refused: { rate_limit: 200 } }, pointer: "/refused/rate_limit" },
  { settings: { refused: { filter: 401 } }, pointer: "/refused/filter" },
  { settings: { refused: { other: 401 } }, pointer: "/refused/other" },
  { settings: { refused: { filter: 200 } }, pointer: "/refused/filter" },
  {
    settings: {
      refused: { filter: 200 },
      filtered: { status: 200 },
      conditions: [HMAC_CONDITION],
    },
    pointer: "/refused/filter",
  },
  ...["Connection", "transfer-encoding", "Content-Length", "Set-Cookie", "Content-Type", "a b"]
    .map((name) => ({
      settings: { response: { type: "text", text: "", headers: { [name]: "x" } } },
      pointer: `/response/headers/${name}`,
    })),
  {
    settings: { response: { type: "text", text: "", headers: { "X-A": "a\r\nSet-Cookie: b" } } },
    pointer: "/response/headers/X-A",
  },
  {
    settings: { response: { type: "text", text: "", headers: { "X-A": "{id}" } } },
    pointer: "/response/headers/X-A",
  },
  {
    settings: { response: { type: "text", text: "", content_type: "text" } },
    pointer: "/response/content_type",
  },
  {
    settings: { response: { type: "text", text: "", headers: { "set-cookie": "a" } } },
    pointer: "/response/headers/set-cookie",
    detail: 'Must be a header that the service does not set itself, found "set-cookie"',
  },
  {
    settings: { response: { type: "text", text: "", headers: { "content-type": "a/b" } } },
    pointer: "/response/headers/content-type",
    detail: 'Must be set by `content_type`, found "content-type"',
  },
  {
    settings: {
      conditions: [{
        type: "jwt",
        in: "header",
        name: "Authorization",
        algorithms: ["HS256"],
        secrets: ["a secret of the issuer"],
        body_hash: { claim: "payload_hash" },
      }],
    },
    pointer: "/conditions/0/body_hash",
    detail: "Expected the name of a claim, or false, found an object",
  },
];

const TWILIO = {
  conditions: [{ type: "hmac", preset: "twilio", secrets: ["the auth token of an account"] }],
};

const AIRTABLE = {
  conditions: [{ type: "hmac", preset: "airtable", secrets: ["YSBzZWNyZXQgb2YgQWlydGFibGU="] }],
};

/** Answers that their provider takes. */
const fitting: Record<string, unknown>[] = [
  { ...AIRTABLE, response: { type: "text", text: "" } },
  { ...AIRTABLE, response: { type: "json", json: {}, status: 204 } },
  { ...TWILIO, response: { type: "xml", text: "<Response/>" } },
  { ...TWILIO, response: { type: "text", text: "<Response/>", content_type: "text/xml" } },
  {
    ...TWILIO,
    response: { type: "xml", text: "<Response/>", content_type: "Text/XML; charset=utf-8" },
  },
];

const warned: { settings: Record<string, unknown>; pointer: string; detail: RegExp }[] = [
  {
    settings: {
      conditions: [
        { type: "static_token", preset: "gitlab", secrets: ["a secret of GitLab"] },
        LIMIT,
      ],
    },
    pointer: "/conditions/1",
    detail: /^GitLab, secret token disables .* set refused: \{ rate_limit: 429 \}/,
  },
  {
    settings: {
      conditions: [{
        type: "signature",
        preset: "discord_events",
        public_keys: ["4b87a2b9f0bb1d6b4b3d93f6a7a87a6bd2f9a3b5d3b0a5e0f6c4a9e4f1b3c2d1"],
      }],
    },
    pointer: "/refused",
    detail: /^Discord, webhook events needs refused: \{ authentication: 401 \}: .* answers 400$/,
  },
  ...[undefined, { type: "json", json: {} }, { type: "text", text: "Hello" }].map((response) => ({
    settings: { ...TWILIO, ...(response && { response }) },
    pointer: "/response",
    detail:
      /^Twilio needs a response of application\/xml: set response: \{ type: xml, text: "<Response\/>" \} for an empty answer$/,
  })),
  ...[undefined, { type: "json", json: {} }, { type: "text", text: "ok" }].map((response) => ({
    settings: { ...AIRTABLE, ...(response && { response }) },
    pointer: "/response",
    detail: /^Airtable takes no answer with a body: set response: \{ type: text, text: "" \}$/,
  })),
  {
    settings: { response: { type: "json", json: '{"run":"{run_id}"}' } },
    pointer: "/response/json",
    detail: /^Is a text that holds JSON/,
  },
  {
    settings: { response: { type: "json", json: { a: [{ "{run_id}": 1 }] } } },
    pointer: "/response/json/a/0/{run_id}",
    detail: /^\{run_id\} is replaced in values, not in names$/,
  },
];

Deno.test("answers that cannot be given are refused, and those that a provider needs are told", async () => {
  await using service = await startService();
  const save = (settings: Record<string, unknown>) =>
    service.api("POST", "triggers/", {
      name: `t-${crypto.randomUUID()}`,
      project: "files",
      actions: [{ type: "run_execution", step: "copy", payload_input_name: "labels" }],
      ...settings,
    });
  for (const { settings, pointer, detail } of wrong) {
    const { status, body } = await save(settings);
    const found = body.errors?.find((error: { pointer: string }) => error.pointer === pointer);
    assertEquals([status, found !== undefined], [422, true], JSON.stringify(body));
    if (detail !== undefined) assertEquals(found.detail, detail);
  }
  for (const { settings, pointer, detail } of warned) {
    const { status, body } = await save(settings);
    assertEquals(status, 201, JSON.stringify(body));
    const found = body.warnings.filter((each: { pointer: string }) => each.pointer === pointer);
    const isTold = found.some((each: { detail: string }) => detail.test(each.detail));
    assert(isTold, JSON.stringify(body.warnings));
  }
  for (const settings of fitting) {
    const { status, body } = await save(settings);
    assertEquals([status, body.warnings], [201, []]);
  }
});
