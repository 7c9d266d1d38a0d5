/** Lists by filter, over real HTTP on real runs: which records are found, and what is refused. */
import { search } from "../../../src/http/api/search.ts";
import type { Page } from "../../../src/store/read/lists.ts";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { endOfRun, startService, type TestService } from "../../data.ts";

interface Launched {
  service: TestService;
  /** The runs by the names of their triggers, oldest first. */
  runs: Record<string, string[]>;
  ids: Record<string, string>;
}

/** Two triggers, of which one fails, and five runs. */
async function launched(): Promise<Launched> {
  const service = await startService();
  await service.api("PUT", "projects/other/", { directory: `${service.folder}/project` });
  const response = { type: "text", text: "{run_id}" };
  const triggers = {
    echo: await service.trigger({
      name: "echo",
      response,
      actions: [{ type: "run_execution", step: "echo" }],
    }),
    fails: await service.trigger({
      name: "fails",
      project: "other",
      response,
      actions: [{ type: "run_execution", step: "none" }],
    }),
  };
  const runs: Launched["runs"] = { echo: [], fails: [] };
  for (const name of ["echo", "fails", "echo", "fails", "echo"] as const) {
    const id = await (await fetch(triggers[name].url, { method: "POST" })).text();
    await endOfRun(service, id);
    runs[name]?.push(id);
  }
  return { service, runs, ids: { echo: triggers.echo.id, fails: triggers.fails.id } };
}

/** Reads a list to its end, by pages of a size. */
async function idsOf(service: TestService, path: string, limit: number): Promise<string[]> {
  const ids: string[] = [];
  let next: string | null = `${path}${path.includes("?") ? "&" : "?"}limit=${limit}`;
  while (next !== null) {
    const { status, body }: { status: number; body: ApiPage } = await service.api("GET", next);
    assertEquals(status, 200, JSON.stringify(body));
    ids.push(...body.results.map(({ id }) => id));
    next = body.next && path.replace(/\?.*/, "") + new URL(body.next).search;
  }
  return ids;
}

interface ApiPage {
  results: { id: string }[];
  next: string | null;
}

Deno.test("runs across triggers are found by trigger, project and status, newest first", async (t) => {
  const { service, runs, ids } = await launched();
  await using _service = service;
  const { echo = [], fails = [] } = runs;
  const newest = (...lists: string[][]) => lists.flat().sort().reverse();
  const cases: [query: string, expected: string[]][] = [
    ["", newest(echo, fails)],
    ["?trigger=echo", newest(echo)],
    [`?trigger=${ids.echo}`, newest(echo)],
    ["?trigger=fails&status=error", newest(fails)],
    ["?trigger=fails&status=completed", []],
    ["?project=files", newest(echo)],
    ["?project=none", []],
    ["?status=error", newest(fails)],
    ["?status=completed&project=files", newest(echo)],
    ["?status=pending", []],
  ];
  for (const [query, expected] of cases) {
    await t.step(query || "all", async () => {
      for (const limit of [2, 200]) {
        assertEquals(await idsOf(service, `runs/${query}`, limit), expected, `limit ${limit}`);
      }
    });
  }
});

Deno.test("executions and pipelines are found by the trigger's name or id", async (t) => {
  const { service, ids } = await launched();
  await using _service = service;
  const cases: [path: string, count: number][] = [
    ["executions/", 3],
    ["executions/?trigger=echo", 3],
    [`executions/?trigger=${ids.echo}`, 3],
    ["executions/?trigger=fails", 0],
    ["executions/?trigger=echo&status=error", 0],
    ["pipelines/?trigger=echo", 0],
  ];
  for (const [path, count] of cases) {
    await t.step(path, async () => assertEquals((await idsOf(service, path, 2)).length, count));
  }
});

Deno.test("a run that has not ended is listed with the others, and once", async () => {
  await using service = await startService();
  const { url } = await service.trigger({
    response: { type: "text", text: "{run_id}" },
    conditions: [],
  });
  const ids: string[] = [];
  for (let count = 0; count < 6; count++) {
    ids.push(await (await fetch(url, { method: "POST" })).text());
    // Pending or not: all that were launched are there.
    assertEquals(await idsOf(service, "runs/", 3), ids.toReversed());
  }
});

