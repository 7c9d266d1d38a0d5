/** The runs of schedules: over instances, restarts, changes of the trigger, and stops at any commit. */
import { assert, assertEquals, assertGreater } from "@std/assert";
import { isWorkPending } from "../../src/hosted/pending_work.ts";
import { putProject } from "../../src/store/records/projects.ts";
import type { Run } from "../../src/store/records/runs.ts";
import type { Store } from "../../src/store/store.ts";
import { TriggerRegistry } from "../../src/triggers/registry.ts";
import { settingsOf } from "../../src/triggers/revision.ts";
import { Scheduler } from "../../src/triggers/scheduler.ts";
import { openSecretBox } from "../../src/triggers/secret_key.ts";
import { context } from "../conditions/fixture.ts";
import { type Desk, openDesk } from "../runs/fixture.ts";
import { listPending, sharedStore, storedUnder, storeOn, watchedKv } from "../store/fixture.ts";
import { TestClock } from "../surroundings.ts";

const KEY = "00112233445566778899aabbccddeeff".repeat(2);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const START_MS = Date.UTC(2026, 0, 1, 0, 30);

const HOURLY = { cron: "0 * * * *", payload: { nightly: true } };

/** A clock whose timers a test leaves alone: it looks itself. */
class SetClock extends TestClock {
  /** Called when the scheduler has begun to wait. */
  onWait = () => {};

  override after(delay_ms: number, call: () => void): () => void {
    queueMicrotask(this.onWait);
    return delay_ms < 1_000 ? super.after(delay_ms, call) : () => {};
  }
}

/** The part of a service that schedules need. */
class Instance implements AsyncDisposable {
  readonly triggers: TriggerRegistry;
  readonly desk: Desk;
  readonly scheduler: Scheduler;

  private constructor(
    readonly store: Store,
    readonly clock: TestClock,
    secrets: Awaited<ReturnType<typeof openSecretBox>>,
  ) {
    this.desk = openDesk(store, { clock });
    this.triggers = new TriggerRegistry({
      store,
      secrets,
      context: context({ clock }),
      onChange: (id) => this.scheduler.changed(id),
    });
    this.scheduler = new Scheduler({
      store,
      clock,
      triggers: this.triggers,
      acceptor: this.desk.acceptor,
      baseUrl: () => "https://hooks.example.com",
      metrics: { delivery() {} },
      deliveryCounts: { note() {} },
    });
  }

  static async open(store: Store, clock: TestClock): Promise<Instance> {
    return new Instance(store, clock, await openSecretBox("/nowhere", KEY));
  }

  async create(schedule: unknown[] = [HOURLY], more: object = {}): Promise<string> {
    await putProject(this.store, {
      name: "digits",
      directory: "/digits",
      config_file: "valohai.yaml",
      engine: { type: "local", runner: "process" },
    });
    const { id } = await this.triggers.create({
      name: "nightly",
      project: "digits",
      actions: [{ type: "fetch_repository" }],
      schedule,
      ...more,
    });
    return id;
  }

  /** Looks at the schedules once, and again where something changes meanwhile. */
  tick(): Promise<void> {
    return this.scheduler.tick();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.scheduler.close();
    await this.desk[Symbol.asyncDispose]();
  }
}

async function runsOf(store: Store): Promise<Run[]> {
  return (await Array.fromAsync(listPending(store))).map(({ run }) => run);
}

/** The times of the occurrences that have made runs, in order. */
async function timesOf(store: Store): Promise<string[]> {
  return (await runsOf(store)).map(({ scheduled_for = "" }) => scheduled_for.slice(11, 16)).sort();
}

Deno.test("of two instances that look at the same time one makes the run of an occurrence", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new SetClock(START_MS);
  // Slow answers: both have read before either has stored.
  const slow = watchedKv(kv, async (_commit, store) => {
    await new Promise((resolve) => setTimeout(resolve, 2));
    return await store();
  });
  await using leading = await sharedStore(slow, clock);
  await using following = await sharedStore(slow, clock, { leads: false });
  Object.defineProperty(following.shared?.instances, "obstacle", { value: undefined });
  await using one = await Instance.open(leading, clock);
  await using other = await Instance.open(following, clock);
  const id = await one.create([HOURLY, { cron: "0 * * * *", payload: [1] }]);
  await Promise.all([one.scheduler.start(), other.scheduler.start()]);
  for (let hour = 0; hour < 4; hour++) {
    clock.ahead_ms += HOUR_MS;
    await Promise.all([one.tick(), other.tick()]);
  }
  const twice = (times: string[]) => times.flatMap((time) => [time, time]);
  assertEquals(await timesOf(leading), twice(["01:00", "02:00", "03:00", "04:00"]));
  // One of them sees what the other has changed.
  await one.triggers.update(id, (trigger) => ({ ...settingsOf(trigger), schedule: [HOURLY] }));
  await following.shared?.triggers.sync();
  clock.ahead_ms += HOUR_MS;
  await Promise.all([other.tick(), one.tick()]);
  assertEquals((await timesOf(leading)).filter((time) => time === "05:00"), ["05:00"]);
});

Deno.test("a look that is asked for when the one before ends is made", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new SetClock(START_MS);
  const store = storeOn(kv);
  await using instance = await Instance.open(store, clock);
  await instance.create();
  const { promise, resolve } = Promise.withResolvers<void>();
  clock.onWait = () => {
    clock.onWait = () => {};
    clock.ahead_ms += HOUR_MS;
    resolve(instance.tick());
  };
  await instance.scheduler.start();
  await promise;
  assertEquals(await timesOf(store), ["01:00"]);
});

