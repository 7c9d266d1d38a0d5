/** Attempts of executions: the rule, the times by a set clock, stops, and stops of the service at any commit. */
import { assert, assertEquals, assertGreater, assertRejects } from "@std/assert";
import { writeEnd } from "../../src/engines/shared/execution_end.ts";
import { executionSaver } from "../../src/engines/shared/execution_saver.ts";
import { openExecutionsOf } from "../../src/engines/shared/open_executions.ts";
import { FolderStore } from "../../src/artifacts/folder.ts";
import type { Engine } from "../../src/engines/engine.ts";
import { Engines } from "../../src/engines/mod.ts";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import {
  firstAttempt,
  isDead,
  nextAttempt,
  waitingAttempts,
} from "../../src/store/records/attempts.ts";
import {
  type Execution,
  executionWrites,
  getAttempt,
  getExecution,
  hasEnded,
  listExecutions,
  listOpenExecutions,
} from "../../src/store/records/executions.ts";
import type { Retry } from "../../src/store/records/execution_record.ts";
import type { Store } from "../../src/store/store.ts";
import { executionOf } from "../store/execution.ts";
import { storeInMemory, storeOn, watchedKv } from "../store/fixture.ts";
import { eventually } from "../surroundings.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const RULE: Retry = { attempts: 3, first: 30, factor: 2, exit_codes: [75] };

/** A clock whose timers fire when the test sets the time. */
class SetClock implements Clock {
  #now_ms = NOW_MS;
  readonly #timers = new Map<object, { at_ms: number; call(): void }>();

  now(): number {
    return this.#now_ms;
  }

  steady(): number {
    return this.#now_ms;
  }

  after(delay_ms: number, call: () => void): () => void {
    const key = {};
    this.#timers.set(key, { at_ms: this.#now_ms + delay_ms, call });
    return () => void this.#timers.delete(key);
  }

