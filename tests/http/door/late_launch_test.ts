/**
 * Launches that the database does not store in time, on a remote database that does not answer: the
 * sender is told so, and what it was told is true.
 */
import { assertEquals } from "@std/assert";
import { DatabaseDeadline } from "../../../src/http/door/database_deadline.ts";
import { BodyReader } from "../../../src/http/body.ts";
import type { Launch } from "../../../src/runs/accept.ts";
import { eventually, startService, type TestService } from "../../data.ts";
import { standIn } from "../../store/fixture.ts";
import { KV_TOKEN, RemoteKv, type Way } from "../../store/kv_connect.ts";
import { PATIENCE_MS } from "../../surroundings.ts";
import { ARRIVAL, routesOf } from "../routes.ts";

const OPEN = { isClosed: false, isReadOnly: false, commitsLeft: Infinity };

/** A service on a remote database, whose senders wait for a short time. */
interface Remote extends AsyncDisposable {
  service: TestService;
  way: Way;
  /** The launches that came to be stored. */
  accepting: readonly Launch[];
  /** Launches a trigger; returns the status, and after how many seconds to come again. */
  launch(id: string, options?: { signal?: AbortSignal; body?: BodyInit }): Promise<string>;
}

async function startRemote({ timeout_ms = 500 } = {}): Promise<Remote> {
  const stack = new AsyncDisposableStack();
  const kv = stack.use(new RemoteKv());
  const way = kv.way();
  Deno.env.set(KV_TOKEN.name, KV_TOKEN.value);
  const secretKey = "00".repeat(32);
  const service = stack.use(await startService({ settings: { kv: way.url, secretKey } }));
  const bodies = stack.use(new BodyReader({ bodies_bytes_max: 100_000 }));
  const databaseDeadline = stack.use(new DatabaseDeadline({ timeout_ms, check_ms: 50 }));
  const { parts } = service.service;
  const accepting: Launch[] = [];
  const accept = (launch: Launch) => {
    accepting.push(launch);
    return parts.acceptor.accept(launch);
  };
  const acceptor = standIn(parts.acceptor, { accept });
  const app = routesOf(service, { bodies, databaseDeadline, acceptor });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => app.fetch(request, ARRIVAL),
  );
  stack.defer(() => server.shutdown());
  stack.defer(() => void Object.assign(way, OPEN));
  return {
    service,
    way,
    accepting,
    async launch(id, { signal, body = "x" } = {}) {
      const url = `http://127.0.0.1:${server.addr.port}/api/v0/launch/${id}`;
      const answer = await fetch(url, { method: "POST", body, ...(signal && { signal }) });
      await answer.body?.cancel();
      return `${answer.status} ${answer.headers.get("retry-after")}`;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function runsOf({ service }: Remote, id: string): Promise<unknown[]> {
  return (await service.api("GET", `triggers/${id}/runs/`)).body.results;
}

Deno.test("a launch that is not stored in time is answered 503, is not stored later, and can come again", async () => {
  await using remote = await startRemote();
  const { service, way, launch } = remote;
  const { id } = await service.trigger();
  await service.service.parts.triggers.prepared(id);
  way.isReadOnly = true;
  // They are sent to the database, or wait for the next commit.
  const began_ms = performance.now();
  const answers = await Promise.all([launch(id), launch(id), launch(id)]);
  assertEquals(answers, ["503 5", "503 5", "503 5"]);
  assertEquals(performance.now() - began_ms < 60_000, true);
  way.isReadOnly = false;
  assertEquals(
    await eventually(async () => {
      const answer = await launch(id);
      return answer.startsWith("200") ? answer : undefined;
    }),
    "200 null",
  );
  assertEquals((await runsOf(remote, id)).length, 1);
});

Deno.test("a launch that was stored after its sender was answered 503 is withdrawn", async () => {
  await using remote = await startRemote();
  const { service, way, launch } = remote;
  const { id } = await service.trigger();
  await service.service.parts.triggers.prepared(id);
  // It is stored, and the service does not learn it until the database answers again.
  way.commitsLeft = 1;
  way.answersLost = 1;
  assertEquals(await launch(id), "503 5");
  Object.assign(way, OPEN);
  await eventually(async () => (await launch(id)).startsWith("200") || undefined);
  // The first one is withdrawn once its commit is read.
  await eventually(async () => (await runsOf(remote, id)).length === 1 || undefined);
});

Deno.test("a launch whose sender has gone is not stored", async () => {
  await using remote = await startRemote({ timeout_ms: PATIENCE_MS });
  const { service, way, launch } = remote;
  const { id } = await service.trigger();
  await service.service.parts.triggers.prepared(id);
  way.isReadOnly = true;
  // It waits behind other commits.
  const { intake } = service.service.parts.store;
  const others: Promise<void>[] = [];
  while (intake.waiting === 0) others.push(intake.write([{ key: ["test"], value: 1 }]));
  const controller = new AbortController();
  const gone = launch(id, { signal: controller.signal }).catch(() => "gone");
  await eventually(() => remote.accepting.length === 1);
  controller.abort();
  assertEquals(await gone, "gone");
  await eventually(() => remote.accepting[0]?.isAbandoned?.());
  way.isReadOnly = false;
  await Promise.all(others);
  await eventually(async () => (await launch(id)).startsWith("200") || undefined);
  assertEquals((await runsOf(remote, id)).length, 1);
});

Deno.test("the memory of a body counts until its launch is over, also when that takes too long", async () => {
  await using remote = await startRemote();
  const { service, way, launch } = remote;
  const { id } = await service.trigger();
  await service.service.parts.triggers.prepared(id);
  way.isReadOnly = true;
  const body = new Uint8Array(60_000);
  assertEquals(await launch(id, { body }), "503 5");
  assertEquals(await launch(id, { body }), "503 1", "there is no memory for another one");
  way.isReadOnly = false;
  await eventually(async () => (await launch(id, { body })).startsWith("200") || undefined);
});

Deno.test("a launch and a question about a run are answered 503 when the database cannot be read", async () => {
  await using remote = await startRemote();
  const { service, way, launch } = remote;
  const { id } = await service.trigger();
  way.isClosed = true;
  assertEquals(await launch(id), "503 5");
  assertEquals(await launch(`${id}/run/?run_id=${id}`), "503 5");
  way.isClosed = false;
  await eventually(async () => (await launch(id)).startsWith("200") || undefined);
});
