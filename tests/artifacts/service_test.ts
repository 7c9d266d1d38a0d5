/** A service whose artifacts lie in an S3 bucket, which fails now and then. */
import { assert, assertEquals, assertLess, assertMatch, assertRejects } from "@std/assert";
import { hash } from "node:crypto";
import { InvalidInputError } from "../../src/platform/errors.ts";
import { openExecutions } from "../../src/store/records/executions.ts";
import { abandonedUploads } from "../../src/store/records/payloads.ts";
import {
  ADMIN_TOKEN,
  endOfExecution,
  endOfRun,
  eventually,
  startService,
  TestClock,
  type TestService,
} from "../data.ts";
import { CREDENTIALS, hasNoS3, S3Server } from "./s3_server.ts";

const ignore = hasNoS3;
const KEEPS_RUN = { response: { type: "json", json: { run: "{run_id}" } } };

/** A service that soon gives up a request to its bucket. */
function impatient(server: S3Server) {
  return { artifacts: server.store({ patience_ms: 2_000, pause_ms: 50, answer_ms: 1_000 }) };
}

function bySettings(server: S3Server) {
  const { accessKeyId, secretAccessKey } = CREDENTIALS;
  const env = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
  return { settings: { storage: server.storage }, env };
}

async function launch(url: string, body: string): Promise<{ status: number; run?: string }> {
  const answer = await fetch(url, { method: "POST", body });
  const text = await answer.text();
  return { status: answer.status, ...(answer.ok ? JSON.parse(text) : {}) };
}

async function textAt(service: TestService, path: string, accept = "*/*"): Promise<string> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, accept };
  return await (await fetch(`${service.url}${path}`, { headers })).text();
}

Deno.test("long payloads go to the bucket, and come back from it", { ignore }, async () => {
  await using server = await S3Server.start();
  await using service = await startService({ artifacts: server.store() });
  const { url } = await service.trigger(KEEPS_RUN);
  const bodies = ["short", "x".repeat(100_000), "long ".repeat(60_000)];
  for (const body of bodies) {
    const { status, run = "" } = await launch(url, body);
    assertEquals(status, 200);
    const path = `some prefix/payloads/${run}`;
    assertEquals(server.files().includes(path), body.length > 120 * 1024, body.slice(0, 5));
    assertEquals(await textAt(service, `/api/v0/runs/${run}/payload/`), body);
    const { actions } = await endOfRun(service, run);
    const execution = await endOfExecution(service, actions[0].created.execution_id);
    assertEquals(execution.status, "complete", execution.reason);
    assertEquals(execution.outputs[0].sha256, hash("sha256", body));
  }
});

Deno.test("while the bucket fails, launches that do not need it go on", { ignore }, async () => {
  await using server = await S3Server.start();
  await using service = await startService(impatient(server));
  const { url } = await service.trigger(KEEPS_RUN);
  const long = "long ".repeat(60_000);
  const launchShort = async () => {
    const began_ms = performance.now();
    for (let count = 0; count < 20; count++) assertEquals((await launch(url, "short")).status, 200);
    return performance.now() - began_ms;
  };
  const usual_ms = await launchShort();
  for (const mode of [500, 403, "hang"] as const) {
    server.mode = mode;
    const refused = launch(url, long);
    // Each would wait for two seconds.
    assertLess(await launchShort(), Math.max(20_000, 4 * usual_ms));
    assertEquals(await refused, { status: 503 }, String(mode));
    assertEquals(
      await textAt(service, "/readyz"),
      "ready, but the artifact store cannot be used now\n",
    );
    assertMatch(await textAt(service, "/metrics"), /^hooklaunch_artifact_store_up 0$/m);
  }
  server.mode = "pass";
  // On a busy machine the bucket may take longer than this service waits, once.
  const run = await eventually(async () => (await launch(url, long)).run);
  const path = `/api/v0/runs/${run}/payload/`;
  await eventually(async () => await textAt(service, path) === long || undefined);
  assertEquals(await textAt(service, "/readyz"), "ready\n");
  assertMatch(await textAt(service, "/metrics"), /^hooklaunch_artifact_store_up 1$/m);
  const { store } = service.service.parts;
  await eventually(async () => (await openExecutions(store).next()).done);
});

Deno.test("a slow bucket is waited for, and the launch is stored", { ignore }, async () => {
  await using server = await S3Server.start();
  await using service = await startService({
    artifacts: server.store({ patience_ms: 6_000, pause_ms: 50, answer_ms: 2_000 }),
  });
  const { url } = await service.trigger(KEEPS_RUN);
  server.mode = 503;
  const launched = launch(url, "long ".repeat(60_000));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  server.mode = "pass";
  const { status, run = "" } = await launched;
  assertEquals(status, 200);
  assertEquals((await endOfRun(service, run)).status, "completed");
});

