/** Names that look like ids or are parts of addresses: refused for what is new, and never taken for an id where an earlier version took them. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ApiClient } from "../../../src/commands/api/client.ts";
import { findTrigger } from "../../../src/commands/api/find_trigger.ts";
import { putStoredTrigger } from "../../../src/store/records/triggers.ts";
import { keys } from "../../../src/store/keys.ts";
import { operations } from "../../../src/http/api/mod.ts";
import { ROUTES } from "../../../src/http/console/mod.ts";
import { ADMIN_TOKEN, startService, type TestService } from "../../data.ts";
import { loggedIn } from "../console/fixture.ts";

const ACTIONS = [{ type: "run_execution", step: "echo" }];
const UUID = "0190fe82-c984-7f66-8302-69874914e1c9";
const LIKE_IDS = [
  UUID,
  UUID.toUpperCase(),
  UUID.replaceAll("-", ""),
  "00000000-0000-0000-0000-000000000000",
  "0123456789abcdef",
];
const LIKE_NO_IDS = [
  "retrain",
  "news",
  "New",
  "test",
  `${UUID}-retrain`,
  "0123456789abcde",
  "deadbeef",
  "2026-01-31",
];

/** Saves something new of a name, in each way. */
function saves(service: TestService, id: string) {
  const directory = `${service.folder}/project`;
  return {
    "POST triggers/": (name: string) =>
      service.api("POST", "triggers/?dry_run", { name, project: "files", actions: ACTIONS }),
    "PUT triggers/": (name: string) =>
      service.api("PUT", `triggers/${id}/?dry_run`, { name, project: "files", actions: ACTIONS }),
    "PATCH triggers/": (name: string) => service.api("PATCH", `triggers/${id}/?dry_run`, { name }),
    "POST projects/": (name: string) =>
      service.api("POST", "projects/?dry_run", { name, directory }),
    "PUT projects/": (name: string) =>
      service.api("PUT", `projects/${name}/?dry_run`, { directory }),
    "POST tokens/": (name: string) => service.api("POST", "tokens/", { name }),
  };
}

/** Parts of addresses of the console and the API that stand where another address has a name. */
function partsOfAddresses(): Set<string> {
  const paths = [
    ...ROUTES.map(({ path }) => path.split("/")),
    ...operations.map(({ path }) => path.replaceAll(/{(\w+)}/g, ":$1").split("/")),
  ];
  const isName = (part: string | undefined) => part === ":name";
  return new Set(
    paths.flatMap((path) =>
      path.filter((part, at) =>
        /^[^:]/.test(part) &&
        paths.some((other) =>
          isName(other[at]) && other.slice(0, at).join("/") === path.slice(0, at).join("/")
        )
      )
    ),
  );
}

Deno.test("nothing new has a name that is a part of another page's address", async (t) => {
  await using service = await startService();
  const { id } = await service.trigger({ name: "first" });
  const parts = partsOfAddresses();
  assert(parts.has("new"));
  for (const [way, save] of Object.entries(saves(service, id))) {
    await t.step(way, async () => {
      for (const name of parts) {
        const { status, body } = await save(name);
        assertEquals([status, body.errors?.[0].pointer], [422, "/name"], name);
        assertMatch(body.detail, /Expected another name/);
      }
    });
  }
});

Deno.test("nothing new has a name that looks like an id", async (t) => {
  await using service = await startService();
  const { id } = await service.trigger({ name: "first" });
  for (const [way, save] of Object.entries(saves(service, id))) {
    await t.step(way, async () => {
      for (const name of LIKE_IDS) {
        const { status, body } = await save(name);
        assertEquals([status, body.errors?.[0].pointer], [422, "/name"], name);
        assertMatch(body.detail, /a name that does not look like an id/);
      }
      for (const name of LIKE_NO_IDS) {
        const { status } = await save(name);
        assertEquals(status === 200 || status === 201, true, name);
      }
    });
  }
});

/** Stores a trigger under a name that an earlier version took. */
async function storeNamed({ service }: TestService, id: string, name: string): Promise<void> {
  const now = new Date().toISOString();
  const settings = { name, project: "files", enabled: true, conditions: [], actions: ACTIONS };
  const times = { created_at: now, updated_at: now };
  await putStoredTrigger(service.parts.store, { id, name, ...times, settings });
}

Deno.test("a trigger that an earlier version named like an id works on", async () => {
  await using service = await startService();
  const id = crypto.randomUUID();
  await storeNamed(service, id, UUID);
  await service.service.parts.store.kv.set(keys.project(UUID), {
    name: UUID,
    directory: `${service.folder}/project`,
    config_file: "valohai.yaml",
    engine: { type: "local", runner: "process" },
  });
  await service.restart();
  assertEquals((await service.api("PATCH", `triggers/${id}/`, { project: UUID })).status, 200);
  const directory = service.folder;
  assertEquals((await service.api("PUT", `projects/${UUID}/`, { directory })).status, 200);
  const launched = await fetch(`${service.url}/api/v0/launch/${id}/`, { method: "POST" });
  await launched.body?.cancel();
  assertEquals(launched.status, 200);
  const { body } = await service.api("GET", `deliveries/?trigger=${UUID}`);
  assertEquals(body.results.map(({ trigger_id }: { trigger_id: string }) => trigger_id), [id]);
  const api = new ApiClient({ url: service.url, token: ADMIN_TOKEN });
  assertEquals((await findTrigger(api, UUID)).id, id);
  const page = await (await loggedIn(service)).get(`triggers/${UUID}`);
  assertEquals(page.status, 200);
});

Deno.test("an id wins over a name wherever a trigger is named", async (t) => {
  await using service = await startService();
  // Made first: it is found first where all are looked through.
  const attacker = "00000000-0000-7000-8000-000000000001";
  const { id, url } = await service.trigger({ name: "victim" });
  await storeNamed(service, attacker, id);
  for (const each of [url, `${service.url}/api/v0/launch/${attacker}/`]) {
    await (await fetch(each, { method: "POST" })).body?.cancel();
  }
  await t.step("the command line", async () => {
    const api = new ApiClient({ url: service.url, token: ADMIN_TOKEN });
    assertEquals((await findTrigger(api, id)).name, "victim");
  });
  for (const list of ["deliveries", "runs"]) {
    await t.step(`the filter of ${list}`, async () => {
      const { body } = await service.api("GET", `${list}/?trigger=${id}`);
      assertEquals(body.results.map(({ trigger_id }: { trigger_id: string }) => trigger_id), [id]);
    });
  }
  await t.step("the console", async () => {
    const { text } = await (await loggedIn(service)).get(`triggers/${id}`);
    assertStringIncludes(text, "<h1>victim");
  });
  await t.step("the limit of a token", async () => {
    const { body: { token } } = await service.api("POST", "tokens/", { name: "t", triggers: [id] });
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${service.url}/api/v0/triggers/`, { headers });
    const { results } = await answer.json();
    assertEquals(results.map(({ name }: { name: string }) => name), ["victim"]);
  });
});
