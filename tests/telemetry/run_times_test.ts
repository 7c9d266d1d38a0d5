/**
 * The times of runs by trigger: what is observed, once each, under which names.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { newId } from "../../src/platform/ids.ts";
import type { Execution } from "../../src/store/records/executions.ts";
import type { CreatedObject, Run } from "../../src/store/records/runs.ts";
import { Histogram, openMetricsOf, Registry } from "../../src/telemetry/prometheus.ts";
import { type LaunchedObject, RunTimes } from "../../src/telemetry/run_times.ts";
import { TriggerTimes } from "../../src/telemetry/trigger_times.ts";

/** The start of the process. */
const SINCE_MS = Date.parse("2026-01-01T00:00:00.000Z");
const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** A time, some seconds after the start of the process. */
function at(seconds: number): string {
  return new Date(SINCE_MS + seconds * 1_000).toISOString();
}

/** A run that was accepted after some seconds and has ended one second later. */
function run(accepted_s: number, launched: readonly string[]): Run {
  return {
    id: newId(SINCE_MS + accepted_s * 1_000),
    trigger_id: "t",
    project: "p",
    status: "completed",
    created_at: at(accepted_s),
    ended_at: at(accepted_s + 1),
    remote_ip: "",
    payload: { size: 0, sha256: "", content_type: "" },
    actions: launched.map((execution_id) => {
      const created: CreatedObject = { execution_step: "s", execution_id };
      return { action: "run_execution", created };
    }),
  };
}

/** What is stored, and the times that were observed. */
function setUp() {
  const stored = { runs: new Map<string, Run>(), objects: new Map<string, LaunchedObject>() };
  const observed: (readonly [kind: string, seconds: number, trace?: string])[] = [];
  const note = (kind: string) => (_: string, seconds: number, trace?: string) =>
    void observed.push(trace === undefined ? [kind, seconds] : [kind, seconds, trace]);
  const times = new RunTimes({
    onStart: note("start"),
    onEnd: note("end"),
    since_ms: SINCE_MS,
    reads: () => ({
      run: (id) => Promise.resolve(stored.runs.get(id)),
      launchedBy: ({ id }) =>
        Promise.resolve([...stored.objects.values()].filter(({ run_id }) => run_id === id)),
    }),
  });
  /** Stores an object, and tells that it has ended when it has. */
  const object = (of: Run, id: string, created_s: number, ended_s?: number, trace?: string) => {
    const created = { id, run_id: of.id, created_at: at(created_s) };
    const found = {
      ...created,
      ...ended_s !== undefined && { ended_at: at(ended_s) },
      ...trace !== undefined && { traceparent: trace },
    };
    stored.objects.set(id, found);
    if (ended_s !== undefined) times.objectEnded(found);
  };
  const end = (ended: Run) => {
    stored.runs.set(ended.id, ended);
    times.runEnded(ended);
  };
  return { stored, observed, times, object, end };
}

/** Lets all reads of the memory above end: each is a promise that is resolved. */
const readsEnded = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

Deno.test("a run's work ends with the last of what it has launched, and is observed once", async () => {
  const cases: Record<string, (set: ReturnType<typeof setUp>) => unknown> = {
    "nothing launched"({ end }) {
      end(run(0, []));
      return [["end", 1]];
    },
    "ends after its run"({ end, object }) {
      const one = run(0, ["a", "b"]);
      object(one, "a", 0);
      object(one, "b", 0);
      end(one);
      object(one, "a", 0, 7, TRACE);
      object(one, "another run's", 0, 9);
      object(one, "b", 0, 5);
      object(one, "b", 0, 5);
      return [["end", 7, TRACE]];
    },
    "ends before its run"({ end, object }) {
      const one = run(0, ["a", "b"]);
      object(one, "a", 0, 0.5);
      end(one);
      object(one, "b", 0, 3);
      return [["end", 3]];
    },
    "is stored as ended, and told later"({ end, object, stored, times }) {
      const one = run(0, ["a"]);
      const ended = { id: "a", run_id: one.id, created_at: at(0), ended_at: at(2) };
      stored.objects.set("a", ended);
      end(one);
      return readsEnded().then(() => {
        times.objectEnded(ended);
        object(one, "a", 0, 2);
        return [["end", 2]];
      });
    },
    "was removed"({ end }) {
      end(run(0, ["gone"]));
      return [["end", 1]];
    },
    "goes on"({ end, object }) {
      const one = run(0, ["a", "b"]);
      object(one, "b", 0);
      object(one, "a", 0, 1);
      end(one);
      return [];
    },
    "began before a restart"({ object, stored }) {
      const one = run(-10, ["a", "b"]);
      stored.runs.set(one.id, one);
      object(one, "b", -10);
      object(one, "a", -10, 5);
      object(one, "b", -10, 6);
      return [["end", 16]];
    },
  };
  for (const [name, make] of Object.entries(cases)) {
    const set = setUp();
    const expected = await make(set);
    await readsEnded();
    assertEquals(set.observed, expected, name);
  }
});

