/**
 * What is told to be stored is stored, and what is told not to be never will be: whichever calls of the
 * database fail one after the other, and however late a commit arrives.
 */
import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { delay } from "@std/async/delay";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { UndecidedError } from "../../../src/store/commit/commit_chain.ts";
import { Committer, type Intake } from "../../../src/store/commit/committer.ts";
import { laneWrites } from "../../../src/store/commit/lane_records.ts";
import { Lanes } from "../../../src/store/commit/lanes.ts";
import { Ownership } from "../../../src/store/commit/ownership.ts";
import { TriggerVersion } from "../../../src/store/commit/trigger_version.ts";
import { keys } from "../../../src/store/keys.ts";
import { MemoryDatabase, MemoryKv, type SentCommit } from "../../simulation/memory_kv.ts";

/** A clock whose short pauses are over at once. */
const clock: Clock = {
  now: () => 0,
  steady: () => 0,
  after(delay_ms, call) {
    if (delay_ms >= 500) return systemClock.after(delay_ms, call);
    let isOver = false;
    queueMicrotask(() => isOver || call());
    return () => void (isOver = true);
  },
};

/**
 * How a call ends: well; not sent, with an error; executed, with an error; or with an error, and executed after
 * one or two further calls.
 */
const ENDS = ["ok", "none", "lost", "late 1", "late 2"] as const;
type End = typeof ENDS[number];

/** A database whose calls end as a plan says. */
class FaultyDatabase {
  readonly database = new MemoryDatabase();
  plan: End[] = [];
  #late: { calls: number; commit: SentCommit }[] = [];

  readonly kv = new MemoryKv(
    this.database,
    (_label, execute) => {
      const end = this.#next();
      return end === "ok" ? Promise.resolve(execute()) : failed();
    },
    (commit) => {
      const end = this.#next();
      if (end.startsWith("late")) this.#late.push({ calls: Number(end.slice(5)), commit });
      if (end === "ok") return Promise.resolve(this.database.commit(commit));
      if (end === "lost") this.database.commit(commit);
      return failed();
    },
  ).kv;

  /** Lets commits arrive that are late. */
  arrive(calls = Infinity): void {
    for (const each of this.#late) each.calls -= calls;
    const arrived = this.#late.filter(({ calls }) => calls < 0);
    this.#late = this.#late.filter(({ calls }) => calls >= 0);
    for (const { commit } of arrived) this.database.commit(commit);
  }

  #next(): End {
    this.arrive(1);
    return this.plan.shift() ?? "ok";
  }
}

function failed(): Promise<never> {
  return Promise.reject(new TypeError("unexpected end of the connection"));
}

interface Storing {
  intake: Intake;
  /** True once it has stopped since another process had taken its place. */
  isLost(): boolean;
}

function lanesOn({ database, kv }: FaultyDatabase, lanesClock = clock): Storing {
  const mutations = laneWrites("me").map(({ key, value }) => ({ key, value: { is: value } }));
  const joined = database.commit({ checks: [], mutations, messages: [] });
  assert(joined.ok);
  let isLost = false;
  const triggers = new TriggerVersion(kv);
  const parts = {
    kv,
    clock: lanesClock,
    instanceId: "me",
    triggers,
    onFenced: () => void (isLost = true),
  };
  const intake = new Lanes(parts, joined.versionstamp);
  return { intake, isLost: () => isLost };
}

async function ownerOn({ kv }: FaultyDatabase): Promise<Storing> {
  const fence = await Ownership.take(kv, { clock });
  return { intake: new Committer(kv, { clock, fence }), isLost: () => fence.lost.aborted };
}

/** All plans of so many calls that do not begin well. */
function* plans(length: number): Generator<End[]> {
  for (let index = 0; index < ENDS.length ** length; index++) {
    const plan = Array.from({ length }, (_, place) => {
      return ENDS[Math.floor(index / ENDS.length ** place) % ENDS.length] ?? "ok";
    });
    if (plan[0] !== "ok") yield plan;
  }
}

