/** The lists of pipelines, and what operators do with one. */
import { assertEquals } from "@std/assert";
import type { Pipelines } from "../../../src/pipelines/mod.ts";
import { play, type Scenario } from "../scenario.ts";
import { serveRoutes, storePipeline } from "./fixture.ts";

const NONE = "01900000-0000-7000-8000-000000000000";

/** Remembers what it was asked to do. */
class SeenControl implements Pick<Pipelines, "begin" | "stop" | "approve"> {
  readonly asked: string[] = [];
  waiting = ["deploy"];

  begin(id: string): void {
    this.asked.push(`begin ${id}`);
  }

  stop(id: string): Promise<boolean> {
    this.asked.push(`stop ${id}`);
    return Promise.resolve(true);
  }

  approve(id: string, node?: string): Promise<string[]> {
    this.asked.push(`approve ${id} ${node ?? "all"}`);
    return Promise.resolve(this.waiting.filter((name) => node === undefined || name === node));
  }
}

/** The field of all that no operator has launched. */
const OF_SENDER = { launched_by: { kind: "sender" } };

Deno.test("pipelines are listed newest first, by project and status, in pages", async (t) => {
  await using routes = await serveRoutes();
  const { store, url } = routes;
  const stored = async (pipeline = {}) => ({
    ...await storePipeline(store, pipeline),
    ...OF_SENDER,
  });
  const first = await stored();
  const second = await stored({ project: "digits", status: "complete" });
  const third = await stored({ project: "digits" });
  const read = async (address: string) => await (await fetch(address)).json();
  const path = `${url}/api/v0/pipelines/`;
  const all = await read(path);
  assertEquals(all, { results: [third, second, first], next: null });
  const cases: [query: string, ...found: { id: string }[]][] = [
    ["project=digits", third, second],
    ["status=started", third, first],
    ["status=complete&project=files"],
  ];
  for (const [query, ...expected] of cases) {
    await t.step(query, async () => {
      assertEquals((await read(`${path}?${query}`)).results, expected);
    });
  }
  await t.step("in pages", async () => {
    const page = await read(`${path}?project=digits&limit=1`);
    assertEquals(page.results, [third]);
    assertEquals((await read(page.next)).results, [second]);
  });
  const refused: [query: string, detail: string][] = [
    ["status=queued", "Expected one of"],
    ["project=.", "letters, digits"],
    ["pipeline=x", "Unknown field"],
    ["cursor=1", "Expected a full id"],
  ];
  for (const [query, detail] of refused) {
    await t.step(`refused: ${query}`, async () => {
      await play(url, {
        name: query,
        method: "GET",
        path: `/api/v0/pipelines/?${query}`,
        expectedStatus: 422,
        expectedContent: [detail],
      });
    });
  }
});

Deno.test("a pipeline is shown with the edges and the parameters of its plan", async () => {
  await using routes = await serveRoutes();
  const pipeline = await storePipeline(routes.store);
  const answer = await fetch(`${routes.url}/api/v0/pipelines/${pipeline.id}/`);
  assertEquals(await answer.json(), {
    ...pipeline,
    ...OF_SENDER,
    edges: [{
      source: { node: "train", type: "output", key: "*" },
      target: { node: "deploy", type: "input", key: "model" },
    }],
    parameters: { epochs: 3 },
  });
});

Deno.test("a pipeline is stopped and approved, or it is said why not", async (t) => {
  const control = new SeenControl();
  await using routes = await serveRoutes({ control });
  const { id } = await storePipeline(routes.store);
  const path = `/api/v0/pipelines/${id}/`;
  const scenarios: (Scenario & { asked?: string; waiting?: string[] })[] = [
    {
      name: "stop",
      path: `${path}stop/`,
      expectedStatus: 202,
      expectedContent: [`"id":"${id}"`, '"nodes":[{"name":"train"'],
      asked: `stop ${id}`,
    },
    {
      name: "approve all, without a body",
      path: `${path}approve/`,
      expectedStatus: 202,
      expectedContent: [`"id":"${id}"`],
      asked: `approve ${id} all`,
    },
    {
      name: "approve all",
      path: `${path}approve/`,
      body: "{}",
      expectedStatus: 202,
      asked: `approve ${id} all`,
    },
    {
      name: "approve one",
      path: `${path}approve/`,
      body: '{"node": "deploy"}',
      expectedStatus: 202,
      asked: `approve ${id} deploy`,
    },
    {
      name: "a node that does not wait",
      path: `${path}approve/`,
      body: '{"node": "train"}',
      expectedStatus: 409,
      expectedContent: ['node \\"train\\"', "it is complete"],
      asked: `approve ${id} train`,
    },
    {
      name: "nothing waits",
      path: `${path}approve/`,
      expectedStatus: 409,
      expectedContent: ["none of its nodes waits for approval"],
      asked: `approve ${id} all`,
      waiting: [],
    },
    {
      name: "a node that there is not",
      path: `${path}approve/`,
      body: '{"node": "deplyo"}',
      expectedStatus: 422,
      expectedContent: ['"pointer":"/node"', '\\"train\\", \\"deploy\\"', "deplyo"],
    },
    {
      name: "a field that there is not",
      path: `${path}approve/`,
      body: '{"nodes": []}',
      expectedStatus: 422,
      expectedContent: ['"pointer":"/nodes"'],
    },
    {
      name: "retry one that runs",
      path: `${path}retry/`,
      expectedStatus: 409,
      expectedContent: ["which is started: wait for its end, or stop it"],
    },
    {
      name: "copy one whose project is gone",
      path: `${path}copy/`,
      expectedStatus: 409,
      expectedContent: ["was deleted"],
    },
    { name: "unknown: copy", path: `/api/v0/pipelines/${NONE}/copy/`, expectedStatus: 404 },
    { name: "unknown: retry", path: `/api/v0/pipelines/${NONE}/retry/`, expectedStatus: 404 },
    { name: "no JSON", path: `${path}approve/`, body: "deploy", expectedStatus: 422 },
    {
      name: "unknown: read",
      method: "GET",
      path: `/api/v0/pipelines/${NONE}/`,
      expectedStatus: 404,
    },
    { name: "unknown: stop", path: `/api/v0/pipelines/${NONE}/stop/`, expectedStatus: 404 },
    { name: "unknown: approve", path: `/api/v0/pipelines/${NONE}/approve/`, expectedStatus: 404 },
  ];
  for (const { asked, waiting = ["deploy"], ...scenario } of scenarios) {
    await t.step(scenario.name, async () => {
      control.asked.length = 0;
      control.waiting = waiting;
      await play(routes.url, scenario);
      assertEquals(control.asked, asked === undefined ? [] : [asked]);
    });
  }
});
