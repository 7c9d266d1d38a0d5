import {
  assert,
  assertEquals,
  assertLess,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { openApiDocument } from "../../../src/http/api/openapi.ts";
import { ADMIN_TOKEN, type ApiAnswer, endOfExecution, endOfRun, startService } from "../../data.ts";

/** The operations of operators, by their paths. What others ask for is held against answers elsewhere. */
function operatorsPaths({ paths }: ApiAnswer["body"]): [string, Record<string, unknown>][] {
  return Object.entries<Record<string, { security?: unknown; servers?: unknown }>>(paths)
    .filter(([, item]) =>
      Object.values(item).every(({ security, servers }) => !security && !servers)
    );
}

Deno.test("the description names every route that the API has, and the schemas that check the input", async () => {
  await using service = await startService();
  const { body } = await service.api("GET", "openapi.json");
  assertEquals(body.openapi, "3.1.0");
  assertEquals(body.servers[0].url, `${service.url}/api/v0`);
  for (const [path, item] of operatorsPaths(body)) {
    for (const method of Object.keys(item)) {
      const concrete = path.replace(/\{\w+\}/g, "01900000-0000-7000-8000-000000000009");
      const sent = method === "get" || method === "delete" ? undefined : {};
      const answer = await service.api(method.toUpperCase(), concrete.slice(1), sent);
      // A route that there is knows the method; what it is asked for need not exist.
      assert([200, 404, 409, 422].includes(answer.status), `${method} ${path}: ${answer.status}`);
      if (answer.status === 404) assert(answer.body.detail, `${method} ${path} is no route`);
    }
  }
  const trigger = JSON.stringify(body.components.schemas.TriggerInput);
  for (const field of ["payload_filter", "tolerance", "run_execution", "deduplication"]) {
    assertStringIncludes(trigger, field);
  }
});

Deno.test("each operation of the description has an id that clients can be named by", () => {
  const { paths }: ApiAnswer["body"] = openApiDocument("http://localhost");
  const operations = Object.values<Record<string, { operationId: string }>>(paths)
    .flatMap((item) => Object.values(item));
  const ids = operations.map(({ operationId }) => operationId);
  assertEquals(new Set(ids).size, operations.length);
  for (const id of ids) assertMatch(id, /^[a-z]+[A-Z][A-Za-z]+$/);
  assertEquals(paths["/triggers/"].get.operationId, "listTriggers");
});

Deno.test("the description is not made for each who asks", async () => {
  await using service = await startService();
  const url = `${service.url}/api/v0/openapi.json`;
  const first = await fetch(url);
  assertEquals(first.headers.get("content-type"), "application/json");
  assertEquals(await first.json(), openApiDocument(service.url));
  const timed = async (work: () => unknown) => {
    const began_ms = performance.now();
    for (let turn = 0; turn < 3; turn++) await work();
    return performance.now() - began_ms;
  };
  const made_ms = await timed(() => openApiDocument(service.url));
  const asked_ms = await timed(async () => await (await fetch(url)).text());
  // To make it and to send it takes longer than to make it.
  assertLess(asked_ms, made_ms);
});

Deno.test("a method that a path does not have is refused with those that it has", async () => {
  await using service = await startService();
  const { body } = await service.api("GET", "openapi.json");
  for (const [path, item] of operatorsPaths(body)) {
    const methods = Object.keys(item).map((method) => method.toUpperCase());
    const concrete = path.replace(/\{\w+\}/g, "01900000-0000-7000-8000-000000000009");
    const answer = await fetch(`${service.url}/api/v0${concrete}`, {
      method: methods.includes("PUT") ? "OPTIONS" : "PUT",
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    assertEquals((await answer.json()).status, 405, path);
    const allowed = answer.headers.get("allow")?.split(", ").toSorted();
    assertEquals(allowed, [...methods, ...methods.includes("GET") ? ["HEAD"] : []].toSorted());
  }
});

Deno.test("another method of what can only be read is refused as well", async () => {
  await using service = await startService();
  for (const path of ["healthz", "readyz", "metrics", "api/v0/openapi.json", "api/v0/docs"]) {
    for (const slash of ["", "/"]) {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
      const answer = await fetch(`${service.url}/${path}${slash}`, { method: "POST", headers });
      assertEquals((await answer.json()).status, 405, path);
      assertEquals(answer.headers.get("allow"), "GET, HEAD");
      const head = await fetch(`${service.url}/${path}${slash}`, { method: "HEAD", headers });
      assertEquals(head.status, 200);
    }
  }
});

Deno.test("the description says what can be asked for and what is answered", async () => {
  await using service = await startService();
  const { body: { paths } } = await service.api("GET", "openapi.json");
  const { get: list } = paths["/executions/"];
  assertEquals(
    list.parameters.map(({ name, in: place }: Record<string, string>) => `${place} ${name}`),
    [
      "query limit",
      "query cursor",
      "query project",
      "query status",
      "query pipeline",
      "query trigger",
      "query dead",
    ],
  );
  assertEquals(list.parameters[0].schema, { type: "integer", minimum: 1, maximum: 200 });
  assertEquals(list.parameters[3].schema.enum[0], "created");
  const { get: log } = paths["/executions/{id}/log/"];
  assertEquals(Object.keys(log.responses[200].content), [
    "application/json",
    "text/plain",
    "text/event-stream",
  ]);
  assertEquals(log.parameters.at(-1).name, "Last-Event-ID");
  assertEquals(paths["/pipelines/{id}/approve/"].post.requestBody.required, false);
  assertEquals(paths["/tokens/{id}/"].delete.responses[204], { description: "Done" });
});

Deno.test("the patterns in the description are such as every language's regular expressions have", async () => {
  await using service = await startService();
  const { body } = await service.api("GET", "openapi.json");
  const patterns: string[] = [];
  JSON.stringify(body, (name, value) => {
    if (name === "pattern" && typeof value === "string") patterns.push(value);
    return value;
  });
  assert(patterns.length > 10);
  for (const pattern of patterns) {
    assert(new RegExp(pattern, "u"), pattern);
    // Python's and others' have no classes by Unicode's properties.
    assertNotMatch(pattern, /\\p\{/);
  }
});

Deno.test("the examples in the description are accepted", async (t) => {
  await using service = await startService();
  const { body: { paths } } = await service.api("GET", "openapi.json");
  // It answers without an end: its own tests send what the example does.
  delete paths["/triggers/{id}/listen/"];
  const { id } = await service.trigger();
  await service.api("PUT", "projects/digits/", { name: "digits", directory: service.folder });
  const examples = operatorsPaths({ paths }).flatMap(([path, item]) =>
    Object.entries<ApiAnswer["body"]>(item).flatMap(([method, { requestBody }]) =>
      Object.entries<ApiAnswer["body"]>(
        requestBody?.content["application/json"].examples ?? {},
      ).map(([name, { value }]) => ({ path, method, name, value }))
    )
  );
  assert(examples.length > 7);
  let made = "";
  for (const { path, method, name, value } of examples) {
    await t.step(`${method} ${path}: ${name}`, async () => {
      const warnings = await service.api("GET", `attention/?group=setup&trigger=${id}`);
      const concrete = path.slice(1).replace("{id}", id).replace("{name}", value.name ?? "digits")
        .replace("{warning}", warnings.body.results[0]?.id).replace("{secret}", "token");
      if (method === "put") await service.api("DELETE", `triggers/${made}/`);
      const { status, body } = await service.api(method.toUpperCase(), concrete, value);
      if (path === "/triggers/") made = body.id;
      // There is no pipeline to approve, and a project of the name is there already.
      const isExpected = [200, 201].includes(status) || path.startsWith("/pipelines") ||
        (status === 409 && path === "/projects/");
      assert(isExpected, `${status} ${JSON.stringify(body)}`);
    });
  }
});

Deno.test("every reference in the description leads to a schema in it", async () => {
  await using service = await startService();
  const { body } = await service.api("GET", "openapi.json");
  const references = [...JSON.stringify(body).matchAll(/"\$ref":"#\/([^"]+)"/g)];
  assert(references.length > 20);
  for (const [text, path = ""] of references) {
    const found = path.split("/").reduce((inner, name) => inner?.[name], body);
    assertEquals(typeof found, "object", text);
  }
});

Deno.test("the description says what lists and what is sent are like, and each status", async () => {
  await using service = await startService();
  const { body: { paths } } = await service.api("GET", "openapi.json");
  const lists = [
    "/triggers/",
    "/triggers/{id}/runs/",
    "/triggers/{id}/log/",
    "/projects/",
    "/tokens/",
  ];
  for (const path of lists) {
    const parameter = (wanted: string) =>
      paths[path].get.parameters.find(({ name }: { name: string }) => name === wanted);
    const bounds = { type: "integer", minimum: 1, maximum: 200 };
    assertEquals(parameter("limit").schema, bounds, path);
    assertEquals(parameter("cursor").in, "query");
  }
  const sent = [["patch", "TriggerPatch"], ["post", "Request"], ["post", "Request"]] as const;
  for (const [index, rest] of ["", "test/", "sign/"].entries()) {
    const [method, name] = sent[index] ?? [];
    const { requestBody } = paths[`/triggers/{id}/${rest}`][method ?? ""];
    const schema = { $ref: `#/components/schemas/${name}` };
    assertEquals(requestBody.content["application/json"].schema, schema);
  }
  const statuses = (path: string, method: string) => Object.keys(paths[path][method].responses);
  assertEquals(statuses("/projects/{name}/", "put"), ["200", "201", "default"]);
  assertEquals(statuses("/executions/{id}/log/", "get"), ["200", "204", "default"]);
  assertEquals(statuses("/executions/{id}/outputs/{path}", "get"), ["200", "304", "default"]);
});

Deno.test("the description tells what a setting of an engine, and a tolerance, is when it is absent", async () => {
  await using service = await startService();
  const { body: { components: { schemas } } } = await service.api("GET", "openapi.json");
  const [{ properties: { type: _, inputs, ...engine } }] =
    schemas.ProjectInput.properties.engine.oneOf;
  const conditions: { properties: Record<string, unknown> }[] =
    schemas.TriggerInput.properties.conditions.items.oneOf;
  const tolerances = conditions.flatMap(({ properties: { tolerance } }) => tolerance ?? []);
  const settings = [...Object.values(engine), ...Object.values(inputs.properties), ...tolerances];
  assertEquals(settings.length, 11);
  for (const setting of settings) assertMatch(JSON.stringify(setting), / when absent"|"default":/);
});

Deno.test("the description names the headers that answers have", async () => {
  await using service = await startService();
  const { body: { paths } } = await service.api("GET", "openapi.json");
  const { url } = await service.trigger({ response: { type: "text", text: "{run_id}" } });
  const launch = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  const runId = await (await fetch(url, launch)).text();
  const { actions: [{ created }] } = await endOfRun(service, runId);
  await endOfExecution(service, created.execution_id);
  const execution = `/executions/${created.execution_id}`;
  const common = ["cache-control", "content-length", "content-type", "date", "vary"];
  const answers = [
    ["POST", "/tokens/", "/tokens/", "application/json"],
    ["POST", "/runs/{id}/replay/", `/runs/${runId}/replay/`, "application/json"],
    ["GET", "/runs/{id}/payload/", `/runs/${runId}/payload/`, "*/*"],
    ["GET", "/executions/{id}/log/", `${execution}/log/`, "text/plain"],
    ["GET", "/executions/{id}/outputs/{path}", `${execution}/outputs/payload.json`, "*/*"],
  ] as const;
  for (const [method, path, concrete, accept] of answers) {
    const answer = await fetch(`${service.url}/api/v0${concrete}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, accept },
      body: path === "/tokens/" ? '{"name":"t"}' : null,
    });
    await answer.body?.cancel();
    const described = paths[path][method.toLowerCase()].responses[answer.status].headers;
    const names = Object.keys(described).map((name) => name.toLowerCase());
    const found = [...answer.headers.keys()].filter((name) => !common.includes(name));
    assertEquals(found.filter((name) => name !== "x-content-type-options"), names.toSorted(), path);
  }
});

Deno.test("the page of the API lists the operations and loads nothing from elsewhere", async () => {
  await using service = await startService();
  const answer = await fetch(`${service.url}/api/v0/docs/`);
  const text = await answer.text();
  assertEquals(answer.status, 200);
  assertStringIncludes(text, "<code>/triggers/{id}/runs/</code>");
  assertStringIncludes(answer.headers.get("content-security-policy") ?? "", "default-src 'none'");
  assert(!/(src|href)="(https?:)?\/\//.test(text));
});

Deno.test("the page of the API leads to the description, with a slash at its end or without", async () => {
  await using service = await startService();
  for (const path of ["", "/hooks"]) {
    service.service.parts.baseUrl = service.url + path;
    for (const slash of ["", "/"]) {
      const text = await (await fetch(`${service.url}/api/v0/docs${slash}`)).text();
      const link = /href="([^"]*)"/.exec(text)?.[1] ?? "";
      const { href } = new URL(link, `${service.url}${path}/api/v0/docs${slash}`);
      assertEquals(href, `${service.url}${path}/api/v0/openapi.json`);
    }
  }
});