  /** Lets time pass. */
  pass(time_ms: number): void {
    const until_ms = this.#now_ms + time_ms;
    for (;;) {
      const due = [...this.#timers].filter(([, { at_ms }]) => at_ms <= until_ms)
        .sort(([, one], [, other]) => one.at_ms - other.at_ms)[0];
      if (due === undefined) break;
      const [key, { at_ms, call }] = due;
      this.#timers.delete(key);
      this.#now_ms = Math.max(this.#now_ms, at_ms);
      call();
    }
    this.#now_ms = until_ms;
  }
}

interface Played {
  store: Store;
  clock: Clock;
  /** Attempts that have begun, by their numbers and in this order. */
  begun: number[];
  /** The ends of the attempts, by their numbers. */
  end(attempt: number): Partial<Execution> | undefined;
  /** Saves an end again though it is stored: a mistake that is planted. */
  savesTwice?: boolean;
  onChange?(execution: Execution): void;
}

/** An engine whose commands end at once, as the test says. It goes on with what it has begun. */
function playedEngine({ store, clock, begun, end, savesTwice, onChange }: Played): Engine & {
  finish(id: string, fields: Partial<Execution>): Promise<void>;
} {
  const closing = new AbortController();
  const { signal } = closing;
  const save = executionSaver({ store, onChange: (each) => onChange?.(each), signal });
  const known = new Set<string>();
  const work = new Set<Promise<void>>();
  const finish = async (id: string, { status = "error", ...fields }: Partial<Execution>) => {
    const execution = await getExecution(store, id);
    if (execution === undefined || hasEnded(execution.status)) return;
    const { exit_code: exitCode, ...rest } = fields;
    Object.assign(execution, rest);
    const ending = { status: status as "error" | "complete" | "stopped" };
    writeEnd(execution, { ending, exitCode, at_ms: clock.now() });
    await save(execution);
    if (!savesTwice || execution.attempt !== 1) return;
    // Once the next attempt has begun.
    await eventually(() => begun.includes(2) || undefined);
    await store.committer.write(executionWrites(execution));
    onChange?.(execution);
  };
  const run = async (execution: Execution) => {
    if (known.has(execution.id) || signal.aborted) return;
    known.add(execution.id);
    const { attempt = 0, id } = execution;
    if (execution.status === "queued") {
      const started_at = new Date(clock.now()).toISOString();
      const started: Execution = { ...execution, status: "started", started_at };
      if (!await save(started)) return;
      begun.push(attempt);
    } else if (!begun.includes(attempt)) begun.push(attempt);
    // Its command runs until it was begun again.
    const isDoubled = () => begun.filter((each) => each === 2).length > 1 || undefined;
    if (savesTwice && attempt === 2) await eventually(isDoubled);
    const ended = end(attempt);
    if (ended) await finish(id, ended);
  };
  const begin = (execution: Execution) => {
    const doing = run(execution).catch(() => {}).finally(() => work.delete(doing));
    work.add(doing);
  };
  const unused = () => Promise.reject(new RangeError("The tests ask for nothing else"));
  return {
    finish,
    async start() {
      for await (const each of openExecutionsOf(store, "local", ["queued", "started"])) begin(each);
    },
    submit: (execution) => {
      if (savesTwice) known.delete(execution.id);
      begin(execution);
    },
    async stop(id, reason) {
      const execution = await getExecution(store, id);
      if (execution === undefined || hasEnded(execution.status)) return false;
      await finish(id, { status: "stopped", ...(reason !== undefined && { reason }) });
      return true;
    },
    log: unused,
    watchLog: () => () => {},
    output: unused,
    forget: () => Promise.resolve(),
    load: { running: 0, waiting: 0 },
    async close() {
      closing.abort();
      await Promise.all(work);
    },
  };
}

function enginesOf(store: Store, played: Omit<Played, "store">) {
  let engine: ReturnType<typeof playedEngine> | undefined;
  const { onChange, ...rest } = played;
  const engines = new Engines({
    local: (parts) =>
      engine = playedEngine({ ...rest, store, onChange: parts.onChange ?? (() => {}) }),
  }, {
    store,
    clock: played.clock,
    dataFolder: "/nowhere",
    artifacts: new FolderStore("/nowhere"),
    projects: { checkout: () => Promise.resolve() },
    ...(onChange && { onChange }),
  });
  if (engine === undefined) throw new Error("The engine was not made");
  return { engines, engine };
}

const launched = (retry: Retry = RULE) => executionOf({ retry });

async function launch(store: Store, engines: Engines, execution: Execution): Promise<void> {
  const attempt = firstAttempt(execution);
  await store.committer.write(executionWrites(attempt));
  engines.of("local").submit(attempt);
}

Deno.test("the rule says after which ends another attempt comes, and when", () => {
  const cases: [string, Partial<Execution>, Partial<Retry>, pause_s: number | undefined][] = [
    ["an exit code of the rule", { exit_code: 75 }, {}, 30],
    ["the pause grows", { exit_code: 75, attempt: 2 }, {}, 60],
    ["the last attempt", { exit_code: 75, attempt: 3 }, {}, undefined],
    ["another exit code", { exit_code: 1 }, {}, undefined],
    ["any exit code", { exit_code: 1 }, { exit_codes: "*" }, 30],
    ["no exit code", {}, {}, undefined],
    ["any failure", {}, { exit_codes: "*" }, 30],
    ["no pause", { exit_code: 75 }, { first: 0 }, 0],
    ["a pause of a day at most", { exit_code: 75, attempt: 19 }, {
      attempts: 20,
      first: 86_400,
      factor: 10,
    }, 86_400],
    ["complete", { status: "complete", exit_code: 0 }, { exit_codes: "*" }, undefined],
    ["stopped", { status: "stopped", exit_code: 75 }, { exit_codes: "*" }, undefined],
    ["not ended", { status: "started" }, { exit_codes: "*" }, undefined],
  ];
  for (const [what, fields, rule, pause_s] of cases) {
    const retry = { ...RULE, ...rule };
    const ended = {
      ...firstAttempt(launched(retry)),
      status: "error" as const,
      ended_at: new Date(NOW_MS).toISOString(),
      reason: "it failed",
      metadata: { loss: 1 },
      outputs: [{ path: "model", size: 1, sha256: "" }],
      ...fields,
    };
    const next = nextAttempt(ended);
    const at = next?.retry_at && (Date.parse(next.retry_at) - NOW_MS) / 1_000;
    assertEquals(at, pause_s, what);
    assertEquals(isDead(ended), ended.status === "error" && next === undefined, what);
    if (next === undefined) continue;
    const { status, attempt, metadata, outputs, exit_code, reason, ended_at } = next;
    assertEquals([status, attempt, metadata, outputs], [
      "created",
      (ended.attempt ?? 0) + 1,
      {},
      [],
    ]);
    assertEquals([exit_code, reason, ended_at], [undefined, undefined, undefined]);
    assertEquals(nextAttempt(ended)?.id, next.id);
  }
});

Deno.test("attempts begin at their times, and what each leaves is kept apart", async () => {
  await using store = await storeInMemory();
  const clock = new SetClock();
  const begun: number[] = [];
  const ends: string[] = [];
  const { engines, engine } = enginesOf(store, {
    clock,
    begun,
    end: () => undefined,
    onChange: ({ status, attempt }) => void ends.push(`${attempt} ${status}`),
  });
  await engines.start();
  const execution = launched();
  const { id } = execution;
  const record = async () => {
    const found = await getExecution(store, id);
    assert(found);
    return found;
  };
  const attemptId = async (attempt: number) =>
    (await record()).attempts?.find((each) => each.attempt === attempt)?.execution_id ?? "";
  await launch(store, engines, execution);
  await eventually(async () => (await record()).status === "started" || undefined);
  await engine.finish(await attemptId(1), { exit_code: 75, metadata: { loss: 0.5 } });
  const waiting = await record();
  const retry_at = new Date(NOW_MS + 30_000).toISOString();
  assertEquals(
    [waiting.status, waiting.attempt, waiting.retry_at, waiting.waiting, waiting.metadata],
    ["created", 2, retry_at, `Attempt 2 of 3 at ${retry_at}`, {}],
  );
  clock.pass(29_999);
  assertEquals((await waitingAttempts(store)).length, 1);
  assertEquals(begun, [1]);
  clock.pass(1);
  await eventually(async () => (await record()).status === "started" || undefined);
  assertEquals(await waitingAttempts(store), []);
  await engine.finish(await attemptId(2), { exit_code: 75, metadata: { loss: 0.4 } });
  clock.pass(59_999);
  assertEquals(begun, [1, 2]);
  clock.pass(1);
  await eventually(async () => (await record()).status === "started" || undefined);
  await engine.finish(await attemptId(3), { exit_code: 75, metadata: { loss: 0.3 } });
  const dead = await record();
  assertEquals([dead.status, dead.attempt, dead.retry_at], ["error", 3, undefined]);
  assertEquals(isDead(dead), true);
  assertEquals(
    dead.attempts?.map(({ attempt, status, exit_code }) => [attempt, status, exit_code]),
    [
      [1, "error", 75],
      [2, "error", 75],
      [3, "error", 75],
    ],
  );
  const kept = await Promise.all([1, 2, 3].map((attempt) => getAttempt(store, dead, attempt)));
  assertEquals(kept.map((each) => each?.metadata), [{ loss: 0.5 }, { loss: 0.4 }, { loss: 0.3 }]);
  assertEquals(begun, [1, 2, 3]);
  // Lists have one record.
  assertEquals((await listExecutions(store, { limit: 10 })).records.map((each) => each.id), [id]);
  await engines.close(0);
});

Deno.test("a stop of an attempt that waits ends the execution at once, also at the next start", async () => {
  await using store = await storeInMemory();
  const clock = new SetClock();
  const begun: number[] = [];
  const played = { clock, begun, end: () => ({ exit_code: 75 }) };
  const first = enginesOf(store, played);
  await first.engines.start();
  const execution = launched();
  await launch(store, first.engines, execution);
  const status = async () => (await getExecution(store, execution.id))?.status;
  await eventually(async () => await status() === "created" || undefined);
  assertEquals((await listOpenExecutions(store, "created", { limit: 9 })).records.length, 1);
  await first.engines.close(0);
  const second = enginesOf(store, played);
  await second.engines.start();
  assertEquals(await second.engines.stop(execution, "Stopped by request"), true);
  assertEquals(await status(), "stopped");
  assertEquals(await second.engines.stop(execution), false);
  clock.pass(3_600_000);
  assertEquals([begun, await waitingAttempts(store)], [[1], []]);
  assertEquals((await listOpenExecutions(store, "created", { limit: 9 })).records, []);
  await second.engines.close(0);
});

Deno.test("a stop that comes when a command is over ends what would come behind it", async () => {
  await using store = await storeInMemory();
  const clock = new SetClock();
  const { engines, engine } = enginesOf(store, { clock, begun: [], end: () => undefined });
  await engines.start();
  const execution = launched({ ...RULE, first: 0 });
  await launch(store, engines, execution);
  const id = firstAttempt(execution).id;
  await eventually(async () => (await getExecution(store, id))?.status === "started" || undefined);
  // Its engine says that it is too late, as its command is over.
  engine.stop = async () => {
    engine.stop = () => Promise.resolve(false);
    await engine.finish(id, { exit_code: 75 });
    return false;
  };
  assertEquals(await engines.stop(execution), true);
  assertEquals((await getExecution(store, execution.id))?.status, "stopped");
  await engines.close(0);
});

Deno.test("an end that is stored though its commit has failed is not stored again", async () => {
  let losesAnswer = false;
  await using store = await storeInMemory(async (_commit, commit) => {
    const answer = await commit();
    if (losesAnswer) throw new TypeError("the connection broke");
    return answer;
  });
  const attempt = firstAttempt(launched({ ...RULE, first: 0 }));
  await store.committer.write(executionWrites(attempt));
  const told: (number | undefined)[] = [];
  const { signal } = new AbortController();
  const save = executionSaver({ store, onChange: (each) => void told.push(each.attempt), signal });
  writeEnd(attempt, { ending: { status: "error" }, exitCode: 75, at_ms: NOW_MS });
  losesAnswer = true;
  const saving = save(attempt);
  const next = await eventually(async () => {
    const [waiting] = await waitingAttempts(store);
    return waiting && await getExecution(store, waiting.id);
  });
  losesAnswer = false;
  // It begins before the end is known to be stored.
  const { retry_at: _at, waiting: _waiting, ...begun } = next;
  await store.committer.write(executionWrites({ ...begun, status: "started" }));
  assertEquals(await saving, true);
  assertEquals([(await getExecution(store, next.id))?.status, told], ["started", [1]]);
});

/** Thrown in place of what comes after a stop. */
class Stopped extends Error {}

/** Lives until so many commits are stored, stops there, and lives on; returns false when there were fewer. */
async function liveWithStop(
  commits: number,
  { losesAnswer = false, savesTwice = false } = {},
): Promise<boolean> {
  const file = await Deno.makeTempFile();
  const begun: number[] = [];
  const execution = launched({ ...RULE, first: 0 });
  const life = async (stopAfter: number, launches: boolean): Promise<boolean> => {
    const kv = await Deno.openKv(file);
    let left = stopAfter;
    const store = storeOn(watchedKv(kv, async (_commit, commit) => {
      if (left-- > 0) return await commit();
      // The last one is stored, and nobody is told.
      if (left === -1 && losesAnswer) await commit();
      throw new Stopped();
    }));
    const ends: Partial<Execution>[] = [{}, { exit_code: 75 }, { exit_code: 75 }, {
      exit_code: 0,
      status: "complete",
    }];
    const { engines } = enginesOf(store, {
      clock: systemClock,
      begun,
      savesTwice,
      end: (attempt) => ends[attempt],
    });
    try {
      await engines.start().catch(() => {});
      if (launches) await launch(store, engines, execution).catch(() => {});
      const record = await eventually(async () => {
        if (left < 0) return "stopped";
        const found = await getExecution(store, execution.id);
        return found === undefined && !launches || found && hasEnded(found.status)
          ? found ?? "stopped"
          : undefined;
      }, { what: `the end of the life that stops after ${stopAfter} commits` });
      if (record === "stopped") return true;
      assertEquals([record.status, record.attempt], ["complete", 3]);
      assertEquals((await waitingAttempts(store)).length, 0);
      return false;
    } finally {
      await engines.close(0);
      await store.close();
    }
  };
  const hasStopped = await life(commits, true);
  const isLost = hasStopped && await life(Infinity, false);
  await Deno.remove(file);
  // A launch that was not stored is none.
  assertEquals(begun, isLost ? [] : [1, 2, 3]);
  return hasStopped;
}

Deno.test("a stop at any commit loses no attempt and doubles none", async (t) => {
  for (const losesAnswer of [false, true]) {
    await t.step(losesAnswer ? "the last commit is stored" : "the last is not", async () => {
      for (let commits = 0, hasStopped = true; hasStopped; commits++) {
        hasStopped = await liveWithStop(commits, { losesAnswer });
        // A launch, and three commits of each attempt but the first.
        if (!hasStopped) assertGreater(commits, 8);
      }
    });
  }
});

Deno.test("an attempt that is made twice is found", async () => {
  await assertRejects(
    () => liveWithStop(Infinity, { savesTwice: true }),
    Error,
    "Values are not equal",
  );
});
