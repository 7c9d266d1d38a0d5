/** Deliveries: what came to the launch URLs is found, whatever came of it, and no credential is shown. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  type ApiAnswer,
  endOfExecution,
  endOfRun,
  eventually,
  HMAC_CONDITION,
  signature,
  startService,
  type TestService,
} from "../../data.ts";
import { launchCommand } from "./fixture.ts";

type Json = ApiAnswer["body"];

const FILTER = { type: "payload_filter", expression: "body.a == 1" };
const DEDUPLICATION = { type: "deduplication", in: "header", name: "X-Delivery" };
const ECHO = [{ type: "run_execution", step: "echo" }];
const BODY = '{"a":1,"fruit":"a pear"}';

/** Sends a request to a launch URL, and answers the text of the answer. */
async function send(
  url: string,
  { body = BODY, headers = {} }: { body?: string; headers?: Record<string, string> } = {},
): Promise<string> {
  const signed = { ...signature(body), ...headers };
  return await (await fetch(url, { method: "POST", body, headers: signed })).text();
}

/** Two triggers, and one delivery of each outcome to the first. */
async function withDeliveries(service: TestService): Promise<{ first: Json; runId: string }> {
  const first: Json = await service.trigger({
    name: "first",
    conditions: [HMAC_CONDITION, FILTER, DEDUPLICATION],
    actions: ECHO,
    response: { type: "text", text: "{run_id}", status: 202 },
  });
  const second = await service.trigger({ name: "second", actions: ECHO });
  const headers = { "x-delivery": "evt_1" };
  const runId = await send(`${first.url}?ref=main&token=abc`, { headers });
  await endOfRun(service, runId);
  await send(first.url, { headers });
  await send(first.url, { body: '{"a":2}', headers: { "x-delivery": "evt_2" } });
  await send(first.url, { headers: { "x-delivery": "evt_3", "x-signature": "sha256=00" } });
  await send(second.url, { body: "an apple" });
  return { first, runId };
}

async function list(service: TestService, query = ""): Promise<Json> {
  const { status, body } = await service.api("GET", `deliveries/${query}`);
  assertEquals(status, 200, JSON.stringify(body));
  return body;
}

/** Lists the deliveries of all pages: a search ends its page when its time is over, whatever it found. */
async function all(service: TestService, query: string): Promise<Json[]> {
  const { results, next } = await list(service, query);
  return next === null ? results : [...results, ...await all(service, new URL(next).search)];
}

function outcomes({ results }: Json): string[] {
  return results.map(({ trigger, outcome, condition = "" }: Json) =>
    `${trigger} ${outcome} ${condition}`.trimEnd()
  );
}

Deno.test("the list shows every delivery of all triggers, newest first", async () => {
  await using service = await startService();
  const { first, runId } = await withDeliveries(service);
  const { results, next, omitted } = await list(service);
  assertEquals([next, omitted], [null, []]);
  assertEquals(outcomes({ results }), [
    "second accepted",
    "first refused hmac",
    "first filtered payload_filter",
    "first repeat",
    "first accepted",
  ]);
  const [, , refused, repeat, accepted] = results;
  const { executions: [{ id: execution_id }] } = accepted;
  assertEquals(accepted, {
    id: runId,
    time: accepted.time,
    trigger_id: first.id,
    trigger: "first",
    project: "files",
    outcome: "accepted",
    status: 202,
    delivery_id: "evt_1",
    remote_ip: "127.0.0.1",
    size: BODY.length,
    sha256: accepted.sha256,
    run_id: runId,
    run_status: "completed",
    launched_by: { kind: "sender" },
    executions: [{ id: execution_id, step: "echo", status: accepted.executions[0].status }],
    pipelines: [],
    http_requests: [],
  });
  assertEquals([repeat.run_id, repeat.status, repeat.delivery_id], [runId, 202, "evt_1"]);
  assertEquals([refused.status, refused.reason, refused.run_id], [
    400,
    "Payload filter is false",
    undefined,
  ]);
});

