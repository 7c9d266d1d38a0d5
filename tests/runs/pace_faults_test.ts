/** The turns of runs over several instances, over commits that fail, and over stops at any of their commits. */
import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { systemClock } from "../../src/platform/clock.ts";
import { PacedEntries } from "../../src/runs/pace/paced_entries.ts";
import { burstWrite, holdWrites } from "../../src/store/records/held_runs.ts";
import { keys } from "../../src/store/keys.ts";
import type { Pace } from "../../src/store/records/pace.ts";
import { getRun, pendingEntries, type PendingRun, type Run } from "../../src/store/records/runs.ts";
import {
  sharedStore,
  standIn,
  storedUnder,
  storeInMemory,
  storeOn,
  watchedKv,
} from "../store/fixture.ts";
import { eventually, TestClock } from "../surroundings.ts";
import { type Desk, launchOf, openDesk, pendingOf, storePending } from "./fixture.ts";

const QUEUE: Pace = { concurrency: { key: "k", limit: 1, when_full: "queue" } };
const LAUNCHES = 40;
/** And in each life that is stopped. */
const LAUNCHES_OF_LIFE = 4;

async function accept({ acceptor }: Desk, pace: Pace, body = ""): Promise<string> {
  const answer = await acceptor.accept(
    launchOf({ pace, body: new TextEncoder().encode(body) }),
  );
  assert("run" in answer);
  return answer.run.id;
}

/** Waits until nothing waits, and nothing is performed. */
function untilDone({ worker }: Desk): Promise<true> {
  return eventually(async () => {
    worker.claim();
    await worker.pacer.settled();
    return worker.backlog === 0 && worker.pacer.waiting === 0 ? true : undefined;
  }, { what: "the end of all runs" });
}