for (
  const [name, open] of [["a lane's", (faulty: FaultyDatabase) => lanesOn(faulty)], [
    "the leader's",
    ownerOn,
  ]] as const
) {
  Deno.test(`${name} commits are stored or never will be, as they are told to be, whatever four calls end with`, async () => {
    for (const plan of plans(4)) {
      const faulty = new FaultyDatabase();
      const { intake, isLost } = await open(faulty);
      faulty.plan = [...plan];
      const told: [key: string, isStored: boolean][] = [];
      for (const key of ["a", "b", "c", "d"]) {
        await intake.write([{ key: [key], value: 1 }]).then(
          () => told.push([key, true]),
          () => told.push([key, false]),
        );
      }
      faulty.arrive();
      const stored = ["a", "b", "c", "d"].map((key) => [
        key,
        faulty.database.get([key]).value !== null,
      ]);
      assertEquals(stored, told, `calls end with: ${plan.join(", ")}`);
      assertEquals([isLost(), told.at(-1)], [false, ["d", true]], plan.join(", "));
    }
  });
}

Deno.test("a database is taken and given back, whatever the calls for that end with", async () => {
  for (const plan of plans(3)) {
    const faulty = new FaultyDatabase();
    // An error of the very first look is its caller's: the address may be wrong.
    faulty.plan = ["ok", ...plan];
    const owner = await Ownership.take(faulty.kv, { clock, look_ms: 1 });
    faulty.plan = [];
    assert(await owner.commit(faulty.kv.atomic()), plan.join(", "));
    faulty.plan = [...plan];
    await owner.release();
    faulty.arrive();
    assertEquals(faulty.database.get(keys.owner()).value, null, plan.join(", "));
  }
});

Deno.test("a lane whose commit is undecided takes no other, and the other lanes go on", async () => {
  const faulty = new FaultyDatabase();
  const { intake } = lanesOn(faulty, systemClock);
  // The fate of the first is open as long as its lane's record cannot be read.
  let isOpen = true;
  const { atomic } = faulty.kv;
  const sent: string[][] = [];
  faulty.kv.atomic = () => {
    const operation = atomic.call(faulty.kv);
    const { commit, set } = operation;
    const written: string[] = [];
    sent.push(written);
    operation.set = (key, value) => {
      written.push(key.join("/"));
      return set(key, value);
    };
    operation.commit = () => {
      const isOfFirst = written.includes("lane/me/0");
      return isOpen && isOfFirst ? failed() : commit();
    };
    return operation;
  };
  const first = intake.write([{ key: ["a"], value: 1 }]).then(() => "stored", () => "not stored");
  for (const key of ["b", "c", "d"]) {
    await delay(1);
    await intake.write([{ key: [key], value: 1 }]);
  }
  const inFirst = sent.filter((written) => written.includes("lane/me/0"));
  assertEquals(inFirst.filter((written) => written.length > 1), [["a", "lane/me/0"]]);
  isOpen = false;
  assertEquals(await first, "not stored");
  await intake.write([{ key: ["e"], value: 1 }]);
  assertEquals(faulty.database.get(["e"]).value, 1);
});

Deno.test("who stops while a commit is undecided is told that it is", async () => {
  const faulty = new FaultyDatabase();
  const { intake } = lanesOn(faulty, systemClock);
  assertInstanceOf(intake, Lanes);
  faulty.plan = Array(100).fill("late 2");
  const undecided = intake.write([{ key: ["a"], value: 1 }]).catch((error) => error);
  await delay(5);
  const waiting = Array.from({ length: 5 }, () => intake.write([{ key: ["b"], value: 1 }]));
  intake.close();
  assertInstanceOf(await undecided, UndecidedError);
  for (const result of await Promise.allSettled(waiting)) assertEquals(result.status, "rejected");
});
