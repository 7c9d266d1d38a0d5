import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { ADMIN_TOKEN, endOfRun, HMAC_CONDITION, startService } from "../../data.ts";
import { play, type Scenario } from "../scenario.ts";

const AUTHORIZED = { authorization: `Bearer ${ADMIN_TOKEN}` };
const ACTIONS = [{ type: "run_execution", step: "copy", payload_input_name: "labels" }];
const TOKEN = {
  type: "static_token",
  in: "header",
  name: "X-Token",
  secrets: ["a-literal-secret-1"],
};

Deno.test("the operators' API asks for a token", async (t) => {
  await using service = await startService();
  const path = "/api/v0/triggers/";
  const cases: Scenario[] = [
    { name: "none", path, expectedStatus: 401, expectedHeaders: { "www-authenticate": "Bearer" } },
    { name: "wrong", path, headers: { authorization: "Bearer wrong" }, expectedStatus: 401 },
    {
      name: "other scheme",
      path,
      headers: { authorization: `Basic ${ADMIN_TOKEN}` },
      expectedStatus: 401,
    },
    { name: "Bearer", path, headers: AUTHORIZED, expectedStatus: 200 },
    {
      name: "Token",
      path,
      headers: { authorization: `Token ${ADMIN_TOKEN}` },
      expectedStatus: 200,
    },
    { name: "runs", path: "/api/v0/runs/x/", expectedStatus: 401 },
    { name: "projects", path: "/api/v0/projects/", expectedStatus: 401 },
    { name: "executions", path: "/api/v0/executions/", expectedStatus: 401 },
    { name: "what there is not", path: "/api/v0/nothing/", expectedStatus: 401 },
    { name: "the description is open", path: "/api/v0/openapi.json", expectedStatus: 200 },
  ];
  for (const scenario of cases) {
    await t.step(
      scenario.name,
      async () => void await play(service.url, { method: "GET", ...scenario }),
    );
  }
});

Deno.test("a token that was made at first start works, and is shown that once", async () => {
  await using first = await startService();
  const { settings, clock } = first.service.parts;
  await first.service.close(0);
  const { Service } = await import("../../../src/service/service.ts");
  const { adminToken: _none, ...rest } = settings;
  const start = (settings = rest) => Service.start(settings, { clock, env: () => undefined });
  {
    // One that fails shows nothing.
    using taken = Deno.listen({ hostname: rest.host, port: 0 });
    await assertRejects(() => start({ ...rest, port: taken.addr.port }));
  }
  const once = await start();
  const { newToken } = once.parts;
  await once.close(0);
  const again = await start();
  try {
    assertMatch(newToken ?? "", /^hl_[\w-]{43}$/);
    assertEquals(again.parts.newToken, undefined);
    const answer = await fetch(`${again.url}/api/v0/triggers/`, {
      headers: { authorization: `Bearer ${newToken}` },
    });
    await answer.body?.cancel();
    assertEquals(answer.status, 200);
  } finally {
    await again.close(0);
  }
});

Deno.test("a trigger is created, read, listed, replaced, patched and deleted", async () => {
  await using service = await startService();
  const created = await service.api("POST", "triggers/", {
    name: "labels",
    project: "files",
    conditions: [TOKEN, {
      ...TOKEN,
      name: "X-Other",
      secrets: ["{env:OTHER}", "the-second-literal"],
    }],
    actions: ACTIONS,
  });
  assertEquals(created.status, 201);
  const { id, url } = created.body;
  assertEquals(url, `${service.url}/api/v0/launch/${id}/`);
  assertEquals(created.headers.get("location"), `${service.url}/api/v0/triggers/${id}/`);
  assertEquals(created.body.enabled, true);
  const [{ secrets: [{ fingerprint, ...shown }] }, { secrets: [reference, second] }] =
    created.body.conditions;
  assertEquals([shown, reference, second.value], [
    { value: "********" },
    "{env:OTHER}",
    "********",
  ]);
  assertMatch(fingerprint, /^[0-9a-f]{12}$/);

  const read = await service.api("GET", `triggers/${id}/`);
  assertEquals(read.body, created.body);
  const listed = await service.api("GET", "triggers/");
  assertEquals(listed.body, { results: [created.body], next: null });

  const { created_at } = read.body;
  const replaced = await service.api("PUT", `triggers/${id}/`, { ...read.body, name: "renamed" });
  assertEquals([replaced.status, replaced.body.name, replaced.body.id], [200, "renamed", id]);
  assertEquals(replaced.body.created_at, created_at);
  const launch = (token: string) =>
    play(service.url, {
      name: "the masked secret is kept",
      path: `/api/v0/launch/${id}/`,
      headers: { "x-token": token, "x-other": "the-second-literal" },
      expectedStatus: token === "a-literal-secret-1" ? 200 : 400,
    });
  await launch("a-literal-secret-1");
  await launch("********");

  const patched = await service.api("PATCH", `triggers/${id}/`, {
    enabled: false,
    response: { type: "text", text: "ok" },
  });
  assertEquals([patched.body.enabled, patched.body.response.text], [false, "ok"]);
  assertEquals(patched.body.conditions, read.body.conditions);
  const unset = await service.api("PATCH", `triggers/${id}/`, { response: null });
  assertEquals([unset.status, unset.body.response], [200, undefined]);

  assertEquals((await service.api("DELETE", `triggers/${id}/`)).status, 204);
  assertEquals((await service.api("GET", `triggers/${id}/`)).status, 404);
  assertEquals((await service.api("DELETE", `triggers/${id}/`)).status, 404);
  assertEquals((await service.api("GET", "triggers/")).body.results, []);
});

