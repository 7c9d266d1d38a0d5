/** Commits of instances that share a database: each change is stored once, and decided on what is stored. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../../../src/platform/clock.ts";
import { UnavailableError } from "../../../src/platform/errors.ts";
import type { Change } from "../../../src/store/commit/change.ts";
import { laneWrites, removeInstanceWrites } from "../../../src/store/commit/lane_records.ts";
import { Lanes } from "../../../src/store/commit/lanes.ts";
import { Ledger } from "../../../src/store/commit/ledgers.ts";
import { TriggerVersion } from "../../../src/store/commit/trigger_version.ts";
import { keys } from "../../../src/store/keys.ts";
import { MemoryDatabase, MemoryKv, type SentCommit } from "../../simulation/memory_kv.ts";

const TRIGGER = "a-trigger";

/** A database, and instances of it. */
class World {
  readonly database = new MemoryDatabase();
  readonly kv = new MemoryKv(this.database).kv;

  /** Joins an instance, whose commits pass a function. */
  async lanes(
    id: string,
    send: (commit: SentCommit) => Promise<Deno.KvCommitResult | Deno.KvCommitError> = (commit) =>
      Promise.resolve(this.database.commit(commit)),
  ) {
    const kv = new MemoryKv(this.database, undefined, send).kv;
    const triggers = new TriggerVersion(kv);
    await triggers.sync();
    const mutations = laneWrites(id).map(({ key, value }) => ({ key, value: { is: value } }));
    const result = this.database.commit({ checks: [], mutations, messages: [] });
    assert(result.ok);
    const state = { isFenced: false, conflicts: 0, triggers };
    const parts = {
      kv,
      clock: systemClock,
      instanceId: id,
      triggers,
      events: { onConflict: () => void state.conflicts++ },
      onFenced: () => void (state.isFenced = true),
    };
    return Object.assign(new Lanes(parts, result.versionstamp), { state });
  }

  value(key: Deno.KvKey): unknown {
    return this.database.get(key).value;
  }
}

