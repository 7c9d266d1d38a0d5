/**
 * What the sender of an accepted request is told: the run's id stands wherever a text says `{run_id}`,
 * and everything else is as it was written.
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Answer } from "../../src/conditions/answer.ts";
import { type JobOptions, JobTimeoutError } from "../../src/platform/heavy_work/job.ts";
import { request } from "../conditions/fixture.ts";
import { collectLog } from "../log_records.ts";
import { prepareResponse, responseSchema } from "../../src/triggers/response.ts";

const RUN_ID = "0190fe82-c984-7f66-8302-69874914e1c9";
const JSON_TYPE = "application/json; charset=utf-8";
const TEXT_TYPE = "text/plain; charset=utf-8";

/** Answers a run of a trigger whose response has no value but the run's id: at once. */
function answerOf(settings: Parameters<typeof prepareResponse>[0], runId = RUN_ID): Answer {
  const heavyWork = { run: () => Promise.reject(new Error("it is called")) };
  const answer = prepareResponse(settings, {
    heavyWork,
    trigger: "t",
    triggerId: "id",
    credentials: [],
  })(
    runId,
    request(),
  );
  assert(!("then" in answer));
  return answer;
}

/** Texts that are likely to confuse: placeholders, parts of them, quotes, escapes. */
const texts = fc.array(
  fc.oneof(
    fc.constant("{run_id}"),
    fc.constantFrom("run_id}", "}", "{}", "{ 1", "$&"),
    fc.constantFrom('"', "\\", "\n", "\u2028", "\ud800", "é", "{run_id}".replace("i", "\\u0069")),
    fc.string({ maxLength: 5 }),
  ),
  { maxLength: 5 },
).map((parts) => parts.join(""))
  // Other braces are expressions, or two of them one.
  .filter((text) => !/\{\s*[-a-z_{]/i.test(text.replaceAll("{run_id}", "-")));

/** Any JSON value, placeholders in its texts and in its keys. */
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(texts, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean()),
    fc.constant(null),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.dictionary(texts.filter((key) => key !== "__proto__"), tie("json"), { maxKeys: 4 }),
  ),
}));

/** What a reader of the configuration expects: the id in every text, at any depth. */
function filledIn(value: unknown): unknown {
  if (typeof value === "string") return value.split("{run_id}").join(RUN_ID);
  if (Array.isArray(value)) return value.map(filledIn);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, filledIn(inner)]));
}

Deno.test("in JSON the id stands in every text at any depth; keys and all else stay as they are", () => {
  fc.assert(fc.property(json, (value) => {
    // What is stored went through JSON before, which knows no -0.
    const written = JSON.parse(JSON.stringify(value));
    const { json } = parsed({ type: "json", json: written });
    const answer = answerOf({ type: "json", json });
    assertEquals(JSON.parse(answer.body), filledIn(written));
    assertEquals([answer.status, answer.contentType], [200, JSON_TYPE]);
  }));
});

/** A response as the schema gives it. */
function parsed(settings: unknown) {
  const response = responseSchema.parse(settings);
  if (response.type !== "json") throw new Error("It is no JSON");
  return response;
}

Deno.test("in a text every placeholder is filled in", () => {
  fc.assert(fc.property(texts, (text) => {
    assertEquals(answerOf({ type: "text", text }), {
      status: 200,
      contentType: TEXT_TYPE,
      body: text.split("{run_id}").join(RUN_ID),
    });
  }));
});

Deno.test("each run is told its own id", () => {
  const settings = { type: "json" as const, json: { run: "{run_id}" } };
  assertEquals(answerOf(settings, "a").body, '{"run":"a"}');
  assertEquals(answerOf(settings, "b").body, '{"run":"b"}');
});