Deno.test("the start of an execution is observed once, but not that of a pipeline's node", () => {
  const { times, observed } = setUp();
  const change = (id: string, accepted_s: number, rest: Partial<Execution>) => {
    const execution: Partial<Execution> = {
      id,
      run_id: newId(SINCE_MS + accepted_s * 1_000),
      trigger_id: "t",
      created_at: at(accepted_s),
      status: "started",
      ...rest,
    };
    // The other fields say nothing of times.
    times.execution(execution as Execution);
  };
  change("a", 1, { status: "queued" });
  change("a", 1, { started_at: at(3), traceparent: TRACE });
  change("a", 1, { started_at: at(3), reachable: false });
  change("a", 1, { started_at: at(3), status: "complete", ended_at: at(4) });
  change("quick", 1, { started_at: at(2), status: "complete", ended_at: at(2) });
  change("never started", 1, { status: "error", ended_at: at(2) });
  change("node", 1, { started_at: at(9), pipeline_id: "p" });
  change("before a restart", -9, { started_at: at(-1) });
  assertEquals(observed, [["start", 2, TRACE], ["start", 1]]);
});

Deno.test("a hundred triggers are named; those that were renamed or deleted are not", async () => {
  const registry = new Registry();
  const names = new Map(Array.from({ length: 101 }, (_, index) => [`${index}`, `n${index}`]));
  const labelsOf = (id: string) => {
    const name = names.get(id);
    return Promise.resolve(name === undefined ? undefined : { name, project: "p" });
  };
  const options = { name: "times", help: "Times", buckets: [1], registers: [registry] };
  const times = new TriggerTimes({ ...options, labelsOf });
  const counts = async () => {
    const lines = (await registry.metrics()).matchAll(/^times_count{trigger="(.*)",.*} (\d+)$/gm);
    return new Map([...lines].map(([, name, count]) => [name, Number(count)]));
  };
  for (const id of names.keys()) await times.observe(id, 0.5);
  await times.observe("gone", 0.5);
  let found = await counts();
  assertEquals([found.size, found.get("n99"), found.get("other")], [101, 1, 2]);
  names.set("1", "new");
  names.delete("2");
  found = await counts();
  assertEquals([found.size, found.get("n1"), found.get("n2")], [99, undefined, undefined]);
  await times.observe("1", 0.5);
  await times.observe("100", 0.5);
  found = await counts();
  assertEquals([found.get("new"), found.get("n100"), found.get("other")], [1, 1, 2]);
});

Deno.test("exemplars name the traces that are recorded, in the format of OpenMetrics alone", async () => {
  const registry = new Registry();
  const labelsOf = () => Promise.resolve({ name: "t", project: "p" });
  const options = { name: "times", help: "Times", buckets: [1, 5], registers: [registry] };
  const times = new TriggerTimes({ ...options, labelsOf });
  new Histogram({ name: "other", help: "Other", registers: [registry] });
  await times.observe("t", 0.5, TRACE);
  await times.observe("t", 3, TRACE.replace(/1$/, "0"));
  await times.observe("t", 9);
  const open = await openMetricsOf(registry).metrics();
  const exemplars = open.match(/^times_bucket.* # .*$/gm) ?? [];
  assertEquals(exemplars.length, 1);
  const [exemplar = ""] = exemplars;
  assertMatch(exemplar, /{le="1",.*} 1 # {trace_id="0af7651916cd43dd8448eb211c80319c"} 0.5 \d+/);
  assertMatch(await registry.metrics(), /^times_bucket{le="1",.*} 1$/m);
});
