/**
 * The trigger log under floods: what is kept is bounded, what is left out is counted, and nothing is
 * both or neither.
 */
import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import fc from "fast-check";
import { newId } from "../../../src/platform/ids.ts";
import { listOldOfTriggers } from "../../../src/store/read/lists.ts";
import { removeEntryWrites } from "../../../src/store/records/trigger_log_entries.ts";
import type { Store } from "../../../src/store/store.ts";
import {
  COUNTS_PER_MINUTE,
  ENTRIES_PER_MINUTE,
  ENTRIES_PER_TRIGGER_MINUTE,
  type LogOwner,
  TriggerLog,
  type TriggerLogEntry,
} from "../../../src/store/records/trigger_log.ts";
import { eventually, TestClock } from "../../surroundings.ts";
import { storedUnder, storeInMemory } from "../fixture.ts";

const MINUTE_MS = 60_000;

function refusal(reason: string) {
  return {
    kind: "refused" as const,
    condition: "hmac",
    condition_index: 1,
    reason,
    request: { method: "POST", remote_ip: "192.0.2.7", headers: {}, size: 0, sha256: "e3b0" },
  };
}

/** The failure of an action of a launch that was accepted. */
function failure(run_id: string) {
  const kind = "action_failed" as const;
  return { kind, run_id, action: "run_execution", action_index: 0, error: "no such step" };
}

/** The failure of an execution of such a launch. */
function failedExecution(execution_id: string) {
  const kind = "execution_failed" as const;
  const facts = { step: "train", status: "error" as const, reason: "exit code 3" };
  return { kind, run_id: "r", execution_id, ...facts };
}

/** A trigger whose entries are logged. */
function owner(id: string): LogOwner {
  return { id, project: "digits" };
}

/** A log whose end is the end of its scope. */
function openLog(store: Store, clock: TestClock): TriggerLog & AsyncDisposable {
  const log = new TriggerLog(store, clock);
  return Object.assign(log, { [Symbol.asyncDispose]: () => log.close() });
}

async function entriesOf(log: TriggerLog, triggerId: string): Promise<TriggerLogEntry[]> {
  return (await log.list(triggerId, { limit: 10_000 })).records;
}

/** How many entries are kept, and how many are counted as left out. */
function tally(entries: readonly TriggerLogEntry[]): { kept: number; omitted: number } {
  const counts = entries.map((entry) => entry.kind === "omitted" ? entry.count : 0);
  return {
    kept: entries.filter(({ kind }) => kind !== "omitted").length,
    omitted: counts.reduce((sum, count) => sum + count, 0),
  };
}

/** The reason of a refusal. */
function reasonOf(entry: TriggerLogEntry | undefined): string | undefined {
  return entry?.kind === "refused" ? entry.reason : undefined;
}

Deno.test("an entry says when it happened and all that was told of it", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
  await using log = openLog(store, clock);
  log.add(owner("a"), refusal("first"));
  clock.time_ms += 10;
  log.add(owner("a"), failure("r"));
  const [failed, refused] = await entriesOf(log, "a");
  assertEquals(refused, {
    id: refused?.id ?? "",
    time: "2026-01-02T03:04:05.678Z",
    project: "digits",
    ...refusal("first"),
  });
  assertEquals(failed?.kind === "action_failed" && failed.error, "no such step");
  assert((refused?.id ?? "") < (failed?.id ?? ""), "ids sort by time");
});

Deno.test("what is added is written shortly after, without being asked for", async () => {
  await using store = await storeInMemory();
  await using log = openLog(store, new TestClock());
  log.add(owner("a"), refusal("first"));
  const stored = await eventually(async () => {
    const found = await storedUnder(store, "trigger_log");
    return found.length > 0 ? found : undefined;
  });
  assertEquals(stored, ["a"]);
});

Deno.test("a page holds what is just being written", async () => {
  const gate = Promise.withResolvers<void>();
  await using store = await storeInMemory(async (_commit, store) => {
    await gate.promise;
    return await store();
  });
  await using log = openLog(store, new TestClock());
  log.add(owner("a"), refusal("first"));
  const writing = log.flush();
  const page = entriesOf(log, "a");
  gate.resolve();
  assertEquals((await page).length, 1);
  await writing;
});

