/** The turns of runs: bursts, delays and limits of keys, over restarts, by a clock that a test sets. */
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { hash } from "node:crypto";
import type { Pace } from "../../src/store/records/pace.ts";
import type { Run } from "../../src/store/records/runs.ts";
import { getRun } from "../../src/store/records/runs.ts";
import { readPayload } from "../../src/store/records/payloads.ts";
import { keys } from "../../src/store/keys.ts";
import type { Store } from "../../src/store/store.ts";
import { openTestStore } from "../store/fixture.ts";
import { eventually, TestClock } from "../surroundings.ts";
import { type Desk, launchOf, openDesk, TRIGGER_ID } from "./fixture.ts";

/** A clock whose long timers pass when a test moves it. */
class StoppedClock extends TestClock {
  readonly #timers = new Set<{ at_ms: number; call: () => void }>();

  override after(delay_ms: number, call: () => void): () => void {
    if (delay_ms < 1_000) return super.after(delay_ms, call);
    const timer = { at_ms: this.time_ms + delay_ms, call };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Moves on to a time, from timer to timer. */
  pass(ms: number): void {
    const until_ms = this.time_ms + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ at_ms }) => at_ms <= until_ms)
        .sort((one, other) => one.at_ms - other.at_ms)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.time_ms = Math.max(this.time_ms, due.at_ms);
      due.call();
    }
    this.time_ms = until_ms;
  }
}

/** A service's runs: each is performed until the test ends it. */
class Office implements AsyncDisposable {
  readonly clock = new StoppedClock();
  /** The runs that are being performed, in the order in which they began, with their ends. */
  readonly begun = new Map<string, () => void>();
  readonly ended: Run[] = [];
  readonly names = new Map<string, string>();
  desk: Desk;

  private constructor(readonly database: Awaited<ReturnType<typeof openTestStore>>) {
    this.desk = this.#open();
  }

  static async open(): Promise<Office> {
    const office = new Office(await openTestStore());
    await office.desk.worker.start();
    return office;
  }

  get store(): Store {
    return this.database.store;
  }

  #open(): Desk {
    return openDesk(this.store, {
      clock: this.clock,
      perform: ({ run: { id } }) =>
        new Promise((resolve) => this.begun.set(id, () => resolve([{ action: "none" }]))),
      onEnd: (run) => void this.ended.push(run),
    });
  }

  /** Accepts a launch; its run is known by a name. */
  async launch(name: string, pace: Pace, body = name): Promise<string> {
    const answer = await this.desk.acceptor.accept(launchOf({
      body: new TextEncoder().encode(body),
      contentType: "text/plain",
      pace,
    }));
    assert("run" in answer);
    this.names.set(answer.run.id, name);
    return answer.run.id;
  }

  /** The names of the runs that have begun. */
  get started(): string[] {
    return [...this.begun.keys()].map((id) => this.names.get(id) ?? id);
  }

  /** Waits until so many runs have begun, and until nothing more is being decided. */
  async until(names: readonly string[]): Promise<void> {
    await eventually(() => this.begun.size >= names.length ? true : undefined);
    await this.desk.worker.pacer.settled();
    assertEquals(this.started, names);
  }

  /** Ends a run that is being performed. */
  async end(name: string): Promise<void> {
    const [id = ""] = [...this.names].find(([, known]) => known === name) ?? [];
    this.begun.get(id)?.();
    await this.endOf(id);
  }

  endOf(id: string): Promise<Run> {
    return eventually(() => this.ended.find((run) => run.id === id), { what: `the end of ${id}` });
  }

  /** Stops, and starts again on what is stored. */
  async restart(): Promise<void> {
    await this.desk.worker.pacer.settled();
    await this.desk[Symbol.asyncDispose]();
    await this.database.reopen();
    this.begun.clear();
    this.desk = this.#open();
    await this.desk.worker.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.desk[Symbol.asyncDispose]();
    await this.database[Symbol.asyncDispose]();
  }
}

const burst = (keep: "newest" | "first" | "all", key = "k"): Pace => ({
  coalesce: { key, window_ms: 30_000, wait_max_ms: 60_000, keep },
});
const limit = (when_full: "queue" | "newest" | "refuse", limit = 1, key = "k"): Pace => ({
  concurrency: { key, limit, when_full },
});