Deno.test("what a schedule launches, and what becomes of it over changes and restarts", async (t) => {
  using kv = await Deno.openKv(":memory:");
  const clock = new SetClock(START_MS);
  const store = storeOn(kv);
  /** Opens an instance as a start does, and looks. */
  const open = async () => {
    const instance = await Instance.open(store, clock);
    await instance.scheduler.start();
    return instance;
  };
  const first = await open();
  const id = await first.create();
  await first.tick();
  await t.step("a closed service is opened when an occurrence is due", async () => {
    assertEquals(await isWorkPending(kv, clock.now()), false);
    assertEquals(await isWorkPending(kv, clock.now() + HOUR_MS), true);
  });
  await t.step("a run has the payload, and says where it comes from", async () => {
    clock.time_ms += 30 * MINUTE_MS;
    await first.tick();
    await first.tick();
    const [run, ...more] = await runsOf(store);
    assertEquals(more, []);
    assertEquals(
      [run?.source, run?.scheduled_for, run?.launched_by, run?.payload.content_type],
      ["schedule", "2026-01-01T01:00:00.000Z", { kind: "schedule" }, "application/json"],
    );
    assertEquals(run?.payload.size, '{"nightly":true}'.length);
  });
  await first[Symbol.asyncDispose]();
  await t.step("the newest of those that were missed runs once", async () => {
    clock.time_ms += 3 * HOUR_MS + 10 * MINUTE_MS;
    for (let start = 0; start < 2; start++) {
      await using _instance = await open();
      assertEquals(await timesOf(store), ["01:00", "04:00"]);
    }
  });
  await using last = await open();
  const change = async (fields: object) => {
    await last.triggers.update(id, (trigger) => ({ ...settingsOf(trigger), ...fields }));
    await last.tick();
  };
  await t.step("nothing is missed while the trigger is disabled", async () => {
    await change({ enabled: false });
    clock.time_ms += HOUR_MS;
    await last.tick();
    await change({ enabled: true });
    assertEquals(await timesOf(store), ["01:00", "04:00"]);
  });
  await t.step("another change neither repeats nor loses an occurrence", async () => {
    clock.time_ms = Date.UTC(2026, 0, 1, 6) + 20;
    await change({ conditions: [{ type: "rate_limit", quota: 1, period: 86_400 }] });
    await last.tick();
    assertEquals(await timesOf(store), ["01:00", "04:00", "06:00"]);
    // Another payload, and another schedule beside it: none of them runs for what has passed.
    await change({ schedule: [{ ...HOURLY, payload: 1 }, { cron: "0 0 * * *" }] });
    assertEquals(await timesOf(store), ["01:00", "04:00", "06:00"]);
    clock.time_ms += HOUR_MS;
    await last.tick();
    assertEquals(await timesOf(store), ["01:00", "04:00", "06:00", "07:00"]);
  });
  await t.step("a clock that is set back repeats nothing, and loses nothing", async () => {
    clock.time_ms -= 2 * HOUR_MS;
    for (let step = 0; step < 6; step++) {
      await last.tick();
      clock.time_ms += 30 * MINUTE_MS;
    }
    await last.tick();
    assertEquals(await timesOf(store), ["01:00", "04:00", "06:00", "07:00", "08:00"]);
  });
  await t.step("a trigger that is gone leaves nothing that is due", async () => {
    await last.triggers.delete(id);
    clock.time_ms += HOUR_MS;
    await last.tick();
    assertEquals((await timesOf(store)).length, 5);
    assertEquals(await storedUnder(store, "pending_schedule"), []);
  });
  await store.close();
});

/** Thrown in place of what comes after a stop. */
class Stopped extends Error {}

Deno.test("a stop at any commit makes no run of an occurrence twice, and loses none", async () => {
  // Until a life passes without a stop. A commit may be stored though its answer is lost.
  for (const isStored of [false, true]) {
    for (let commits = 0, hasStopped = true; hasStopped; commits++) {
      hasStopped = await liveWithStop(commits, isStored);
      if (!hasStopped) assertGreater(commits, 2);
    }
  }
});

async function liveWithStop(commits: number, isStored: boolean): Promise<boolean> {
  using kv = await Deno.openKv(":memory:");
  const clock = new SetClock(START_MS);
  {
    await using setting = await Instance.open(storeOn(kv), clock);
    await setting.create();
  }
  let left = commits;
  let hasStopped = false;
  const failing = watchedKv(kv, async (_commit, store) => {
    if (left-- > 0) return await store();
    if (isStored && !hasStopped) await store();
    hasStopped = true;
    throw new Stopped();
  });
  {
    await using stopped = await Instance.open(storeOn(failing), clock);
    await stopped.scheduler.start();
    for (let hour = 0; hour < 3 && !hasStopped; hour++) {
      clock.time_ms += HOUR_MS;
      await stopped.tick();
    }
  }
  const store = storeOn(kv);
  await using again = await Instance.open(store, clock);
  await again.scheduler.start();
  const times = await timesOf(store);
  const until = clock.time_ms;
  const expected = ["01:00", "02:00", "03:00"].slice(0, Math.floor((until - START_MS) / HOUR_MS));
  assertEquals(times, expected);
  assert(times.length > 0);
  return hasStopped;
}
