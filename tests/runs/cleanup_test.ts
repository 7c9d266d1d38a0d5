/**
 * Cleanup: what has outlived its retention goes with everything that belongs to it, and nothing else
 * goes, whatever part of it fails.
 */
import { assert, assertEquals } from "@std/assert";
import { deadline } from "@std/async/deadline";
import { ignoreTimeout } from "../../src/platform/waiting/promises.ts";
import { newId } from "../../src/platform/ids.ts";
import { parseProject } from "../../src/config/project.ts";
import { reusableWrite } from "../../src/store/records/reusable_executions.ts";
import { cleanUp, type CleanupParts, type CleanupReport } from "../../src/runs/cleanup.ts";
import {
  datumId,
  type Execution,
  type ExecutionStatus,
  executionWrites,
  getExecutions,
  saveExecution,
} from "../../src/store/records/executions.ts";
import {
  answerWrites,
  createHttpRequestWrites,
  type HttpRequest,
  type HttpRequestPlan,
  httpRequestWrites,
} from "../../src/store/records/http_requests.ts";
import { CHUNK_BYTES, readPayload, uploadPayload } from "../../src/store/records/payloads.ts";
import { createPipelineWrites, type PipelineStatus } from "../../src/store/records/pipelines.ts";
import { newReplayWrites, type Replay } from "../../src/store/records/replays.ts";
import { deleteProject } from "../../src/store/records/projects.ts";
import { listTriggerRuns } from "../../src/store/records/run_lists.ts";
import { endHeldWrites, holdWrites } from "../../src/store/records/held_runs.ts";
import { endWrites, getPending, getRun, type Run } from "../../src/store/records/runs.ts";
import { keys } from "../../src/store/keys.ts";
import {
  firstAttempt,
  idsInEngine,
  launchedOf,
  nextAttempt,
} from "../../src/store/records/attempts.ts";
import type { Store } from "../../src/store/store.ts";
import { TriggerLog } from "../../src/store/records/trigger_log.ts";
import {
  deleteStoredTrigger,
  formerIdByName,
  getStoredTrigger,
  putStoredTrigger,
} from "../../src/store/records/triggers.ts";
import { startService, type TestService } from "../data.ts";
import { contents, sharedStore, standIn, storedUnder, storeInMemory } from "../store/fixture.ts";
import { eventually, TestClock } from "../surroundings.ts";
import { executionOf } from "../store/execution.ts";
import { launchOf, openDesk, pendingOf, storePending, TRIGGER_ID } from "./fixture.ts";

const DAY_MS = 24 * 60 * 60_000;
const HOUR_MS = 60 * 60_000;
const RETENTION_DAYS = 30;
const LEFTOVERS = ["rate", "delivery"];
const SINGLE_LEFTOVERS = ["occurrences", "shape_sample"];
/** An entry of a trigger's log. */
const FAILURE = {
  kind: "action_failed" as const,
  run_id: "r",
  action: "run_execution",
  action_index: 0,
  error: "no such step",
};
const NOTHING: CleanupReport = {
  unlisted: 0,
  runs: 0,
  pipelines: 0,
  executions: 0,
  http_requests: 0,
  log_entries: 0,
  audit_entries: 0,
  uploads: 0,
  deliveries: 0,
  leftovers: 0,
  payloads: 0,
  logs: 0,
  outputs: 0,
};

/** Where no project keeps any code. */
const NO_PROJECTS = {
  kept: () => Promise.resolve([]),
  forget: () => Promise.resolve(() => Promise.resolve()),
};
const NO_TRIGGERS = { between: <T>(act: () => Promise<T>) => act() };

/** What a cleanup has told the other parts of the service. */
interface Told {
  forgotten: string[];
  inUse: ReadonlySet<string> | undefined;
  /** How long other trees are kept. */
  age_ms: number | undefined;
  /** The number of times that engines removed files of executions without a record. */
  tidied: number;
}

/** Cleans up at the clock's time, with parts that remember what they are told. */
async function cleanUpAt(
  store: Store,
  clock: TestClock,
  parts: Partial<CleanupParts> = {},
): Promise<{ report: CleanupReport; told: Told }> {
  const told: Told = { forgotten: [], inUse: undefined, age_ms: undefined, tidied: 0 };
  const report = await cleanUp({
    store,
    clock,
    retention_days: RETENTION_DAYS,
    signal: new AbortController().signal,
    triggers: NO_TRIGGERS,
    engines: {
      forget({ id }) {
        told.forgotten.push(id);
        return Promise.resolve();
      },
      tidy: () => Promise.resolve(void told.tidied++),
    },
    projects: {
      ...NO_PROJECTS,
      pruneTrees(inUse, age_ms) {
        Object.assign(told, { inUse, age_ms });
        return Promise.resolve(0);
      },
    },
    ...parts,
  });
  return { report, told };
}

/** Accepts a run of so many bytes, and ends it unless it is to stay pending. */
async function makeRun(
  store: Store,
  clock: TestClock,
  { size = 5_000, ends = true }: { size?: number; ends?: boolean } = {},
): Promise<Run> {
  await using desk = openDesk(store, { clock });
  const { acceptor } = desk;
  const answer = await acceptor.accept(launchOf({ body: new Uint8Array(size).fill(7) }));
  if (!("run" in answer)) throw new Error("The launch was refused");
  if (ends) await store.committer.write(endWrites({ ...answer.run, status: "completed" }));
  return answer.run;
}

