/** The hosted entry on a platform that is played: no subprocess, no file written, no path to the database. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { HMAC_CONDITION, signature } from "../data.ts";
import { startReceiver } from "../http/receiver.ts";
import { has } from "../needs.ts";
import { eventually } from "../surroundings.ts";
import { launchUntilAccepted, makeTrigger, relay } from "./launching.ts";
import { type HostedProcess, STOP_MS, Timeline } from "./platform.ts";

const BODY = '{"name":"world"}';

Deno.test("a launch signed by HMAC sends its HTTP request, and tells of its run", async () => {
  await using timeline = new Timeline();
  await using receiver = startReceiver();
  const process = await timeline.start();
  assertEquals(process.crons.map(({ name, schedule }) => ({ name, schedule })), [
    { name: "sweep", schedule: "* * * * *" },
    { name: "cleanup", schedule: "17 * * * *" },
  ]);
  const path = await makeTrigger(process, relay(receiver.port));
  const refused = await process.fetch(path, {
    method: "POST",
    body: BODY,
    headers: { ...signature("another body"), "content-type": "application/json" },
  });
  assertEquals([refused.status, refused.headers.get("cache-control")], [400, "no-store"]);
  assertEquals(await refused.json(), { title: "Request rejected", status: 400 });
  const headers = { ...signature(BODY), "content-type": "application/json" };
  const answer = await process.fetch(path, { method: "POST", body: BODY, headers });
  assertEquals([answer.status, answer.headers.get("cache-control")], [200, "no-store"]);
  const { run } = await answer.json();
  const [received] = await receiver.arrived("/hook", 1);
  assertEquals(JSON.parse(received?.body ?? ""), { hello: "world", run });
  const asked = JSON.stringify({ run_id: run });
  const info = await eventually(async () => {
    const answer = await process.fetch(`${path}run/`, {
      method: "POST",
      body: asked,
      headers: { ...signature(asked), "content-type": "application/json" },
    });
    assertEquals(answer.status, 200);
    const info = await answer.json();
    return info.status === "pending" ? undefined : info;
  });
  assertEquals(info.status, "completed");
  // Plain HTTP is refused where the platform says that it was.
  const plain = await process.fetch(path, {
    method: "POST",
    body: BODY,
    headers: { ...headers, "x-forwarded-proto": "http" },
  });
  assertEquals(plain.status, 403);
  await plain.body?.cancel();
  assertEquals((await process.stop(STOP_MS)).code, 0);
});

Deno.test("a bulk replay goes on while nobody asks, and after its instance was killed", async () => {
  await using timeline = new Timeline({ HOOKLAUNCH_IDLE_SECONDS: "1" });
  await using receiver = startReceiver();
  const process = await timeline.start();
  const path = await makeTrigger(process, relay(receiver.port));
  for (const name of ["a", "b", "c", "d"]) await launchUntilAccepted(process, path, name);
  await receiver.arrived("/hook", 4);
  const made = await process.api("POST", "replays/", { filter: { trigger: "relay" }, rate: 0.4 });
  assertEquals([made.status, made.body.count], [201, 4]);
  await receiver.arrived("/hook", 6);
  process.kill("SIGKILL");
  await process.ended;
  const next = await timeline.start();
  await next.tick("sweep");
  await receiver.arrived("/hook", 8);
});

Deno.test("without secrets and without a database it listens, and says what is missing", async () => {
  await using timeline = new Timeline({
    HOOKLAUNCH_STORAGE: "/data",
    HOOKLAUNCH_AGENT_CA: "README.md",
  });
  const process = await timeline.start({
    unset: ["HOOKLAUNCH_SECRET_KEY", "HOOKLAUNCH_ADMIN_TOKEN", "DENO_KV_DEFAULT_PATH"],
  });
  const health = await process.fetch("/healthz");
  assertEquals([health.status, await health.text()], [200, "ok\n"]);
  const ready = await process.fetch("/readyz");
  assertEquals(ready.status, 503);
  const text = await ready.text();
  assertMatch(text, /^not ready: .*HOOKLAUNCH_SECRET_KEY/m);
  assertMatch(text, /^not ready: .*HOOKLAUNCH_ADMIN_TOKEN/m);
  assertMatch(text, /^not ready: HOOKLAUNCH_STORAGE is wrong: .*s3:/m);
  assertMatch(
    text,
    /^not ready: HOOKLAUNCH_AGENT_CA is wrong: .*PEM, found another one at README/m,
  );
  const page = await process.fetch("/", { headers: { accept: "text/html" } });
  assertEquals(page.status, 503);
  assertStringIncludes(await page.text(), "HOOKLAUNCH_SECRET_KEY");
  const launch = await process.fetch("/api/v0/launch/x/", { method: "POST", body: "{}" });
  assertEquals(launch.status, 503);
  assertEquals(await launch.json(), { title: "Service Unavailable", status: 503 });
  await eventually(() => /HOOKLAUNCH_SECRET_KEY/.exec(process.printed()) ?? undefined);
  assertEquals(await process.tick("sweep"), true);
});

Deno.test({
  name: "an older Deno says which one is needed",
  ignore: !has("deno-2.5.0"),
  async fn() {
    await using timeline = new Timeline();
    const process = await timeline.start({ deno: "deno-2.5.0" });
    const needed = /Deno 2\.9\.6 or later is needed, and this is Deno 2\.5\.0/;
    assertMatch(await (await process.fetch("/readyz")).text(), needed);
    assertMatch(await (await process.fetch("/")).text(), needed);
    assertEquals(await (await process.fetch("/healthz")).text(), "ok\n");
    assertMatch(await eventually(() => needed.exec(process.printed())?.[0]), needed);
  },
});

Deno.test("several instances accept launches, and any of them answers operators, until the next leads", async () => {
  // As instances that are called again and again.
  await using timeline = new Timeline({ HOOKLAUNCH_IDLE_SECONDS: "600" });
  await using receiver = startReceiver();
  const first = await timeline.start();
  const path = await makeTrigger(first, relay(receiver.port));
  const second = await timeline.start();
  const launch = (process: HostedProcess, name: string) => launchUntilAccepted(process, path, name);
  const of = { first: await launch(first, "first"), second: await launch(second, "second") };
  const found = await second.api("GET", `runs/${of.first}/`);
  assertEquals([found.status, found.body.id], [200, of.first]);
  await eventually(async () => {
    const { body } = await second.api("GET", "instances/");
    return body?.results?.length === 2 ? true : undefined;
  }, { what: "two instances" });
  // More than one value of the database holds.
  const body = "x".repeat(27_000);
  const actions = Array(2).fill({ type: "http_request", url: "https://example.com/", body });
  const long = { name: "long", project: "relays", conditions: [HMAC_CONDITION], actions };
  const made = await second.api("POST", "triggers/", long);
  assertEquals(made.status, 201, JSON.stringify(made.body).slice(0, 500));
  const read = await first.api("GET", `triggers/${made.body.id}/`);
  assertEquals(read.body.actions[1].body, body);
  // What it can do without is no reason to answer nothing.
  const noted = await second.api("GET", "attention/?code=setting_missing");
  assertEquals(
    noted.body.results.map(({ text }: { text: string }) => /HOOKLAUNCH_\w+/.exec(text)?.[0]),
    ["HOOKLAUNCH_STORAGE", "HOOKLAUNCH_PUBLIC_URL"],
  );
  const local = await second.api("PUT", "projects/here/", {
    name: "here",
    repository: "https://git.example.com/here.git",
    engine: { type: "local" },
  });
  assertEquals(local.status, 422);
  assertMatch(local.body.detail, /\/engine\/type: .*"slurm" or "kubernetes".*http_request/);
  const wrong = await second.fetch("/api/v0/triggers/", {
    headers: { authorization: "Bearer no" },
  });
  assertEquals(wrong.status, 401);
  await wrong.body?.cancel();
  await receiver.arrived("/hook", 2);
  assertEquals((await first.stop(STOP_MS)).code, 0);
  const third = await launch(second, "third");
  await receiver.arrived("/hook", 3);
  const run = await eventually(async () => {
    const { body } = await second.api("GET", `runs/${third}/`);
    return body?.status === "completed" ? body : undefined;
  });
  assertEquals(run.id, third);
});