Deno.test("of one trigger and minute so many entries are kept, and the others are counted", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  await using log = openLog(store, clock);
  for (let index = 0; index < 100; index++) log.add(owner("flooded"), refusal(String(index)));
  log.add(owner("other"), refusal("other"));
  const kept = await entriesOf(log, "flooded");
  assertEquals(
    kept.map(reasonOf),
    Array.from({ length: 60 }, (_, index) => String(59 - index)),
  );
  assertEquals((await entriesOf(log, "other")).length, 1);

  clock.time_ms += MINUTE_MS;
  log.turn();
  const [omitted, ...before] = await entriesOf(log, "flooded");
  assertEquals(omitted?.kind === "omitted" && omitted.count, 40);
  assertEquals(before.length, 60);
  assertEquals((await entriesOf(log, "other")).length, 1, "nothing was left out here");

  log.add(owner("flooded"), refusal("next minute"));
  assertEquals(reasonOf((await entriesOf(log, "flooded"))[0]), "next minute");
});

Deno.test("a flood of refusals hides no failure, nor one of failures a refusal", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  await using log = openLog(store, clock);
  for (let index = 0; index < 70; index++) log.add(owner("refused"), refusal(String(index)));
  for (let index = 0; index < 65; index++) log.add(owner("refused"), failure(String(index)));
  for (let index = 0; index < 63; index++) log.add(owner("refused"), failedExecution("e"));
  const kinds = Map.groupBy(await entriesOf(log, "refused"), ({ kind }) => kind);
  assertEquals(kinds.get("refused")?.length, ENTRIES_PER_TRIGGER_MINUTE);
  assertEquals(kinds.get("action_failed")?.length, ENTRIES_PER_TRIGGER_MINUTE);
  assertEquals(kinds.get("execution_failed")?.length, ENTRIES_PER_TRIGGER_MINUTE);
  clock.time_ms += MINUTE_MS;
  log.turn();
  assertEquals(tally(await entriesOf(log, "refused")), { kept: 180, omitted: 18 });

  for (let index = 0; index < ENTRIES_PER_MINUTE; index++) {
    log.add(owner(`trigger-${index % 40}`), refusal(""));
  }
  log.add(owner("other"), refusal("no room"));
  log.add(owner("other"), failure("r"));
  assertEquals((await entriesOf(log, "other")).map(({ kind }) => kind), ["action_failed"]);

  for (let index = 0; index < ENTRIES_PER_MINUTE; index++) {
    log.add(owner(`trigger-${index % 40}`), failure("r"));
  }
  log.add(owner("last"), failure("no room"));
  assertEquals(await entriesOf(log, "last"), []);
});

Deno.test("the next entry of a new minute brings the count of what was left out before", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  await using log = openLog(store, clock);
  for (let index = 0; index < 61; index++) log.add(owner("a"), refusal(String(index)));
  clock.time_ms += MINUTE_MS;
  log.add(owner("a"), refusal("next minute"));
  const [next, omitted] = await entriesOf(log, "a");
  assertEquals(reasonOf(next), "next minute");
  assertEquals(omitted?.kind === "omitted" && omitted.count, 1);
});

Deno.test("who asks for room first is counted once", async () => {
  await using store = await storeInMemory();
  const log = new TriggerLog(store, new TestClock());
  for (let index = 0; index < 75; index++) {
    if (log.hasRoom(owner("a"), "refused")) log.add(owner("a"), refusal(String(index)));
  }
  await log.close();
  assertEquals(tally(await entriesOf(log, "a")), { kept: 60, omitted: 15 });
});

Deno.test("of all triggers together so many entries of one minute are kept", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  await using log = openLog(store, clock);
  const names = Array.from({ length: 40 }, (_, index) => `trigger-${index}`);
  for (const name of names) {
    for (let index = 0; index < 50; index++) log.add(owner(name), refusal(String(index)));
  }
  clock.time_ms += MINUTE_MS;
  log.turn();
  const tallies = await Promise.all(names.map(async (name) => tally(await entriesOf(log, name))));
  const kept = tallies.reduce((sum, { kept }) => sum + kept, 0);
  const omitted = tallies.reduce((sum, { omitted }) => sum + omitted, 0);
  assertEquals({ kept, omitted }, { kept: ENTRIES_PER_MINUTE, omitted: 800 });
});