Deno.test("filters of the list", async (t) => {
  await using service = await startService();
  const { first, runId } = await withDeliveries(service);
  const later = encodeURIComponent(new Date(Date.now() + 60_000).toISOString());
  const scenarios: [name: string, query: string, expected: string[]][] = [
    ["a trigger by its name", "trigger=second", ["second accepted"]],
    ["a trigger by its id, and an outcome", `trigger=${first.id}&outcome=repeat`, ["first repeat"]],
    ["accepted", "outcome=accepted", ["second accepted", "first accepted"]],
    ["refused", "outcome=refused", ["first refused hmac"]],
    ["filtered", "outcome=filtered", ["first filtered payload_filter"]],
    ["none", "outcome=unavailable", []],
    ["a condition", "condition=payload_filter", ["first filtered payload_filter"]],
    ["the sender's id", "delivery_id=evt_1", ["first repeat", "first accepted"]],
    ["the sender's id of one refused", "delivery_id=evt_3", ["first refused hmac"]],
    ["an id that is only a part", "delivery_id=evt", []],
    ["a text in the body", "text=pear", ["first accepted"]],
    ["a text in the body of another", "text=apple", ["second accepted"]],
    ["a part of an id", `text=${runId.slice(-12)}`, ["first accepted"]],
    ["a part of the sender's id", "text=evt_2", ["first filtered payload_filter"]],
    ["a time to come", `from=${later}`, []],
    ["a time that is over", "to=2020-01-01T00:00:00Z", []],
    ["a span of time", `from=2020-01-01T00:00:00%2B02:00&to=${later}&outcome=repeat`, [
      "first repeat",
    ]],
  ];
  for (const [name, query, expected] of scenarios) {
    await t.step(name, async () => {
      assertEquals(outcomes({ results: await all(service, `?${query}`) }), expected);
    });
  }
});

Deno.test("what the list cannot be asked for is refused", async (t) => {
  await using service = await startService();
  const scenarios: [query: string, pointer: string][] = [
    ["trigger=nobody", "/trigger"],
    ["outcome=lost", "/outcome"],
    ["condition=moon", "/condition"],
    ["from=yesterday", "/from"],
    ["to=2026-02-31T00:00:00Z", "/to"],
    ["text=", "/text"],
    [`text=${"x".repeat(201)}`, "/text"],
    ["delivery_id=", "/delivery_id"],
    ["cursor=abc", "/cursor"],
    ["limit=0", "/limit"],
    ["colour=red", "/colour"],
  ];
  for (const [query, pointer] of scenarios) {
    await t.step(query.slice(0, 40), async () => {
      const { status, body } = await service.api("GET", `deliveries/?${query}`);
      assertEquals([status, body.errors?.map((each: Json) => each.pointer)], [422, [pointer]]);
    });
  }
});

/** Reads the newest delivery that a query finds, with all that is known of it. */
async function details(service: TestService, query: string): Promise<Json> {
  const { results: [{ id }] } = await list(service, query);
  const { status, body } = await service.api("GET", `deliveries/${id}/`);
  assertEquals(status, 200, JSON.stringify(body));
  return body;
}

function verdictsOf({ verdicts }: Json): string[] {
  return verdicts.map(({ condition, index, verdict, reason = "" }: Json) =>
    `${condition} ${index} ${verdict} ${reason}`.trimEnd()
  );
}

