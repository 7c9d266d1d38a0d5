/**
 * One trace from the launch to the end of what it launched: a real process exports its spans, and is
 * killed in between.
 */
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { ignoreMissing } from "../../src/platform/files/missing_file.ts";
import { hooklaunch } from "../commands/process.ts";
import { eventually, temporaryFolder } from "../surroundings.ts";
import { collect, type Collector, type SentSpan } from "./collector.ts";

const TOKEN = "an-operators-token-for-tests";
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`;
const TRIGGERS = { step: "a001", pipeline: "a002", wait: "a003", fetch: "a004" };

/** A port that is taken, where nobody answers. */
function silentPort(): AsyncDisposable & { port: number } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of listener) connections.push(connection);
  })();
  return {
    port: listener.addr.port,
    async [Symbol.asyncDispose]() {
      listener.close();
      // One may just have been accepted.
      await accepting;
      for (const connection of connections) connection.close();
    },
  };
}

function idOf(trigger: keyof typeof TRIGGERS): string {
  return `01900000-0000-7000-8000-00000000${TRIGGERS[trigger]}`;
}

/** Writes a configuration with one trigger for each kind of launch. */
async function configure(folder: string, silent_port = 1): Promise<void> {
  await Deno.mkdir(`${folder}/p`);
  const step = (name: string, command: string) => ({ step: { name, image: "i", command } });
  // Of a service that is killed, it ends with the folder.
  const wait = `while [ ! -e '${folder}/go' ] && [ -d '${folder}' ]; do sleep 0.05; done; exit 3`;
  const nodes = ["first", "second"].map((name) => ({ name, type: "execution", step: "tell" }));
  const project = [
    step("tell", 'echo "trace=$TRACEPARENT"'),
    step("wait", wait),
    { pipeline: { name: "both", nodes, edges: [] } },
  ];
  await Deno.writeTextFile(`${folder}/p/valohai.yaml`, JSON.stringify(project));
  const trigger = (name: keyof typeof TRIGGERS, project: string, action: object) => {
    const response = { type: "text", text: "{run_id}" };
    return { id: idOf(name), name, project, actions: [action], response };
  };
  const config = {
    projects: [
      { name: "p", directory: "./p" },
      { name: "far", repository: `http://127.0.0.1:${silent_port}/p.git` },
    ],
    triggers: [
      trigger("step", "p", { type: "run_execution", step: "tell" }),
      trigger("pipeline", "p", { type: "run_pipeline", pipeline: "both" }),
      trigger("wait", "p", { type: "run_execution", step: "wait" }),
      trigger("fetch", "far", { type: "fetch_repository" }),
    ],
  };
  await Deno.writeTextFile(`${folder}/hooklaunch.yaml`, JSON.stringify(config));
}

