/**
 * What must hold whatever happens in whatever order: launches, commits that fail, ends of runs, restarts,
 * cleanups, time that passes and a wall clock that jumps. What was answered is compared with what is stored
 * in the end.
 */
import { assert, assertEquals, assertGreater, assertGreaterOrEqual } from "@std/assert";
import fc from "fast-check";
import { idTime } from "../../src/platform/ids.ts";
import type { Acceptance } from "../../src/runs/accept.ts";
import { cleanUp } from "../../src/runs/cleanup.ts";
import { readPayload } from "../../src/store/records/payloads.ts";
import { getRun, type Run } from "../../src/store/records/runs.ts";
import type { Store } from "../../src/store/store.ts";
import { putStoredTrigger } from "../../src/store/records/triggers.ts";
import { storedUnder, storeInMemory } from "../store/fixture.ts";
import { TestClock } from "../surroundings.ts";
import { type Desk, launchOf, openDesk, TRIGGER_ID, untilIdle } from "./fixture.ts";

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
const QUOTA = { period: 60, quota: 4 };
const WINDOW_S = 30;

/** One thing that happens. Launches and cleanups go on while the next things happen. */
type Event =
  | { kind: "launch"; size: number; delivery: string | undefined }
  | { kind: "fail"; commits: number }
  | { kind: "end" | "clean" | "restart" | "turn" }
  | { kind: "pass" | "jump"; time_ms: number };

const launches: fc.Arbitrary<Event> = fc.record({
  kind: fc.constant("launch" as const),
  // In the record, in one chunk, in several, and in several that are stored before.
  size: fc.constantFrom(0, 10, 5_000, 70_000, 200_000, 600_000),
  delivery: fc.constantFrom("a", "b", undefined),
});
const others: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant("fail" as const), commits: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constantFrom("end", "clean", "restart", "turn", "turn") }),
  fc.record({
    kind: fc.constant("pass" as const),
    time_ms: fc.constantFrom(1, 29_999, 30_000, 60_000, 61_200, HOUR_MS, DAY_MS + HOUR_MS),
  }),
  fc.record({ kind: fc.constant("jump" as const), time_ms: fc.constantFrom(0, 2 * HOUR_MS) }),
);
const events = fc.array(fc.oneof(launches, others), { minLength: 5, maxLength: 40, size: "max" });

/** A launch and its answer; undefined when it could not be stored. */
interface Told {
  time_ms: number;
  size: number;
  delivery: string | undefined;
  acceptance: Acceptance | undefined;
}

/** Plays events, and remembers what was told. */
class Play {
  readonly clock = new TestClock();
  readonly told: Told[] = [];
  readonly performed: { id: string; repeated: boolean }[] = [];
  /** Runs that were made before this may be gone. */
  before_ms = 0;
  readonly #store: Store;
  readonly #faults: { left: number };
  #underWay: Promise<unknown>[] = [];
  #ends = Promise.withResolvers<void>();
  #desk: Desk;

  constructor(store: Store, faults: { left: number }) {
    this.#store = store;
    this.#faults = faults;
    this.#desk = this.#open();
  }

  async play(event: Event): Promise<void> {
    switch (event.kind) {
      case "launch":
        this.#underWay.push(this.#launch(event.size, event.delivery));
        break;
      case "fail":
        this.#faults.left = event.commits;
        break;
      case "end":
        this.#endAll();
        break;
      case "clean":
        this.#underWay.push(this.#clean());
        break;
      case "restart":
        await this.#settle();
        await this.#restart();
        break;
      case "turn":
        await new Promise((resolve) => setTimeout(resolve));
        break;
      case "pass":
        await this.#settle();
        this.clock.time_ms += event.time_ms;
        break;
      case "jump":
        this.clock.ahead_ms = event.time_ms;
    }
  }

  /** Lets all that is pending end, and cleans up for good. */
  async end(): Promise<void> {
    await this.#settle();
    this.#faults.left = 0;
    await this.#restart();
    this.#endAll();
    const ending = setInterval(() => this.#endAll(), 5);
    await untilIdle(this.#desk).finally(() => clearInterval(ending));
    this.clock.time_ms += 4 * HOUR_MS;
    await this.#clean();
    await this.#desk.worker.close(0);
  }

  async #launch(size: number, delivery: string | undefined): Promise<void> {
    const { time_ms } = this.clock;
    const acceptance = await this.#desk.acceptor.accept(launchOf({
      body: bodyOf(size),
      quotas: [QUOTA],
      delivery: delivery === undefined ? undefined : { id: delivery, window_s: WINDOW_S },
    })).catch(() => undefined);
    this.told.push({ time_ms, size, delivery, acceptance });
  }

  async #clean(): Promise<void> {
    this.before_ms = Math.max(this.before_ms, this.clock.now() - DAY_MS);
    await cleanUp({
      store: this.#store,
      clock: this.clock,
      retention_days: 1,
      signal: new AbortController().signal,
      triggers: { between: (act) => act() },
      engines: { forget: () => Promise.resolve(), tidy: () => Promise.resolve() },
      projects: {
        kept: () => Promise.resolve([]),
        forget: () => Promise.resolve(() => Promise.resolve()),
        pruneTrees: () => Promise.resolve(0),
      },
    });
  }

  async #settle(): Promise<void> {
    await Promise.all(this.#underWay.splice(0));
  }

  async #restart(): Promise<void> {
    await this.#desk.worker.close(0);
    this.clock.ahead_ms = 0;
    this.#desk = this.#open();
    await this.#desk.worker.start();
  }

  #open(): Desk {
    return openDesk(this.#store, {
      clock: this.clock,
      perform: async ({ run: { id }, repeated }) => {
        this.performed.push({ id, repeated });
        await this.#ends.promise;
        return [];
      },
    });
  }

  #endAll(): void {
    this.#ends.resolve();
    this.#ends = Promise.withResolvers();
  }
}