Deno.test("counts of what was left out are entries like others: the rest of many waits for the next minute", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  await using log = openLog(store, clock);
  const names = Array.from({ length: 2 * COUNTS_PER_MINUTE + 50 }, (_, index) => `t-${index}`);
  for (let index = 0; index < ENTRIES_PER_MINUTE; index++) {
    log.add(owner(`first-${index % 20}`), refusal(""));
  }
  for (const name of names) log.add(owner(name), refusal("left out"));
  /** What is stored of this minute: counts of what was left out, and other entries. */
  const written = async () => {
    await log.flush();
    let counts = 0;
    let others = 0;
    const time = new Date(clock.time_ms).toISOString().slice(0, "2026-01-01T00:00".length);
    for await (const { value } of store.kv.list<TriggerLogEntry>({ prefix: ["trigger_log"] })) {
      if (!value.time.startsWith(time)) continue;
      if (value.kind === "omitted") counts++;
      else others++;
    }
    return { counts, others };
  };
  assertEquals(await written(), { counts: 0, others: ENTRIES_PER_MINUTE });
  for (const counts of [COUNTS_PER_MINUTE, COUNTS_PER_MINUTE, 50, 0]) {
    clock.time_ms += MINUTE_MS;
    log.turn();
    assertEquals(await written(), { counts, others: 0 });
  }
  for (const name of names) {
    assertEquals(tally(await entriesOf(log, name)), { kept: 0, omitted: 1 }, name);
  }

  for (let index = 0; index < 2 * ENTRIES_PER_MINUTE; index++) {
    log.add(owner(`second-${index % 40}`), refusal(""));
  }
  clock.time_ms += MINUTE_MS;
  log.turn();
  for (let index = 0; index < 2 * ENTRIES_PER_MINUTE; index++) {
    log.add(owner(`third-${index % 40}`), refusal(""));
  }
  assertEquals(await written(), { counts: 40, others: ENTRIES_PER_MINUTE - 40 });
});

Deno.test("every entry is either kept or counted, whenever it comes", async () => {
  const floods = fc.array(
    fc.record({
      trigger: fc.constantFrom("a", "b", "c"),
      entries: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 50, max: 130 })),
      pause_ms: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 * MINUTE_MS })),
    }),
    { maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(floods, async (floods) => {
      await using store = await storeInMemory();
      const clock = new TestClock();
      const log = new TriggerLog(store, clock);
      for (const { trigger, entries, pause_ms } of floods) {
        for (let index = 0; index < entries; index++) {
          log.add(owner(trigger), refusal(String(index)));
        }
        clock.time_ms += pause_ms;
      }
      await log.close();
      for (const trigger of ["a", "b", "c"]) {
        const found = await entriesOf(log, trigger);
        const sent = floods.filter((flood) => flood.trigger === trigger)
          .reduce((sum, { entries }) => sum + entries, 0);
        const { kept, omitted } = tally(found);
        assertEquals(kept + omitted, sent);
        const minutes = Map.groupBy(found, ({ time }) => time.slice(0, "2026-01-01T00:00".length));
        for (const inMinute of minutes.values()) {
          assertLessOrEqual(tally(inMinute).kept, ENTRIES_PER_TRIGGER_MINUTE);
        }
      }
    }),
    { numRuns: 30 },
  );
});

Deno.test("close writes what was added and what was left out", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  const log = new TriggerLog(store, clock);
  for (let index = 0; index < 62; index++) log.add(owner("a"), refusal(String(index)));
  await log.close();
  await using later = openLog(store, clock);
  assertEquals(tally(await entriesOf(later, "a")), { kept: 60, omitted: 2 });
});

Deno.test("pages go from the newest entry to the oldest, each entry once", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  await using log = openLog(store, clock);
  for (let index = 0; index < 25; index++) {
    log.add(owner("a"), refusal(String(index)));
    log.add(owner("b"), refusal("of another trigger"));
    if (index % 3 === 0) clock.time_ms += 1;
  }
  const reasons: (string | undefined)[] = [];
  const sizes: number[] = [];
  let before: string | undefined;
  do {
    const page = await log.list("a", { before, limit: 10 });
    reasons.push(...page.records.map(reasonOf));
    sizes.push(page.records.length);
    before = page.next;
  } while (before !== undefined);
  assertEquals(reasons, Array.from({ length: 25 }, (_, index) => String(24 - index)));
  assertEquals(sizes, [10, 10, 5]);
  assertEquals(await log.list("unknown", { limit: 10 }), { records: [], next: undefined });
});

