/**
 * A service that may open no more files.
 *
 * @module
 */
import { assert, assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import { eventually } from "../surroundings.ts";
import { Sender } from "./senders.ts";
import { serve, type Served, shell, TOKEN } from "./served.ts";
import { type Workshop, workshop } from "./workshop.ts";

/** So few that a test reaches it, and more than an idle service has. */
const FILES_MAX = 120;

Deno.test("a service goes on when it has had as many connections as it may open files", async () => {
  await using shop = await workshop([]);
  let pid = 0;
  await using service = await serve(shop.folder, { onSpawn: (child) => pid = child.pid });
  await shell(`prlimit --pid ${pid} --nofile=${FILES_MAX}`);
  const { port, url } = service;
  const idle: Deno.TcpConn[] = [];
  const isCutOff = () => service.printed().includes("Cannot accept connections");
  await eventually(async () => {
    if (isCutOff()) return true;
    const connection = await Deno.connect({ hostname: "127.0.0.1", port }).catch((error) => {
      // Nobody listens already, and the log is about to say why.
      assertInstanceOf(error, Deno.errors.ConnectionRefused);
    });
    if (connection) idle.push(connection);
    return undefined;
  }, { what: "a connection too many" });
  assertStringIncludes(service.printed(), "Too many open files");
  for (const connection of idle) connection.close();
  const answer = await eventually(
    () => fetch(`${url}/healthz`).catch(() => undefined),
    { what: "an answer when there is room again" },
  );
  assertEquals([answer.status, await answer.text()], [200, "ok\n"]);
  service.signal("SIGTERM");
  assertEquals((await service.end()).code, 0, service.printed());
});

const ID = "01900000-0000-7000-8000-000000000001";
/** Fewer than are open already: what is opened anew fails, and what is open goes on. */
const NONE_LEFT = 10;

/** A service that has launched a command which waits for the file `go`, and then leaves an output. */
interface Waiting extends AsyncDisposable {
  shop: Workshop;
  service: Served;
  /** The path of the execution in the API. */
  path: string;
  /** How many files the service may open. */
  limit(files: number): Promise<void>;
}

async function launched(): Promise<Waiting> {
  await using stack = new AsyncDisposableStack();
  const shop = stack.use(await workshop([{ id: ID, name: "t" }]));
  const { folder } = shop;
  const command = `echo begun; while ! [ -e '${folder}/go' ]; do sleep 0.05; done; ` +
    `echo weights >$VH_OUTPUTS_DIR/model`;
  const step = { name: "mark", image: "i", command, inputs: [{ name: "body" }] };
  await Deno.writeTextFile(`${folder}/p/valohai.yaml`, JSON.stringify([{ step }]));
  let pid = 0;
  const service = stack.use(await serve(folder, { onSpawn: (child) => pid = child.pid }));
  const [soft = ""] = (await shell(`prlimit --pid ${pid} --nofile --noheadings -o SOFT`)).split(
    "\n",
  );
  const url = `${service.url}/api/v0/launch/${ID}/`;
  const runId = await (await fetch(url, { method: "POST", body: "x" })).text();
  const run = await service.api(`${url}run/?run_id=${runId}&wait=10`);
  const path = `executions/${run.result[0].execution_id}/`;
  await eventually(async () => (await service.api(`${path}log/`)).results.length || undefined);
  const limit = async (files: number) => {
    const to = files === Infinity ? soft.trim() : files;
    await shell(`prlimit --pid ${pid} --nofile=${to}:`);
  };
  const kept = stack.move();
  return { shop, service, path, limit, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

async function ended({ service, path }: Waiting) {
  return await eventually(async () => {
    const execution = await service.api(path);
    return execution.ended_at === undefined ? undefined : execution;
  });
}

async function untilItWaits({ service }: Waiting): Promise<void> {
  await eventually(() =>
    /Execution \S+ waits: .*oo many open files/.test(service.printed()) || undefined
  );
}

Deno.test("a command that ends while the service may open no file ends as it did", async () => {
  await using waiting = await launched();
  await waiting.limit(NONE_LEFT);
  await Deno.writeTextFile(`${waiting.shop.folder}/go`, "");
  await untilItWaits(waiting);
  await waiting.limit(Infinity);
  const { status, reason, exit_code, outputs } = await ended(waiting);
  assertEquals([status, reason, exit_code], ["complete", undefined, 0]);
  assertEquals(outputs.map(({ path }: { path: string }) => path), ["model"]);
});

Deno.test("a command that is to be stopped while the service can start no program is told when it can", async () => {
  await using waiting = await launched();
  const { service, path } = waiting;
  using operator = new Sender(() => service.port);
  const post = async (path: string) => {
    const authorization = `Bearer ${TOKEN}`;
    const answer = await operator.post(path, new Uint8Array(), { authorization });
    return typeof answer === "string" ? answer : answer.status;
  };
  // What comes by a connection that is open is answered.
  assertEquals(await post("/healthz"), 405);
  await waiting.limit(NONE_LEFT);
  assertEquals(await post(`/api/v0/${path}stop/`), 202);
  await untilItWaits(waiting);
  await waiting.limit(Infinity);
  const { status, reason, exit_code } = await ended(waiting);
  assertEquals([status, reason, exit_code], ["stopped", "Stopped by request", 143]);
});

Deno.test("a launch that is taken while the service may open no file is performed when it may", async () => {
  await using waiting = await launched();
  const { service, shop } = waiting;
  await Deno.writeTextFile(`${shop.folder}/go`, "");
  await ended(waiting);
  using sender = new Sender(() => service.port);
  await sender.open();
  const post = (path: string) => sender.post(path, new Uint8Array());
  await post("/healthz");
  await waiting.limit(NONE_LEFT);
  const answer = await post(`/api/v0/launch/${ID}/`);
  assert(typeof answer !== "string" && answer.status === 200);
  await eventually(() =>
    /Cannot perform run \S+ now, .*oo many open f/.test(service.printed()) || undefined
  );
  await waiting.limit(Infinity);
  const run = await service.api(
    `${service.url}/api/v0/launch/${ID}/run/?run_id=${answer.body}&wait=10`,
  );
  assertEquals(run.status, "completed");
  const path = `executions/${run.result[0].execution_id}/`;
  assertEquals((await ended({ ...waiting, path })).status, "complete");
  assertEquals((await service.api("executions/")).results.length, 2);
});

/** What becomes of a connection to a service that stops to listen. */
const { ConnectionRefused, ConnectionReset, NotConnected, BrokenPipe } = Deno.errors;
const CUT_OFF = [ConnectionRefused, ConnectionReset, NotConnected, BrokenPipe];

Deno.test("connections that say nothing make room where a service may open no more files", async () => {
  const id = "01900000-0000-7000-8000-000000000001";
  await using shop = await workshop([{ id, name: "t" }]);
  let pid = 0;
  await using service = await serve(shop.folder, { onSpawn: (child) => pid = child.pid });
  await shell(`prlimit --pid ${pid} --nofile=${FILES_MAX}`);
  const { port, url } = service;
  const silent: Deno.TcpConn[] = [];
  const half = new TextEncoder().encode("POST / HT");
  try {
    while (!service.printed().includes("Cannot accept connections")) {
      try {
        const connection = await Deno.connect({ hostname: "127.0.0.1", port });
        silent.push(connection);
        if (silent.length % 2 === 0) await connection.write(half);
      } catch (error) {
        // Nobody listens already, and the log is about to say why.
        assert(CUT_OFF.some((kind) => error instanceof kind), String(error));
      }
    }
    const launched = await eventually(
      () => fetch(`${url}/api/v0/launch/${id}/`, { method: "POST" }).catch(() => undefined),
      { what: "an answer beside them" },
    );
    const asked = await fetch(
      `${url}/api/v0/launch/${id}/run/?wait=30&run_id=${await launched.text()}`,
    );
    assertEquals((await asked.json()).status, "completed");
    await eventually(async () => (await shop.marks()).size === 1 || undefined, {
      what: "the run of a command",
    });
  } finally {
    for (const connection of silent) connection.close();
  }
});