Deno.test("one delivery has its request, the verdict on each condition, and its run", async (t) => {
  await using service = await startService();
  const { first, runId } = await withDeliveries(service);

  await t.step("accepted", async () => {
    const query = "?trigger=first&outcome=accepted";
    // Its record is read twice for an answer: it must not change in between.
    await endOfExecution(service, (await details(service, query)).executions[0].id);
    const found = await details(service, query);
    assertEquals([found.id, found.run.id, found.run.executions], [
      runId,
      runId,
      found.executions,
    ]);
    assertEquals([found.method, found.query], ["POST", "ref=main&token=********"]);
    assertEquals(found.headers["x-delivery"], "evt_1");
    assertEquals(found.headers["content-type"], "text/plain;charset=UTF-8");
    assertEquals(new TextDecoder().decode(Uint8Array.fromBase64(found.body)), BODY);
    assertEquals(verdictsOf(found), [
      "hmac 0 passed",
      "payload_filter 1 passed",
      "deduplication 2 passed",
    ]);
  });

  await t.step("a repeat has the run that it repeats", async () => {
    const found = await details(service, "?outcome=repeat");
    const { id: delivery_id, trigger_id } = found;
    for (
      const [path, body] of [
        [`deliveries/${delivery_id}/replay/`, undefined],
        [`triggers/${trigger_id}/diagnose/`, { delivery_id }],
      ] as const
    ) {
      const { status, body: { detail } } = await service.api("POST", path, body);
      assertEquals(status, 409);
      assertMatch(detail, new RegExp(`is a repeat of ${runId}, which was accepted`));
    }
    assertEquals([found.run.id, found.executions, found.pipelines], [runId, [], []]);
    assertEquals([found.query, found.size], ["", BODY.length]);
    assertEquals(verdictsOf(found), [
      "hmac 0 passed",
      "payload_filter 1 passed",
      `deduplication 2 passed A repeat of what made run ${runId}`,
    ]);
  });

  await t.step("filtered", async () => {
    const found = await details(service, "?outcome=filtered");
    assertEquals(verdictsOf(found), [
      "hmac 0 passed",
      "payload_filter 1 failed Payload filter is false",
      "deduplication 2 not reached",
    ]);
    assertEquals([found.body, found.run, found.headers["x-signature"]], [
      undefined,
      undefined,
      "********",
    ]);
  });

  await t.step(
    "refused by its head: a condition that was checked in part has not passed",
    async () => {
      const found = await details(service, "?outcome=refused");
      assertEquals(verdictsOf(found), [
        "hmac 0 failed Header X-Signature is malformed",
        "payload_filter 1 not reached",
        "deduplication 2 not reached",
      ]);
      assertEquals([found.query, found.executions, found.pipelines], ["", [], []]);
      // Its body was not read.
      assertEquals([found.size, found.sha256], [BODY.length, undefined]);
      assertEquals([found.verdicts[0].expected, found.verdicts[0].found], [
        "sha256=<64 hex digits>",
        "2 characters",
      ]);
    },
  );

  await t.step("refused by what is no condition", async () => {
    await service.api("PATCH", `triggers/${first.id}/`, { enabled: false });
    await send(first.url);
    const found = await details(service, "?outcome=refused");
    assertEquals(verdictsOf(found), [
      "enabled -1 failed The trigger is disabled",
      "hmac 0 not reached",
      "payload_filter 1 not reached",
      "deduplication 2 not reached",
    ]);
  });

  await t.step(
    "of an accepted one whose trigger has changed since, they are not known",
    async () => {
      const found = await details(service, "?trigger=first&outcome=accepted");
      assertEquals(found.verdicts, undefined);
    },
  );

  await t.step("a replay is no request", async () => {
    await service.api("PATCH", `triggers/${first.id}/`, { enabled: true });
    const { body: replay } = await service.api("POST", `runs/${runId}/replay/`);
    const found = await details(service, "?trigger=first&outcome=accepted");
    assertEquals([found.id, found.replay_of, found.verdicts], [replay.id, runId, undefined]);
  });

  await t.step("none", async () => {
    for (const id of [first.id, "x", runId.toUpperCase()]) {
      const { status, body } = await service.api("GET", `deliveries/${id}/`);
      assertEquals([status, body.detail], [404, `There is no delivery of the id ${id}`]);
    }
  });
});

Deno.test("a request that a rate limit refuses has passed everything before it", async () => {
  await using service = await startService();
  const { url } = await service.trigger({
    conditions: [
      { type: "rate_limit", period: 3_600, quota: 1 },
      HMAC_CONDITION,
      { type: "rate_limit", period: 60, quota: 100 },
    ],
    actions: ECHO,
  });
  await send(url);
  await send(url);
  const found = await details(service, "?outcome=refused");
  assertEquals(verdictsOf(found).map((each) => each.replace(/ The quota .*/, "")), [
    "hmac 1 passed",
    "rate_limit 0 failed",
    "rate_limit 2 not reached",
  ]);
});

Deno.test("a long body is left out, and is the payload of the run", async () => {
  await using service = await startService();
  const { url } = await service.trigger({ actions: ECHO });
  await send(url, { body: "x".repeat(1024 * 1024 + 1) });
  const found = await details(service, "");
  assertEquals([found.body, found.size], [undefined, 1024 * 1024 + 1]);
});