const answers: { name: string; settings: unknown; body: string; status?: number; type?: string }[] =
  [
    { name: "nothing is configured", settings: undefined, body: '{"status":"accepted"}' },
    {
      name: "a text",
      settings: { type: "text", text: "Created run {run_id}" },
      body: `Created run ${RUN_ID}`,
      type: TEXT_TYPE,
    },
    { name: "an empty text", settings: { type: "text", text: "" }, body: "", type: TEXT_TYPE },
    {
      name: "a key is left alone",
      settings: { type: "json", json: { "{run_id}": 1 } },
      body: '{"{run_id}":1}',
    },
    {
      name: "a text in JSON names it twice",
      settings: { type: "json", json: ["{run_id}, {run_id}"] },
      body: `["${RUN_ID}, ${RUN_ID}"]`,
    },
    { name: "a text alone", settings: { type: "json", json: "{run_id}" }, body: `"${RUN_ID}"` },
    { name: "null", settings: { type: "json", json: null }, body: "null" },
    {
      name: "another status",
      settings: { type: "text", text: "x", status: 299 },
      body: "x",
      status: 299,
      type: TEXT_TYPE,
    },
  ];

for (const { name, settings, body, status = 200, type = JSON_TYPE } of answers) {
  Deno.test(`the answer when ${name}`, () => {
    const response = settings === undefined ? undefined : responseSchema.parse(settings);
    assertEquals(answerOf(response), { status, contentType: type, body });
  });
}

const refused: { name: string; settings: unknown }[] = [
  { name: "a status that is no success", settings: { type: "text", text: "x", status: 300 } },
  { name: "a status below 200", settings: { type: "text", text: "x", status: 199 } },
  { name: "a broken status", settings: { type: "text", text: "x", status: 200.5 } },
  { name: "no text", settings: { type: "text" } },
  { name: "no JSON", settings: { type: "json" } },
  { name: "text and JSON", settings: { type: "text", text: "x", json: {} } },
  { name: "another type", settings: { type: "html", text: "x" } },
  { name: "a text over 16 KiB", settings: { type: "text", text: "x".repeat(16_385) } },
  { name: "spaces deep in JSON", settings: { type: "json", json: [{ a: "{ run_id}" }] } },
  { name: "a placeholder with spaces", settings: { type: "text", text: "{ run_id }" } },
  { name: "JSON over 16 KiB", settings: { type: "json", json: ["x".repeat(16_381)] } },
];

for (const { name, settings } of refused) {
  Deno.test(`a response with ${name} is refused`, () => {
    assertEquals(responseSchema.safeParse(settings).success, false);
  });
}

Deno.test("a response of 16 KiB is taken", () => {
  assertEquals(responseSchema.safeParse({ type: "text", text: "x".repeat(16_384) }).success, true);
  const json = ["x".repeat(16_380)];
  assertEquals(responseSchema.safeParse({ type: "json", json }).success, true);
});

const NESTED = "{body.list.filter(a, body.list.filter(b, b == a).size() > 1).size()}";
const LIST = JSON.stringify({
  list: Array.from({ length: 4_000 }, (_, n) => n),
  x: "x".repeat(900),
});

/** Values of responses: which are work for the Worker, and to whose account. */
const values: { text: string; body: string; isHeavy: boolean }[] = [
  { text: "{body.a}", body: '{"a":1}', isHeavy: false },
  { text: NESTED, body: LIST, isHeavy: true },
  { text: "{body.a}", body: `{"a":"${"x".repeat(70_000)}"}`, isHeavy: true },
  { text: "{body.x.size()}", body: LIST, isHeavy: false },
  { text: "{body.x.lowerAscii().size()}".repeat(100), body: LIST, isHeavy: true },
];

Deno.test("values of a response that may take long are work of the trigger, for half a second at most", async () => {
  for (const { text, body, isHeavy } of values) {
    const jobs: unknown[] = [];
    const heavyWork = {
      run: (kind: string, _input: unknown, { signal: _, ...options }: JobOptions) => {
        jobs.push([kind, options]);
        return Promise.reject(new JobTimeoutError(options.timeout_ms));
      },
    };
    const respond = prepareResponse({ type: "text", text }, {
      heavyWork,
      trigger: "t",
      triggerId: "id",
      credentials: [],
    });
    const answer = await respond(RUN_ID, request({ body }));
    assertEquals(jobs, isHeavy ? [["values", { key: "id", timeout_ms: 500 }]] : [], text);
    if (isHeavy) assertEquals(answer.body, "");
  }
});