const REFUSED: [path: string, pointer: string][] = [
  ...["runs/", "executions/", "pipelines/", "triggers/"].map((path): [string, string] => [
    `${path}?cursor=x`,
    "/cursor",
  ]),
  ["projects/?cursor=a/b", "/cursor"],
  ["deliveries/?outcome=accepted&outcome=refused", "/outcome"],
  ["runs/?limit=1&limit=1", "/limit"],
  ["openapi.json?foo=1", "/foo"],
  ["tokens/?cursor=x", "/cursor"],
  ["runs/?trigger=nobody", "/trigger"],
  ["executions/?trigger=nobody", "/trigger"],
  ["pipelines/?trigger=nobody", "/trigger"],
  ["runs/?trigger=", "/trigger"],
  ["runs/?status=ended", "/status"],
  ["runs/?state=error", "/state"],
  ["runs/?limit=0", "/limit"],
  ["executions/?pipeline=two", "/pipeline"],
];

Deno.test("unknown cursors and filters are refused with the place", async (t) => {
  await using service = await startService();
  const { id } = await service.trigger();
  const paths: [string, string][] = [
    ...REFUSED,
    [`triggers/${id}/runs/?cursor=x`, "/cursor"],
    [`triggers/${id}/log/?cursor=x`, "/cursor"],
    [`triggers/${id}/?expand=runs`, "/expand"],
  ];
  for (const [path, pointer] of paths) {
    await t.step(path, async () => {
      const { status, body } = await service.api("GET", path);
      assertEquals([status, body.errors?.[0]?.pointer], [422, pointer]);
    });
  }
});

Deno.test("null for an optional field means absent, in what is sent to each endpoint", async (t) => {
  await using service = await startService();
  const step = { type: "run_execution", step: "echo" };
  const trigger = { name: "n", project: "files", actions: [{ ...step, title: null }] };
  const nulls = { id: null, enabled: null, conditions: null, response: null };
  const made = await service.api("POST", "triggers/", { ...trigger, ...nulls });
  assertEquals([made.status, made.body.enabled, made.body.conditions], [201, true, []]);
  assertEquals("response" in made.body, false);
  const path = `triggers/${made.body.id}/`;
  const folder = service.folder;
  const cases: [method: string, path: string, body: unknown, status: number][] = [
    ["PUT", path, { ...trigger, ...nulls }, 200],
    ["POST", `${path}test/`, { method: null, body: null, body_base64: null }, 200],
    ["POST", `${path}sign/`, { headers: null, query: null, remote_ip: null }, 200],
    ["POST", "projects/", { name: "p", directory: folder, repository: null, engine: null }, 201],
    ["PUT", "projects/p/", { name: null, directory: folder, config_file: null }, 200],
    ["POST", "triggers/", { ...trigger, name: null }, 422],
    ["POST", "triggers/", { ...trigger, actions: [null] }, 422],
    ["PATCH", path, { project: null }, 422],
    ["PATCH", path, { enabled: null }, 200],
  ];
  for (const [method, at, body, status] of cases) {
    await t.step(`${method} ${at.replace(made.body.id, "…")} ${JSON.stringify(body)}`, async () => {
      const answer = await service.api(method, at, body);
      assertEquals(answer.status, status, JSON.stringify(answer.body));
    });
  }
  const parameters = { of_json: null };
  const kept = await service.api("PUT", path, {
    ...trigger,
    actions: [{ ...step, parameters }],
  });
  assertEquals(kept.body.actions[0].parameters, parameters, "a value of the owner's stays");
});

Deno.test("PUT takes a project's name from the path", async () => {
  await using service = await startService();
  const directory = service.folder;
  const made = await service.api("PUT", "projects/from-path/", { directory });
  assertEquals([made.status, made.body.name], [201, "from-path"]);
  assertEquals((await service.api("PUT", "projects/from-path/", { directory })).status, 200);
  const other = await service.api("PUT", "projects/from-path/", { name: "other", directory });
  assertEquals(other.status, 422);
  assertStringIncludes(other.body.detail, 'Expected "from-path", found "other"');
  assertEquals((await service.api("PUT", "projects/bad%20name/", { directory })).status, 422);
});

Deno.test("a search reads a page first, and larger parts where few of it are found", async () => {
  const records = Array.from({ length: 1_000 }, (_, index) => ({
    id: String(9_999 - index),
    status: index < 500 ? "pending" : "ended",
  }));
  for (
    const [status, parts] of [["pending", [50]], ["ended", [50, 100, 200, 200]]] as const
  ) {
    const asked: number[] = [];
    const read = ({ before = "a", limit }: Page) => {
      asked.push(limit);
      const found = records.filter(({ id }) => id < before).slice(0, limit);
      return Promise.resolve({ records: found, next: found.at(-1)?.id });
    };
    const page = await search(read, { limit: 50, cursor: undefined, filters: { status } });
    assertEquals([page.records.length, asked], [50, parts]);
  }
});
