/** Following a log as server-sent events, over real HTTP. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { getExecution, saveExecution } from "../../../src/store/records/executions.ts";
import { endOfExecution, eventually, startService } from "../../data.ts";
import { play, type Scenario } from "../scenario.ts";
import { AUTHORIZED, follow, launchCommand, serveRoutes, storeExecution } from "./fixture.ts";

/** A service that stops while somebody follows has this long. */
const CLOSE_MS = 10_000;

Deno.test("a followed log has every line, in order, as it comes, and then how it ended", async () => {
  await using service = await startService();
  const gate = `${service.folder}/gate`;
  const id = await launchCommand(
    service,
    `echo one; echo two >&2; until [ -e ${gate} ]; do sleep 0.05; done; echo '{"a": "ü"}'; exit 3`,
  );
  await using log = await follow(service.url, id);
  const { headers } = log.response;
  assertEquals(headers.get("content-type"), "text/event-stream");
  assertMatch(headers.get("cache-control") ?? "", /no-store.*no-transform/);
  const lines = async (count: number) => {
    const found = [];
    while (found.length < count) {
      const line = JSON.parse((await log.next())?.data ?? "null");
      if (line.stream !== "event") found.push(line);
    }
    return found;
  };
  const first = await lines(2);
  assertEquals(first.map(({ stream, message }) => `${stream} ${message}`).sort(), [
    "stderr two",
    "stdout one",
  ]);
  assertMatch(first[0].time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  // It has not ended before: what came did not wait for that.
  assertEquals((await service.api("GET", `executions/${id}/`)).body.status, "started");
  await Deno.writeTextFile(gate, "");
  const [last] = await lines(1);
  assertEquals(last.message, '{"a": "ü"}');
  const end = (await log.rest()).at(-1);
  assertEquals(end?.event, "end");
  const { duration, ...ended } = JSON.parse(end?.data ?? "null");
  assertEquals(ended, {
    status: "error",
    exit_code: 3,
    reason: "The command ended with exit code 3",
  });
  assertEquals(typeof duration, "number");
});

Deno.test("a log is resumed behind any of its lines, without a gap and without a repeat", async (t) => {
  await using service = await startService();
  const id = await launchCommand(service, "for i in 1 2 3 4 5; do echo $i; done");
  await endOfExecution(service, id);
  await using log = await follow(service.url, id);
  const all = await log.rest();
  const lines = all.slice(0, -1);
  assert(lines.length >= 5);
  assertEquals(new Set(lines.map((event) => event.id)).size, lines.length);
  for (const [index, { id: cursor }] of lines.entries()) {
    await t.step(`behind line ${index + 1}`, async () => {
      await using resumed = await follow(service.url, id, { headers: { "last-event-id": cursor } });
      const rest = await resumed.rest();
      const expected = all.slice(index + 1).map(({ data }) => data);
      assertEquals(rest.map(({ data }) => data), expected);
      await using asked = await follow(service.url, id, { query: `&cursor=${cursor}` });
      assertEquals((await asked.rest()).map(({ data }) => data), expected);
      const { body } = await service.api("GET", `executions/${id}/log/?cursor=${cursor}`);
      assertEquals(
        body.results.map((line: unknown) => JSON.stringify(line)),
        expected.slice(0, -1),
      );
    });
  }
  await t.step("with both, the header is the newer one", async () => {
    const [first, second] = lines;
    await using resumed = await follow(service.url, id, {
      query: `&cursor=${first?.id}`,
      headers: { "last-event-id": second?.id ?? "" },
    });
    assertEquals((await resumed.next())?.data, lines[2]?.data);
  });
  const path = `/api/v0/executions/${id}/log/`;
  const scenarios: Scenario[] = [
    {
      name: "who has the end is told not to come again",
      path: `${path}?follow`,
      headers: { "last-event-id": all.at(-1)?.id ?? "" },
      expectedStatus: 204,
    },
    {
      name: "a header that is no cursor",
      path: `${path}?follow`,
      headers: { "last-event-id": "x" },
      expectedStatus: 422,
      expectedContent: ["Last-Event-ID", 'found \\"x\\"'],
    },
    { name: "a cursor that is none", path: `${path}?follow&cursor=-1`, expectedStatus: 422 },
    {
      name: "a cursor that no file reaches",
      path: `${path}?cursor=999999999999999`,
      expectedStatus: 422,
    },
    { name: "a word that is neither", path: `${path}?follow=maybe`, expectedStatus: 422 },
    {
      name: "no such execution",
      path: "/api/v0/executions/01900000-0000-7000-8000-000000000000/log/?follow",
      expectedStatus: 404,
    },
    {
      name: "no token",
      path: `${path}?follow`,
      headers: { authorization: "" },
      expectedStatus: 401,
    },
  ];
  for (const { headers, ...scenario } of scenarios) {
    await t.step(scenario.name, async () => {
      const all = { ...AUTHORIZED, ...headers };
      await play(service.url, { method: "GET", ...scenario, headers: all });
    });
  }
});

Deno.test("who follows an execution that waits gets an answer at once, and its log later", async () => {
  await using routes = await serveRoutes({ follow: { poll_ms: 10 } });
  const id = await storeExecution(routes.store);
  await using log = await follow(routes.url, id);
  assertEquals(log.response.status, 200);
  routes.engine.print("late");
  assertEquals(JSON.parse((await log.next())?.data ?? "null").message, "late");
  const execution = await getExecution(routes.store, id);
  assert(execution);
  await routes.store.committer.commit(saveExecution({ ...execution, status: "stopped" }));
  assertEquals(await log.next(), { event: "end", id: "end", data: '{"status":"stopped"}' });
  assertEquals(await log.next(), undefined, "the connection is closed");
});

Deno.test("the lines that an execution printed last are sent, though it has ended before", async () => {
  await using routes = await serveRoutes({ follow: { linesMax: 3 } });
  routes.engine.print(...Array.from({ length: 10 }, (_, index) => `line ${index}`));
  const id = await storeExecution(routes.store, { status: "complete" });
  await using log = await follow(routes.url, id);
  const events = await log.rest();
  assertEquals(events.length, 11);
  assertEquals(events.map(({ id }) => id).slice(0, 4), ["10", "20", "30", "40"]);
});

Deno.test("a silent log sends comments, so that the connection is known to be there", async () => {
  await using routes = await serveRoutes({ follow: { poll_ms: 5, heartbeat_ms: 20 } });
  const id = await storeExecution(routes.store);
  await using log = await follow(routes.url, id);
  const reader = log.response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (text.split("\n: nothing new\n").length < 4) text += (await reader?.read())?.value ?? "";
  assertMatch(text, /^retry: 1000\n\n(: nothing new\n\n)+$/);
  await reader?.cancel();
});

Deno.test("only so many follow at once, and who goes away makes room", async () => {
  await using routes = await serveRoutes({ follow: { followersMax: 2, poll_ms: 10 } });
  const id = await storeExecution(routes.store);
  await using _first = await follow(routes.url, id);
  const second = await follow(routes.url, id);
  const path = `/api/v0/executions/${id}/log/?follow`;
  await play(routes.url, {
    name: "one too many",
    method: "GET",
    path,
    expectedStatus: 503,
    expectedHeaders: { "retry-after": "10" },
  });
  await second[Symbol.asyncDispose]();
  await using third = await eventually(async () => {
    const log = await follow(routes.url, id);
    if (log.response.status === 200) return log;
    await log[Symbol.asyncDispose]();
    return undefined;
  }, { what: "room for another one" });
  assertEquals(third.response.status, 200);
});

Deno.test("a HEAD request takes nobody's place", async () => {
  await using routes = await serveRoutes({ follow: { followersMax: 1 } });
  const id = await storeExecution(routes.store);
  for (let count = 0; count < 3; count++) {
    await play(routes.url, {
      name: "HEAD",
      method: "HEAD",
      path: `/api/v0/executions/${id}/log/?follow`,
      expectedStatus: 200,
      expectedHeaders: { "content-type": "text/event-stream" },
    });
  }
  await using log = await follow(routes.url, id);
  assertEquals(log.response.status, 200);
});

Deno.test("nothing is read for a client that does not take what it has", async () => {
  await using routes = await serveRoutes();
  const linesPerPage = 200;
  // 100 MB: more than all buffers on the way take together.
  routes.engine.print(...Array.from({ length: 50_000 }, () => "x".repeat(2_000)));
  const id = await storeExecution(routes.store);
  const { hostname, port } = new URL(routes.url);
  const client = await Deno.connect({ hostname, port: Number(port) });
  const head = `GET /api/v0/executions/${id}/log/?follow HTTP/1.1\r\nhost: x\r\n\r\n`;
  await client.write(new TextEncoder().encode(head));
  let before = 0;
  await eventually(async () => {
    const { reads } = routes.engine;
    if (reads > 0 && reads === before) return true;
    before = reads;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return undefined;
  }, { what: "the end of reading ahead" });
  assert(routes.engine.reads * linesPerPage < 25_000, `${routes.engine.reads} pages were read`);
  client.close();
});

Deno.test("a service stops while somebody follows, and the follower is cut off without an end", async () => {
  await using service = await startService();
  const id = await storeExecution(service.service.parts.store);
  await using log = await follow(service.url, id);
  const rest = log.rest();
  const begun_ms = performance.now();
  await service.service.close(CLOSE_MS);
  assertEquals(await rest, []);
  assert(performance.now() - begun_ms < CLOSE_MS, "it did not wait for the follower");
});

Deno.test("who follows with a token that is revoked is cut off, and let in no more", async () => {
  await using service = await startService();
  const gate = `${service.folder}/gate`;
  const wait = `until [ -e ${gate} ]; do sleep 0.05; done`;
  const id = await launchCommand(service, `echo one; ${wait}; echo secret`);
  const made = await service.api("POST", "tokens/", { name: "theirs" });
  const authorization = `Bearer ${made.body.token}`;
  const theirs = await follow(service.url, id, { headers: { authorization } });
  await using mine = await follow(service.url, id);
  for (const log of [theirs, mine]) assertMatch((await log.next())?.data ?? "", /one/);
  assertEquals((await service.api("DELETE", `tokens/${made.body.id}/`)).status, 204);
  await Deno.writeTextFile(gate, "");
  assertEquals(await theirs.rest(), []);
  assertMatch(JSON.stringify(await mine.rest()), /secret/);
  await theirs[Symbol.asyncDispose]();
  const again = await fetch(theirs.response.url, { headers: { authorization } });
  await again.body?.cancel();
  assertEquals(again.status, 401);
});

Deno.test("who follows is cut off once the trigger has a name that the token does not name", async () => {
  await using service = await startService();
  const gate = `${service.folder}/gate`;
  const wait = `until [ -e ${gate} ]; do sleep 0.05; done`;
  const id = await launchCommand(service, `echo one; ${wait}; echo secret`);
  const { trigger, trigger_id } = (await service.api("GET", `executions/${id}/`)).body;
  const limited = { name: "limited", scope: "read", triggers: [trigger] };
  const { token } = (await service.api("POST", "tokens/", limited)).body;
  const headers = { authorization: `Bearer ${token}` };
  await using theirs = await follow(service.url, id, { headers });
  assertMatch((await theirs.next())?.data ?? "", /one/);
  const changed = await service.api("PATCH", `triggers/${trigger_id}/`, { name: "of others" });
  assertEquals(changed.status, 200);
  await Deno.writeTextFile(gate, "");
  assertEquals(await theirs.rest(), []);
});

Deno.test("nobody begins to follow a log while the service stops", async () => {
  await using routes = await serveRoutes();
  const id = await storeExecution(routes.store);
  routes.closing.abort();
  const answer = await fetch(`${routes.url}/api/v0/executions/${id}/log/?follow`, {
    signal: AbortSignal.timeout(5_000),
  });
  await answer.body?.cancel();
  assertEquals([answer.status, answer.headers.get("retry-after")], [503, "10"]);
});

Deno.test("a log comes in pages of JSON, or as text", async (t) => {
  await using service = await startService();
  const id = await launchCommand(service, "for i in 1 2 3; do echo $i; done");
  await endOfExecution(service, id);
  const path = `/api/v0/executions/${id}/log/`;
  const { body } = await service.api("GET", `executions/${id}/log/`);
  const messages = body.results.map(({ message }: { message: string }) => message);
  const first = await service.api("GET", `executions/${id}/log/?limit=2`);
  assertEquals(first.body.results, body.results.slice(0, 2));
  const second = await service.api("GET", `executions/${id}/log/?cursor=${first.body.cursor}`);
  assertEquals(second.body.results, body.results.slice(2));
  assertEquals(second.body.cursor, body.cursor);
  assertEquals([body.next, second.body.next], [null, null]);
  assertEquals(first.body.next, `${service.url}${path}?limit=2&cursor=${first.body.cursor}`);
  const walked = [];
  for (let next = "?limit=1"; next !== null;) {
    const { body } = await service.api(
      "GET",
      `executions/${id}/log/${new URL(next, service.url).search}`,
    );
    walked.push(...body.results);
    next = body.next;
  }
  assertEquals(walked, body.results);
  const scenarios: Scenario[] = [
    {
      name: "text",
      path,
      headers: { accept: "text/plain" },
      expectedStatus: 200,
      expectedBody: messages.map((message: string) => `${message}\n`).join(""),
      expectedHeaders: {
        "content-type": "text/plain; charset=UTF-8",
        "x-content-type-options": "nosniff",
        link: `<?cursor=${body.cursor}&limit=1000>; rel="next"`,
      },
    },
    {
      name: "text from a cursor on",
      path: `${path}?cursor=${first.body.cursor}&limit=1`,
      headers: { accept: "text/plain" },
      expectedStatus: 200,
      expectedBody: `${messages[2]}\n`,
    },
    {
      name: "what a browser accepts is JSON",
      path,
      headers: { accept: "text/html,*/*;q=0.8" },
      expectedStatus: 200,
      expectedContent: ['{"results":['],
    },
    ...["0", "10001", "x", "", "1.5"].map((limit) => ({
      name: `limit ${limit}`,
      path: `${path}?limit=${limit}`,
      expectedStatus: 422,
      expectedContent: [`Expected a whole number from 1 to 10000, found \\"${limit}\\"`],
    })),
    {
      name: "a parameter that there is not",
      path: `${path}?lines=1`,
      expectedStatus: 422,
      expectedContent: ['Unknown field \\"lines\\"'],
    },
  ];
  for (const { headers, ...scenario } of scenarios) {
    await t.step(scenario.name, async () => {
      const all = { ...AUTHORIZED, ...headers };
      await play(service.url, { method: "GET", ...scenario, headers: all });
    });
  }
});