function bodyOf(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(size).map((_, at) => (at * 31 + size) % 251);
}

/** The runs that were accepted, with when and what of. */
function acceptedOf(told: readonly Told[]): (Told & { run: Run })[] {
  return told.flatMap((each) =>
    each.acceptance && "run" in each.acceptance ? [{ ...each, run: each.acceptance.run }] : []
  ).sort((a, b) => a.time_ms - b.time_ms);
}

function checkAnswers(told: readonly Told[]): void {
  const accepted = acceptedOf(told);
  for (const [place, { time_ms }] of accepted.entries()) {
    const next = accepted[place + QUOTA.quota];
    if (next) assertGreater(next.time_ms - time_ms, QUOTA.period * 1_000, "more than the quota");
  }
  for (const { acceptance, time_ms, delivery } of told) {
    if (acceptance && "exhausted" in acceptance) {
      const counting = accepted.filter((each) =>
        each.time_ms <= time_ms && each.time_ms > time_ms - QUOTA.period * 1_020
      );
      assertGreaterOrEqual(counting.length, QUOTA.quota, "refused without need");
    }
    if (acceptance && "repeatOf" in acceptance) {
      const first = accepted.find(({ run }) => run.id === acceptance.repeatOf);
      assertEquals(first?.delivery, delivery, "a repeat of what was not accepted");
    }
  }
  for (const name of ["a", "b"]) {
    const times_ms = accepted.filter((each) => each.delivery === name).map((each) => each.time_ms);
    for (const [place, time_ms] of times_ms.slice(1).entries()) {
      const apart_ms = time_ms - (times_ms[place] ?? 0);
      assertGreaterOrEqual(apart_ms, WINDOW_S * 1_000, "a repeat was launched");
    }
  }
}

/** Whether each run that was accepted, and nothing else, is stored whole unless it is old enough to go. */
async function checkStored(store: Store, { told, before_ms, clock }: Play): Promise<void> {
  const accepted = acceptedOf(told);
  const stored = new Set(await storedUnder(store, "run"));
  for (const { run: { id }, size } of accepted) {
    const run = await getRun(store, id);
    if (idTime(id) >= before_ms) assert(run, `run ${id} of ${size} bytes is gone`);
    if (idTime(id) < clock.now() - DAY_MS) assertEquals(run, undefined);
    if (run === undefined) continue;
    assertEquals(run.status, "completed");
    const { size: found, sha256 } = run.payload;
    const chunks = await Array.fromAsync(readPayload(store, id, found, sha256));
    assertEquals(await new Blob(chunks).bytes(), bodyOf(size));
  }
  assertEquals([...stored].filter((id) => !accepted.some(({ run }) => run.id === id)), []);
  assertEquals(new Set(await storedUnder(store, "payload")).difference(stored), new Set());
  for (const kind of ["pending", "upload"]) assertEquals(await storedUnder(store, kind), [], kind);
  const listed = await Array.fromAsync(store.kv.list({ prefix: ["trigger_run", TRIGGER_ID] }));
  assertEquals(new Set(listed.map(({ key }) => key[2])), stored);
}

function checkPerformed({ told, performed }: Play): void {
  for (const { run } of acceptedOf(told)) {
    const times = performed.filter(({ id }) => id === run.id);
    assertGreaterOrEqual(times.length, 1, "it was never performed");
    assertEquals(times.slice(1).every(({ repeated }) => repeated), true, "it was performed twice");
  }
}

Deno.test("what was answered is what is stored and performed, whatever happens in whatever order", async () => {
  await fc.assert(
    fc.asyncProperty(events, async (events) => {
      const faults = { left: 0 };
      await using store = await storeInMemory(({ keys }, store) => {
        // The end of a run is stored at the next try, a second later.
        if (faults.left === 0 || keys.some(([kind]) => kind === "run")) return store();
        faults.left--;
        return Promise.reject(new TypeError("disk is full"));
      });
      await putStoredTrigger(store, {
        id: TRIGGER_ID,
        name: "of the story",
        created_at: "",
        updated_at: "",
        settings: {},
      });
      const play = new Play(store, faults);
      for (const event of events) await play.play(event);
      await play.end();
      checkAnswers(play.told);
      checkPerformed(play);
      await checkStored(store, play);
    }),
    { numRuns: 30 },
  );
});