function executionAt(time_ms: number, status: ExecutionStatus): Execution {
  return executionOf({ id: newId(time_ms), status });
}

Deno.test("an ended run goes with its payload and its place in lists when its retention is over", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  await makeRun(store, clock);
  await makeRun(store, clock, { size: 0 });
  await makeRun(store, clock, { size: 5 });
  await makeRun(store, clock, { size: 12 * CHUNK_BYTES + 1 });
  clock.time_ms += RETENTION_DAYS * DAY_MS;
  const before = await contents(store);
  assertEquals((await cleanUpAt(store, clock)).report, NOTHING);
  assertEquals(await contents(store), before);

  clock.time_ms += 1;
  assertEquals((await cleanUpAt(store, clock)).report, { ...NOTHING, unlisted: 4, runs: 4 });
  assertEquals(await contents(store), new Map());
});

Deno.test("a run that is pending stays with its payload, however old it is", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  const old = await makeRun(store, clock, { size: 2 * CHUNK_BYTES, ends: false });
  clock.time_ms += 10 * RETENTION_DAYS * DAY_MS;
  const before = await contents(store);
  assertEquals((await cleanUpAt(store, clock)).report, NOTHING);
  assertEquals(await contents(store), before);
  assertEquals(await storedUnder(store, "pending"), [old.id]);
});

for (const kind of ["pending", "held", "joined"] as const) {
  Deno.test(`what a ${kind} run makes that ends during a cleanup stays, with its payload`, async () => {
    await using store = await storeInMemory();
    const clock = new TestClock();
    // It was pending for long, such as while its service was down.
    const run = await makeRun(store, clock, { ends: false });
    const pending = await getPending(store, run.id);
    assert(pending);
    if (kind === "held") await store.committer.write(holdWrites(pending, { order: 0 }));
    if (kind === "joined") {
      // It is made when its burst ends.
      const held = { order: 0, joins: run.id };
      const unmade = { key: keys.pending(run.id, TRIGGER_ID) };
      await store.committer.write([...holdWrites(pendingOf(), held), unmade]);
    }
    const file = { name: "payload", payload_of: run.id, size: 5_000 };
    const made = { run_id: run.id, inputs: { data: [file] } };
    const ended = executionOf({ id: newId(clock.time_ms), ...made, status: "complete" });
    const open = executionOf({ id: newId(clock.time_ms), ...made });
    clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
    let isEnding = false;
    async function* list(selector: Deno.KvListSelector, options?: Deno.KvListOptions) {
      const [kind] = "prefix" in selector ? selector.prefix : selector.start;
      // What is needed is known by then.
      if (kind === "trigger_run" && !isEnding) {
        isEnding = true;
        await makePipeline(store, run, "started");
        for (const execution of [ended, open]) {
          await store.committer.commit(saveExecution(execution));
        }
        await store.committer.write(endHeldWrites({ ...run, status: "completed" }, undefined));
      }
      yield* store.kv.list(selector, options);
    }
    const watched = standIn(store, { kv: standIn(store.kv, { list }) });
    const { report, told } = await cleanUpAt(watched, clock);
    assertEquals([isEnding, report, told.forgotten], [true, NOTHING, []]);
    assertEquals(await storedUnder(store, "run"), [run.id]);
    assertEquals(await storedUnder(store, "payload"), [run.id]);
  });
}

Deno.test("what waiting work needs stays, however short its trigger's own retention is", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  const time = new Date(clock.time_ms).toISOString();
  const settings = { project: "files", actions: [], retention: { records: "1h" } };
  const times = { created_at: time, updated_at: time };
  await putStoredTrigger(store, { id: TRIGGER_ID, name: "short", settings, ...times });
  const used = await makeRun(store, clock);
  const over = await makeRun(store, clock);
  const pending = await makeRun(store, clock, { ends: false });
  const file = { name: "payload", payload_of: used.id, size: 5_000 };
  const trigger_id = TRIGGER_ID;
  const made = { id: newId(clock.time_ms), trigger_id, run_id: pending.id };
  const waiting = executionOf({ ...made, inputs: { data: [file] } });
  await store.committer.commit(saveExecution(waiting));
  clock.time_ms += HOUR_MS;
  assertEquals((await cleanUpAt(store, clock)).report, NOTHING);
  clock.time_ms += 1;
  assertEquals((await cleanUpAt(store, clock)).report, { ...NOTHING, unlisted: 1, runs: 1 });
  assertEquals(await storedUnder(store, "run"), [used.id]);
  assertEquals(await storedUnder(store, "pending"), [pending.id]);
  assertEquals(await storedUnder(store, "execution"), [waiting.id]);
  assertEquals((await storedUnder(store, "payload")).includes(over.id), false);
  // Nobody knows how long the records of a trigger are kept that cannot be read.
  await store.committer.write([{ key: keys.trigger(TRIGGER_ID), value: 7 }]);
  await store.committer.commit(saveExecution({ ...waiting, status: "complete" }));
  clock.time_ms += RETENTION_DAYS * DAY_MS - 2 * HOUR_MS;
  assertEquals((await cleanUpAt(store, clock)).report, NOTHING);
});