/** Starts the service of a folder, with or without something that collects its spans. */
async function serve(folder: string, env: Record<string, string>) {
  const flags = ["--data", `${folder}/data`, "--config", `${folder}/hooklaunch.yaml`];
  const service = hooklaunch(
    ["serve", "--port", "0", "--dev", "--log-format", "json", "--stop-timeout", "1", ...flags],
    { HOOKLAUNCH_ADMIN_TOKEN: TOKEN, OTEL_DENO_TRACING: "false", ...env },
  );
  const [, url = ""] = await service.expect(/reached as (http:\/\/127\.0\.0\.1:\d+)/);
  return {
    ...service,
    url,
    async launch(trigger: keyof typeof TRIGGERS, headers: Record<string, string> = {}) {
      const to = `${url}/api/v0/launch/${idOf(trigger)}/`;
      const answer = await fetch(to, { method: "POST", headers, body: "{}" });
      assertEquals(answer.status, 200);
      return await answer.text();
    },
    // The tests look into it by the API's contract.
    // deno-lint-ignore no-explicit-any
    async api(path: string, method = "GET"): Promise<any> {
      const headers = { authorization: `Bearer ${TOKEN}` };
      return await (await fetch(`${url}/api/v0/${path}`, { method, headers })).json();
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** Waits for a span of this name and with this attribute. */
function sent(collector: Collector, name: string, key: string, value: string): Promise<SentSpan> {
  const look = () =>
    collector.spans().find((span) =>
      span.name === name && span.attributes[`hooklaunch.${key}`] === value
    );
  return eventually(look, { what: `a span "${name}" of ${key} ${value}` });
}

/** The spans above a span, the nearest first, as far as they were sent. */
function above(collector: Collector, span: SentSpan): SentSpan[] {
  const parent = collector.spans().find(({ spanId }) => spanId === span.parentSpanId);
  return parent === undefined ? [] : [parent, ...above(collector, parent)];
}

const LAUNCH = "POST /api/v0/launch/{trigger_id}/";

Deno.test("traces of what a service launches", async (t) => {
  await using folder = await temporaryFolder();
  await using collector = collect();
  await configure(folder.path);
  const env = { ...collector.env, HOOKLAUNCH_LOG_LEVEL: "debug" };
  await using service = await serve(folder.path, env);

  await t.step("a launch can be followed through the log, by its run and its trace", async () => {
    const run = await service.launch("step", { traceparent: TRACEPARENT });
    const [, text = ""] = await service.expect(/^(\{.*Execution \S+ of step tell ended.*\})$/m);
    const { level, execution_id, status, exit_code } = JSON.parse(text);
    assertEquals({ level, status, exit_code }, { level: "info", status: "complete", exit_code: 0 });
    const lines = service.printed().split("\n").filter((line) => line.includes(`"run_id":"${run}"`))
      .map((line) => JSON.parse(line));
    assertEquals(lines.map(({ message }) => message), [
      `Run ${run} of trigger step: accepted`,
      `Run ${run} ended: completed`,
      `Execution ${execution_id} of step tell ended: complete`,
    ]);
    for (const { trace_id, project } of lines) assertEquals([trace_id, project], [TRACE, "p"]);
  });

  await t.step(
    "one trace goes from the sender through launch, run and action to the execution and its command",
    async () => {
      const run = await service.launch("step", {
        traceparent: TRACEPARENT,
        tracestate: "a=strange",
      });
      const execution = await sent(collector, "execution", "run", run);
      const path = await eventually(() => {
        const found = above(collector, execution);
        return found.length < 3 ? undefined : found;
      });

      assertEquals(path.map(({ name }) => name), ["action run_execution", "run", LAUNCH]);
      for (const { traceId } of [execution, ...path]) assertEquals(traceId, TRACE);
      assertEquals(path[2]?.parentSpanId, SPAN);
      assertEquals(path[2]?.attributes["hooklaunch.trigger"], "step");
      assertEquals(path[1]?.attributes, {
        "hooklaunch.run": run,
        "hooklaunch.project": "p",
        "hooklaunch.trigger": "step",
        "hooklaunch.status": "completed",
      });
      const id = execution.attributes["hooklaunch.execution"] ?? "";
      assertEquals(execution.attributes, {
        "hooklaunch.execution": id,
        "hooklaunch.run": run,
        "hooklaunch.project": "p",
        "hooklaunch.step": "tell",
        "hooklaunch.status": "complete",
        "hooklaunch.exit_code": "0",
      });
      const stored = await service.api(`executions/${id}/`);
      assertEquals(execution.start_ms, Date.parse(stored.started_at));
      assertEquals(execution.end_ms, Date.parse(stored.ended_at));
      assert(!("traceparent" in stored), "the API shows a field of no use");
      const { results } = await service.api(`executions/${id}/log/`);
      assertEquals(results[0].message, `trace=00-${TRACE}-${path[0]?.spanId}-01`);
      assert(!(collector.got.get("/v1/traces") ?? "").includes("strange"));
    },
  );

  await t.step(
    "the nodes of a pipeline and their executions are in the trace of its launch",
    async () => {
      const run = await service.launch("pipeline", { traceparent: TRACEPARENT });
      const pipeline = await sent(collector, "pipeline", "run", run);
      assertEquals(pipeline.attributes["hooklaunch.status"], "complete");
      const path = (span: SentSpan) => above(collector, span).map(({ name }) => name);
      const launched = ["action run_pipeline", "run", LAUNCH];
      await eventually(() => path(pipeline).length === 3 ? true : undefined);
      assertEquals(path(pipeline), launched);
      for (const name of ["first", "second"]) {
        const execution = await sent(collector, "execution", "node", name);
        assertEquals(execution.traceId, TRACE);
        assertEquals(path(execution), ["node", ...launched]);
        assertEquals(above(collector, execution)[0]?.attributes["hooklaunch.node"], name);
      }
      const id = pipeline.attributes["hooklaunch.pipeline"] ?? "";
      assert(!("traceparent" in await service.api(`pipelines/${id}/`)));
      const [, line = ""] = await service.expect(/^(\{.*Pipeline \S+ ended.*\})$/m);
      const { pipeline_id, run_id, trace_id } = JSON.parse(line);
      assertEquals({ pipeline_id, run_id, trace_id }, {
        pipeline_id: id,
        run_id: run,
        trace_id: TRACE,
      });
      const logs = await eventually(() => {
        const text = collector.got.get("/v1/logs") ?? "";
        return text.includes(`Pipeline ${id} ended`) ? text : undefined;
      });
      // Nothing went wrong.
      assert(!logs.includes('"ERROR"'), logs);
    },
  );

  await t.step("the spans of an action that failed and of its run say so", async () => {
    const run = await sent(collector, "run", "run", await service.launch("fetch"));
    const action = await eventually(() =>
      collector.spans().find(({ name }) => name === "action fetch_repository")
    );
    assertEquals([run.hasFailed, action.hasFailed], [true, true]);
    assertEquals(run.attributes["hooklaunch.status"], "error");
  });

  await t.step("without a valid traceparent, each launch begins a trace of its own", async () => {
    const seen = new Set<string>();
    for (
      const traceparent of [
        undefined,
        "",
        "nonsense",
        `00-${TRACE}-${SPAN}`,
        `00-${TRACE}-${SPAN}-01-more`,
        `00-${TRACE.toUpperCase()}-${SPAN}-01`,
        `00-${"0".repeat(32)}-${SPAN}-01`,
        `00-${TRACE}-${"0".repeat(16)}-01`,
        `ff-${TRACE}-${SPAN}-01`,
        `${TRACEPARENT}, ${TRACEPARENT}`,
      ]
    ) {
      const run = await service.launch("step", traceparent === undefined ? {} : { traceparent });
      const { traceId } = await sent(collector, "execution", "run", run);
      assertMatch(traceId, /^[0-9a-f]{32}$/);
      assertNotEquals(traceId, TRACE, `of ${traceparent}`);
      assert(!seen.has(traceId), `${traceparent} did not begin a trace`);
      seen.add(traceId);
      const ofTrace = () =>
        collector.spans().find((span) => span.name === LAUNCH && span.traceId === traceId);
      assertEquals((await eventually(ofTrace)).parentSpanId, undefined);
    }
  });

  await t.step(
    "a span of a launch that failed says so, and all of them have their status as a number",
    async () => {
      const trace = "3".repeat(32);
      const headers = { traceparent: `00-${trace}-${SPAN}-01` };
      const run = await service.launch("step", headers);
      await sent(collector, "execution", "run", run);
      using other = new DatabaseSync(`${folder.path}/data/hooklaunch.kv`);
      other.exec("BEGIN IMMEDIATE");
      const to = `${service.url}/api/v0/launch/${idOf("step")}/`;
      const answer = await fetch(to, { method: "POST", headers });
      await answer.body?.cancel();
      assertEquals(answer.status, 503);
      other.exec("ROLLBACK");
      const launches = () =>
        collector.spans().filter(({ name, traceId }) => name === LAUNCH && traceId === trace);
      const ended = await eventually(() => launches().length < 2 ? undefined : launches());
      const told = ended.map(({ attributes, hasFailed }) => [
        attributes["http.response.status_code"],
        hasFailed,
      ]);
      assertEquals(told, [["200", false], ["503", true]]);
      const text = collector.got.get("/v1/traces")?.replace(/\s+/g, "") ?? "";
      for (
        const [key, value] of [["http.response.status_code", 503], ["hooklaunch.exit_code", 0]]
      ) {
        assertStringIncludes(text, `{"key":"${key}","value":{"intValue":"${value}"}}`);
      }
    },
  );
});

Deno.test("an execution that an operator stops before it begins ends in the trace of its launch", async () => {
  await using folder = await temporaryFolder();
  await using collector = collect();
  await configure(folder.path);
  const env = { ...collector.env, HOOKLAUNCH_MAX_EXECUTIONS: "1" };
  await using service = await serve(folder.path, env);
  await service.launch("wait");
  await eventually(async () => (await service.api("executions/?status=started")).results[0]);
  const run = await service.launch("step", { traceparent: TRACEPARENT });
  const { id } = await eventually(async () =>
    (await service.api("executions/?status=queued")).results[0]
  );
  await service.api(`executions/${id}/stop/`, "POST");
  const { traceId } = await sent(collector, "execution", "run", run);
  const [, line = ""] = await service.expect(
    new RegExp(`^(\\{.*Execution ${id} of step tell ended: stopped.*\\})$`, "m"),
  );
  assertEquals([traceId, JSON.parse(line).trace_id], [TRACE, TRACE]);
  await Deno.writeTextFile(`${folder.path}/go`, "");
});

Deno.test("what an operator replays begins a trace, also where Deno makes no metrics", async () => {
  await using folder = await temporaryFolder();
  await using collector = collect();
  await configure(folder.path);
  // Deno then calls who serves in whatever context was left behind last.
  await using service = await serve(folder.path, { ...collector.env, OTEL_DENO_METRICS: "false" });
  const seen = new Set([TRACE]);
  for (let turn = 0; turn < 3; turn++) {
    const run = await service.launch("step", { traceparent: TRACEPARENT });
    await sent(collector, "execution", "run", run);
    const replayed = await service.api(`runs/${run}/replay/`, "POST");
    const execution = await sent(collector, "execution", "run", replayed.id);
    const { traceId } = execution;
    assert(!seen.has(traceId), "the replay is in the trace of something else");
    seen.add(traceId);
    const path = await eventually(() => {
      const found = above(collector, execution);
      return found.length < 3 ? undefined : found;
    });
    const route = "POST /api/v0/runs/{id}/replay/";
    assertEquals(path.map(({ name }) => name), ["action run_execution", "run", route]);
  }
});

Deno.test("a run and an execution that a kill interrupts end in their traces", async () => {
  await using folder = await temporaryFolder();
  await using collector = collect();
  const other = { trace: "1".repeat(32), span: "2".repeat(16) };
  let fetching: string;
  let waiting: string;
  let started_at: string;
  // One whose command has not begun when the service is killed is begun anew, with another start.
  const hasBegun = async ({ id }: { id: string }) => {
    const path = `${folder.path}/data/executions/${id}/control/started`;
    return (await Deno.readTextFile(path).catch(ignoreMissing))?.endsWith("begun\n");
  };
  {
    await using silent = silentPort();
    await configure(folder.path, silent.port);
    await using service = await serve(folder.path, collector.env);
    waiting = await service.launch("wait", { traceparent: TRACEPARENT });
    const started = async () => {
      const [execution] = (await service.api("executions/?status=started")).results;
      return execution && await hasBegun(execution) ? execution : undefined;
    };
    ({ started_at } = await eventually(started));
    // Its action does not end, so that nothing but its acceptance is stored.
    fetching = await service.launch("fetch", { traceparent: `00-${other.trace}-${other.span}-01` });
    await eventually(() =>
      collector.spans().find(({ name, traceId }) => name === LAUNCH && traceId === other.trace)
    );
    service.child.kill("SIGKILL");
    await service.end();
  }
  assert(!collector.spans().some(({ name }) => name === "execution"));

  await using _service = await serve(folder.path, collector.env);
  await Deno.writeTextFile(`${folder.path}/go`, "");
  const execution = await sent(collector, "execution", "run", waiting);
  assertEquals(execution.start_ms, Date.parse(started_at));
  assertEquals(execution.attributes["hooklaunch.exit_code"], "3");
  assert(execution.hasFailed);
  const names = [execution, ...above(collector, execution)].map(({ name }) => name);
  assertEquals(names, ["execution", "action run_execution", "run", LAUNCH]);
  assertEquals(execution.traceId, TRACE);

  const run = await sent(collector, "run", "run", fetching);
  assertEquals(run.traceId, other.trace);
  assertEquals(run.attributes["hooklaunch.status"], "error");
  assertEquals(above(collector, run).map(({ name }) => name), [LAUNCH]);
});

Deno.test("while nothing is sent, no trace is stored or told to a command", async () => {
  await using folder = await temporaryFolder();
  await configure(folder.path);
  await using service = await serve(folder.path, {});
  await service.launch("step", { traceparent: TRACEPARENT });
  const ended = async () => (await service.api("executions/?status=complete")).results[0];
  const { id } = await eventually(ended);
  const { results } = await service.api(`executions/${id}/log/`);
  assertEquals(results[0].message, "trace=");
});
