/** A schema of stored payloads, and the newest ones that differ from it, on one service. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { mergeShapes, schemaOfShape, shapeOf } from "../../../src/conditions/json_schema/shape.ts";
import { bodyFields, mapField, wrappedParts } from "../../../src/conditions/json_schema/fields.ts";
import { compileValue } from "../../../src/conditions/values/compile.ts";
import { schemaProblems } from "../../../src/conditions/json_schema/problems.ts";
import { schemaJob } from "../../../src/conditions/json_schema/job.ts";
import { compileSchema } from "../../../src/conditions/json_schema/validator.ts";
import { shapeJob } from "../../../src/conditions/json_schema/shape_job.ts";
import { inferSchema } from "../../../src/triggers/infer_schema.ts";
import { runHosted } from "../../commands/hosted.ts";
import { ADMIN_TOKEN, startService } from "../../data.ts";
import { json, request } from "../../conditions/fixture.ts";
import { loggedIn, textOf } from "../console/fixture.ts";

const shapes: [what: string, values: unknown[], schema: unknown][] = [
  ["integers", [1, 2], { type: "integer" }],
  ["numbers", [1, 2.5], { type: "number" }],
  ["several types", [1, null, "a"], { type: ["integer", "null", "string"] }],
  ["lists", [[1], [2, 3], []], { type: "array", items: { type: "integer" } }],
  [
    "lists of more than is looked at",
    [[1], Array.from({ length: 150 }, (_, i) => i === 120 ? "a" : 1)],
    { type: "array", items: true },
  ],
  [
    "numbers beyond 64 bits, which no schema checks",
    [{ a: 2n ** 64n, b: 1 }, { a: 1, b: Infinity }],
    { type: "object", required: ["a", "b"], properties: { a: true, b: true } },
  ],
  ["dates", ["2026-11-28", "2026-11-29"], { type: "string", format: "date" }],
  ["dates and others", ["2026-11-28", "soon"], { type: "string" }],
  ["few values", Array.from({ length: 12 }, (_, i) => i % 2 ? "a" : "b"), { enum: ["a", "b"] }],
  ["ten values", Array.from({ length: 10 }, (_, i) => i % 2 ? "a" : "b"), { enum: ["a", "b"] }],
  ["nine values", Array.from({ length: 9 }, (_, i) => i % 2 ? "a" : "b"), { type: "string" }],
  [
    "few values, and null",
    [...Array.from({ length: 12 }, () => "a"), null],
    { type: ["null", "string"] },
  ],
  ["long values", Array.from({ length: 12 }, () => "x".repeat(65)), { type: "string" }],
  ["many values", Array.from({ length: 12 }, (_, i) => `v${i}`), { type: "string" }],
  [
    "objects",
    [{ a: 1, b: "x" }, { a: 2 }],
    {
      type: "object",
      required: ["a"],
      properties: { a: { type: "integer" }, b: { type: "string" } },
    },
  ],
  [
    "names of JavaScript",
    [JSON.parse('{"__proto__": 1, "constructor": 2}')],
    {
      type: "object",
      required: ["__proto__", "constructor"],
      properties: JSON.parse(
        '{"__proto__": {"type": "integer"}, "constructor": {"type": "integer"}}',
      ),
    },
  ],
];

Deno.test("fields are the expressions that read them", () => {
  const body = {
    "a": 1,
    "b-c": "x",
    "in": null,
    "it's": [[{ '"\\\n': true }], 1],
    "d": { e: 1.5 },
  };
  const shape = mergeShapes(shapeOf(body), shapeOf({ a: "text", "\u{1F600}": {} }));
  const fields = bodyFields(shape);
  assertEquals(fields.map(({ expression, types }) => [expression, ...types]), [
    ["body.a", "integer", "string"],
    ["body['b-c']", "string"],
    ["body['in']", "null"],
    ["body['it\\'s']", "array"],
    ["body['it\\'s'][0]", "array", "integer"],
    ["body['it\\'s'][0][0]", "object"],
    ["body['it\\'s'][0][0]['\"\\\\\\n']", "boolean"],
    ["body.d", "object"],
    ["body.d.e", "number"],
    ["body['\u{1F600}']", "object"],
  ]);
  for (const { expression } of [...fields, mapField("headers", "x-a"), mapField("query", "q")]) {
    compileValue(expression);
  }
  const many = Object.fromEntries(
    Array.from({ length: 150 }, (_, n) => [`k${n}`, { a: 1, b: 2, c: 3 }]),
  );
  assertEquals(bodyFields(shapeOf(many)).length, 499);
});

Deno.test("fields of wrapped JSON have the expressions that unwrap it", () => {
  const encoded = btoa('{"kind":"object","sizes":[1]}');
  const body = {
    Message: '{"Records": [{"key": "a"}], "more": "{\\"deep\\": true}"}',
    data: encoded,
    text: "{no JSON}",
    word: "abcdabcdabcdabcd",
    number: "12",
  };
  const other = { ...body, Message: "plain", data: encoded.replace(/=+$/, "") };
  const fields = bodyFields(mergeShapes(shapeOf(body), shapeOf(other)));
  const expressions = fields.map(({ expression }) => expression);
  assertEquals(expressions, [
    "body.Message",
    "body.Message.parseJSON()",
    "body.Message.parseJSON().Records",
    "body.Message.parseJSON().Records[0]",
    "body.Message.parseJSON().Records[0].key",
    "body.Message.parseJSON().more",
    "body.Message.parseJSON().more.parseJSON()",
    "body.Message.parseJSON().more.parseJSON().deep",
    "body.data",
    "string(base64.decode(body.data)).parseJSON()",
    "string(base64.decode(body.data)).parseJSON().kind",
    "string(base64.decode(body.data)).parseJSON().sizes",
    "string(base64.decode(body.data)).parseJSON().sizes[0]",
    "body.text",
    "body.word",
    "body.number",
  ]);
  for (const each of expressions) compileValue(each);
  assertEquals(wrappedParts(body).map(({ expression }) => expression), [
    "body.Message.parseJSON()",
    "body.Message.parseJSON().more.parseJSON()",
    "string(base64.decode(body.data)).parseJSON()",
  ]);
});

for (const [what, values, schema] of shapes) {
  Deno.test(`a schema of ${what}`, () => {
    const [first, ...others] = values.map(shapeOf);
    const found = schemaOfShape(others.reduce(mergeShapes, first ?? shapeOf(null)));
    assertEquals(JSON.stringify(found), JSON.stringify(schema));
    assertEquals(schemaProblems(found), []);
    const { mismatches } = compileSchema(found);
    for (const value of values) assertEquals(mismatches(value).errors, []);
  });
}

/** Finds shapes and judges in this thread; the clock moves by so much before each shape is found. */
function shapesAfter(...steps_ms: number[]): Parameters<typeof inferSchema>[1] {
  return {
    run: (kind: string, input: unknown) => {
      const step_ms = kind === "shape" ? steps_ms.shift() ?? 0 : 0;
      const now = performance.now;
      performance.now = () => now.call(performance) + step_ms;
      const job = kind === "shape" ? shapeJob : schemaJob;
      // The job of this kind takes this input, and its output is what the caller waits for.
      return Promise.resolve(job(input as never) as never);
    },
  };
}

