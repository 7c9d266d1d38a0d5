import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { endOfRun, HMAC_CONDITION, startService } from "../../data.ts";
import { eventually } from "../../surroundings.ts";

const DEDUPLICATION = { type: "deduplication", in: "header", name: "X-Delivery", window: 3600 };

async function send(url: string, delivery?: string, body = "x") {
  const headers: Record<string, string> = delivery === undefined ? {} : { "x-delivery": delivery };
  const answer = await fetch(url, { method: "POST", headers, body });
  return { status: answer.status, text: await answer.text() };
}

Deno.test("a repeat is answered with the first run's id and starts nothing, also after a restart", async () => {
  await using service = await startService();
  const trigger = await service.trigger({
    response: { type: "text", text: "{run_id}" },
    conditions: [DEDUPLICATION, { type: "rate_limit", period: 3600, quota: 2 }],
  });
  const path = new URL(trigger.url).pathname;
  const first = await send(trigger.url, "a");
  assertEquals(first.status, 200);
  assertEquals(await send(trigger.url, "a", "another body"), first);
  await service.restart();
  const url = service.url + path;
  const copies = await Promise.all([1, 2, 3].map(() => send(url, "a")));
  assertEquals(copies, [first, first, first]);
  assertEquals((await send(url, "b")).status, 200, "repeats have used no quota");
  assertEquals((await send(url, "c")).status, 400, "the quota is used up");
  const { body } = await service.api("GET", `triggers/${trigger.id}/runs/`);
  assertEquals(body.results.length, 2);
});

Deno.test("a request without the id of its delivery is refused, and the log says so", async () => {
  await using service = await startService();
  const trigger = await service.trigger({
    conditions: [{ type: "rate_limit", period: 60, quota: 1 }, DEDUPLICATION],
  });
  assertEquals((await send(trigger.url)).status, 400);
  const { body } = await service.api("GET", `triggers/${trigger.id}/log/`);
  const [{ condition, condition_index }] = body.results;
  assertEquals([condition, condition_index], ["deduplication", 1]);
  assertMatch(body.results[0].reason, /X-Delivery is missing/);
});

Deno.test("an id that is empty or too long is no delivery's, and refused", async () => {
  await using service = await startService();
  const trigger = await service.trigger({
    conditions: [{ ...DEDUPLICATION, in: "query", name: "id" }],
  });
  const statusOf = async (id: string) => (await send(`${trigger.url}?id=${id}`)).status;
  assertEquals(
    await Promise.all(["", "x".repeat(1_025), "x".repeat(1_024)].map(statusOf)),
    [400, 400, 200],
  );
});

Deno.test("ids that are numbers are told apart, or refused where they are beyond 64 bits", async () => {
  await using service = await startService();
  const trigger = await service.trigger({
    response: { type: "text", text: "{run_id}" },
    conditions: [{ ...DEDUPLICATION, in: "body", name: "id" }],
  });
  const exact = "9007199254740991";
  const first = await send(trigger.url, undefined, `{"id": ${exact}}`);
  assertEquals(first.status, 200);
  assertEquals(await send(trigger.url, undefined, `{"id": "${exact}"}`), first);
  // Exact integers of 64 bits are told apart, though JavaScript's numbers do not.
  for (const id of ["9007199254740992", "9007199254740993", "-9223372036854775808"]) {
    const sent = await send(trigger.url, undefined, `{"id": ${id}}`);
    assertEquals(sent.status, 200, id);
    assertEquals(await send(trigger.url, undefined, `{"id": "${id}"}`), sent, id);
  }
  for (const id of ["9223372036854775808", "-12345678901234567890", "1e999", "1e17"]) {
    assertEquals((await send(trigger.url, undefined, `{"id": ${id}}`)).status, 400, id);
    const other = await send(trigger.url, undefined, `{"id": "${id}"}`);
    assertEquals(other.status, 200, `${id} as a text`);
  }
  const { body } = await service.api("GET", `triggers/${trigger.id}/log/`);
  const reasons = body.results.map(({ reason }: { reason: string }) => reason);
  assertMatch(reasons[0], /number too large/);
  assertMatch(reasons[1], /a number that is too large/);
});