for (const isHeld of [false, true]) {
  const waits = isHeld ? "run that waits for its turn" : "pending run";
  Deno.test(`a pipeline that a ${waits} is to copy stays, though its trigger names it no more`, async () => {
    await using store = await storeInMemory();
    const clock = new TestClock();
    const source_pipeline = await makePipeline(store, await makeRun(store, clock), "complete");
    clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
    const actions = [{ type: "copy_pipeline", source_pipeline }];
    const copying = pendingOf({ time_ms: clock.time_ms, actions });
    await storePending(store, [copying]);
    if (isHeld) await store.committer.write(holdWrites(copying, { order: 0 }));
    assertEquals((await cleanUpAt(store, clock)).report, NOTHING);
    assertEquals(await storedUnder(store, "pipeline"), [source_pipeline]);
    assertEquals(await storedUnder(store, isHeld ? "held" : "pending"), [copying.run.id]);
  });
}

function requestOf(run: Run): Omit<HttpRequest, "status"> {
  return {
    id: newId(Date.parse(run.created_at)),
    run_id: run.id,
    trigger_id: run.trigger_id,
    project: "files",
    method: "POST",
    url: "https://example.com/",
    wait: "callback",
    created_at: run.created_at,
    attempts: 1,
    tried: 1,
  };
}

Deno.test("a run stays while another instance waits for an HTTP request of it", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  await using store = await sharedStore(kv, clock);
  await using other = await sharedStore(kv, clock, { leads: false });
  const run = await makeRun(store, clock);
  const owner = other.shared?.id ?? "";
  const request: HttpRequest = { ...requestOf(run), status: "waiting", owner };
  await store.committer.write(httpRequestWrites(request));
  clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
  assertEquals((await cleanUpAt(store, clock)).report, NOTHING);
  assertEquals(await storedUnder(store, "run"), [run.id]);
});

Deno.test("an ended HTTP request goes with all that was sent, and that came back", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  const base = requestOf(await makeRun(store, clock));
  const body = new Uint8Array(2 * CHUNK_BYTES);
  const came = { received_at: base.created_at, headers: {}, size: body.length };
  const request = { ...base, status: "complete", answer: came, result: came } as const;
  const plan: HttpRequestPlan = {
    ...{ method: base.method, url: base.url, headers: {}, body: "x".repeat(body.length) },
    ...{ timeout_ms: 1_000, retry: { attempts: 1, first: 1, factor: 1 }, private_networks: false },
    wait: { for: "callback", timeout_s: 60 },
  };
  await store.committer.write([
    ...createHttpRequestWrites(request, plan),
    ...(["answer", "result"] as const).flatMap((part) =>
      answerWrites(request.id, part, body, undefined)
    ),
  ]);
  const stored = async () =>
    [...(await contents(store)).keys()].filter((key) => key.startsWith('["http_'));
  assertEquals((await stored()).length, 1 + 3 + 2 + 2);
  clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
  const { report } = await cleanUpAt(store, clock);
  assertEquals([report.http_requests, await stored()], [1, []]);
});

Deno.test("many old runs go, and the young ones stay as they are", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  for (let index = 0; index < 120; index++) await makeRun(store, clock);
  clock.time_ms += RETENTION_DAYS * DAY_MS;
  const young = [await makeRun(store, clock), await makeRun(store, clock)].map(({ id }) => id);
  clock.time_ms += 1;
  assertEquals((await cleanUpAt(store, clock)).report.runs, 120);
  assertEquals(await storedUnder(store, "run"), young);
  assertEquals(await storedUnder(store, "payload"), young);
  const index = await Array.fromAsync(store.kv.list({ prefix: ["trigger_run", TRIGGER_ID] }));
  assertEquals(index.map(({ key }) => key[2]), young);
});

/** Stores an ended pipeline of a run, with one node and its execution. */
async function makePipeline(store: Store, run: Run, status: PipelineStatus): Promise<string> {
  const time_ms = Date.parse(run.created_at);
  const id = newId(time_ms);
  const execution = executionOf({
    id: newId(time_ms),
    run_id: run.id,
    pipeline_id: id,
    commit: `commit of ${id}`,
    status: "complete",
  });
  await store.committer.commit(saveExecution(execution));
  await store.committer.write([reusableWrite(execution)]);
  const node = { name: "a", status: "complete", execution_id: execution.id } as const;
  await store.committer.write(createPipelineWrites({
    id,
    run_id: run.id,
    trigger_id: run.trigger_id,
    project: "files",
    commit: execution.commit,
    name: "p",
    title: "p",
    status,
    created_at: run.created_at,
    nodes: [{ ...node, step: "s", attempts: 1 }],
  }, {
    nodes: [{
      name: "a",
      commit: execution.commit,
      step: {},
      parameters: {},
      inputs: {},
      actions: [],
      on_error: "stop-all",
      edge_merge_mode: "replace",
    }],
    edges: [],
    reuse_executions: true,
    parameters: {},
  }));
  return id;
}

Deno.test("pipelines go with their executions, but those under way and those that are copied", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  const made = async (status: PipelineStatus) =>
    await makePipeline(store, await makeRun(store, clock), status);
  await made("complete");
  const open = await made("started");
  const copied = await made("error");
  const action = { type: "copy_pipeline", source_pipeline: copied };
  const time = new Date(clock.now()).toISOString();
  await putStoredTrigger(store, {
    id: newId(clock.now()),
    name: "copies",
    created_at: time,
    updated_at: time,
    settings: { actions: [action] },
  });
  clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
  const { report, told } = await cleanUpAt(store, clock);
  assertEquals(report, { ...NOTHING, unlisted: 1, runs: 1, pipelines: 1, executions: 1 });
  assertEquals((await storedUnder(store, "pipeline")).sort(), [open, copied].sort());
  for (const kind of ["run", "payload", "execution", "reusable"]) {
    assertEquals((await storedUnder(store, kind)).length, 2, kind);
  }
  assertEquals(told.inUse, new Set([`files/commit of ${open}`, `files/commit of ${copied}`]));
  assertEquals(told.age_ms, DAY_MS);
});