Deno.test("a burst becomes its newest run, a window after that, and at most so long after the first", async () => {
  await using office = await Office.open();
  const first = await office.launch("first", burst("newest"));
  office.clock.pass(20_000);
  const second = await office.launch("second", burst("newest"));
  const other = await office.launch("other", burst("newest", "another key"));
  assertEquals((await office.endOf(first)).superseded_by, second);
  office.clock.pass(29_999);
  await office.until([]);
  assertEquals(office.desk.worker.pacer.waitingOf(other)?.for, "burst");
  const third = await office.launch("third", burst("newest"));
  // 60 s after the first one, though the newest came 10 s ago.
  office.clock.pass(10_001);
  await office.until(["other", "third"]);
  const { status, actions, superseded_by } = await office.endOf(second);
  assertEquals([status, actions, superseded_by], ["completed", [], third]);
  await office.launch("next", burst("newest"));
  await office.until(["other", "third"]);
});

Deno.test("a burst becomes its first run, or one of all payloads", async () => {
  await using office = await Office.open();
  const first = await office.launch("first", burst("first"));
  const second = await office.launch("second", burst("first"));
  assertEquals((await office.endOf(second)).superseded_by, first);
  office.clock.pass(30_000);
  await office.until(["first"]);
  const one = await office.launch("one", burst("all", "a"), '{"n":9007199254740993,\n"s":"a"}');
  const two = await office.launch("two", burst("all", "a"), "no JSON");
  office.clock.pass(30_000);
  // Its payload is part of the other run's.
  assertEquals(office.desk.worker.pacer.cancel(two, "stopped"), false);
  const { superseded_by: made = "" } = await office.endOf(two);
  assertEquals((await office.endOf(one)).superseded_by, made);
  await office.until(["first", made]);
  const run = await getRun(office.store, made);
  assert(run);
  assertEquals(run.payload.content_type, "application/jsonl");
  const chunks = await Array.fromAsync(
    readPayload(office.store, made, run.payload.size, run.payload.sha256),
  );
  const text = chunks.map((chunk) => new TextDecoder().decode(chunk)).join("");
  assertEquals(text.includes('"body":{"n":9007199254740993, "s":"a"}}\n'), true, text);
  const lines = text.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines.map(({ run_id }) => run_id), [one, two]);
  assertEquals(lines[1]?.body, "no JSON");
});

for (
  const [before, now] of [["newest", "all"], ["all", "newest"], ["first", "newest"]] as const
) {
  Deno.test(`a burst of ${before} ends when its trigger is changed to keep ${now}, and no run is left behind`, async () => {
    await using office = await Office.open();
    const [a, b] = [
      await office.launch("a", burst(before)),
      await office.launch("b", burst(before)),
    ];
    const c = await office.launch("c", burst(now));
    await office.desk.worker.pacer.settled();
    office.clock.pass(60_000);
    await office.desk.worker.pacer.settled();
    assertEquals([office.begun.size, office.desk.worker.pacer.waiting], [2, 0]);
    // Each is performed, or in another one, which is.
    for (const id of [a, b, c]) {
      const { superseded_by = id } = await getRun(office.store, id) ?? {};
      assert(office.begun.has(superseded_by), office.names.get(id));
    }
  });
}

Deno.test("a run whose payload is damaged ends as an error, and the others of its burst become one", async () => {
  await using office = await Office.open();
  const told: string[] = [];
  office.store.tellEnd = ({ run_id }) => {
    told.push(run_id);
    return [];
  };
  const long = JSON.stringify("long".repeat(2_000));
  const names = ["one", "damaged", "two"];
  const launched = names.map((name) => office.launch(name, burst("all"), long));
  const [one = "", damaged = "", two = ""] = await Promise.all(launched);
  await office.desk.worker.pacer.settled();
  await office.store.committer.write([{ key: keys.payload(damaged, 0) }]);
  office.clock.pass(30_000);
  const { status, actions } = await office.endOf(damaged);
  assertEquals([status, actions.length, told], ["error", 1, [damaged]]);
  assertMatch(actions[0]?.error ?? "", /^Cannot read the payload of run .*: chunk 0 should have/);
  const { superseded_by: made = "" } = await office.endOf(two);
  assertEquals((await office.endOf(one)).superseded_by, made);
  await office.until([made]);
  // Alone it leaves nothing to perform.
  const alone = await office.launch("alone", burst("all", "another key"), long);
  await office.desk.worker.pacer.settled();
  await office.store.committer.write([{ key: keys.payload(alone, 0) }]);
  office.clock.pass(30_000);
  assertEquals((await office.endOf(alone)).status, "error");
  await office.until([made]);
  assertEquals(office.desk.worker.pacer.waiting, 0);
});

Deno.test("a run that is launched after a start joins no burst whose only run was damaged", async () => {
  await using office = await Office.open();
  const damaged = await office.launch("damaged", burst("newest"));
  await office.desk.worker.pacer.settled();
  const key = keys.held(damaged, TRIGGER_ID);
  await office.store.committer.write([{ key, value: { run: "gone" } }]);
  await office.restart();
  const late = await office.launch("late", burst("all"));
  await office.desk.worker.pacer.settled();
  office.clock.pass(60_000);
  const { superseded_by: made = "" } = await office.endOf(late);
  await office.until([made]);
  assertEquals((await getRun(office.store, damaged))?.status, "error");
  assertNotEquals(made, damaged);
});

