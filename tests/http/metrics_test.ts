/**
 * `/metrics`: what the service counts, as Prometheus reads it.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { REFUSERS } from "../../src/conditions/kinds.ts";
import { conditionKinds } from "../../src/conditions/mod.ts";
import { z } from "zod";
import { CAUSES } from "../../src/attention/cause.ts";
import { parseYaml } from "../../src/platform/yaml/parse.ts";
import alertsText from "../../src/telemetry/alerts.yaml" with { type: "text" };
import dashboardText from "../../src/telemetry/grafana_dashboard.json" with { type: "text" };
import { Metrics } from "../../src/telemetry/metrics.ts";
import {
  ADMIN_TOKEN,
  endOfExecution,
  eventually,
  HMAC_CONDITION,
  signature,
  startService,
} from "../data.ts";
import { watchNothing } from "./watch_nothing.ts";

/** The numbers of observed times of the trigger `test`. */
const TIMES = ["start", "work"].map((time) =>
  `hooklaunch_trigger_${time}_seconds_count{trigger="test",project="files"}`
);

/** The part of a file of alert rules that is read here. */
const RULES = z.object({
  groups: z.array(z.object({
    name: z.string(),
    rules: z.array(z.strictObject({
      alert: z.string(),
      expr: z.string(),
      for: z.string().regex(/^\d+[mh]$/).optional(),
      labels: z.strictObject({ severity: z.enum(["critical", "warning"]) }),
      annotations: z.strictObject({ summary: z.string(), description: z.string() }),
    })),
  })),
});