Deno.test("ended executions go with what the engine keeps of them, open and young ones stay", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  const save = async (status: ExecutionStatus) => {
    const execution = executionAt(clock.time_ms, status);
    await store.committer.commit(saveExecution(execution));
    return execution.id;
  };
  const ended: string[] = [];
  const open: string[] = [];
  for (let turn = 0; turn < 20; turn++) {
    ended.push(await save("complete"), await save("error"), await save("stopped"));
    open.push(await save("queued"), await save("started"), await save("stopping"));
  }
  clock.time_ms += RETENTION_DAYS * DAY_MS;
  const young = await save("complete");
  clock.time_ms += 1;
  const { report, told } = await cleanUpAt(store, clock);
  assertEquals(report, { ...NOTHING, executions: 60 });
  assertEquals([told.forgotten, told.tidied], [ended, 1]);
  assertEquals(await storedUnder(store, "execution"), [...open, young]);
  assertEquals(told.inUse, new Set(["files/c0ffee"]));
});

Deno.test("the logs and outputs of all attempts go when their retention is over", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  const time = new Date(clock.time_ms).toISOString();
  const settings = { project: "files", actions: [], retention: { logs: "1h", outputs: "2h" } };
  const times = { created_at: time, updated_at: time };
  await putStoredTrigger(store, { id: TRIGGER_ID, name: "short", settings, ...times });
  const first = firstAttempt(executionOf({
    ...{ id: newId(clock.time_ms), trigger_id: TRIGGER_ID },
    retry: { attempts: 2, first: 0, factor: 1, exit_codes: "*" },
  }));
  const outputs = [{ path: "f", size: 1, sha256: "" }];
  const failed: Execution = { ...first, status: "error", ended_at: time, outputs };
  const next = nextAttempt(failed);
  assert(next);
  // The last one leaves nothing.
  const last: Execution = { ...next, status: "error", ended_at: time };
  for (const each of [failed, last]) await store.committer.write(executionWrites(each));
  const ids = [first.attempt_of ?? "", first.id, next.id];
  const seen = async () => {
    const all = await getExecutions(store, ids);
    return all.map(({ log_removed_at, outputs_removed_at, outputs }) => [
      log_removed_at !== undefined,
      outputs_removed_at !== undefined,
      outputs.length,
    ]);
  };
  clock.time_ms += HOUR_MS + 1;
  assertEquals((await cleanUpAt(store, clock)).told.forgotten, [ids[0]]);
  assertEquals(await seen(), [[true, false, 0], [true, false, 1], [true, false, 0]]);
  clock.time_ms += HOUR_MS;
  assertEquals((await cleanUpAt(store, clock)).told.forgotten, [ids[0]]);
  assertEquals(await seen(), Array(3).fill([true, true, 0]));
  assertEquals((await cleanUpAt(store, clock)).told.forgotten, []);
});

Deno.test("attempts go with their execution, and stay while another attempt is to come", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  const retry = { attempts: 3, first: 0, factor: 1, exit_codes: "*" as const };
  const first = firstAttempt(executionOf({ id: newId(clock.time_ms), retry }));
  const outputs = [{ path: "f", size: 1, sha256: "" }];
  const ended_at = new Date(clock.time_ms).toISOString();
  const end = { status: "error", ended_at, outputs } as const;
  const failed: Execution = { ...first, ...end };
  const next = nextAttempt(failed);
  assert(next);
  await store.committer.write(executionWrites(first));
  await store.committer.write(executionWrites(failed));
  clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
  assertEquals((await cleanUpAt(store, clock)).report, NOTHING);
  await store.committer.write([
    ...executionWrites({ ...next, ...end, status: "stopped" }),
    { key: keys.executionRetry(next.id) },
  ]);
  const ids = [first.id, next.id];
  assertEquals(idsInEngine(launchedOf({ ...next, ...end, status: "stopped" })), ids);
  const { report, told } = await cleanUpAt(store, clock);
  assertEquals([report, told.forgotten], [{ ...NOTHING, executions: 1 }, [first.attempt_of]]);
  assertEquals(await contents(store), new Map());
});

Deno.test("an execution that the engine cannot forget stays, and no other has to wait for it", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  const executions = [1, 2, 3].map(() => executionAt(clock.time_ms, "complete"));
  for (const execution of executions) await store.committer.commit(saveExecution(execution));
  const failing = executions[1]?.id ?? "";
  clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
  let isBroken = true;
  const engines = {
    forget: ({ id }: Pick<Execution, "id">) =>
      isBroken && id === failing ? Promise.reject(new Error("busy")) : Promise.resolve(),
    tidy: () => Promise.resolve(),
  };
  assertEquals((await cleanUpAt(store, clock, { engines })).report.executions, 2);
  assertEquals(await storedUnder(store, "execution"), [failing]);
  isBroken = false;
  assertEquals((await cleanUpAt(store, clock, { engines })).report.executions, 1);
});