Deno.test("a database that fails loses entries, and nothing else", async () => {
  const failed = Promise.withResolvers<void>();
  let broken = true;
  await using store = await storeInMemory((_commit, store) => {
    if (!broken) return store();
    failed.resolve();
    return Promise.reject(new TypeError("disk is full"));
  });
  await using log = openLog(store, new TestClock());
  log.add(owner("a"), refusal("lost"));
  // The flush that comes of itself has nobody to tell.
  await failed.promise;
  broken = false;
  log.add(owner("a"), refusal("kept"));
  assertEquals((await entriesOf(log, "a")).map(reasonOf), ["kept"]);
});

Deno.test("what is stored can be read while nothing can be stored", async () => {
  let isFull = false;
  await using store = await storeInMemory((_commit, store) =>
    isFull ? Promise.reject(new TypeError("disk is full")) : store()
  );
  const log = new TriggerLog(store, new TestClock());
  log.add(owner("t"), refusal("first"));
  await log.flush();
  isFull = true;
  log.add(owner("t"), refusal("second"));
  assertEquals((await entriesOf(log, "t")).map(reasonOf), ["first"]);
});

Deno.test("large entries are stored together, as many as fit", async () => {
  let commits = 0;
  await using store = await storeInMemory((_commit, store) => {
    commits++;
    return store();
  });
  await using log = openLog(store, new TestClock());
  for (let index = 0; index < 60; index++) log.add(owner("a"), refusal("x".repeat(50_000)));
  assertEquals((await entriesOf(log, "a")).length, 60);
  assertLessOrEqual(commits, 5);
});

Deno.test("an entry that is too large to store takes no other with it", async () => {
  await using store = await storeInMemory();
  await using log = openLog(store, new TestClock());
  log.add(owner("a"), refusal("small"));
  log.add(owner("a"), refusal("x".repeat(70_000)));
  log.add(owner("a"), refusal("small too"));
  await log.flush().catch(() => {});
  assertEquals((await entriesOf(log, "a")).map(reasonOf), ["small too", "small"]);
});

async function removeEntriesBefore(
  store: Store,
  triggerId: string,
  before_ms: number,
): Promise<number> {
  const cutoffOf = (id: string) => Promise.resolve(id === triggerId ? before_ms : -Infinity);
  const { old } = await listOldOfTriggers(store, "trigger_log", cutoffOf, { limit: 1_000 });
  await store.committer.writeInParts(old.flatMap(removeEntryWrites));
  return old.length;
}

Deno.test("entries past a time are removed, those of this trigger alone", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  await using log = openLog(store, clock);
  const start_ms = clock.time_ms;
  for (let minute = 0; minute < 5; minute++) {
    clock.time_ms = start_ms + minute * MINUTE_MS;
    for (let index = 0; index < 30; index++) log.add(owner("a"), refusal(String(minute)));
    log.add(owner("b"), refusal(String(minute)));
  }
  await log.flush();
  assertEquals(await removeEntriesBefore(store, "a", start_ms + 3 * MINUTE_MS), 90);
  assertEquals(new Set((await entriesOf(log, "a")).map(reasonOf)), new Set(["4", "3"]));
  assertEquals((await entriesOf(log, "b")).length, 5);
  assertEquals(await removeEntriesBefore(store, "a", start_ms + 3 * MINUTE_MS), 0);
});

Deno.test("an entry is removed by its own time, to the millisecond", async () => {
  await using store = await storeInMemory();
  const clock = new TestClock();
  await using log = openLog(store, clock);
  log.add(owner("a"), refusal("a"));
  const [entry] = await entriesOf(log, "a");
  assert(entry !== undefined && entry.id.slice(0, 13) === newId(clock.time_ms).slice(0, 13));
  assertEquals(await removeEntriesBefore(store, "a", clock.time_ms), 0);
  assertEquals(await removeEntriesBefore(store, "a", clock.time_ms + 1), 1);
});

Deno.test("an entry that waits for the hash of its body is listed, and stored before a stop", async () => {
  await using store = await storeInMemory();
  const log = new TriggerLog(store, new TestClock());
  const addLater = (reason: string) => {
    const hashed = Promise.withResolvers<void>();
    log.expect(hashed.promise.then(() => void log.add(owner("a"), refusal(reason))));
    return hashed;
  };
  const first = addLater("first");
  const listed = entriesOf(log, "a");
  first.resolve();
  assertEquals((await listed).map(reasonOf), ["first"]);
  const second = addLater("second");
  const closed = log.close();
  second.resolve();
  await closed;
  assertEquals((await storedUnder(store, "trigger_log")).length, 2);
});