/** Counts launches of one trigger as quotas do: reads the count under the ledger, and stores one more. */
class Counter {
  readonly #world: World;
  readonly #ledger = new Ledger(TRIGGER);
  #count: number | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  change(limit: number, onRefusal: () => void = () => {}): Change {
    let before: number | undefined;
    return {
      guards: [this.#ledger],
      refresh: () => this.#ledger.isLoaded ? undefined : this.#read(),
      writes: () => {
        before = this.#count;
        if ((this.#count ?? 0) >= limit) {
          onRefusal();
          return [];
        }
        this.#count = (this.#count ?? 0) + 1;
        return [{ key: ["count"], value: this.#count, sharedAs: "count" }];
      },
      undo: () => void (this.#count = before),
    };
  }

  async #read(): Promise<void> {
    this.#ledger.loaded((await this.#world.kv.get(this.#ledger.key)).versionstamp);
    const { value } = await this.#world.kv.get<number>(["count"]);
    this.#count = value ?? 0;
  }
}

Deno.test("lanes: several commits are under way at once, and changes that come meanwhile share the next", async () => {
  const world = new World();
  let underWay = 0;
  let most = 0;
  let commits = 0;
  const lanes = await world.lanes("a", async (commit) => {
    commits++;
    most = Math.max(most, ++underWay);
    await new Promise((resolve) => setTimeout(resolve, 5));
    underWay--;
    return world.database.commit(commit);
  });
  const stored: Promise<void>[] = [];
  for (let n = 0; n < 60; n++) {
    stored.push(lanes.write([{ key: ["n", n], value: n }]));
    if (n % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(stored);
  assertEquals(Array.from({ length: 60 }, (_, n) => world.value(["n", n])).at(-1), 59);
  assert(most > 1 && most <= 4, `${most} at once`);
  assert(commits < 40, `${commits} commits`);
});

Deno.test("lanes: what two instances count is exact, and each change is decided on what is stored", async () => {
  const world = new World();
  const LIMIT = 25;
  let refused = 0;
  const instances = await Promise.all(["a", "b", "c"].map(async (id) => {
    const lanes = await world.lanes(id, async (commit) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
      return world.database.commit(commit);
    });
    const counter = new Counter(world);
    for (let n = 0; n < 15; n++) {
      await lanes.commit(counter.change(LIMIT, () => refused++));
    }
    return lanes;
  }));
  assertEquals([world.value(["count"]), refused >= 45 - LIMIT], [LIMIT, true]);
  assert(instances.some(({ state }) => state.conflicts > 0), "nothing was in conflict");
});

Deno.test("lanes: a commit whose answer was lost is stored once, also when it comes again later", async () => {
  const world = new World();
  const late: SentCommit[] = [];
  const lanes = await world.lanes("a", (commit) => {
    world.database.commit(commit);
    late.push(commit);
    // Deno sends it again: what it checks has changed.
    return Promise.resolve(world.database.commit(commit));
  });
  const counter = new Counter(world);
  for (let n = 0; n < 5; n++) await lanes.commit(counter.change(100));
  for (const commit of late) assertEquals(world.database.commit(commit).ok, false);
  assertEquals([world.value(["count"]), lanes.state.conflicts], [5, 0]);
});

Deno.test("lanes: a commit that ended with an error is stored, or never will be", async () => {
  for (const isStored of [true, false]) {
    const world = new World();
    let failed: SentCommit | undefined;
    const lanes = await world.lanes("a", (commit) => {
      if (failed !== undefined) return Promise.resolve(world.database.commit(commit));
      failed = commit;
      if (isStored) world.database.commit(commit);
      return Promise.reject(new TypeError("the connection broke"));
    });
    const storing = lanes.write([{ key: ["value"], value: 1 }]);
    if (isStored) await storing;
    else await assertRejects(() => storing, UnavailableError);
    assert(failed);
    assertEquals(world.database.commit(failed).ok, false);
    assertEquals(world.value(["value"]), isStored ? 1 : null);
    await lanes.write([{ key: ["more"], value: 1 }]);
    assertEquals(world.value(["more"]), 1);
  }
});

Deno.test("lanes: an instance whose lanes are gone stores nothing any more", async () => {
  const world = new World();
  const lanes = await world.lanes("a");
  await lanes.write([{ key: ["before"], value: 1 }]);
  const mutations = removeInstanceWrites("a").map(({ key }) => ({ key }));
  world.database.commit({ checks: [], mutations, messages: [] });
  await assertRejects(
    () => lanes.write([{ key: ["after"], value: 1 }]),
    UnavailableError,
    "for gone",
  );
  assert(lanes.state.isFenced);
  await assertRejects(() => lanes.write([{ key: ["later"], value: 1 }]), UnavailableError);
  assertEquals([world.value(["after"]), world.value(["later"])], [null, null]);
});

Deno.test("lanes: a change is decided again when another instance has changed a trigger", async () => {
  const world = new World();
  const lanes = await world.lanes("a");
  const changed: (string | undefined)[] = [];
  let isCurrent = true;
  lanes.state.triggers.onChange((id) => {
    changed.push(id);
    isCurrent = false;
  });
  const record = { version: 1, changed: [TRIGGER] };
  const mutations = [{ key: keys.registry(), value: { is: record } }];
  world.database.commit({ checks: [], mutations, messages: [] });
  const decided: boolean[] = [];
  await lanes.commit({
    writes: () => {
      decided.push(isCurrent);
      return isCurrent ? [{ key: ["launched"], value: true }] : [];
    },
  });
  assertEquals([decided, changed, world.value(["launched"])], [[true, false], [TRIGGER], null]);
});

Deno.test("lanes: a value that the database refuses takes no other change down", async () => {
  const world = new World();
  const lanes = await world.lanes("a", (commit) => {
    const isLarge = commit.mutations.some(({ key }) => key[0] === "large");
    if (isLarge) return Promise.reject(new TypeError("Value too large (max 65536 bytes)"));
    return Promise.resolve(world.database.commit(commit));
  });
  const [large, ...small] = await Promise.allSettled([
    lanes.write([{ key: ["large"], value: "x" }]),
    ...Array.from({ length: 5 }, (_, n) => lanes.write([{ key: ["small", n], value: n }])),
  ]);
  assertEquals([large?.status, small.map(({ status }) => status)], [
    "rejected",
    Array(5).fill("fulfilled"),
  ]);
  assertEquals(world.value(["small", 4]), 4);
});

Deno.test("lanes: a commit checks ten records at most", async () => {
  const world = new World();
  let checks = 0;
  const lanes = await world.lanes("a", (commit) => {
    checks = Math.max(checks, commit.checks.length);
    return Promise.resolve(world.database.commit(commit));
  });
  await Promise.all(Array.from({ length: 30 }, (_, n) => {
    const ledger = new Ledger(`trigger ${n}`);
    ledger.loaded(null);
    return lanes.commit({ guards: [ledger], writes: () => [{ key: ["n", n], value: n }] });
  }));
  assertEquals([checks, world.value(["n", 29])], [10, 29]);
});

Deno.test("lanes: changes that are decided on one record apart from each other are never in one commit", async () => {
  const world = new World();
  const written: unknown[][] = [];
  const lanes = await world.lanes("a", (commit) => {
    written.push(commit.mutations.flatMap(({ key: [kind, n] }) => kind === "n" ? [n] : []));
    return Promise.resolve(world.database.commit(commit));
  });
  const ledgers = [new Ledger(TRIGGER), new Ledger(TRIGGER), new Ledger(TRIGGER)];
  await Promise.all(ledgers.map((ledger, n) =>
    lanes.commit({
      guards: [ledger],
      refresh: () => {
        const { versionstamp } = world.database.get(ledger.key);
        return ledger.isLoaded ? undefined : Promise.resolve(ledger.loaded(versionstamp));
      },
      writes: () => [{ key: ["n", n], value: n }],
    })
  ));
  assertEquals(written.filter((each) => each.length > 1), []);
  assertEquals([0, 1, 2].map((n) => world.value(["n", n])), [0, 1, 2]);
});

Deno.test("lanes: a launch whose sender goes while its commit is under way is withdrawn", async () => {
  const world = new World();
  let hasLeft = false;
  const seen: unknown[] = [];
  const lanes = await world.lanes("a", (commit) => {
    const result = world.database.commit(commit);
    hasLeft = true;
    seen.push(world.value(["run"]));
    return Promise.resolve(result);
  });
  const storing = lanes.commit({
    writes: () => [{ key: ["run"], value: true }],
    isAbandoned: () => hasLeft,
    withdrawal: { writes: () => [{ key: ["run"] }] },
  });
  await assertRejects(() => storing, UnavailableError, "does not wait any more");
  assertEquals(seen, [true, null]);
});