/** Makes so many triggers, as far as the database knows. */
async function makeTriggers(store: Store, clock: TestClock, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId(clock.time_ms));
  const times = { created_at: "", updated_at: "" };
  for (const id of ids) await putStoredTrigger(store, { id, name: id, settings: {}, ...times });
  return ids;
}

Deno.test("log entries go when their retention is over", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  const ids = await makeTriggers(store, clock, 20);
  const triggerLog = new TriggerLog(store, clock);
  const addToAll = () => {
    for (const id of ids) triggerLog.add({ id, project: "digits" }, FAILURE);
    return triggerLog.flush();
  };
  // More of one trigger than are read at a time.
  for (let entry = 0; entry < 100; entry++) {
    triggerLog.add({ id: ids[0] ?? "", project: "digits" }, FAILURE);
    clock.time_ms += 2_000;
  }
  await addToAll();
  await addToAll();
  clock.time_ms += RETENTION_DAYS * DAY_MS;
  await addToAll();
  clock.time_ms += 1;
  assertEquals((await cleanUpAt(store, clock)).report, { ...NOTHING, log_entries: 140 });
  assertEquals(await storedUnder(store, "trigger_log"), ids);
});

Deno.test("replays that have ended go when the longest of all retentions is over", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  const times = { created_at: "2026-01-31T12:00:00.000Z", updated_at: "2026-01-31T12:00:00.000Z" };
  const settings = { retention: { records: "90d" } };
  await putStoredTrigger(store, { id: TRIGGER_ID, name: "t", settings, ...times });
  const replayAt = (time_ms: number, state: Replay["state"]): Replay => ({
    id: newId(time_ms),
    state,
    created_at: new Date(time_ms).toISOString(),
    filter: {},
    rate: 10,
    only_without_success: false,
    body: new Uint8Array(100),
    count: 2_500,
    done: 0,
    launched: 0,
    skipped: 0,
    failed: 0,
  });
  const ids = Array.from({ length: 2_500 }, () => newId(clock.now()));
  const old = (["completed", "stopped", "running"] as const)
    .map((state) => replayAt(clock.now(), state));
  const young = replayAt(clock.now() + 1, "completed");
  for (const each of [...old, young]) {
    await store.committer.writeInParts(newReplayWrites(each, ids));
  }
  clock.time_ms += 90 * DAY_MS + 1;
  await cleanUpAt(store, clock);
  const left = [...old.slice(2), young].map(({ id }) => id);
  assertEquals(await storedUnder(store, "replay"), left);
  assertEquals(await storedUnder(store, "replay_runs"), left.flatMap((id) => [id, id, id]));
});

Deno.test("log entries of many triggers go many in one commit, and are read many at once", async () => {
  let commits = 0;
  await using store = await storeInMemory((_, store) => {
    commits++;
    return store();
  });
  const clock = new TestClock();
  const triggerLog = new TriggerLog(store, clock);
  const ids = Array.from({ length: 256 }, () => newId(clock.time_ms));
  for (const id of ids) triggerLog.add({ id, project: "digits" }, FAILURE);
  await triggerLog.flush();
  commits = 0;
  let lists = 0;
  const list = store.kv.list.bind(store.kv);
  store.kv.list = (selector, options) => {
    if ("prefix" in selector && selector.prefix[0] === "trigger_log") lists++;
    return list(selector, options);
  };
  clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
  assertEquals((await cleanUpAt(store, clock)).report, { ...NOTHING, log_entries: 256 });
  assertEquals(await contents(store), new Map());
  assert(commits <= 8, `256 entries were removed in ${commits} commits`);
  assert(lists <= 8, `256 entries were read in ${lists} lists`);
});

Deno.test("what is kept of a trigger goes after the trigger, in small steps, and that of others stays", async () => {
  const steps: number[] = [];
  await using store = await storeInMemory((commit, store) => {
    const kinds = [...LEFTOVERS, ...SINGLE_LEFTOVERS];
    if (commit.keys.every(([first]) => kinds.includes(String(first)))) {
      steps.push(commit.keys.length);
    }
    return store();
  });
  const clock = new TestClock();
  const [stays = "", goes = "", ...others] = await makeTriggers(store, clock, 5);
  const triggerLog = new TriggerLog(store, clock);
  await using desk = openDesk(store, { clock });
  const { acceptor } = desk;
  const quotas = [{ period: 60, quota: 1_000 }, { period: 31_536_000, quota: 1_000 }];
  for (const triggerId of [stays, goes]) {
    for (let index = 0; index < 60; index++) {
      const delivery = { id: String(index), window_s: 86_400 };
      await acceptor.accept(launchOf({ triggerId, quotas, delivery }));
      triggerLog.add({ id: triggerId, project: "digits" }, FAILURE);
    }
  }
  await triggerLog.flush();
  // Of these a trigger has one each.
  const single = () => Promise.all(SINGLE_LEFTOVERS.map((kind) => storedUnder(store, kind)));
  for (const triggerId of [stays, goes]) {
    for (const kind of SINGLE_LEFTOVERS) await store.kv.set([kind, triggerId], {});
  }
  const keptBefore = await Promise.all(LEFTOVERS.map((kind) => storedUnder(store, kind)));
  assertEquals(keptBefore.map((ids) => ids.length), [4, 120]);
  assertEquals((await cleanUpAt(store, clock)).report, NOTHING);

  for (const id of [goes, ...others]) {
    const trigger = await getStoredTrigger(store, id);
    if (trigger) {
      await deleteStoredTrigger(store, trigger, {
        project: "digits",
        deleted_at: new Date(clock.time_ms).toISOString(),
      });
    }
  }
  steps.length = 0;
  assertEquals((await cleanUpAt(store, clock)).report, { ...NOTHING, leftovers: 64 });
  assertEquals(steps, [50, 14]);
  assertEquals(await single(), [[stays], [stays]]);
  const kept = await Promise.all(LEFTOVERS.map((kind) => storedUnder(store, kind)));
  assertEquals(kept.map((ids) => ids.length), [2, 60]);
  assertEquals(new Set(kept.flat()), new Set([stays]));
  assertEquals((await storedUnder(store, "trigger_log")).length, 120, "logs stay their time");
  assertEquals((await storedUnder(store, "pending")).length, 120, "what was accepted is performed");
  assertEquals(await formerIdByName(store, goes), goes);
  // As long as records may be kept.
  clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
  await cleanUpAt(store, clock);
  assertEquals(await formerIdByName(store, goes), undefined);
});