for (const keep of ["newest", "first", "all"] as const) {
  Deno.test(`after a start the runs that wait for a burst of ${keep} whose record is damaged are performed`, async () => {
    await using office = await Office.open();
    const names = ["one", "two"];
    const ids = await Promise.all(names.map((name) => office.launch(name, burst(keep))));
    await office.desk.worker.pacer.settled();
    const waiting = ids.filter((id) => office.desk.worker.pacer.has(id));
    const key = keys.burst(TRIGGER_ID, hash("sha256", "k"));
    await office.store.committer.write([{ key, value: { run_id: "gone" } }]);
    await office.restart();
    await office.until(waiting.map((id) => office.names.get(id) ?? ""));
  });
}

Deno.test("runs of a key have work under way one after the other, in the order of acceptance, also after a restart", async () => {
  await using office = await Office.open();
  for (const name of ["a", "b", "c"]) await office.launch(name, limit("queue"));
  await office.launch("other", limit("queue", 1, "another key"));
  await office.until(["a", "other"]);
  const [, b = "", c = ""] = [...office.names.keys()];
  assertEquals(office.desk.worker.pacer.waitingOf(c), {
    for: "concurrency",
    key: "k",
    limit: 1,
    place: 2,
    behind: [[...office.names.keys()][0] ?? ""],
  });
  await office.restart();
  // Those that were being performed are again, and those that waited wait.
  await office.until(["a", "other"]);
  assertEquals(office.desk.worker.pendingOf(TRIGGER_ID).includes(b), true);
  await office.end("a");
  await office.until(["a", "other", "b"]);
  await office.launch("d", limit("queue"));
  await office.end("b");
  await office.until(["a", "other", "b", "c"]);
  await office.end("c");
  await office.until(["a", "other", "b", "c", "d"]);
});

Deno.test("of the runs that wait for a key the newest stays, or each newer one is refused", async () => {
  await using office = await Office.open();
  const a = await office.launch("a", limit("newest"));
  const b = await office.launch("b", limit("newest"));
  const c = await office.launch("c", limit("newest"));
  assertEquals((await office.endOf(b)).superseded_by, c);
  const refused = await office.launch("refused", limit("refuse"));
  const { status, skipped_by } = await office.endOf(refused);
  assertEquals([status, skipped_by], ["completed", a]);
  await office.end("a");
  await office.until(["a", "c"]);
});

Deno.test("a limit takes so many runs", async () => {
  await using office = await Office.open();
  for (const name of ["a", "b", "c"]) await office.launch(name, limit("queue", 2));
  await office.until(["a", "b"]);
  await office.end("b");
  await office.until(["a", "b", "c"]);
});

Deno.test("a run waits until its time, also over restarts and for years; it is hurried, or cancelled", async () => {
  await using office = await Office.open();
  const due_ms = office.clock.now() + 60_000;
  await office.launch("soon", { due_ms });
  const years = await office.launch("years", { due_ms: office.clock.now() + 5 * 366 * 86_400_000 });
  const hurried = await office.launch("hurried", { due_ms: due_ms + 1 });
  const cancelled = await office.launch("cancelled", { due_ms });
  await office.restart();
  assertEquals(office.desk.worker.pacer.waitingOf(years)?.for, "delay");
  assertEquals(office.desk.worker.pacer.hurry(hurried), true);
  assertEquals(office.desk.worker.pacer.cancel(cancelled, "Cancelled by somebody"), true);
  await office.until(["hurried"]);
  const { status, actions } = await office.endOf(cancelled);
  assertEquals([status, actions[0]?.error], ["error", "Cancelled by somebody"]);
  office.clock.pass(59_999);
  await office.until(["hurried"]);
  office.clock.pass(1);
  await office.until(["hurried", "soon"]);
  assertEquals(office.desk.worker.pacer.waiting, 1);
});

Deno.test("a window does not begin anew with a restart, and a burst of all is the same after it", async () => {
  await using office = await Office.open();
  await office.launch("newest", burst("newest", "n"));
  const one = await office.launch("one", burst("all", "a"));
  const two = await office.launch("two", burst("all", "a"));
  office.clock.pass(20_000);
  await office.restart();
  const three = await office.launch("three", burst("all", "a"));
  office.clock.pass(10_000);
  await office.until(["newest"]);
  office.clock.pass(20_000);
  const { superseded_by } = await office.endOf(one);
  assertEquals((await office.endOf(two)).superseded_by, superseded_by);
  assertEquals((await office.endOf(three)).superseded_by, superseded_by);
});