Deno.test("a delivery is launched again with another payload of up to 1 MiB", async () => {
  await using service = await startService();
  const { url } = await service.trigger({ actions: ECHO });
  await send(url);
  const { id } = await details(service, "");
  for (const [length, status] of [[1024 * 1024, 201], [1024 * 1024 + 3, 422]] as const) {
    const body = new Uint8Array(length).toBase64();
    const answer = await service.api("POST", `deliveries/${id}/replay/`, { body });
    assertEquals(answer.status, status, JSON.stringify(answer.body));
  }
});

Deno.test("pages lead from the newest delivery to the oldest, each once, filters kept", async () => {
  await using service = await startService();
  await withDeliveries(service);
  for (const [query, expected] of [["", 5], ["condition=hmac", 1], ["trigger=first", 4]]) {
    const ids: string[] = [];
    let address = `?limit=1&${query}`;
    for (;;) {
      const page = await list(service, address);
      ids.push(...page.results.map(({ id }: Json) => id));
      if (page.next === null) break;
      address = new URL(page.next).search;
    }
    assertEquals([new Set(ids).size, ids], [expected, ids.toSorted().toReversed()]);
  }
});

Deno.test("wherever a run is shown, the states of its executions stand beside it", async () => {
  await using service = await startService();
  const { id, url } = await service.trigger({
    actions: [{ type: "run_execution", step: "copy", payload_input_name: "nothing" }, ...ECHO],
    response: { type: "text", text: "{run_id}" },
  });
  const run = await endOfRun(service, await send(url));
  const { created: { execution_id } } = run.actions[1];
  await endOfExecution(service, execution_id);
  const expected = [{ id: execution_id, step: "echo", status: "complete" }];
  const states: Json[] = [
    (await service.api("GET", `runs/${run.id}/`)).body,
    (await service.api("GET", "runs/")).body.results[0],
    (await service.api("GET", `triggers/${id}/runs/`)).body.results[0],
    (await list(service)).results[0],
  ];
  for (const { executions, pipelines } of states) {
    assertEquals([executions, pipelines], [expected, []]);
  }
});

Deno.test("a delivery whose work ends while it is read shows one state of it, or else a page would stand still", async () => {
  await using service = await startService();
  const done = `${service.folder}/done`;
  const id = await launchCommand(service, `while [ ! -e ${done} ]; do sleep 0.05; done`);
  const { body: { run_id } } = await service.api("GET", `executions/${id}/`);
  const { triggers } = service.service.parts;
  const prepared = triggers.prepared.bind(triggers);
  // Between the parts of the answer.
  triggers.prepared = async (trigger) => {
    triggers.prepared = prepared;
    await Deno.writeTextFile(done, "");
    await endOfExecution(service, id);
    return await prepared(trigger);
  };
  const { body: { executions, run } } = await service.api("GET", `deliveries/${run_id}/`);
  assertEquals(executions, [{ id, step: "it", status: "complete" }]);
  assertEquals(run.executions, executions);
});

Deno.test("a run keeps the headers and the query of its request, and no credential", async () => {
  await using service = await startService();
  const { url } = await service.trigger({
    conditions: [
      HMAC_CONDITION,
      { type: "static_token", in: "query", name: "who", secrets: ["a-s3cret"] },
      { type: "static_token", in: "header", name: "X-Caller", secrets: ["a-s3cret"] },
    ],
    actions: ECHO,
    response: { type: "text", text: "{run_id}" },
  });
  const headers = {
    "x-caller": "a-s3cret",
    "authorization": "Basic c2VjcmV0",
    "cookie": "a=a-s3cret",
    "x-api-key": "a-s3cret",
    "x-github-event": "push",
    "x-github-delivery": "72d3162e",
    "x-model": "digits",
    "x-long": "x".repeat(1_000),
    "user-agent": "GitHub-Hookshot/1",
  };
  const runId = await send(`${url}?who=a-s3cret&ref=main&api_key=a-s3cret&flag`, { headers });
  const run = await endOfRun(service, runId);
  assertEquals(run.delivery_id, "72d3162e");
  assertEquals(run.request, {
    headers: {
      "user-agent": "GitHub-Hookshot/1",
      "x-github-delivery": "72d3162e",
      "x-github-event": "push",
      "x-long": "x".repeat(1_000),
      "x-model": "digits",
    },
    query: "who=********&ref=main&api_key=********&flag",
  });
});

