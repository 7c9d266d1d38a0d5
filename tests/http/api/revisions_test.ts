/** Revisions: a change of what was read does not overwrite a later change; and dry runs, which store nothing. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { HMAC_CONDITION, SECRET, startService, type TestService } from "../../data.ts";
import { AUTHORIZED } from "./fixture.ts";

interface Sent {
  method: string;
  path: string;
  ifMatch?: string;
  body?: unknown;
}

async function send(service: TestService, { method, path, ifMatch, body }: Sent) {
  const answer = await fetch(`${service.url}/api/v0/${path}`, {
    method,
    headers: { ...AUTHORIZED, ...(ifMatch === undefined ? {} : { "if-match": ifMatch }) },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    etag: answer.headers.get("etag"),
    body: JSON.parse(text || "{}"),
  };
}

const ACTIONS = [{ type: "run_execution", step: "echo" }];

Deno.test("a trigger and a project are changed only at a revision that If-Match allows", async (t) => {
  await using service = await startService();
  const directory = service.folder;
  const trigger = { name: "t", project: "files", actions: ACTIONS };
  const made = await send(service, { method: "POST", path: "triggers/", body: trigger });
  assertEquals([made.status, made.etag, made.body.revision], [201, '"1"', 1]);
  const project = await send(service, { method: "PUT", path: "projects/p/", body: { directory } });
  assertEquals([project.status, project.etag, project.body.revision], [201, '"1"', 1]);
  const paths = { trigger: `triggers/${made.body.id}/`, project: "projects/p/" };
  const changes = {
    trigger: (count: number) => ({ ...trigger, max_payload: 1_000 + count }),
    project: (count: number) => ({ directory, config_file: `${count}.yaml` }),
  };
  const cases: [ifMatch: string | undefined, status: number][] = [
    ['"1"', 200],
    ['"1"', 412],
    ['"2"', 200],
    ['W/"3"', 200],
    ['"1", "4"', 200],
    ["5", 200],
    ["*", 200],
    [undefined, 200],
    ['"abc"', 412],
    ["", 412],
  ];
  for (const kind of ["trigger", "project"] as const) {
    let revision = 1;
    for (const [index, [ifMatch, status]] of cases.entries()) {
      await t.step(`PUT ${kind} with ${ifMatch}`, async () => {
        const sent: Sent = { method: "PUT", path: paths[kind], body: changes[kind](index) };
        const answer = await send(service, {
          ...sent,
          ...(ifMatch === undefined ? {} : { ifMatch }),
        });
        assertEquals(answer.status, status, JSON.stringify(answer.body));
        if (status === 200) revision++;
        const read = await send(service, { method: "GET", path: paths[kind] });
        assertEquals([read.etag, read.body.revision], [`"${revision}"`, revision]);
        if (status === 200) assertEquals(answer.etag, read.etag);
      });
    }
    await t.step(`what is the same already has the same revision: ${kind}`, async () => {
      const read = await send(service, { method: "GET", path: paths[kind] });
      const again = await send(service, { method: "PUT", path: paths[kind], body: read.body });
      assertEquals([again.status, again.etag], [200, read.etag]);
    });
    await t.step(`DELETE ${kind}`, async () => {
      const sent = { method: "DELETE", path: paths[kind] };
      assertEquals((await send(service, { ...sent, ifMatch: '"1"' })).status, 412);
      assertEquals((await send(service, { ...sent, ifMatch: `"${revision}"` })).status, 204);
      assertEquals((await send(service, { ...sent, ifMatch: `"${revision}"` })).status, 404);
    });
  }
});

Deno.test("a refused change is answered with what differs, and no secret", async () => {
  await using service = await startService();
  const trigger = {
    name: "t",
    project: "files",
    conditions: [HMAC_CONDITION],
    actions: ACTIONS,
  };
  const { body: { id } } = await send(service, {
    method: "POST",
    path: "triggers/",
    body: trigger,
  });
  const path = `triggers/${id}/`;
  await send(service, { method: "PATCH", path, body: { enabled: false } });
  const mine = { ...trigger, name: "other", actions: [...ACTIONS, { type: "fetch_repository" }] };
  const refused = await send(service, { method: "PUT", path, ifMatch: '"1"', body: mine });
  assertEquals(refused.status, 412);
  assertStringIncludes(refused.body.detail, "it has revision 2 by now");
  assertEquals(refused.body.errors, [
    { pointer: "/name", detail: 'Stored is "t", sent was "other"' },
    { pointer: "/enabled", detail: "Stored is false, sent was true" },
    { pointer: "/actions/1", detail: "Stored is nothing, sent was an object" },
  ]);
  const patch = await send(service, { method: "PATCH", path, ifMatch: '"1"', body: { name: "n" } });
  assertEquals([patch.status, patch.body.errors], [
    412,
    [{ pointer: "/name", detail: 'Stored is "t", sent was "n"' }],
  ]);
  assertEquals(JSON.stringify(refused.body).includes(SECRET), false);
  // What cannot be saved at all is refused for the revision first.
  assertEquals(
    (await send(service, { method: "PUT", path, ifMatch: '"1"', body: {} })).status,
    412,
  );
});

Deno.test("of two that change what they have read at once, one is told", async () => {
  await using service = await startService();
  const { id } = await service.trigger({ name: "t" });
  const path = `triggers/${id}/`;
  const change = (name: string) =>
    send(service, { method: "PATCH", path, ifMatch: '"1"', body: { name } });
  const answers = await Promise.all(["a", "b", "c"].map(change));
  assertEquals(answers.map(({ status }) => status).sort(), [200, 412, 412]);
});

Deno.test("a dry run answers as a save does, and stores nothing", async (t) => {
  await using service = await startService();
  const { id } = await service.trigger({ name: "t" });
  const read = () => send(service, { method: "GET", path: `triggers/${id}/` });
  const before = await read();
  const body = { name: "fresh", project: "files", actions: ACTIONS };
  const cases: [method: string, path: string, body: unknown, status: number, revision?: number][] =
    [
      ["POST", "triggers/?dry_run", body, 200, 1],
      ["POST", "triggers/?dry_run=true", { ...body, project: "none" }, 422],
      ["PUT", `triggers/${id}/?dry_run`, body, 200, 2],
      ["PATCH", `triggers/${id}/?dry_run`, { enabled: false }, 200, 2],
      ["PATCH", `triggers/${id}/?dry_run`, { name: "t" }, 200, 1],
      ["POST", "projects/?dry_run", { name: "fresh", directory: "/srv" }, 200, 1],
      ["POST", "projects/?dry_run", { name: "files", directory: "/srv" }, 409],
      ["PUT", "projects/fresh/?dry_run", { directory: "/srv" }, 200, 1],
      ["PUT", "projects/files/?dry_run", { directory: "/srv" }, 200, 2],
      ["PUT", "projects/fresh/?dry_run", { directory: "srv" }, 422],
    ];
  for (const [method, path, sent, status, revision] of cases) {
    await t.step(`${method} ${path.replace(id, "…")}`, async () => {
      const answer = await send(service, { method, path, body: sent });
      assertEquals(
        [answer.status, answer.body.revision],
        [status, revision],
        JSON.stringify(answer.body),
      );
    });
  }
  assertEquals(await read(), before);
  assertEquals((await service.api("GET", "triggers/")).body.results.length, 1);
  assertEquals((await service.api("GET", "projects/fresh/")).status, 404);
});

Deno.test("a save is answered with what the project does not have", async (t) => {
  await using service = await startService({ env: {} });
  const cases: [name: string, parts: Record<string, unknown>, pointer: string, says: string][] = [
    ["step", { actions: [{ type: "run_execution", step: "ecko" }] }, "/actions/0/step", "ecko"],
    [
      "input",
      { actions: [{ type: "run_execution", step: "copy", payload_input_name: "lables" }] },
      "/actions/0/payload_input_name",
      "lables",
    ],
    [
      "parameter",
      { actions: [{ type: "run_execution", step: "echo", parameters: { wrod: "x" } }] },
      "/actions/0/parameters/wrod",
      "wrod",
    ],
    [
      "pipeline",
      { actions: [{ type: "run_pipeline", pipeline: "x" }] },
      "/actions/0/pipeline",
      "x",
    ],
    [
      "variable",
      { conditions: [{ ...HMAC_CONDITION, secrets: ["{env:NOT_SET}"] }] },
      "/conditions/0/secrets/0",
      "NOT_SET",
    ],
  ];
  const sound = { conditions: [HMAC_CONDITION], actions: ACTIONS, project: "files" };
  for (const [name, parts, pointer, says] of cases) {
    await t.step(name, async () => {
      const body = { name, ...sound, ...parts };
      const { body: made } = await service.api("POST", "triggers/", body);
      assertEquals(made.warnings[0]?.pointer, pointer);
      assertStringIncludes(made.warnings[0].detail, says);
      const patched = await service.api("PATCH", `triggers/${made.id}/`, { enabled: false });
      assertEquals(patched.body.warnings, made.warnings);
    });
  }
  await t.step("nothing is wrong", async () => {
    const { body } = await service.api("POST", "triggers/", { name: "sound", ...sound });
    assertEquals(body.warnings, []);
  });
  await t.step("a folder", async () => {
    const { body } = await service.api("PUT", "projects/gone/", { directory: "/not/there" });
    assertEquals(body.warnings.map((each: { pointer: string }) => each.pointer), ["/directory"]);
  });
  await t.step("a project configuration file", async () => {
    const { body } = await service.api("PUT", "projects/empty/", { directory: service.folder });
    assertEquals(body.warnings.map((each: { pointer: string }) => each.pointer), ["/config_file"]);
  });
});

Deno.test("If-Match of a project that is not there is answered 412, and creates nothing", async () => {
  await using service = await startService();
  const sent = { method: "PUT", path: "projects/fresh/", body: { directory: service.folder } };
  for (const ifMatch of ["*", '"1"']) {
    const { status, body } = await send(service, { ...sent, ifMatch });
    assertEquals(status, 412);
    assertStringIncludes(body.detail, "it does not exist");
    assertEquals((await service.api("GET", "projects/fresh/")).status, 404);
  }
  assertEquals((await send(service, sent)).status, 201);
});