Deno.test("a trigger that is made again while its leftovers are removed keeps what it has then", async () => {
  const clock = new TestClock();
  const accept = (delivery: string) =>
    desk.acceptor.accept(
      launchOf({ triggerId: id, delivery: { id: delivery, window_s: 86_400 } }),
    );
  let again: ReturnType<typeof accept> | undefined;
  let trigger: Awaited<ReturnType<typeof getStoredTrigger>> = undefined;
  await using store: Store = await storeInMemory(async (commit, storeIt) => {
    const result = await storeIt();
    if (trigger && commit.keys.every(([kind]) => kind === "delivery")) {
      again ??= putStoredTrigger(store, trigger).then(() => accept("new"));
    }
    return result;
  });
  await using desk = openDesk(store, { clock });
  const [id = ""] = await makeTriggers(store, clock, 1);
  for (let index = 0; index < 400; index++) await accept(String(index));
  trigger = await getStoredTrigger(store, id);
  if (trigger) {
    await deleteStoredTrigger(store, trigger, {
      project: "digits",
      deleted_at: new Date(clock.time_ms).toISOString(),
    });
  }
  await cleanUpAt(store, clock);
  const made = await again;
  assert(made && "run" in made);
  assertEquals(await accept("new"), { repeatOf: made.run.id });
});

Deno.test("an upload that was abandoned goes after an hour", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  await uploadPayload(store, newId(clock.time_ms), new Uint8Array(3 * CHUNK_BYTES));
  clock.time_ms += HOUR_MS;
  const young = newId(clock.time_ms);
  await uploadPayload(store, young, new Uint8Array(2 * CHUNK_BYTES));
  assertEquals((await cleanUpAt(store, clock)).report, NOTHING);
  clock.time_ms += 1;
  assertEquals((await cleanUpAt(store, clock)).report, { ...NOTHING, uploads: 1 });
  assertEquals(await storedUnder(store, "upload"), [young]);
  assertEquals(await storedUnder(store, "payload"), [young, young]);
});

Deno.test("a payload that is being stored stays, though the wall clock jumps ahead meanwhile", async () => {
  const gate = Promise.withResolvers<void>();
  await using store = await storeInMemory(async ({ keys }, store) => {
    if (keys.some(([first]) => first === "pending")) await gate.promise;
    return await store();
  });
  const clock = new TestClock();
  await using desk = openDesk(store, { clock });
  const body = new Uint8Array(3 * CHUNK_BYTES).fill(7);
  const accepting = desk.acceptor.accept(launchOf({ body }));
  await eventually(async () => (await storedUnder(store, "payload")).length === 3 || undefined);
  // As when a machine that slept goes on, and its clock is set.
  clock.ahead_ms = 2 * HOUR_MS;
  const cleaning = cleanUpAt(store, clock);
  await deadline(cleaning, 500).catch(ignoreTimeout);
  gate.resolve();
  const [acceptance, { report }] = await Promise.all([accepting, cleaning]);
  assert("run" in acceptance);
  assertEquals(report, NOTHING);
  assertEquals((await storedUnder(store, "payload")).length, 3);
});

Deno.test("the payload of a burst that was open for long stays while it is stored", async () => {
  const gate = Promise.withResolvers<void>();
  let isClosing = false;
  await using store = await storeInMemory(async ({ keys }, store) => {
    if (isClosing && keys.some(([first]) => first === "pending")) await gate.promise;
    return await store();
  });
  const clock = new TestClock();
  await using desk = openDesk(store, { clock });
  await desk.worker.start();
  const day_ms = 24 * HOUR_MS;
  const coalesce = { key: "", window_ms: day_ms, wait_max_ms: day_ms, keep: "all" as const };
  const body = new Uint8Array(3 * CHUNK_BYTES).fill(32);
  const acceptance = await desk.acceptor.accept(launchOf({ body, pace: { coalesce } }));
  assert("run" in acceptance);
  await desk.worker.pacer.settled();
  clock.time_ms += HOUR_MS + 1;
  isClosing = true;
  desk.worker.pacer.hurry(acceptance.run.id);
  const uploads = () => storedUnder(store, "upload");
  const [made = ""] = await eventually(async () =>
    (await uploads()).length > 0 ? uploads() : undefined
  );
  const cleaning = cleanUpAt(store, clock);
  await deadline(cleaning, 500).catch(ignoreTimeout);
  gate.resolve();
  assertEquals((await cleaning).report, NOTHING);
  await desk.worker.pacer.settled();
  const ended = await getRun(store, acceptance.run.id);
  assertEquals(ended?.superseded_by, made);
  const run = await getRun(store, made);
  assert(run);
  await Array.fromAsync(readPayload(store, made, run.payload.size, run.payload.sha256));
});