Deno.test(
  "cleanup removes from the bucket, too: runs past their retention, and what was never accepted",
  { ignore },
  async () => {
    await using server = await S3Server.start();
    const clock = new TestClock(Date.now());
    await using service = await startService({ ...impatient(server), clock });
    const { store } = service.service.parts;
    const { url } = await service.trigger({
      ...KEEPS_RUN,
      actions: [{ type: "fetch_repository" }],
    });
    const long = "long ".repeat(60_000);
    const { run = "" } = await launch(url, long);
    await endOfRun(service, run);
    server.mode = 500;
    assertEquals((await launch(url, long)).status, 503);
    assertEquals((await abandonedUploads(store, Infinity)).length, 1);
    clock.time_ms += 31 * 24 * 60 * 60_000;
    // The bucket still fails: what cannot be removed there stays recorded.
    const failed = await service.service.cleanUp();
    assertEquals([failed.runs, failed.uploads], [0, 0]);
    server.mode = "pass";
    await eventually(async () => {
      await service.service.cleanUp();
      return server.files().length === 0 || undefined;
    });
    assertEquals((await service.api("GET", `runs/${run}/`)).status, 404);
    assertEquals(await abandonedUploads(store, Infinity), []);
  },
);

Deno.test("a payload that was changed in the bucket is not passed on", { ignore }, async () => {
  await using server = await S3Server.start();
  await using service = await startService({ artifacts: server.store() });
  const { url } = await service.trigger({ ...KEEPS_RUN, actions: [{ type: "fetch_repository" }] });
  const { run = "" } = await launch(url, "long ".repeat(60_000));
  const file = `${server.folder}/bucket/some prefix/payloads/${run}`;
  const bytes = Deno.readFileSync(file);
  bytes[1_000] = 0x58;
  Deno.writeFileSync(file, bytes);
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const answer = await fetch(`${service.url}/api/v0/runs/${run}/payload/`, { headers });
  // It breaks off before its end.
  const got = await answer.text().then((text) => text.length, () => -1);
  assert(got < bytes.length, `${got} bytes came`);
});

Deno.test(
  "the setting names the bucket, and its credentials are in variables",
  { ignore },
  async () => {
    await using server = await S3Server.start();
    const { settings, env } = bySettings(server);
    await assertRejects(() => startService({ settings }), InvalidInputError, "AWS_ACCESS_KEY_ID");
    await using service = await startService({ settings, env });
    const { url } = await service.trigger(KEEPS_RUN);
    assertEquals((await launch(url, "long ".repeat(60_000))).status, 200);
    assertEquals(server.files().length, 1);
  },
);

Deno.test("what an execution leaves is in the bucket when it has ended, and is served from there", {
  ignore,
}, async () => {
  await using server = await S3Server.start();
  await using service = await startService(impatient(server));
  const { url } = await service.trigger(KEEPS_RUN);
  server.mode = 500;
  const { run = "" } = await launch(url, "a payload");
  const { actions } = await endOfRun(service, run);
  const id = actions[0].created.execution_id;
  const printed = () => textAt(service, `/api/v0/executions/${id}/log/`, "text/plain");
  await eventually(async () => (await printed()).length > 0 || undefined);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  // Its end waits for the bucket.
  assertEquals((await service.api("GET", `executions/${id}/`)).body.status, "started");
  server.mode = "pass";
  const execution = await endOfExecution(service, id);
  assertEquals([execution.status, execution.exit_code], ["complete", 0]);
  assertEquals(server.files(), [
    `some prefix/executions/${id}/log`,
    `some prefix/executions/${id}/outputs/payload.txt`,
  ]);
  const lines = await printed();
  // As another instance sees it, which has no folder of it.
  await Deno.remove(`${service.folder}/data/executions/${id}`, { recursive: true });
  assertEquals(await printed(), lines);
  assertEquals(await textAt(service, `/api/v0/executions/${id}/outputs/payload.txt`), "a payload");
  await service.service.parts.engines.forget(execution);
  assertEquals(server.files(), []);
});

Deno.test(
  "an execution whose end waits for the bucket ends after a restart",
  { ignore },
  async () => {
    await using server = await S3Server.start();
    await using service = await startService(bySettings(server));
    const { url } = await service.trigger(KEEPS_RUN);
    server.mode = 500;
    const { run = "" } = await launch(url, "a payload");
    const { actions } = await endOfRun(service, run);
    const id = actions[0].created.execution_id;
    await eventually(() => server.failed > 2 || undefined);
    await service.restart();
    assertEquals((await service.api("GET", `executions/${id}/`)).body.status, "started");
    server.mode = "pass";
    const execution = await endOfExecution(service, id);
    assertEquals([execution.status, execution.exit_code], ["complete", 0]);
    assertEquals(
      await textAt(service, `/api/v0/executions/${id}/outputs/payload.txt`),
      "a payload",
    );
    assertEquals(server.files().length, 2);
  },
);

Deno.test(
  "an execution whose payload is in the bucket waits until it can be read",
  { ignore },
  async () => {
    await using server = await S3Server.start();
    await using service = await startService({
      ...impatient(server),
      settings: { executionsMax: 1 },
    });
    const actions = [{ type: "run_execution", step: "slow" }];
    const before = await launch((await service.trigger({ ...KEEPS_RUN, actions })).url, "short");
    const slow = (await endOfRun(service, before.run ?? "")).actions[0].created.execution_id;
    const { run = "" } = await launch(
      (await service.trigger(KEEPS_RUN)).url,
      "long ".repeat(60_000),
    );
    const id = (await endOfRun(service, run)).actions[0].created.execution_id;
    server.mode = 500;
    await service.api("POST", `executions/${slow}/stop/`);
    await eventually(async () => {
      const text = await textAt(service, `/api/v0/executions/${id}/log/`, "text/plain");
      return text.includes("Waiting for an input: Cannot use the bucket") || undefined;
    });
    server.mode = "pass";
    assertEquals((await endOfExecution(service, id)).status, "complete");
  },
);