Deno.test("values that are longer than an answer may be are left empty", async () => {
  const heavyWork = { run: () => Promise.reject(new Error("it is called")) };
  const body = JSON.stringify({ x: "x".repeat(30_000) });
  const respond = prepareResponse({ type: "text", text: "{body.x}-".repeat(5) }, {
    heavyWork,
    trigger: "t",
    triggerId: "id",
    credentials: [],
  });
  const answer = await respond(RUN_ID, request({ body }));
  const x = "x".repeat(30_000);
  assertEquals(answer.body === `${x}-${x}----`, true);
});

Deno.test("two braces are one, also in front of the run's id", async () => {
  const text = "{{run_id} is {run_id}";
  for (const settings of [{ type: "text" as const, text }, { type: "json" as const, json: text }]) {
    const respond = prepareResponse(settings, {
      heavyWork: { run: () => Promise.reject(new Error("it is called")) },
      trigger: "t",
      triggerId: "id",
      credentials: [],
    });
    const { body } = await respond(RUN_ID, request());
    assertEquals(String(body).replaceAll('"', ""), `{run_id} is ${RUN_ID}`);
  }
});

Deno.test("a list within a text is left empty, and the log says so", async () => {
  await using log = await collectLog("warning");
  const respond = prepareResponse({ type: "json", json: { a: "<{body.l}>", b: "{body.l}" } }, {
    heavyWork: { run: () => Promise.reject(new Error("it is called")) },
    trigger: "t",
    triggerId: "id",
    credentials: [],
  });
  const { body } = await respond(RUN_ID, request({ body: '{"l":[1]}' }));
  assertEquals(body, '{"a":"<>","b":[1]}');
  assertEquals(log.lines(), [
    "warning: A value of the response of trigger t is missing: json/a: expected a text, a number, " +
    "true or false of {body.l}, found a list",
  ]);
});

Deno.test("a response sets no header that browsers keep for all pages of the host", () => {
  const headers = [
    "Alt-Svc",
    "NEL",
    "Report-To",
    "Reporting-Endpoints",
    "Accept-CH",
    "Set-Cookie2",
  ];
  headers.push(
    "Clear-Site-Data",
    "Strict-Transport-Security",
    "Service-Worker-Allowed",
    "Expect-CT",
  );
  for (const name of headers) {
    const parsed = responseSchema.safeParse({ type: "text", text: "", headers: { [name]: "x" } });
    assertEquals(parsed.success, false, name);
  }
  const kept = { type: "text", text: "", headers: { "Cache-Control": "no-store" } };
  assertEquals(responseSchema.safeParse(kept).success, true);
});

Deno.test("a header of an XML response has its value as it is, and the XML none that it cannot hold", async () => {
  const settings = {
    type: "xml" as const,
    text: "<a>{body.v}</a>",
    headers: { "x-v": "{body.v}" },
  };
  const respond = prepareResponse(settings, {
    heavyWork: { run: () => Promise.reject(new Error("it is called")) },
    trigger: "t",
    triggerId: "id",
    credentials: [],
  });
  const { body, headers } = await respond(RUN_ID, request({ body: '{"v":"/?a&b"}' }));
  assertEquals([body, headers], ["<a>/?a&amp;b</a>", { "x-v": "/?a&b" }]);
  const sent = '{"v":"a\\u0000\\u001b\\ufffe\\ud800\\n\\ud83d\\ude00\u007f"}';
  assertEquals((await respond(RUN_ID, request({ body: sent }))).body, "<a>a\n\u{1f600}\u007f</a>");
});