Deno.test("a delivery whose run could launch nothing is no repeat when it is sent again", async () => {
  await using service = await startService();
  const missing = { type: "run_execution", step: "missing" };
  const trigger = await service.trigger({
    response: { type: "text", text: "{run_id}" },
    conditions: [DEDUPLICATION],
    actions: [missing],
  });
  const first = await send(trigger.url, "a");
  const run = await endOfRun(service, first.text);
  assertEquals([first.status, run.status], [200, "error"]);
  const again = await send(trigger.url, "a");
  assertNotEquals(again.text, first.text);
  await endOfRun(service, again.text);
  // Once something could launch, it is a repeat, also where another action failed.
  const copy = { type: "run_execution", step: "copy", payload_input_name: "labels" };
  await service.api("PATCH", `triggers/${trigger.id}/`, { actions: [missing, copy] });
  const mended = await Promise.all([1, 2, 3].map(() => send(trigger.url, "a")));
  assertEquals(new Set(mended.map(({ text }) => text)).size, 1);
  const { text = "" } = mended[0] ?? {};
  assertNotEquals(text, again.text);
  assertEquals((await endOfRun(service, text)).status, "complete_with_error");
  assertEquals((await send(trigger.url, "a")).text, text);
});

Deno.test("a deduplication that does not know where the id is, is refused when it is saved", async () => {
  await using service = await startService();
  const settings = {
    name: "t",
    project: "files",
    actions: [{ type: "run_execution", step: "copy" }],
  };
  const nowhere = { ...settings, conditions: [{ type: "deduplication" }] };
  assertEquals((await service.api("POST", "triggers/", nowhere)).status, 422);
  const half = { ...settings, conditions: [{ type: "deduplication", in: "header" }] };
  assertEquals((await service.api("POST", "triggers/", half)).status, 422);
  const twice = { ...settings, conditions: [DEDUPLICATION, DEDUPLICATION] };
  assertEquals((await service.api("POST", "triggers/", twice)).status, 422);
  const preset = {
    ...settings,
    conditions: [{ type: "deduplication" }, {
      type: "hmac",
      preset: "github",
      secrets: ["a-secret-of-github"],
    }],
  };
  assertEquals((await service.api("POST", "triggers/", preset)).status, 201);
});

Deno.test("without ids, equal bodies are one delivery", async () => {
  await using service = await startService();
  const body_hash = { type: "deduplication", in: "body_hash", window: 3600 };
  const trigger = await service.trigger({
    response: { type: "text", text: "{run_id}" },
    conditions: [body_hash],
  });
  const first = await send(trigger.url, "a", '{"a": 1}');
  assertEquals(first.status, 200);
  assertEquals(await send(trigger.url, "b", '{"a": 1}'), first);
  const others = await Promise.all([
    send(trigger.url, "a", '{"a":1}'),
    send(trigger.url, "a", ""),
    send(trigger.url, "a", "x".repeat(300_000)),
  ]);
  assertEquals(new Set([first, ...others].map(({ text }) => text)).size, 4);
  const named = await service.api("POST", "triggers/", {
    name: "named",
    project: "files",
    actions: [{ type: "fetch_repository" }],
    conditions: [{ ...body_hash, name: "X-Id" }],
  });
  assertEquals([named.status, named.body.errors[0].pointer], [422, "/conditions/0/name"]);
});

const int64 = "9223372036854775807";
/** Keys, and bodies: those in one group are one delivery. A group of none is refused. */
const keys: [name: string, key: string, groups: string[][], refused?: [body: string, RegExp][]][] =
  [
    ["a text", "body.event.id", [['{"event":{"id":"a"}}', '{"event":{"id":"a"},"try":2}'], [
      '{"event":{"id":"b"}}',
    ]], [
      ["{}", /has no value: .*event/],
      ['{"event":{"id":""}}', /is no id, .*found 0 characters/],
      ['{"event":{"id":null}}', /found null/],
      ['{"event":{"id":{"a":1}}}', /found a map/],
      [`{"event":{"id":"${"x".repeat(1_025)}"}}`, /found 1025 characters/],
      ["not JSON", /has no value/],
    ]],
    ["exact integers", "body.id", [
      ['{"id":9007199254740992}'],
      ['{"id":9007199254740993}', '{"id":9007199254740993,"again":true}'],
      [`{"id":${int64}}`, `{"id": ${int64} }`],
    ], [
      ['{"id":9223372036854775808}', /beyond 64 bits/],
      ['{"id":1e300}', /a number too large/],
      ["9223372036854775808", /cannot read the body: a number beyond 64 bits/],
    ]],
    ["several values", "[body.repo, string(body.number)]", [
      ['{"repo":"a","number":1}', '{"number":1,"repo":"a"}'],
      ['{"repo":"a","number":11}'],
      ['{"repo":"a1","number":1}'],
    ]],
    ["a default", "body.?id.orValue('none')", [['{"a":1}', "{}", '{"id":"none"}'], ['{"id":"1"}']]],
    ["a long body", "body.id", [
      [`{"id":1,"fill":"${"x".repeat(300_000)}"}`, `{"fill":"${"y".repeat(300_000)}","id":1}`],
      [`{"id":2,"fill":"${"x".repeat(300_000)}"}`],
    ], [[`{"fill":"${"x".repeat(300_000)}"}`, /has no value: .*id/]]],
    ["costly work", "body.list.map(a, body.list.map(b, a + b)).size()", [
      ['{"list":["1","2"]}', '{"list":["3","4"]}'],
      ['{"list":["1"]}'],
    ]],
  ];

