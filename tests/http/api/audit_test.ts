/** The audit log: who changed what. */
import { assert, assertEquals } from "@std/assert";
import { changesBetween } from "../../../src/store/records/audit_changes.ts";
import { applyText } from "../../../src/config/apply_text.ts";
import { UnavailableError } from "../../../src/platform/errors.ts";
import { ADMIN_TOKEN, HMAC_CONDITION, startService } from "../../data.ts";

Deno.test("each change is written with its author, address and values; secrets are masked", async () => {
  await using service = await startService();
  const secret = "a-secret-of-the-sender-1";
  const { id } = await service.trigger({
    name: "audited",
    conditions: [{ type: "static_token", in: "header", name: "X-Token", secrets: [secret] }],
  });
  await service.api("PATCH", `triggers/${id}/`, { enabled: false });
  const made = await service.api("POST", "tokens/", { name: "ci", scope: "read" });
  await service.api("DELETE", `tokens/${made.body.id}/`);
  await service.api("DELETE", `triggers/${id}/`);
  // Neither of these changes anything.
  await service.api("GET", "triggers/");
  await service.api("DELETE", `triggers/${id}/`);

  const { body } = await service.api("GET", "audit/?limit=5");
  const { results } = body;
  const told = results.map(({ author, operation }: Record<string, unknown>) => [author, operation]);
  const author = { name: "HOOKLAUNCH_ADMIN_TOKEN" };
  assertEquals(told, [
    [author, "deleteTrigger"],
    [author, "revokeToken"],
    [author, "createToken"],
    [author, "patchTrigger"],
    [author, "createTrigger"],
  ]);
  const [deleted, , token, patched, created] = results;
  assertEquals(patched.changes, [{ pointer: "/enabled", before: true, after: false }]);
  assertEquals(patched.path, `/triggers/${id}/`);
  assertEquals(patched.remote_ip, "127.0.0.1");
  const valueOf = (changes: { pointer: string; before?: unknown; after?: unknown }[], at: string) =>
    changes.find(({ pointer }) => pointer === at);
  assertEquals(valueOf(created.changes, "/name"), { pointer: "/name", after: "audited" });
  assertEquals(valueOf(deleted.changes, "/name"), { pointer: "/name", before: "audited" });
  assertEquals(valueOf(token.changes, "/scope"), { pointer: "/scope", after: "read" });
  const text = JSON.stringify(body);
  for (const hidden of [secret, made.body.token, ADMIN_TOKEN]) assert(!text.includes(hidden));
});

Deno.test("replays are written with what they launch, and how", async () => {
  await using service = await startService();
  const { url } = await service.trigger({
    name: "replayed",
    response: { type: "text", text: "{run_id}" },
  });
  const run = await (await fetch(url, { method: "POST", body: "{}" })).text();
  const body = btoa("another");
  const one = await service.api("POST", `deliveries/${run}/replay/`, { commit: "fix-1", body });
  const again = await service.api("POST", `runs/${run}/replay/`);
  const filter = { trigger: "replayed", outcome: "accepted" };
  const settings = { filter, commit: "fix-2", rate: 0.1 };
  const { body: { id } } = await service.api("POST", "replays/", settings);
  await service.api("POST", "replays/", { ...settings, body, dry_run: true });
  await service.api("POST", `replays/${id}/stop/`);
  const { body: { results } } = await service.api("GET", "audit/?limit=4");
  const told = results.reverse().map(({ operation, path, changes }: Record<string, unknown>) => [
    operation,
    path,
    Object.fromEntries(
      (changes as { pointer: string; after: unknown }[]).map((each) => [each.pointer, each.after]),
    ),
  ]);
  assertEquals(told[0], ["replayDelivery", `/deliveries/${run}/replay/`, {
    "/id": one.body.id,
    "/commit": "fix-1",
    "/has_body": true,
  }]);
  assertEquals(told[1], ["replayRun", `/runs/${run}/replay/`, { "/id": again.body.id }]);
  const { "/state": _state, ...created } = told[2][2];
  assertEquals([told[2][0], created], ["createReplay", {
    "/id": id,
    "/filter/trigger": "replayed",
    "/filter/outcome": "accepted",
    "/rate": 0.1,
    "/only_without_success": false,
    "/commit": "fix-2",
    "/has_body": false,
  }]);
  assertEquals(told[3].slice(0, 2), ["stopReplay", `/replays/${id}/stop/`]);
  assert(!JSON.stringify(results).includes(body));
});

Deno.test("the audit log is filtered by operation and read page by page", async () => {
  await using service = await startService();
  for (const name of ["a", "b", "c"]) await service.api("POST", "tokens/", { name });
  await service.trigger({});
  const { body } = await service.api("GET", "audit/?operation=createToken&limit=2");
  assertEquals(body.results.length, 2);
  const next = new URL(body.next);
  const { body: rest } = await service.api("GET", `audit/${next.search}`);
  assertEquals(
    rest.results.map(({ operation }: { operation: string }) => operation),
    ["createToken"],
  );
  assertEquals((await service.api("GET", "audit/?cursor=nonsense")).status, 422);
  assertEquals((await service.api("GET", "audit/?who=me")).status, 422);
});