Deno.test("a delivery has the status that was sent: 205 is sent as 204", async () => {
  await using service = await startService();
  const trigger = await service.trigger({
    conditions: [HMAC_CONDITION, FILTER, DEDUPLICATION],
    actions: ECHO,
    response: { type: "text", text: "", status: 205 },
    filtered: { status: 205 },
  });
  const headers = { "x-delivery": "evt_1" };
  await send(trigger.url, { headers });
  await send(trigger.url, { headers });
  await send(trigger.url, { body: '{"a":2}' });
  const { results } = await list(service);
  assertEquals(results.map(({ outcome, status }: Json) => [outcome, status]), [
    ["filtered", 204],
    ["repeat", 204],
    ["accepted", 204],
  ]);
});

Deno.test("of a refused request that may have its credential elsewhere, no value of the query is shown", async () => {
  await using service = await startService();
  const condition = { type: "static_token", in: "query", name: "token", secrets: ["a-s3cret"] };
  const { id, url } = await service.trigger({ conditions: [condition] });
  await send(`${url}?tokn=a-s3cret&a-s3cret`);
  await eventually(async () => {
    const { body: { results: [entry] } } = await service.api("GET", `triggers/${id}/log/`);
    if (entry === undefined) return undefined;
    assertEquals(entry.request.query, "tokn=********&********");
    assert(!JSON.stringify(entry).includes("a-s3cret"));
    return entry;
  });
});

Deno.test("a flood of refusals is counted beyond 60, and the log of the trigger is as it was", async () => {
  await using service = await startService();
  const { id, url } = await service.trigger({ name: "flooded", conditions: [HMAC_CONDITION] });
  for (let count = 0; count < 125; count++) await send(url, { headers: { "x-signature": "" } });
  await service.restart();
  const { results, omitted } = await list(service, "?limit=200");
  const counted = omitted.reduce((sum: number, each: Json) => sum + each.deliveries.refused, 0);
  assert(counted >= 5 && counted + results.length === 125, `${counted} of ${results.length}`);
  assertEquals([omitted[0].trigger, omitted[0].trigger_id], ["flooded", id]);
  const { body: log } = await service.api("GET", `triggers/${id}/log/?limit=200`);
  const { id: _id, time: _time, ...count } = log.results.find((each: Json) =>
    each.kind === "omitted"
  );
  assertEquals(count, {
    kind: "omitted",
    project: "files",
    count: omitted[0].deliveries.refused,
  });
  const refused = log.results.find((each: Json) => each.kind === "refused");
  assertEquals(Object.keys(refused).sort(), [
    "condition",
    "condition_index",
    "expected",
    "id",
    "kind",
    "project",
    "reason",
    "request",
    "time",
  ]);
});

Deno.test("a repeat is no entry of the trigger's log, and a question about a run is no delivery", async () => {
  await using service = await startService();
  const { first } = await withDeliveries(service);
  const { url } = first;
  await (await fetch(`${url}run/?run_id=x`)).text();
  const { body: { results } } = await service.api("GET", `triggers/${first.id}/log/`);
  assertEquals(results.map((each: Json) => `${each.kind} ${each.condition}`), [
    "refused hmac",
    "refused hmac",
    "refused payload_filter",
  ]);
  assertEquals((await list(service)).results.length, 5);
});

Deno.test("the deliveries of a deleted trigger stay, without its name", async () => {
  await using service = await startService();
  const { first, runId } = await withDeliveries(service);
  const before = await list(service, `?trigger=${first.id}`);
  await service.api("DELETE", `triggers/${first.id}/`);
  const { results } = await list(service, `?trigger=${first.id}`);
  const idOf = ({ id }: Json) => id;
  assertEquals(results.map(idOf), before.results.map(idOf));
  assertEquals(results.filter(({ trigger }: Json) => trigger !== undefined), []);
  assert(results.map(idOf).includes(runId));
  assertMatch(results[0].time, /Z$/);
});