Deno.test("the order is that of commits, whichever instance has accepted a run", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  // Ids of the other instance are lower than those that were made before.
  const behind = new TestClock(clock.time_ms - 300);
  /** The versionstamps of the commits that accepted runs, each with the run's id. */
  const committed = new Map<string, string>();
  // Slow answers: what was committed first is not always known first.
  const watched = (delay_ms: () => number) =>
    watchedKv(kv, async (commit, store) => {
      const result = await store();
      for (const [kind, id] of result.ok ? commit.keys : []) {
        if (kind !== "pending" || committed.has(String(id))) continue;
        if (result.ok) committed.set(String(id), `${result.versionstamp} ${String(id)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, delay_ms()));
      return result;
    });
  let state = 1;
  const drawn = () => (state = (state * 48_271) % 2_147_483_647) % 7;
  await using leading = await sharedStore(watched(drawn), clock);
  await using following = await sharedStore(watched(drawn), behind, { leads: false });
  Object.defineProperty(following.shared?.instances, "obstacle", { value: undefined });
  const performed: string[] = [];
  let underWay = 0;
  await using desk = openDesk(leading, {
    clock,
    perform: async ({ run: { id } }) => {
      assertEquals(++underWay, 1);
      performed.push(id);
      await new Promise((resolve) => setTimeout(resolve, drawn()));
      underWay--;
      return [{ action: "none" }];
    },
  });
  await using other = openDesk(following, { clock: behind });
  await desk.worker.start();
  await Promise.all(Array.from({ length: LAUNCHES }, async (_, index) => {
    await new Promise((resolve) => setTimeout(resolve, index * 2));
    await accept(index % 2 === 0 ? desk : other, QUEUE);
  }));
  await eventually(async () => {
    await untilDone(desk);
    return performed.length === LAUNCHES ? true : undefined;
  });
  const inOrder = [...committed].sort(([, one], [, other]) => one < other ? -1 : 1);
  assertEquals(performed, inOrder.map(([id]) => id));
});

Deno.test("what was committed after a listing began waits for the next one", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  await using store = await sharedStore(kv, clock);
  const entries = await PacedEntries.begin(store);
  const [late] = await storePending(store, [pendingOf({ pace: QUEUE })]);
  const admitted: string[] = [];
  const admit = ({ run }: PendingRun) => void admitted.push(run.id);
  for await (const { pending, versionstamp } of pendingEntries(store)) {
    if (pending) entries.add(pending, versionstamp);
  }
  assertEquals(entries.admit(admit), false);
  const next = await PacedEntries.begin(store);
  for await (const { pending, versionstamp } of pendingEntries(store)) {
    if (pending) next.add(pending, versionstamp);
  }
  assertEquals([next.admit(admit), admitted], [true, [late ?? ""]]);
});

Deno.test("runs whose turns come together are stored together", async () => {
  let commits = 0;
  await using store = await storeInMemory((_commit, store) => {
    commits++;
    return store();
  });
  const waiting = Array.from({ length: 300 }, (_, order) => {
    const pace: Pace = { concurrency: { key: `key ${order}`, limit: 1, when_full: "queue" } };
    return holdWrites(pendingOf({ pace }), { order });
  });
  await Promise.all(waiting.map((writes) => store.committer.write(writes)));
  commits = 0;
  let performed = 0;
  await using desk = openDesk(store, {
    perform: () => {
      performed++;
      return Promise.resolve([{ action: "none" }]);
    },
  });
  await desk.worker.start();
  await eventually(() => performed === waiting.length || undefined, { what: "the turn of all" });
  assertLess(commits, waiting.length);
});

Deno.test("a burst that closes reads its runs together", async () => {
  let reads = 0;
  const kv = await Deno.openKv(":memory:");
  const counted = (name: "get" | "getMany" | "list") => (...given: unknown[]) => {
    reads++;
    return Reflect.apply(kv[name], kv, given);
  };
  await using store = storeOn(standIn(kv, {
    get: counted("get"),
    getMany: counted("getMany"),
    list: counted("list"),
  }));
  const coalesce = { key: "k", window_ms: 1, wait_max_ms: 1, keep: "all" as const };
  const body = new TextEncoder().encode("{}");
  const runs = Array.from({ length: 300 }, () => pendingOf({ pace: { coalesce }, body }));
  const [{ run: { trigger_id, created_at } }] = [runs[0] ?? pendingOf()];
  const joins = crypto.randomUUID();
  await store.committer.writeInParts([
    ...runs.flatMap((pending, order) => holdWrites(pending, { order, joins })),
    burstWrite({
      trigger_id,
      key: "k",
      run_id: joins,
      first_ms: Date.parse(created_at),
      due_ms: 0,
    }),
  ]);
  const ended: Run[] = [];
  await using desk = openDesk(store, {
    perform: () => Promise.resolve([{ action: "none" }]),
    onEnd: (run) => void ended.push(run),
  });
  await desk.worker.start();
  await eventually(() => ended.length > runs.length || undefined, { what: "the end of all" });
  assertLess(reads, runs.length / 2);
});

/** Thrown in place of what comes after a stop. */
class Stopped extends Error {}

for (const others of [0, 1]) {
  Deno.test(`a stop once a burst has ended hides no damaged payload of it, beside ${others} others`, async () => {
    using open = await Deno.openKv(":memory:");
    // The test closes it, and not the stores.
    const kv = standIn(open, { close() {}, [Symbol.dispose]() {} });
    let isClosing = false;
    let hasStopped = false;
    const store = storeOn(watchedKv(kv, async ({ keys }, store) => {
      if (hasStopped) throw new Stopped();
      const stored = await store();
      hasStopped = isClosing && keys.some(([kind]) => kind === "burst");
      return stored;
    }));
    const coalesce = { key: "", window_ms: 60_000, wait_max_ms: 60_000, keep: "all" as const };
    let damaged = "";
    {
      await using desk = openDesk(store);
      await desk.worker.start();
      damaged = await accept(desk, { coalesce }, "long".repeat(2_000));
      for (let count = 0; count < others; count++) await accept(desk, { coalesce }, "short");
      await desk.worker.pacer.settled();
      await store.committer.write([{ key: keys.payload(damaged, 0) }]);
      isClosing = true;
      desk.worker.pacer.hurry(damaged);
      await eventually(() => hasStopped || undefined, { what: "the end of the burst" });
    }
    await store.close();
    await using next = storeOn(kv);
    await using desk = openDesk(next, { perform: () => Promise.resolve([{ action: "none" }]) });
    await desk.worker.start();
    await desk.worker.pacer.settled();
    const run = await getRun(next, damaged);
    assertEquals([run?.status, run?.superseded_by], ["error", undefined]);
    await untilDone(desk);
  });
}

Deno.test("a stop at any commit loses no run, doubles none, and keeps every rule", async (t) => {
  const paces: Record<string, { pace: Pace; check(runs: Run[], begun: string[]): void }> = {
    "a queue": {
      pace: QUEUE,
      check: (runs, begun) => assertEquals(begun, runs.map(({ id }) => id)),
    },
    "the newest of a burst": {
      pace: { coalesce: { key: "k", window_ms: 1, wait_max_ms: 10_000, keep: "newest" } },
      check: (runs, begun) => assertEquals(performedOf(runs), begun),
    },
    "the first of a burst": {
      pace: { coalesce: { key: "k", window_ms: 1, wait_max_ms: 10_000, keep: "first" } },
      check: (runs, begun) => assertEquals(performedOf(runs), begun),
    },
    "all of a burst": {
      pace: { coalesce: { key: "k", window_ms: 1, wait_max_ms: 10_000, keep: "all" } },
      check: (runs, begun) => {
        for (const { superseded_by } of runs) {
          assert(superseded_by && begun.includes(superseded_by));
        }
      },
    },
    "the newest that waits": {
      pace: { concurrency: { key: "k", limit: 1, when_full: "newest" } },
      check: (runs, begun) => assertEquals(performedOf(runs), begun),
    },
    "none that waits": {
      pace: { concurrency: { key: "k", limit: 1, when_full: "refuse" } },
      check: (runs, begun) => assertEquals(performedOf(runs), begun),
    },
    "a delay, a burst and a queue": {
      pace: {
        coalesce: { key: "k", window_ms: 1, wait_max_ms: 10_000, keep: "newest" },
        due_ms: 1,
        ...QUEUE,
      },
      check: (runs, begun) => assertEquals(performedOf(runs), begun),
    },
  };
  for (const [name, { pace, check }] of Object.entries(paces)) {
    await t.step(name, async () => {
      // Until a life passes without a stop.
      for (let commits = 0, hasStopped = true; hasStopped; commits++) {
        hasStopped = await liveWithStop(pace, commits, check);
        if (!hasStopped) assertGreater(commits, LAUNCHES_OF_LIFE);
      }
    });
  }
});

/** The ids of the runs that were performed, which say of no other that it was. */
function performedOf(runs: readonly Run[]): string[] {
  return runs.filter(({ superseded_by, skipped_by }) => !(superseded_by ?? skipped_by))
    .map(({ id }) => id);
}

/** Lives until so many commits are stored, stops there, and lives on; returns false when there were fewer. */
async function liveWithStop(
  pace: Pace,
  commits: number,
  check: (runs: Run[], begun: string[]) => void,
): Promise<boolean> {
  const file = await Deno.makeTempFile();
  const begun = new Set<string>();
  const accepted: string[] = [];
  const life = async (stopAfter: number, launches: number): Promise<boolean> => {
    const kv = await Deno.openKv(file);
    let left = stopAfter;
    const store = storeOn(watchedKv(kv, async (_commit, store) => {
      if (left-- > 0) return await store();
      throw new Stopped();
    }));
    const desk = openDesk(store, {
      clock: systemClock,
      perform: ({ run: { id } }) => {
        begun.add(id);
        return Promise.resolve([{ action: "none" }]);
      },
    });
    try {
      await desk.worker.start();
      for (let index = 0; index < launches && left >= 0; index++) {
        await accept(desk, pace, String(index)).then((id) => accepted.push(id), () => {});
      }
      await eventually(async () => {
        if (left < 0) return true;
        desk.worker.claim();
        const { backlog, pacer } = desk.worker;
        if (backlog > 0 || pacer.waiting > 0) return undefined;
        await pacer.settled();
        return true;
      }, { what: `the end of the life that stops after ${stopAfter} commits` });
      // The last of its commits may be the one that ends a turn.
      for (const kind of ["held", "burst", "turn"]) {
        await eventually(
          async () => left < 0 || (await storedUnder(store, kind)).length === 0 || undefined,
          { what: `the end of each ${kind}` },
        );
      }
      if (left < 0) return true;
      const runs = await Promise.all(accepted.map((id) => getRun(store, id)));
      check(runs.filter((run) => run !== undefined), [...begun]);
      assert(runs.every((run) => run?.status === "completed"));
      return false;
    } finally {
      await desk[Symbol.asyncDispose]();
      await store.close();
    }
  };
  const hasStopped = await life(commits, LAUNCHES_OF_LIFE);
  if (hasStopped) await life(Infinity, 0);
  await Deno.remove(file);
  return hasStopped;
}