const slowShapes: [what: string, steps_ms: number[], requests: number][] = [
  ["a Worker that takes 9 s to start delays bodies, and leaves none out", [9_000], 3],
  ["bodies that take long end after 5 s", [0, 6_000], 2],
];

for (const [what, steps_ms, expected] of slowShapes) {
  Deno.test(`infer-schema: ${what}`, async () => {
    const { now } = performance;
    const stored = ["a", "b", "c"].map((id): Parameters<typeof inferSchema>[0][number] => ({
      id,
      time: "2026-11-28T00:00:00Z",
      outcome: "accepted",
      size: 8,
      load: () => Promise.resolve(request(json({ number: 1 }))),
    }));
    try {
      assertEquals((await inferSchema(stored, shapesAfter(...steps_ms))).requests, expected);
    } finally {
      performance.now = now;
    }
  });
}

Deno.test("infer-schema makes a schema that the stored payloads match, and tells what differs", async () => {
  await using service = await startService();
  const { id, url } = await service.trigger({ name: "inferred" });
  const send = async (body: unknown) => {
    const answer = await fetch(url, { method: "POST", body: JSON.stringify(body) });
    await answer.text();
    assertEquals(answer.status, 200);
  };
  const infer = async (last = 50) =>
    (await service.api("POST", `triggers/${id}/infer-schema/`, { last })).body;
  assertEquals(await infer(), { schema: true, requests: 0, fields: [], differences: [] });
  for (let number = 1; number <= 6; number++) await send({ number });
  const { schema, requests, differences } = await infer();
  assertEquals([requests, differences], [6, []]);
  assertEquals((await infer(2)).requests, 2);
  assertEquals(schema.properties, { number: { type: "integer" } });
  const condition = { type: "json_schema", schema };
  assertEquals(
    (await service.api("PATCH", `triggers/${id}/`, { conditions: [condition] })).status,
    200,
  );
  await send({ number: 7 });
  await service.api("PATCH", `triggers/${id}/`, { conditions: null });
  await send({ number: "eight" });
  // A body of more than 1 MiB is not read.
  await send({ number: "x".repeat(1024 * 1024) });
  const [found, ...others] = (await infer()).differences;
  assertEquals(others, []);
  assertEquals([found.expected, found.found], ["integer", '"eight"']);
  const args = ["schema", "infer", "inferred", "--last", "20", "--url", service.url];
  const { code, printed } = await runHosted(args, { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN });
  assertEquals(code, 0, printed);
  assertStringIncludes(
    printed,
    `${found.delivery_id}  differs from those before: The body does not match`,
  );
  assertStringIncludes(printed, '"$schema": "https://json-schema.org/draft/2020-12/schema"');
  const listed = await runHosted(["schema", "fields", "inferred", "-q", "--url", service.url], {
    HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN,
  });
  assertEquals(listed.code, 0, listed.printed);
  const names = listed.printed.trim().split("\n");
  assertEquals(
    names.slice(0, 2),
    ["body.number", "headers['content-type']"].slice(0, 1).concat(names[1] ?? ""),
  );
  assertEquals(
    names.filter((each) => each.startsWith("headers")).includes("headers['user-agent']"),
    true,
  );
  const browser = await loggedIn(service);
  const page = await browser.get("triggers/inferred/payloads");
  assertEquals(page.status, 200);
  const seen = textOf(page).replaceAll("&quot;", '"');
  assertStringIncludes(seen, "A delivery differs from those before");
  assertStringIncludes(seen, 'expected integer , found "eight"');
  assertStringIncludes(page.text, '<code data-field="true">body.number</code>');
  assertStringIncludes(
    (await browser.get("triggers/inferred")).text,
    'data-load="triggers/inferred/payloads"',
  );
});

Deno.test("the newest requests of a trigger are found behind any number of replays", async () => {
  await using service = await startService();
  const { id, url } = await service.trigger({
    actions: [{ type: "fetch_repository" }],
    response: { type: "text", text: "{run_id}" },
  });
  const sent: string[] = [];
  for (let number = 1; number <= 3; number++) {
    sent.unshift(await (await fetch(url, { method: "POST", body: `{"number":${number}}` })).text());
  }
  for (let count = 0; count < 12; count++) {
    assertEquals((await service.api("POST", `runs/${sent[0]}/replay/`)).status, 201);
  }
  const infer = async (last: number) =>
    (await service.api("POST", `triggers/${id}/infer-schema/`, { last })).body.requests;
  assertEquals([await infer(2), await infer(50)], [2, 3]);
  const { body: { results } } = await service.api("POST", `triggers/${id}/try-actions/`, {});
  assertEquals(results.map((each: { delivery_id: string }) => each.delivery_id), sent);
});