Deno.test("a trigger that was read can be written back by each method, with what the service fills in", async () => {
  await using service = await startService();
  const response = { type: "json", json: { run: "{run_id}", error: null } };
  const { id } = await service.trigger({ conditions: [TOKEN], response });
  const { body: read } = await service.api("GET", `triggers/${id}/`);
  for (const method of ["PUT", "PATCH"]) {
    const { status, body } = await service.api(method, `triggers/${id}/`, { ...read, url: "x" });
    assertEquals([status, body], [200, read], method);
  }
  await service.api("DELETE", `triggers/${id}/`);
  const other = { ...read, id: crypto.randomUUID(), conditions: [TOKEN] };
  const { status, body } = await service.api("POST", "triggers/", other);
  assertEquals([status, body.id], [201, other.id]);
});

Deno.test("a time that is none is one problem", async () => {
  await using service = await startService();
  const { id } = await service.trigger();
  const { body } = await service.api("PATCH", `triggers/${id}/`, { keep_refused: "1s" });
  const detail = 'Expected a time such as 30m, 24h or 7d, found "1s"';
  assertEquals(body.errors, [{ pointer: "/keep_refused", detail }]);
});

Deno.test("null in a patch leaves a known field out, and an unknown field is refused", async () => {
  await using service = await startService();
  const { id } = await service.trigger({ response: { type: "json", json: { a: 1 } } });
  const path = `triggers/${id}/`;
  const text = { type: "text", text: "x", json: null, status: null };
  const patched = await service.api("PATCH", path, { response: text });
  assertEquals([patched.status, patched.body.response], [200, { type: "text", text: "x" }]);
  const json = { type: "json", json: null, text: null };
  const valued = await service.api("PATCH", path, { response: json });
  assertEquals([valued.status, valued.body.response], [200, { type: "json", json: null }]);
  const refused: [patch: unknown, pointer: string][] = [
    [{ dry: null }, "/dry"],
    [{ enabled: false, dry: null }, "/dry"],
    [{ response: { type: "text", text: "x", dry: null } }, "/response/dry"],
    [{ response: { type: "text", text: null } }, "/response/text"],
    [{ response: { dry: null } }, "/response/dry"],
    [[], ""],
  ];
  for (const [patch, pointer] of refused) {
    const { status, body } = await service.api("PATCH", path, patch);
    assertEquals([status, body.errors?.[0].pointer], [422, pointer], JSON.stringify(patch));
  }
});

Deno.test("a patch with a whole response replaces the one before, and one with part of it changes that", async () => {
  await using service = await startService();
  const { id } = await service.trigger({ response: { type: "json", json: { a: 1, b: 2 } } });
  const cases = [
    [{ type: "json", json: { b: 3 } }, { type: "json", json: { b: 3 } }],
    [{ status: 202 }, { type: "json", json: { b: 3 }, status: 202 }],
    [{ json: { c: 4 } }, { type: "json", json: { b: 3, c: 4 }, status: 202 }],
    [{ type: "text", text: "ok" }, { type: "text", text: "ok" }],
  ];
  for (const [response, expected] of cases) {
    const { status, body } = await service.api("PATCH", `triggers/${id}/`, { response });
    assertEquals([status, body.response], [200, expected]);
  }
});