Deno.test("the key of a delivery is the value of an expression", async (t) => {
  await using service = await startService();
  for (const [name, key, groups, refused = []] of keys) {
    await t.step(name, async () => {
      const trigger = await service.trigger({
        response: { type: "text", text: "{run_id}" },
        conditions: [{ type: "deduplication", key }],
      });
      const runs = new Set<string>();
      for (const group of groups) {
        const answers = await Promise.all(group.map((body) => send(trigger.url, "x", body)));
        assertEquals(new Set(answers.map(({ text }) => text)).size, 1, group[0]);
        assertEquals(answers[0]?.status, 200, answers[0]?.text);
        runs.add(answers[0]?.text ?? "");
      }
      assertEquals(runs.size, groups.length);
      for (const [body, reason] of refused) {
        assertEquals((await send(trigger.url, "x", body)).status, 400, body.slice(0, 100));
        // A long body is hashed before its entry is written, which may be after the answer.
        const { condition, reason: why, expected, found } = await eventually(async () => {
          const { body: log } = await service.api("GET", `triggers/${trigger.id}/log/`);
          return log.results[0];
        });
        assertEquals(condition, "deduplication");
        assertMatch(`${why}, expected ${expected}, found ${found}`, reason);
      }
    });
  }
});

Deno.test("a key reads headers and the query, and is shown where it is no credential", async () => {
  await using service = await startService();
  const shown = async (key: string) => {
    const trigger = await service.trigger({
      conditions: [
        { type: "static_token", in: "header", name: "X-Secret", secrets: ["a-token-of-the-tests"] },
        { type: "deduplication", key },
      ],
    });
    const headers = { "x-secret": "a-token-of-the-tests", "x-event": "7" };
    const answer = await fetch(`${trigger.url}?part=b`, { method: "POST", headers, body: "{}" });
    assertEquals(answer.status, 200, await answer.text());
    const { body } = await service.api("GET", `deliveries/?trigger=${trigger.id}`);
    return body.results[0].delivery_id;
  };
  assertEquals(await shown("headers['x-event'] + '/' + query.part"), "7/b");
  assertEquals(await shown("headers['x-secret'] + headers['x-event']"), "********");
});

Deno.test("a key that tells no delivery from another is refused when it is saved", async () => {
  await using service = await startService();
  const problems = async (settings: Record<string, unknown>) => {
    const { status, body } = await service.api("POST", "triggers/", {
      name: "t",
      project: "files",
      actions: [{ type: "fetch_repository" }],
      conditions: [{ type: "deduplication", ...settings }],
    });
    assertEquals(status, 422, JSON.stringify(body));
    return body.errors[0];
  };
  const table: [settings: Record<string, unknown>, pointer: string, RegExp][] = [
    [{ key: "bod.id" }, "key", /Unknown variable 'bod'/],
    [{ key: "'a' + 'b'" }, "key", /Reads nothing of the request/],
    [{ key: "string(now)" }, "key", /Unknown variable 'now'/],
    [{ key: "{body.id}" }, "key", /no braces/],
    [{ key: "body.id", in: "body_hash" }, "key", /in and name, or key: found both/],
    [{ key: "body.id", in: "body", name: "id" }, "key", /found both/],
    [{ key: "" }, "key", /./],
  ];
  for (const [settings, pointer, detail] of table) {
    const problem = await problems(settings);
    assertEquals(problem.pointer, `/conditions/0/${pointer}`);
    assertMatch(problem.detail, detail);
  }
});

Deno.test("a key over what no signature covers is told when it is saved", async () => {
  await using service = await startService();
  const warnings = async (key: string) => {
    const { id } = await service.trigger({
      conditions: [HMAC_CONDITION, { type: "deduplication", key }],
    });
    const { body } = await service.api("GET", `triggers/${id}/`);
    return body.warnings.map(({ detail }: { detail: string }) => detail)
      .filter((detail: string) => /No signature covers the delivery's id/.test(detail)).length;
  };
  assertEquals(
    await Promise.all(["body.id", "headers['x-id']", "body.id + query.a"].map(warnings)),
    [
      0,
      1,
      1,
    ],
  );
});