Deno.test("a change whose record cannot be read behind it is answered, and written", async () => {
  await using service = await startService();
  const { id } = await service.trigger({ name: "read-once" });
  const { triggers, store: { kv } } = service.service.parts;
  const get = triggers.get.bind(triggers);
  const list = kv.list.bind(kv);
  let isMade = false;
  const expectAnswer = () => {
    if (isMade) throw new UnavailableError("The database does not answer", 1);
  };
  triggers.get = async (...of) => {
    expectAnswer();
    return await get(...of);
  };
  kv.list = (...of) => {
    expectAnswer();
    return list(...of);
  };
  const remove = triggers.delete.bind(triggers);
  triggers.delete = async (...of) => {
    await remove(...of);
    isMade = true;
  };
  const { status } = await service.api("DELETE", `triggers/${id}/`);
  isMade = false;
  const { body: { results: [latest] } } = await service.api("GET", "audit/?limit=1");
  assertEquals([status, latest.operation, latest.path], [
    204,
    "deleteTrigger",
    `/triggers/${id}/`,
  ]);
  assertEquals(latest.changes, []);
});

const cases: [what: string, before: unknown, after: unknown, changes: unknown[]][] = [
  ["nothing, of equal values", { a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }, []],
  ["fields of objects", { a: { b: 1, c: 2 } }, { a: { b: 3, c: 2, d: null } }, [
    { pointer: "/a/b", before: 1, after: 3 },
    { pointer: "/a/d", after: null },
  ]],
  ["a list as one value", { a: [1, 2] }, { a: [2] }, [{
    pointer: "/a",
    before: [1, 2],
    after: [2],
  }]],
  ["names with slashes", { "a/b~c": 1 }, {}, [{ pointer: "/a~1b~0c", before: 1 }]],
  ["a value in the place of an object", { a: { b: 1 } }, { a: 1 }, [{
    pointer: "/a",
    before: { b: 1 },
    after: 1,
  }]],
  ["not the time of the save", { updated_at: "1" }, { updated_at: "2" }, []],
];

for (const [what, before, after, changes] of cases) {
  Deno.test(`changes between two records: ${what}`, () => {
    assertEquals<unknown>(changesBetween(before, after), changes);
  });
}

Deno.test("changes between two records: a long value is cut", () => {
  const [change] = changesBetween({}, { a: "x".repeat(10_000) });
  assertEquals(String(change?.after).length, 1_001);
});

Deno.test("what a file changes at start is written, and nothing where it changes nothing", async () => {
  await using service = await startService();
  const { parts } = service.service;
  const apply = async (file: Record<string, unknown>) =>
    await Array.fromAsync(applyText(JSON.stringify(file), "hooks.yaml", parts));
  const trigger = {
    name: "from-file",
    project: "files",
    conditions: [{
      type: "static_token",
      in: "header",
      name: "X",
      secrets: ["a-secret-in-a-file"],
    }],
    actions: [{ type: "fetch_repository" }],
  };
  await apply({ triggers: [trigger] });
  await apply({ triggers: [trigger] });
  await apply({ triggers: [{ ...trigger, enabled: false }] });
  const { body: { results } } = await service.api("GET", "audit/?limit=2");
  const told = results.map((
    { author, remote_ip, operation }: Record<string, unknown>,
  ) => [author, remote_ip, operation]);
  const author = { name: "serve --config hooks.yaml" };
  assertEquals(told, [[author, "", "replaceTrigger"], [author, "", "createTrigger"]]);
  assertEquals(results[0].changes, [{ pointer: "/enabled", before: true, after: false }]);
  assert(!JSON.stringify(results).includes("a-secret-in-a-file"));
});

Deno.test("a request with a token of the trigger is signed for admins alone, and that is written", async () => {
  await using service = await startService();
  const secrets = ["a-secret-of-the-sender-1"];
  const conditions: [name: string, condition: object, revealsSecret: boolean][] = [
    ["header", { type: "static_token", in: "header", name: "X-Token", secrets }, true],
    ["body", { type: "static_token", in: "body", name: "token", secrets }, true],
    ["password", { type: "static_token", basic: {}, secrets }, true],
    ["signature", { ...HMAC_CONDITION, secrets }, false],
  ];
  const { body: { token } } = await service.api("POST", "tokens/", { name: "o", scope: "operate" });
  for (const [name, condition, revealsSecret] of conditions) {
    const { id } = await service.trigger({ name, conditions: [condition] });
    const answer = await fetch(`${service.url}/api/v0/triggers/${id}/sign/`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ body: "{}" }),
    });
    const text = await answer.text();
    assertEquals(
      [answer.status, text.includes("admin")],
      revealsSecret ? [403, true] : [200, false],
    );
    const signed = await service.api("POST", `triggers/${id}/sign/`, { body: "{}" });
    assertEquals([signed.status, signed.body.reveals], [200, undefined]);
    const { body: { results: [latest] } } = await service.api("GET", "audit/?limit=1");
    assertEquals(
      [latest.operation, latest.path, latest.changes.length === 0],
      revealsSecret
        ? ["signRequest", `/triggers/${id}/sign/`, true]
        : ["createTrigger", "/triggers/", false],
    );
  }
});