Deno.test("a masked secret is that of its condition, also when conditions move or go", async () => {
  await using service = await startService();
  const conditions = ["a", "b", "c"].map((name) => ({
    ...TOKEN,
    name: `X-${name}`,
    secrets: [`secret-${name}`],
  }));
  const { id } = await service.trigger({ conditions });
  const { body } = await service.api("GET", `triggers/${id}/`);
  const [first, , third] = body.conditions;
  await service.api("PATCH", `triggers/${id}/`, { conditions: [third, first] });
  const path = `/api/v0/launch/${id}/`;
  const headers = { "x-a": "secret-a", "x-c": "secret-c" };
  await play(service.url, { name: "moved", path, headers, expectedStatus: 200 });
  const renamed = { ...third, name: "X-d" };
  await service.api("PATCH", `triggers/${id}/`, { conditions: [renamed, first] });
  const now = { "x-a": "secret-a", "x-d": "secret-c" };
  await play(service.url, { name: "renamed", path, headers: now, expectedStatus: 200 });
});

Deno.test("a trigger that cannot work is refused with all that is wrong, field by field", async (t) => {
  await using service = await startService();
  await service.trigger({ name: "taken", id: "01900000-0000-7000-8000-000000000001" });
  const good = { name: "t", project: "files", actions: ACTIONS };
  const cases: {
    name: string;
    trigger: unknown;
    status?: number;
    errors?: Record<string, RegExp>;
  }[] = [
    {
      name: "several at once",
      trigger: {
        ...good,
        name: "bad/name",
        extra: 1,
        conditions: [{ type: "rate_limit", period: 0, quota: "x" }],
      },
      errors: {
        "/name": /letters, digits/,
        "/extra": /Unknown field/,
        "/conditions/0/period": /at least 1.*found 0/,
        "/conditions/0/quota": /a number, found "x"/,
      },
    },
    { name: "no object", trigger: [], errors: { "": /Expected an object, found a list/ } },
    {
      name: "no actions",
      trigger: { ...good, actions: [] },
      errors: { "/actions": /at least 1 element/ },
    },
    {
      name: "unknown condition",
      trigger: { ...good, conditions: [{ type: "magic" }] },
      errors: { "/conditions/0/type": /static_token/ },
    },
    {
      name: "unknown action",
      trigger: { ...good, actions: [{ type: "launch_rocket" }] },
      errors: { "/actions/0/type": /run_execution.*found "launch_rocket"/ },
    },
    {
      name: "a pipeline without a name",
      trigger: { ...good, actions: [{ type: "run_pipeline", payload_input_name: "a.b" }] },
      errors: { "/actions/0/pipeline": /Expected a string, found nothing/ },
    },
    {
      name: "a copy of what is no id",
      trigger: { ...good, actions: [{ type: "copy_pipeline", source_pipeline: "p" }] },
      errors: { "/actions/0/source_pipeline": /Expected the id of a pipeline, found "p"/ },
    },
    {
      name: "a preset that there is not",
      trigger: {
        ...good,
        conditions: [{ type: "hmac", preset: "gihtub", secrets: ["x"] }],
      },
      errors: { "/conditions/0/preset": /github/ },
    },
    {
      name: "an empty secret",
      trigger: { ...good, conditions: [{ ...TOKEN, secrets: [""] }] },
      errors: { "/conditions/0/secrets/0": /empty|at least 1/ },
    },
    {
      name: "no secrets",
      trigger: { ...good, conditions: [{ ...TOKEN, secrets: [] }] },
      errors: { "/conditions/0/secrets": /at least 1 element/ },
    },
    {
      name: "the mask where nothing is stored",
      trigger: { ...good, conditions: [{ ...TOKEN, secrets: ["********"] }] },
      errors: { "/conditions/0/secrets/0": /none is stored/ },
    },
    {
      name: "a preset of another type of condition",
      trigger: { ...good, conditions: [{ type: "hmac", preset: "gitlab", secrets: ["s3cret"] }] },
      errors: {
        "/conditions/0/preset":
          /^Must be a preset of hmac: this is one of static_token, found "gitlab"$/,
      },
    },
    {
      name: "a filter that does not parse",
      trigger: { ...good, conditions: [{ type: "payload_filter", expression: "body.a ==" }] },
      errors: { "/conditions/0/expression": /./ },
    },
    {
      name: "a signed timestamp that nothing defines",
      trigger: {
        ...good,
        conditions: [{
          type: "hmac",
          algorithm: "sha256",
          header: "X-S",
          signed_content: "{timestamp}.{body}",
          secrets: ["x"],
        }],
      },
      errors: { "/conditions/0/signed_content": /timestamp/ },
    },
    {
      name: "a status that says no",
      trigger: { ...good, response: { type: "text", text: "x", status: 404 } },
      errors: { "/response/status": /299.*found 404/ },
    },
    {
      name: "unknown project",
      trigger: { ...good, project: "none" },
      errors: { "/project": /does not exist/ },
    },
    { name: "an id that is none", trigger: { ...good, id: "x" }, errors: { "/id": /UUID/ } },
    { name: "a name that is taken", trigger: { ...good, name: "taken" }, status: 409 },
    {
      name: "an id that is taken",
      trigger: { ...good, id: "01900000-0000-7000-8000-000000000001" },
      status: 409,
    },
  ];
  for (const { name, trigger, status = 422, errors = {} } of cases) {
    await t.step(name, async () => {
      const answer = await service.api("POST", "triggers/", trigger);
      assertEquals(answer.status, status, JSON.stringify(answer.body));
      const found = new Map<string, string>(
        (answer.body.errors ?? []).map((
          { pointer, detail }: { pointer: string; detail: string },
        ) => [pointer, detail]),
      );
      for (const [pointer, detail] of Object.entries(errors)) {
        assertMatch(found.get(pointer) ?? `nothing at ${pointer}: ${[...found]}`, detail);
      }
      assertEquals(found.size, Object.keys(errors).length, JSON.stringify(answer.body.errors));
    });
  }
  await t.step("a trigger keeps its id", async () => {
    const id = "01900000-0000-7000-8000-000000000001";
    const other = { ...good, id: "01900000-0000-7000-8000-000000000002" };
    assertEquals((await service.api("PUT", `triggers/${id}/`, other)).status, 422);
  });
  await t.step("none of these was stored", async () => {
    assertEquals((await service.api("GET", "triggers/")).body.results.length, 1);
  });
});