Deno.test("a part that fails does not keep the others from being cleaned up", async () => {
  await using store = await storeInMemory(({ keys }, store) =>
    keys.some(([first]) => first === "run")
      ? Promise.reject(new TypeError("disk I/O error"))
      : store()
  );
  const clock = new TestClock();
  const run = { ...await makeRun(store, clock, { ends: false }), status: "completed" as const };
  await store.kv.set(["run", run.id], run);
  await store.committer.commit(saveExecution(executionAt(clock.time_ms, "complete")));
  await uploadPayload(store, newId(clock.time_ms), new Uint8Array(CHUNK_BYTES));
  clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
  const projects = {
    ...NO_PROJECTS,
    pruneTrees: () => Promise.reject(new Error("no such folder")),
  };
  const { report } = await cleanUpAt(store, clock, { projects });
  assertEquals(report, { ...NOTHING, executions: 1, uploads: 1 });
});

Deno.test("runs that cannot be taken off the lists go all the same, and the next cleanup does the rest", async () => {
  let isBroken = false;
  await using store = await storeInMemory(({ keys }, store) =>
    isBroken && keys.some(([first]) => first === "trigger_run")
      ? Promise.reject(new TypeError("disk I/O error"))
      : store()
  );
  const clock = new TestClock();
  for (let index = 0; index < 3; index++) await makeRun(store, clock);
  clock.time_ms += RETENTION_DAYS * DAY_MS;
  const young = await makeRun(store, clock);
  clock.time_ms += 1;
  isBroken = true;
  assertEquals((await cleanUpAt(store, clock)).report, { ...NOTHING, runs: 3 });
  const { records: runs, next } = await listTriggerRuns(store, TRIGGER_ID, { limit: 10 });
  assertEquals([runs.map(({ id }) => id), next], [[young.id], undefined]);
  isBroken = false;
  assertEquals((await cleanUpAt(store, clock)).report, { ...NOTHING, unlisted: 3 });
  assertEquals(await storedUnder(store, "trigger_run"), [TRIGGER_ID]);
});

Deno.test("a cleanup that begins when the service stops removes nothing", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  await makeRun(store, clock);
  await store.committer.commit(saveExecution(executionAt(clock.time_ms, "complete")));
  const triggerLog = new TriggerLog(store, clock);
  triggerLog.add({ id: TRIGGER_ID, project: "digits" }, FAILURE);
  await triggerLog.flush();
  clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
  const { report } = await cleanUpAt(store, clock, { signal: AbortSignal.abort() });
  assertEquals(report, NOTHING);
});

Deno.test("a cleanup that the service's stop interrupts ends soon, and the next one does the rest", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  for (let index = 0; index < 120; index++) await makeRun(store, clock);
  clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
  const controller = new AbortController();
  const first = cleanUpAt(store, clock, { signal: controller.signal });
  setTimeout(() => controller.abort(), 0);
  const removed = (await first).report.runs;
  assertEquals(removed < 120, true, `${removed} were removed`);
  assertEquals((await cleanUpAt(store, clock)).report.runs, 120 - removed);
  assertEquals(await contents(store), new Map());
});

Deno.test("executions go many in one commit, and few folders are removed at once", async () => {
  const commits: number[] = [];
  await using store = await storeInMemory(({ keys }, store) => {
    commits.push(keys.length);
    return store();
  });
  const clock = new TestClock();
  const all = Array.from({ length: 100 }, () => executionAt(clock.time_ms, "complete"));
  for (const execution of all) await store.committer.commit(saveExecution(execution));
  commits.length = 0;
  clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
  let atOnce = 0;
  let most = 0;
  const engines = {
    async forget() {
      most = Math.max(most, ++atOnce);
      await new Promise((resolve) => setTimeout(resolve, 1));
      atOnce--;
    },
    tidy: () => Promise.resolve(),
  };
  assertEquals((await cleanUpAt(store, clock, { engines })).report.executions, 100);
  assertEquals(await contents(store), new Map());
  assert(most > 1 && most <= 4, `${most} folders were removed at once`);
  assert(commits.length <= 5, `100 executions were removed in ${commits.length} commits`);
});

Deno.test("what is left of a deleted project's code goes, and that of others stays", async () => {
  await using test = await startService();
  const folder = `${test.folder}/data/projects`;
  for (const name of ["files", "gone"]) {
    await Deno.mkdir(`${folder}/${name}/mirror.git`, { recursive: true });
  }
  await test.service.cleanUp();
  assertEquals(await Array.fromAsync(Deno.readDir(folder), ({ name }) => name), ["files"]);
});

const removals: [by: string, remove: (service: TestService) => Promise<unknown>][] = [
  ["an operator", (service) => service.api("DELETE", "projects/again/")],
  ["cleanup", async ({ service }) => {
    await deleteProject(service.parts.store, "again");
    await service.cleanUp();
  }],
];

