/** Lists come in pages that lead from one to the next, and nothing is found by an id that none can have. */
import { assertEquals } from "@std/assert";
import { eventually, SECRET, startService, type TestService } from "../../data.ts";

const POST = { method: "POST" };

/** Reads all pages of a list, and answers the names of each. */
async function pagesOf(service: TestService, path: string, limit = 2): Promise<string[][]> {
  const pages: string[][] = [];
  for (let query = `?limit=${limit}`;;) {
    const { body } = await service.api("GET", path + query);
    pages.push(body.results.map(({ name }: { name: string }) => name));
    if (body.next === null) return pages;
    query = new URL(body.next).search;
  }
}

Deno.test("projects, triggers and tokens come in pages", async () => {
  await using service = await startService();
  for (const name of ["a", "b", "c", "d"]) {
    await service.api("PUT", `projects/${name}/`, { name, directory: "/srv" });
    await service.trigger({ name });
    await service.api("POST", "tokens/", { name });
  }
  assertEquals(await pagesOf(service, "projects/"), [["a", "b"], ["c", "d"], ["files"]]);
  assertEquals(await pagesOf(service, "triggers/"), [["a", "b"], ["c", "d"]]);
  const tokens = await pagesOf(service, "tokens/");
  assertEquals(tokens.map(({ length }) => length), [2, 2]);
  assertEquals(tokens.flat().sort(), ["a", "b", "c", "d"]);
});

Deno.test("a page that is full has a next one only when there is more", async (t) => {
  await using service = await startService();
  const condition = { type: "static_token", in: "query", name: "token", secrets: [SECRET] };
  const { id, url } = await service.trigger({ conditions: [condition] });
  const launch = async (token: string) => await (await fetch(`${url}?token=${token}`, POST)).text();
  for (let count = 0; count < 4; count++) {
    await launch(SECRET);
    await launch("wrong");
  }
  await eventually(async () => {
    const { body } = await service.api("GET", `triggers/${id}/runs/`);
    return body.results.every((run: { status: string }) => run.status !== "pending") || undefined;
  });
  for (const path of [`triggers/${id}/runs/`, `triggers/${id}/log/`, "executions/"]) {
    await t.step(path, async () => {
      assertEquals((await pagesOf(service, path)).map(({ length }) => length), [2, 2]);
      assertEquals((await pagesOf(service, path, 1)).length, 4);
    });
  }
});

Deno.test("the next page is behind the path of the service's public URL", async () => {
  await using service = await startService();
  const { parts } = service.service;
  parts.baseUrl = "https://example.com/hooks";
  for (const name of ["a", "b"]) await service.trigger({ name });
  for (const path of ["triggers/?limit=1", "triggers?limit=1"]) {
    const { body } = await service.api("GET", path);
    const { origin, pathname } = new URL(body.next);
    assertEquals(origin, "https://example.com");
    assertEquals(pathname, "/hooks/api/v0/triggers/");
  }
});

Deno.test("a limit that is none is refused by every list", async (t) => {
  await using service = await startService();
  const { id } = await service.trigger();
  const lists = ["triggers/", "projects/", "tokens/", "executions/", "pipelines/"];
  for (const path of [...lists, `triggers/${id}/runs/`, `triggers/${id}/log/`]) {
    await t.step(path, async () => {
      for (const limit of ["0", "201", "-1", "1.5", "all", ""]) {
        const { status, body } = await service.api("GET", `${path}?limit=${limit}`);
        assertEquals([status, body.errors?.[0]?.pointer], [422, "/limit"], limit);
      }
    });
  }
});

Deno.test("an empty cursor means the first page of every list, and a page of one is one", async (t) => {
  await using service = await startService();
  const { id } = await service.trigger();
  const lists = [
    ...["triggers/", "projects/", "tokens/", "executions/", "pipelines/"],
    ...["attention/", "audit/", "deliveries/", "notifications/", "replays/", "runs/"],
  ];
  for (const path of [...lists, `triggers/${id}/runs/`, `triggers/${id}/log/`]) {
    await t.step(path, async () => {
      const { body: first } = await service.api("GET", path);
      const { status, body } = await service.api("GET", `${path}?cursor=`);
      assertEquals([status, body], [200, first]);
      assertEquals((await service.api("GET", `${path}?limit=1`)).status, 200);
    });
  }
});

Deno.test("every list refuses what it cannot be asked for, and does not answer with everything", async (t) => {
  await using service = await startService();
  const { id } = await service.trigger();
  const lists = ["triggers/", "projects/", "tokens/", "executions/", "pipelines/"];
  for (const path of [...lists, `triggers/${id}/runs/`, `triggers/${id}/log/`]) {
    await t.step(path, async () => {
      const { status, body } = await service.api("GET", `${path}?limit=2&stauts=error`);
      assertEquals([status, body.errors?.[0]?.pointer], [422, "/stauts"]);
    });
  }
});

Deno.test("nothing is found by an id or a name that is longer than any", async (t) => {
  await using service = await startService();
  const long = "a".repeat(5_000);
  const paths = [
    ...["", "runs/", "log/"].map((rest) => `triggers/${long}/${rest}`),
    ...["", "payload/"].map((rest) => `runs/${long}/${rest}`),
    `projects/${long}`,
    ...["", "log/", "outputs/x"].map((rest) => `executions/${long}/${rest}`),
    `pipelines/${long}/`,
  ];
  for (const path of paths) {
    await t.step(path.replace(long, "…"), async () => {
      const { status, body } = await service.api("GET", path);
      assertEquals([status, typeof body.detail], [404, "string"]);
    });
  }
  assertEquals((await service.api("DELETE", `triggers/${long}/`)).status, 404);
  assertEquals((await service.api("PUT", `triggers/${long}/`, {})).status, 404);
});