Deno.test("lists come in pages", async () => {
  await using service = await startService();
  for (let count = 0; count < 5; count++) await service.trigger();
  const names: string[] = [];
  let next: string | null = `${service.url}/api/v0/triggers/?limit=2`;
  let pages = 0;
  while (next !== null) {
    const answer: Response = await fetch(next, { headers: AUTHORIZED });
    const page: { results: { name: string }[]; next: string | null } = await answer.json();
    assert(page.results.length <= 2);
    names.push(...page.results.map(({ name }) => name));
    next = page.next;
    pages++;
  }
  assertEquals(names, [1, 2, 3, 4, 5].map((count) => `trigger-${count}`));
  assertEquals(pages, 3);
  for (const limit of ["0", "201", "x", "-1"]) {
    assertEquals((await service.api("GET", `triggers/?limit=${limit}`)).status, 422);
  }
});

Deno.test("a trigger's runs are listed newest first, and a run can be launched again", async () => {
  await using service = await startService();
  const trigger = await service.trigger({ response: { type: "text", text: "{run_id}" } });
  const launched: string[] = [];
  for (const body of ["first", "second"]) {
    launched.push(await (await fetch(trigger.url, { method: "POST", body })).text());
  }
  const [first = "", second = ""] = launched;
  const ids = async () => {
    const { body } = await service.api("GET", `triggers/${trigger.id}/runs/`);
    return body.results.map(({ id }: { id: string }) => id);
  };
  assertEquals(await ids(), [second, first]);
  const replay = await service.api("POST", `runs/${first}/replay/`);
  assertEquals([replay.status, replay.body.replay_of], [201, first]);
  assertEquals(await ids(), [replay.body.id, second, first]);
  const run = await endOfRun(service, replay.body.id);
  assertEquals(run.payload.sha256, (await endOfRun(service, first)).payload.sha256);
  assertEquals((await service.api("POST", `runs/${trigger.id}/replay/`)).status, 404);
});

Deno.test("a run is not launched again beyond its trigger's quota", async () => {
  await using service = await startService();
  const trigger = await service.trigger({
    response: { type: "text", text: "{run_id}" },
    conditions: [{ type: "rate_limit", period: 3600, quota: 2 }],
  });
  const id = await (await fetch(trigger.url, { method: "POST", body: "x" })).text();
  assertEquals((await service.api("POST", `runs/${id}/replay/`)).status, 201);
  const refused = await service.api("POST", `runs/${id}/replay/`);
  assertEquals(refused.status, 409);
  assertStringIncludes(refused.body.detail, "the quota of 2 launches in 3600 s is used up");
  assertEquals((await service.api("GET", `triggers/${trigger.id}/runs/`)).body.results.length, 2);
});