for (const [by, remove] of removals) {
  Deno.test(`a project that is made again while ${by} removes the code of the one before keeps its own`, async () => {
    await using test = await startService();
    const { projects } = test.service.parts;
    const directory = `${test.folder}/again`;
    await Deno.mkdir(directory);
    await Deno.writeTextFile(
      `${directory}/valohai.yaml`,
      "- step: { name: s, image: i, command: c }",
    );
    const make = async () => {
      const project = { name: "again", directory };
      assertEquals((await test.api("PUT", "projects/again/", project)).status, 201);
      const { commit } = await projects.resolve(parseProject(project), "HEAD");
      return commit;
    };
    await make();
    const [removing, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const forget = projects.forget.bind(projects);
    projects.forget = async (name) => {
      const remove = await forget(name);
      return async () => {
        removing.resolve();
        await goOn.promise;
        await remove();
      };
    };
    const removed = remove(test);
    await removing.promise;
    const commit = await make();
    goOn.resolve();
    await removed;
    await projects.checkout("again", commit, `${test.folder}/copy`);
    const kept = await Array.fromAsync(Deno.readDir(`${test.folder}/data/projects`));
    // `files` is the project of the fixture; saving it looks at its configuration file.
    assertEquals(kept.map(({ name }) => name).toSorted(), ["again", "files"]);
  });
}

Deno.test("what open pipelines and executions take from old executions stays", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  const save = async (parts: Partial<Execution>) => {
    const execution = executionOf({ id: newId(clock.time_ms), status: "complete", ...parts });
    await store.committer.commit(saveExecution(execution));
    return execution.id;
  };
  const old = () => save({ pipeline_id: newId(clock.time_ms) });
  const taken = await old();
  const input = await old();
  const ofOpen = await old();
  const outputs = [{ path: "f", size: 1, sha256: "" }];
  const [byUrl, byDefault] = [await save({ outputs }), await save({ outputs })];
  const urlOf = (id: string) => `datum://${datumId(id, "f").toUpperCase()}`;
  await save({ outputs });
  await old();
  const payload = await makeRun(store, clock);
  const fileOf = (id: string) => ({ name: "f", output_of: id, path: "f", size: 1, sha256: "" });
  const node = { name: "a", status: "complete", execution_id: taken, reused: true } as const;
  await store.committer.write(createPipelineWrites({
    id: newId(clock.time_ms),
    run_id: newId(clock.time_ms),
    trigger_id: TRIGGER_ID,
    project: "files",
    commit: "c0ffee",
    name: "p",
    title: "p",
    status: "started",
    created_at: "",
    nodes: [{ ...node, step: "s", attempts: 0 }],
  }, {
    nodes: [{
      name: "b",
      commit: "c0ffee",
      step: { inputs: [{ name: "other", default: [urlOf(byDefault)] }] },
      parameters: {},
      inputs: { data: [fileOf(input)] },
      actions: [],
      on_error: "stop-all",
      edge_merge_mode: "replace",
    }],
    edges: [],
    reuse_executions: true,
    parameters: {},
  }));
  const ofRun = { name: "p", payload_of: payload.id, size: 5 };
  const own = await makeRun(store, clock);
  const open = await save({
    run_id: own.id,
    status: "queued",
    inputs: {
      data: [fileOf(ofOpen), ofRun],
      other: [{ name: "f", url: urlOf(byUrl) }],
    },
  });
  clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
  assertEquals((await cleanUpAt(store, clock)).report, { ...NOTHING, executions: 2 });
  const kept = [taken, input, ofOpen, byUrl, byDefault, open];
  assertEquals((await storedUnder(store, "execution")).sort(), kept.sort());
});

Deno.test("a cleanup that does not end keeps no service from stopping", async () => {
  const clock = new TestClock();
  await using test = await startService({ clock });
  const { service } = test;
  const { store, engines } = service.parts;
  const execution = executionAt(clock.time_ms, "complete");
  await store.committer.commit(saveExecution(execution));
  clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  engines.forget = () => {
    begin();
    return new Promise(() => {});
  };
  void service.cleanUp();
  await begun;
  await service.close(0);
  await test.restart();
  const left = await storedUnder(test.service.parts.store, "execution");
  assertEquals(left, [execution.id], "the next cleanup does what is left");
});

Deno.test("a service that stops ends its cleanup before it closes the database", async () => {
  const clock = new TestClock();
  await using test = await startService({ clock });
  const { service } = test;
  const { store, engines } = service.parts;
  const all = Array.from({ length: 100 }, () => executionAt(clock.time_ms, "complete"));
  await Promise.all(all.map((execution) => store.committer.commit(saveExecution(execution))));
  clock.time_ms += RETENTION_DAYS * DAY_MS + 1;
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  engines.forget = async () => {
    begin();
    await new Promise((resolve) => setTimeout(resolve, 200));
  };
  let report: CleanupReport | undefined;
  const cleanup = service.cleanUp().then((made) => report = made);
  await begun;
  await service.close();
  assertEquals(report === undefined, false, "the cleanup was still going on");
  await cleanup;
  const removed = report?.executions ?? 0;
  assert(removed > 0 && removed < 100, `${removed} were removed`);
  assertEquals(await service.cleanUp(), NOTHING);
  await test.restart();
  assertEquals(
    await storedUnder(test.service.parts.store, "execution"),
    all.slice(removed).map(({ id }) => id),
  );
});