/** The value of a sample, by its name and labels. */
function sample(text: string, name: string): number | undefined {
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

Deno.test("metrics say how launches were answered and how work ended, to operators alone", async () => {
  await using service = await startService();
  const launch = await service.trigger({
    name: "test",
    conditions: [HMAC_CONDITION],
    response: { type: "text", text: "{run_id}" },
  });
  const post = (headers: Record<string, string>) =>
    fetch(launch.url, { method: "POST", body: "a", headers });
  const runId = await (await post(signature("a"))).text();
  await (await post(signature("b"))).body?.cancel();
  await (await post({})).body?.cancel();
  const info = await fetch(`${launch.url}run/`, {
    method: "POST",
    body: `run_id=${runId}&wait=10`,
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      ...signature(`run_id=${runId}&wait=10`),
    },
  });
  const { result: [{ execution_id }] } = await info.json();
  await endOfExecution(service, execution_id);

  const refused = await fetch(`${service.url}/metrics`);
  assertEquals(refused.status, 401);
  await refused.body?.cancel();
  for (const limits of [{ triggers: ["a"] }, { projects: ["files"] }]) {
    const [name] = Object.keys(limits);
    const { body } = await service.api("POST", "tokens/", { name, scope: "admin", ...limits });
    const limited = await fetch(`${service.url}/metrics`, {
      headers: { authorization: `Bearer ${body.token}` },
    });
    assertEquals([limited.status, (await limited.json()).title], [403, "Forbidden"]);
  }
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  // The engine has its place free again, and times are observed, a moment after the end is on disk.
  const text = await eventually(async () => {
    const answer = await fetch(`${service.url}/metrics`, { headers });
    assertMatch(answer.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
    const found = await answer.text();
    const isOver = sample(found, "hooklaunch_executions_running") === 0 &&
      TIMES.every((name) => sample(found, name) === 1);
    return isOver ? found : undefined;
  }, { what: "that nothing runs" });
  const open = await fetch(`${service.url}/metrics`, {
    headers: { ...headers, accept: "application/openmetrics-text;version=1.0.0,text/plain;q=0.5" },
  });
  const openText = await open.text();
  assertMatch(open.headers.get("content-type") ?? "", /^application\/openmetrics-text; version=1/);
  assertMatch(openText, /^# TYPE hooklaunch_refusals counter$/m);
  assertMatch(openText, /\n# EOF\n$/);
  const refusals = 'hooklaunch_refusals_total{condition="hmac"}';
  assertEquals([refusals, ...TIMES].map((name) => sample(openText, name)), [2, 1, 1]);
  const counts = [
    'hooklaunch_launch_seconds_count{status="200"}',
    'hooklaunch_launch_seconds_count{status="400"}',
    'hooklaunch_refusals_total{condition="hmac"}',
    'hooklaunch_deliveries_total{outcome="accepted"}',
    'hooklaunch_deliveries_total{outcome="refused"}',
    'hooklaunch_run_seconds_count{status="completed"}',
    'hooklaunch_execution_seconds_count{status="complete"}',
    'hooklaunch_trigger_refusals_total{trigger="test",project="files",condition="hmac"}',
    'hooklaunch_trigger_runs_total{trigger="test",project="files",status="completed"}',
    'hooklaunch_trigger_executions_total{trigger="test",project="files",status="complete"}',
    "hooklaunch_backlog",
    "hooklaunch_executions_running",
    "hooklaunch_executions_waiting",
    "hooklaunch_ready",
  ].map((name) => [name, sample(text, name)]);
  assertEquals(counts, [
    ['hooklaunch_launch_seconds_count{status="200"}', 1],
    ['hooklaunch_launch_seconds_count{status="400"}', 2],
    ['hooklaunch_refusals_total{condition="hmac"}', 2],
    ['hooklaunch_deliveries_total{outcome="accepted"}', 1],
    ['hooklaunch_deliveries_total{outcome="refused"}', 2],
    ['hooklaunch_run_seconds_count{status="completed"}', 1],
    ['hooklaunch_execution_seconds_count{status="complete"}', 1],
    ['hooklaunch_trigger_refusals_total{trigger="test",project="files",condition="hmac"}', 2],
    ['hooklaunch_trigger_runs_total{trigger="test",project="files",status="completed"}', 1],
    ['hooklaunch_trigger_executions_total{trigger="test",project="files",status="complete"}', 1],
    ["hooklaunch_backlog", 0],
    ["hooklaunch_executions_running", 0],
    ["hooklaunch_executions_waiting", 0],
    ["hooklaunch_ready", 1],
  ]);
  assert((sample(text, "hooklaunch_commit_changes_count") ?? 0) > 3);
  assert((sample(text, "hooklaunch_store_bytes") ?? 0) > 0);
  assert((sample(text, "hooklaunch_memory_bytes") ?? 0) > 0);
  // Nothing that a sender chose may become a label: each value costs memory for ever.
  assert(!text.includes(runId) && !text.includes(execution_id));
});

Deno.test("metrics say what waits and runs, and how pipelines ended", async () => {
  await using service = await startService({ settings: { executionsMax: 1 } });
  const command = "until [ -e ../../../../go ]; do sleep 0.05; done";
  const nodes = [{ name: "a", type: "execution", step: "wait" }];
  await Deno.writeTextFile(
    `${service.folder}/project/valohai.yaml`,
    JSON.stringify([
      { step: { name: "wait", image: "i", command } },
      { pipeline: { name: "one", nodes, edges: [] } },
    ]),
  );
  const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const repository = `http://127.0.0.1:${silent.addr.port}/far.git`;
  await service.api("PUT", "projects/far/", { name: "far", repository });
  const launch = async (settings: Record<string, unknown>) => {
    const { url } = await service.trigger(settings);
    await (await fetch(url, { method: "POST" })).body?.cancel();
  };
  await launch({ project: "far", actions: [{ type: "fetch_repository" }] });
  await launch({
    actions: [{ type: "run_execution", step: "wait" }, { type: "run_pipeline", pipeline: "one" }],
  });
  const names = [
    "hooklaunch_backlog",
    "hooklaunch_executions_running",
    "hooklaunch_executions_waiting",
    'hooklaunch_pipeline_seconds_count{status="complete"}',
  ];
  const expect = (what: string, ...values: number[]) =>
    eventually(async () => {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
      const text = await (await fetch(`${service.url}/metrics`, { headers })).text();
      return names.every((name, index) => sample(text, name) === values[index]) || undefined;
    }, { what });
  await expect("a run and an execution that wait, and one that runs", 1, 1, 1, 0);
  silent.close();
  await Deno.writeTextFile(`${service.folder}/go`, "");
  await expect("that all has ended", 0, 0, 0, 1);
});

Deno.test("each way to end is counted from zero on: Prometheus sees no rise in what begins at one", async () => {
  const metrics = new Metrics(REFUSERS);
  const ends = { launch: "503", run: "error", execution: "stopped", pipeline: "error" };
  const names = Object.entries(ends).map(([kind, status]) =>
    `hooklaunch_${kind}_seconds_count{status="${status}"}`
  );
  const { body } = await metrics.text();
  assertEquals(names.map((name) => sample(body, name)), [0, 0, 0, 0]);
  const refusers = [...conditionKinds.map(({ type }) => type), "enabled", "secrets", "body_size"];
  for (const refuser of refusers) {
    assertEquals(sample(body, `hooklaunch_refusals_total{condition="${refuser}"}`), 0, refuser);
  }
  assert(!/"(pending|created|queued|started|stopping)"/.test(body));
  metrics.launch(503, 1);
  assertEquals(sample((await metrics.text()).body, names[0] ?? ""), 1);
});

Deno.test("the dashboard and the alert rules ask for metrics that there are", async () => {
  const metrics = new Metrics(REFUSERS);
  watchNothing(metrics, () => Promise.resolve(undefined));
  const { body } = await metrics.text();
  const known = new Set(body.match(/^# TYPE (\S+)/gm)?.map((line) => line.split(" ")[2]));
  const dashboard: { panels: { targets: { expr: string }[] }[] } = JSON.parse(dashboardText);
  const panels = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const rules = RULES.parse(parseYaml(alertsText, "alerts.yaml").value).groups.flatMap((group) =>
    group.rules
  );
  const alerts = rules.map(({ expr }) => expr);
  const asked = [...panels, ...alerts].flatMap((expr) => expr.match(/hooklaunch_\w+/g) ?? [])
    .map((name) => name.replace(/_(bucket|count|sum)$/, ""));
  assertEquals(asked.filter((name) => !known.has(name)), []);
  // A label or a value that there is not makes a rule that never fires.
  const outcomes = alerts.flatMap((expr) => [...expr.matchAll(/outcome="(\w+)"/g)]);
  for (const [label] of outcomes) assert(body.includes(`{${label}}`), label);
  const codes = alerts.flatMap((expr) => [...expr.matchAll(/code=~?"([\w|]+)"/g)])
    .flatMap(([, list = ""]) => list.split("|"));
  assertEquals(codes.filter((code) => !(code in CAUSES)), []);
  const statuses = alerts.flatMap((expr) => [...expr.matchAll(/status=~?"([\w|]+)"/g)])
    .flatMap(([, list = ""]) => list.split("|"));
  assertEquals(statuses.filter((status) => !body.includes(`{status="${status}"}`)), []);
  assertEquals(new Set(rules.map(({ alert }) => alert)).size, rules.length);
});

Deno.test("the causes that are shown are counted by their codes, and go when they have ended", async () => {
  const metrics = new Metrics(REFUSERS);
  let codes = ["notifier_failed", "disk_full", "notifier_failed"];
  watchNothing(metrics, () => Promise.resolve(undefined), () => Promise.resolve(codes));
  const shown = async () => (await metrics.text()).body.match(/^hooklaunch_causes{.*$/gm) ?? [];
  assertEquals(await shown(), [
    'hooklaunch_causes{code="notifier_failed"} 2',
    'hooklaunch_causes{code="disk_full"} 1',
  ]);
  codes = [];
  assertEquals(await shown(), []);
});

Deno.test("while the database does not answer, what was read of it last is shown", async () => {
  const metrics = new Metrics(REFUSERS);
  let isAway = false;
  let waiting = 0;
  const read = <T>(value: T) => {
    if (!isAway) return Promise.resolve(value);
    waiting++;
    return new Promise<T>(() => {});
  };
  const last = { made_at: "2027-01-31T09:30:00Z", size: 5 };
  watchNothing(
    metrics,
    (id) => read({ name: `name of ${id}`, project: "p" }),
    () => read(["disk_full"]),
    () => read({ every_ms: 3_600_000, last, proof: { proven_at: last.made_at } }),
  );
  metrics.refused("hmac", { id: "a", project: "p" });
  const shown = async () =>
    (await metrics.text()).body.match(/^hooklaunch_(backup_(?!jobs)|causes|trigger_refusals).*$/gm);
  const before = await shown();
  assertEquals(before?.length, 6);
  isAway = true;
  for (let times = 0; times < 3; times++) assertEquals(await shown(), before);
  assertEquals(waiting, 3);
});

Deno.test("what a database that is away has not answered is not asked again with each scrape", async () => {
  const metrics = new Metrics(REFUSERS);
  const back = Promise.withResolvers<void>();
  const asked: string[] = [];
  const ask = async (what: string) => {
    asked.push(what);
    await back.promise;
  };
  const labelsOf = async (id: string) => {
    await ask(id);
    return { name: "labels", project: "p" };
  };
  watchNothing(metrics, labelsOf, async () => {
    await ask("causes");
    return ["disk_full"];
  });
  metrics.refused("hmac", { id: "trigger", project: "p" });
  for (let scrape = 0; scrape < 2; scrape++) await metrics.text();
  assertEquals(asked.sort(), ["causes", "trigger"]);
  back.resolve();
  const { body } = await metrics.text();
  assertMatch(body, /^hooklaunch_causes{code="disk_full"} 1$/m);
  assertMatch(body, /^hooklaunch_trigger_refusals_total{trigger="labels",/m);
});

Deno.test("the busiest 200 triggers are named, and the count of the others never falls", async () => {
  const metrics = new Metrics(REFUSERS);
  watchNothing(
    metrics,
    (id) => Promise.resolve(id === "gone" ? undefined : { name: `n"${id}`, project: "p" }),
  );
  const refuse = (id: string, times: number) => {
    for (let time = 0; time < times; time++) metrics.refused("hmac", { id, project: "q" });
  };
  const counts = async () => {
    const { body } = await metrics.text();
    const lines = body.split("\n").filter((line) =>
      line.startsWith("hooklaunch_trigger_refusals_total{")
    );
    return new Map(lines.map((line) => {
      const [, name = "", count] = /trigger="((?:\\.|[^"])*)".* (\d+)$/.exec(line) ?? [];
      return [name, Number(count)];
    }));
  };
  for (let trigger = 0; trigger < 210; trigger++) refuse(`${trigger}`, trigger < 10 ? 1 : 2);
  refuse("gone", 5);
  let found = await counts();
  assertEquals(found.size, 201);
  // A trigger that is there no more is known by its id.
  assertEquals([found.get("gone"), found.get('n\\"200'), found.get("other")], [5, 2, 12]);
  refuse("3", 9);
  found = await counts();
  assertEquals([found.get('n\\"3'), found.get("other"), found.size], [10, 14, 201]);
});