Deno.test("a run whose trigger is deleted while its payload is read is not launched again", async () => {
  await using service = await startService();
  const trigger = await service.trigger({ response: { type: "text", text: "{run_id}" } });
  const body = "x".repeat(10_000);
  const id = await (await fetch(trigger.url, { method: "POST", body })).text();
  await endOfRun(service, id);
  const { kv } = service.service.parts.store;
  const get = kv.get.bind(kv);
  kv.get = async (key, options) => {
    if (key[0] === "payload") await service.api("DELETE", `triggers/${trigger.id}/`);
    return await get(key, options);
  };
  const refused = await service.api("POST", `runs/${id}/replay/`);
  assertEquals([refused.status, refused.body.id], [409, undefined]);
  assertStringIncludes(refused.body.detail, "its trigger was deleted");
});

Deno.test("a run is launched again as its trigger is once the payload is stored", async () => {
  await using service = await startService();
  const trigger = await service.trigger({ response: { type: "text", text: "{run_id}" } });
  const id = await (await fetch(trigger.url, { method: "POST", body: "x".repeat(200_000) })).text();
  await endOfRun(service, id);
  const { committer } = service.service.parts.store;
  const { write } = committer;
  const duringUpload = (change: () => Promise<unknown>) => {
    committer.write = async (writes) => {
      if (writes.some(({ key }) => key[0] === "upload")) {
        committer.write = write;
        await change();
      }
      await write.call(committer, writes);
    };
  };
  const actions = [{ type: "run_execution", step: "copy" }, { type: "fetch_repository" }];
  duringUpload(() => service.api("PATCH", `triggers/${trigger.id}/`, { actions }));
  const again = await service.api("POST", `runs/${id}/replay/`);
  assertEquals(again.status, 201);
  assertEquals((await endOfRun(service, again.body.id)).actions.length, 2);
  duringUpload(() => service.api("DELETE", `triggers/${trigger.id}/`));
  const refused = await service.api("POST", `runs/${id}/replay/`);
  assertEquals([refused.status, refused.body.id], [409, undefined]);
  assertStringIncludes(refused.body.detail, "its trigger was deleted");
});

Deno.test("a failed action is in the trigger log and in the run, with its error", async () => {
  await using service = await startService();
  const trigger = await service.trigger({
    response: { type: "text", text: "{run_id}" },
    actions: [{ type: "run_execution", step: "copi", payload_input_name: "labels" }],
  });
  const runId = await (await fetch(trigger.url, { method: "POST" })).text();
  const run = await endOfRun(service, runId);
  assertMatch(run.actions[0].error, /copi/);
  const { body } = await service.api("GET", `triggers/${trigger.id}/log/`);
  const [entry] = body.results;
  assertEquals([entry.kind, entry.run_id, entry.action], ["action_failed", runId, "run_execution"]);
  assertMatch(entry.error, /copy/, "the error lists the steps there are");
});

Deno.test("a body that is longer than an operator may send is refused as such", async () => {
  await using service = await startService();
  for (const [path, size_mib] of [["triggers/", 1], ["triggers/x/test/", 24]] as const) {
    const answer = await fetch(`${service.url}/api/v0/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      body: new Uint8Array(size_mib * 1024 * 1024 + 1),
    });
    const { status, detail } = await answer.json();
    assertEquals([answer.status, status], [413, 413]);
    assertEquals(detail, `Expected a body of at most ${size_mib} MiB, found a longer one`);
  }
});

Deno.test("a body that is nested too deep is refused as such", async () => {
  await using service = await startService();
  const deep = `${"[".repeat(5_000)}${"]".repeat(5_000)}`;
  const answer = await fetch(`${service.url}/api/v0/triggers/`, {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    body: `{"name":"deep","project":"files","response":{"type":"json","json":${deep}}}`,
  });
  assertEquals([answer.status, (await answer.text()).includes("nested too deep")], [422, true]);
});

Deno.test("a body that is not UTF-8 is refused, so that no secret is stored as other characters", async () => {
  await using service = await startService();
  const condition = { ...HMAC_CONDITION, secrets: ["a-secret-with-ä"] };
  const trigger = JSON.stringify({
    name: "latin",
    project: "files",
    conditions: [condition],
    actions: [{ type: "fetch_repository" }],
  });
  const send = async (body: Uint8Array<ArrayBuffer>) => {
    const answer = await fetch(`${service.url}/api/v0/triggers/`, {
      method: "POST",
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      body,
    });
    return [answer.status, (await answer.json()).errors];
  };
  const latin1 = Uint8Array.from(trigger, (character) => character.charCodeAt(0));
  assertEquals(await send(latin1), [422, [{
    pointer: "",
    detail: "Expected JSON in UTF-8, found bytes that are not UTF-8",
  }]]);
  assertEquals(await send(new TextEncoder().encode(trigger)), [201, undefined]);
});
